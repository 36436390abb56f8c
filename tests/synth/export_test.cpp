// Every export against the tool it is made for.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "espalier/simulator.hpp"
#include "espalier/synth.hpp"
#include "netlist/circuits.hpp"
#include "synth/formats.hpp"
#include "synth/tools.hpp"
#include "temp_folder.hpp"

namespace espalier {
namespace {

using test::run;
using test::write_file;

Netlist random_cell(std::uint64_t seed, int channels, int gates) {
  Netlist n = test::random_netlist(seed, 9 * channels, gates, channels, 9 * channels + 20);
  for (int c = 0; c < channels; ++c) n.outputs[static_cast<std::size_t>(c)].name = fmt::format("next{}", c);
  return n;
}

// Cells with every kind of output: gates, inputs handed through, constants, one gate twice.
std::vector<Netlist> make_cells() {
  std::vector<Netlist> all{life_cell(), random_cell(3, 2, 80), test::simplify_quickly(test::clumsy_life())};
  all.back().name = "if";  // a keyword everywhere
  Netlist odd = empty_cell(4);
  const Net both = odd.add_gate(Gate::kNand, 5, 17);
  odd.name = "odd cell/*";
  odd.add_output("through", 16);
  odd.add_output("one", odd.add_constant(true));
  odd.add_output("nand", both);
  odd.add_output("nand again", both);
  all.push_back(odd);
  return all;
}
const std::vector<Netlist>& cells() {
  static const std::vector<Netlist> all = make_cells();
  return all;
}

struct Size {
  std::size_t height, width;
};
constexpr Size kSizes[] = {{1, 1}, {3, 5}, {9, 64}, {7, 70}, {12, 130}};

// What each board looks like after three steps, one line a row: what the foreign programs must print.
std::string golden(const Netlist& cell, Size size, bool periodic) {
  const ThreadPool pool(1);
  Board board(size.height, size.width, cell_channels(cell));
  board.randomize(6);
  SimulatorOptions options;
  options.periodic = periodic;
  Simulator(cell, size.height, size.width, options).run(board, 3, pool);
  std::string text;
  for (int c = 0; c < board.channels(); ++c)
    for (std::size_t y = 0; y < size.height; ++y) {
      for (std::size_t x = 0; x < size.width; ++x) text += board.get(y, x, c) ? '1' : '0';
      text += '\n';
    }
  return text;
}

std::string start_bits(const Netlist& cell, Size size) {
  Board board(size.height, size.width, cell_channels(cell));
  board.randomize(6);
  std::string bits;
  for (int c = 0; c < board.channels(); ++c)
    for (std::size_t y = 0; y < size.height; ++y)
      for (std::size_t x = 0; x < size.width; ++x) bits += board.get(y, x, c) ? '1' : '0';
  return bits;
}

TEST(Export, CCompilesWithoutWarningsAndRunsLikeTheSimulator) {
  const TempFolder folder;
  for (const Netlist& cell : cells()) {
    const CSource c = export_c(cell, "circuit.h");
    const std::string at = folder.path();
    write_file(at + "/circuit.c", c.source);
    write_file(at + "/circuit.h", c.header);
    const std::string prefix =
        c.header.substr(c.header.find("void ") + 5, c.header.find("_cell(") - c.header.find("void ") - 5);
    std::string program = "#include \"circuit.h\"\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n";
    program += R"(
static void play(const char *bits, size_t height, size_t width, int channels, int periodic) {
  const size_t words = (width + 63) / 64, all = words * height * channels;
  uint64_t *board = calloc(all, 8), *next = calloc(all, 8), *t;
  for (int c = 0; c < channels; ++c) for (size_t y = 0; y < height; ++y) for (size_t x = 0; x < width; ++x)
    if (*bits++ == '1') board[(c * height + y) * words + x / 64] |= UINT64_C(1) << (x % 64);
  for (int s = 0; s < 3; ++s) { PREFIX_step(board, next, height, width, periodic); t = board; board = next; next = t; }
  for (int c = 0; c < channels; ++c) for (size_t y = 0; y < height; ++y) {
    for (size_t x = 0; x < width; ++x) putchar('0' + (int)(board[(c * height + y) * words + x / 64] >> (x % 64) & 1));
    putchar('\n');
  }
  free(board); free(next);
}
int main(void) {
)";
    program.replace(program.find("PREFIX"), 6, prefix);
    std::string expected;
    for (const Size size : kSizes)
      for (const bool periodic : {true, false}) {
        program += fmt::format("  play(\"{}\", {}, {}, {}, {});\n", start_bits(cell, size), size.height, size.width,
                               cell_channels(cell), periodic ? 1 : 0);
        expected += golden(cell, size, periodic);
      }
    write_file(at + "/main.c", program + "  return 0;\n}\n");
    const auto built = run(fmt::format(
        "cd {} && cc -std=c99 -Wall -Wextra -Werror -O1 -fsanitize=undefined -o play main.c circuit.c", at));
    ASSERT_EQ(built.code, 0) << built.output;
    const auto played = run(at + "/play");
    EXPECT_EQ(played.code, 0);
    EXPECT_EQ(played.output, expected) << cell.name;
  }
}

TEST(Export, CCellFunctionEqualsTheNetlistForCircuitsThatAreNoCells) {
  const TempFolder folder;
  const Netlist n = test::random_netlist(12, 7, 60, 3);
  const CSource c = export_c(n, "circuit.h");
  const std::string at = folder.path();
  write_file(at + "/circuit.c", c.source);
  write_file(at + "/circuit.h", c.header);
  std::string program = "#include \"circuit.h\"\n#include <stdio.h>\nint main(void) {\n";
  std::string expected;
  for (std::uint64_t block = 0; block < 2; ++block) {
    std::vector<std::uint64_t> words(7);
    program += "  { uint64_t out[3]; const uint64_t in[7] = {";
    for (std::size_t i = 0; i < 7; ++i) program += fmt::format("UINT64_C({}),", words[i] = counting_word(i, block));
    program += fmt::format(
        "}}; {}_cell(in, out); for (int o = 0; o < 3; ++o) printf(\"%016llx\\n\", (unsigned long long)out[o]); }}\n",
        n.name);
    const auto nets = evaluate_words(n, words);
    for (const NetlistOutput& output : n.outputs) expected += fmt::format("{:016x}\n", nets[output.net]);
  }
  write_file(at + "/main.c", program + "  return 0;\n}\n");
  const auto ran =
      run(fmt::format("cd {} && cc -std=c99 -Wall -Wextra -Werror -o play main.c circuit.c && ./play", at));
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.output, expected);
}

TEST(Export, JavaScriptRunsInNodeLikeTheSimulator) {
  const TempFolder folder;
  for (const Netlist& cell : cells()) {
    write_file(folder.path() + "/circuit.mjs", export_javascript(cell));
    std::string program = R"(import { step, channels } from './circuit.mjs';
function play(bits, height, width, periodic) {
  const words = (width + 31) >> 5;
  let board = new Uint32Array(words * height * channels), next = new Uint32Array(words * height * channels), i = 0;
  for (let c = 0; c < channels; ++c) for (let y = 0; y < height; ++y) for (let x = 0; x < width; ++x)
    if (bits[i++] === '1') board[(c * height + y) * words + (x >> 5)] |= 1 << (x & 31);
  for (let s = 0; s < 3; ++s) { step(board, next, height, width, periodic); [board, next] = [next, board]; }
  for (let c = 0; c < channels; ++c) for (let y = 0; y < height; ++y) {
    let line = '';
    for (let x = 0; x < width; ++x) line += board[(c * height + y) * words + (x >> 5)] >>> (x & 31) & 1;
    console.log(line);
  }
}
)";
    std::string expected;
    for (const Size size : kSizes)
      for (const bool periodic : {true, false}) {
        program += fmt::format("play('{}', {}, {}, {});\n", start_bits(cell, size), size.height, size.width, periodic);
        expected += golden(cell, size, periodic);
      }
    write_file(folder.path() + "/main.mjs", program);
    const auto played = run("node " + folder.path() + "/main.mjs");
    EXPECT_EQ(played.output, expected) << cell.name;
  }
}

TEST(Export, VerilogTestbenchPassesInIcarusAndCatchesABrokenCircuit) {
  const TempFolder folder;
  const std::string at = folder.path();
  for (const Netlist& cell : cells()) {
    write_file(at + "/circuit.v", export_verilog(cell));
    write_file(at + "/bench.v", export_verilog_testbench(cell));
    const auto passed =
        run(fmt::format("cd {} && iverilog -g2001 -Wall -o bench circuit.v bench.v && vvp -n bench", at));
    EXPECT_EQ(passed.code, 0);
    EXPECT_EQ(passed.output, "PASS\n");  // and no warning
  }
  Netlist broken = life_cell();
  broken.gates.back().gate = Gate::kOr;
  write_file(at + "/circuit.v", export_verilog(broken));
  write_file(at + "/bench.v", export_verilog_testbench(life_cell()));
  const auto failed = run(fmt::format("cd {} && iverilog -g2001 -o bench circuit.v bench.v && vvp -n bench", at));
  EXPECT_NE(failed.output.find("FAIL"), std::string::npos) << failed.output;
  EXPECT_EQ(failed.output.find("PASS"), std::string::npos);
}

// As many bits as a picture has. Simulated in seconds, where a board that is one vector driven cell by cell takes
// minutes.
TEST(Export, VerilogOfManyChannelsIsSimulatedAndSynthesized) {
  const TempFolder folder;
  const std::string at = folder.path();
  const Netlist cell = random_cell(5, 48, 150);
  ExportOptions options;
  options.height = 24, options.width = 9, options.steps = 70;
  options.periodic = false;
  options.start.emplace(24, 9, 48);
  options.start->randomize(3);
  options.test_steps = 2;
  write_file(at + "/circuit.v", export_verilog(cell, options));
  const std::string bench = export_verilog_testbench(cell, options);
  write_file(at + "/bench.v", bench);
  EXPECT_NE(bench.find("the upper left 20 x 9 of its 24 x 9 cells, the first 64 of 70 steps"), std::string::npos);
  EXPECT_EQ(run(fmt::format("cd {} && iverilog -g2001 -o bench circuit.v bench.v && vvp -n bench", at)).output,
            "PASS\n");
  // Every cell keeps its bits in flip-flops.
  write_file(at + "/life.v", export_verilog(life_cell(), {.height = 4, .width = 5}));
  const auto made =
      run(fmt::format("cd {} && yosys -q -p 'read_verilog life.v; synth -lut 6 -top life_array; "
                      "select -assert-count 20 t:$_DFF_P_' 2>&1",
                      at));
  EXPECT_EQ(made.code, 0) << made.output;
}

// The same cells on a board of any size: what does not fit is left out, and what is not said is 0.
TEST(Export, AVerilogBoardOfAnotherSizeStartsWithTheSameCells) {
  const TempFolder folder;
  const std::string at = folder.path();
  Netlist cell = random_cell(3, 2, 40);
  cell.name = "here";
  ExportOptions options;
  options.height = 5, options.width = 7;
  options.start.emplace(5, 7, 2);
  options.start->randomize(9);
  for (int c = 0; c < 2; ++c)
    for (std::size_t x = 0; x < 7; ++x) options.start->set(3, x, c, false);
  write_file(at + "/here.v", export_verilog(cell, options));
  for (const auto& [height, width] :
       {std::pair<std::size_t, std::size_t>{5, 7}, {5, 9}, {8, 7}, {3, 7}, {5, 4}, {2, 20}, {9, 3}, {1, 1}}) {
    const std::size_t bits = height * width * 2;
    write_file(
        at + "/top.v",
        fmt::format(R"(`timescale 1ns / 1ns
module top;
  wire [{0}:0] state;
  integer i;
  here_array {1} board (.clk(1'b0), .load(1'b0), .data({2}'b0), .state(state));
  initial begin #1 for (i = 0; i < {2}; i = i + 1) $write("%b", state[i]); end
endmodule
)",
                    bits - 1, height == 5 && width == 7 ? "" : fmt::format("#(.HEIGHT({}), .WIDTH({}))", height, width),
                    bits));
    std::string wanted;
    for (std::size_t y = 0; y < height; ++y)
      for (std::size_t x = 0; x < width; ++x)
        for (int c = 0; c < 2; ++c) wanted += y < 5 && x < 7 && options.start->get(y, x, c) ? '1' : '0';
    EXPECT_EQ(run("cd " + at + " && iverilog -Wall -g2001 -o top here.v top.v 2>&1 && vvp -n top").output, wanted)
        << height << " x " << width;
  }
  const auto made = run("cd " + at +
                        " && yosys -q -p 'read_verilog here.v; hierarchy -top here_array -chparam HEIGHT 3 "
                        "-chparam WIDTH 9; proc; opt; check -assert' 2>&1");
  EXPECT_EQ(made.code, 0) << made.output;
}

TEST(Export, TheModelsStartIsInCAndJavaScriptToo) {
  const TempFolder folder;
  const std::string at = folder.path();
  const Netlist cell = random_cell(3, 2, 40);
  ExportOptions options;
  options.name = "here", options.height = 5, options.width = 70;
  options.start.emplace(5, 70, 2);
  options.start->randomize(9);
  std::string wanted;
  for (int c = 0; c < 2; ++c)
    for (std::size_t y = 0; y < 5; ++y)
      for (std::size_t x = 0; x < 70; ++x) wanted += options.start->get(y, x, c) ? '1' : '0';
  for (const CircuitFormat format : {CircuitFormat::kC, CircuitFormat::kJavaScript}) {
    options.format = format;
    options.file = at + (format == CircuitFormat::kC ? "/here.c" : "/here.mjs");
    for (const ExportedFile& file : export_circuit(ProvedCircuit::unproved(cell), options))
      write_file(file.path, file.content);
  }
  write_file(at + "/main.c", R"(#include <stdio.h>
#include "here.h"
int main(void) {
  for (int row = 0; row < here_channels * here_height; ++row)
    for (int x = 0; x < here_width; ++x) putchar('0' + (int)(here_start[row * 2 + x / 64] >> x % 64 & 1));
  return 0;
}
)");
  write_file(at + "/main.mjs", R"(import { boardStart, channels, boardHeight, boardWidth } from './here.mjs';
const start = boardStart();
for (let row = 0; row < channels * boardHeight; ++row)
  for (let x = 0; x < boardWidth; ++x) process.stdout.write(String(start[row * 3 + (x >> 5)] >>> (x & 31) & 1));
)");
  EXPECT_EQ(run("cd " + at + " && cc -std=c99 -pedantic -Wall -Wextra -Werror -o main main.c here.c && ./main").output,
            wanted);
  EXPECT_EQ(run("node " + at + "/main.mjs").output, wanted);
}

TEST(Export, YosysMapsTheVerilogToLutsThatAreProvedEqual) {
  const TempFolder folder;
  const std::string at = folder.path();
  write_file(at + "/circuit.v", export_verilog(life_cell()));
  const auto mapped =
      run(fmt::format("cd {} && yosys -p 'read_verilog circuit.v; hierarchy -top life; synth -lut 6 -top life; tee -o "
                      "stat.json stat -json; "
                      "write_blif luts.blif' > log.txt || tail -5 log.txt; cat stat.json",
                      at));
  const std::size_t brace = mapped.output.find('{');
  ASSERT_NE(brace, std::string::npos) << mapped.output;
  const auto stat = nlohmann::json::parse(mapped.output.substr(brace));
  const auto& design = stat["modules"]["\\life"];
  const int luts = design["num_cells_by_type"]["$lut"];
  EXPECT_GE(luts, 2);  // nine inputs do not fit into one
  EXPECT_LE(luts, 12);
  RecordProperty("life_lut6", luts);
  const VerifyReport report = verify(life_cell(), import_blif(read_text(at + "/luts.blif"), "luts.blif"));
  EXPECT_EQ(report.verdict, VerifyReport::Verdict::kEqual) << describe(report, life_cell());
}

TEST(Export, AbcProvesBlifAndAigerEqualToTheRawCircuit) {
  const TempFolder folder;
  const std::string at = folder.path();
  for (const Netlist& raw : {test::clumsy_life(), random_cell(5, 2, 120), test::layered_netlist(3, 40, 40, 6, 12)}) {
    const Netlist small = test::simplify_quickly(raw);
    write_file(at + "/raw.blif", export_blif(raw));
    write_file(at + "/small.blif", export_blif(small));
    write_file(at + "/small.aag", export_aiger_ascii(small));
    write_file(at + "/small.aig", export_aiger_binary(small));
    // abc of Debian reads binary AIGER; ascii is turned into binary by reading it back ourselves below.
    for (const char* file : {"small.blif", "small.aig"}) {
      const auto checked = run(fmt::format("cd {} && berkeley-abc -c 'cec raw.blif {}'", at, file));
      EXPECT_NE(checked.output.find("are equivalent"), std::string::npos) << file << "\n" << checked.output;
    }
    write_file(at + "/again.aig", export_aiger_binary(import_aiger(export_aiger_ascii(small), "small.aag")));
    const auto again = run(fmt::format("cd {} && berkeley-abc -c 'cec raw.blif again.aig'", at));
    EXPECT_NE(again.output.find("are equivalent"), std::string::npos) << again.output;
  }
  Netlist broken = life_cell();
  broken.gates[3].gate = Gate::kXnor;
  write_file(at + "/broken.aig", export_aiger_binary(broken));
  write_file(at + "/life.blif", export_blif(life_cell()));
  EXPECT_EQ(run(fmt::format("cd {} && berkeley-abc -c 'cec life.blif broken.aig'", at)).output.find("are equivalent"),
            std::string::npos);
}

TEST(Export, YosysReadsTheAsciiAigerAndAgrees) {
  const TempFolder folder;
  const std::string at = folder.path();
  write_file(at + "/life.aag", export_aiger_ascii(life_cell()));
  const auto ran = run(fmt::format(
      "cd {} && yosys -q -p 'read_aiger -module_name life life.aag; aigmap; write_aiger -symbols out.aig'", at));
  ASSERT_EQ(ran.code, 0) << ran.output;
  const VerifyReport report = verify(life_cell(), import_aiger(read_text(at + "/out.aig"), "out.aig"));
  EXPECT_EQ(report.verdict, VerifyReport::Verdict::kEqual) << describe(report, life_cell());
}

TEST(Export, GraphvizDrawsTheCircuit) {
  const TempFolder folder;
  for (const Netlist& cell : cells()) {
    write_file(folder.path() + "/circuit.dot", export_dot(cell));
    const auto drawn = run("dot -Tsvg " + folder.path() + "/circuit.dot");
    EXPECT_EQ(drawn.code, 0) << drawn.output;
    EXPECT_NE(drawn.output.find("</svg>"), std::string::npos);
    for (const NetlistOutput& output : cell.outputs) EXPECT_NE(drawn.output.find(output.name), std::string::npos);
  }
}

TEST(Export, DrawingsMarkAnInvertedOperandByABubbleAndSayWhatItMeans) {
  for (const auto& [gate, bubbles] :
       {std::pair{Gate::kAnd, 0}, std::pair{Gate::kAAndNotB, 1}, std::pair{Gate::kNotAOrB, 1},
        std::pair{Gate::kXnor, 0}, std::pair{Gate::kNor, 0}}) {
    Netlist n;
    n.add_input("a");
    n.add_input("b");
    n.add_output("y", n.add_gate(gate, 0, 1));
    const std::string dot = export_dot(n);
    EXPECT_EQ(dot.find("dashed"), std::string::npos);
    EXPECT_EQ(dot.find("arrowhead=odot") != std::string::npos, bubbles == 1) << kGateNames[gate_bits(gate)];
    EXPECT_EQ(dot.find("n0 -> n2 [arrowhead=odot") != std::string::npos, gate == Gate::kNotAOrB);
    EXPECT_NE(dot.find("1 gates, depth 1. A bubble where a line enters a gate"), std::string::npos);
  }
}

// Flat and wide as a trained picture is, and deep and narrow as an adder is.
TEST(Export, LargeDrawingsAreNoStripInEitherDirection) {
  Netlist adder;
  for (int i = 0; i < 48; ++i) adder.add_input(fmt::format("i{}", i));
  Net carry = 0;
  for (Net i = 0; i < 24; ++i) {
    const Net half = adder.add_gate(Gate::kXor, 2 * i, 2 * i + 1), both = adder.add_gate(Gate::kAnd, 2 * i, 2 * i + 1);
    adder.add_output(fmt::format("s{}", i), adder.add_gate(Gate::kXor, half, carry));
    carry = adder.add_gate(Gate::kOr, both, adder.add_gate(Gate::kAnd, half, carry));
  }
  adder.add_output("carry", carry);
  for (const Netlist& n : {test::layered_netlist(3, 60, 60, 5, 20), adder}) {
    ASSERT_GT(n.gates.size(), 100u);
    const TempFolder folder;
    write_file(folder.path() + "/large.dot", export_dot(n));
    const auto drawn = run("dot -Tplain " + folder.path() + "/large.dot");
    double scale = 0, width = 0, height = 0;
    ASSERT_EQ(std::sscanf(drawn.output.c_str(), "graph %lf %lf %lf", &scale, &width, &height), 3) << drawn.output;
    EXPECT_LT(height / width, 5) << n.gates.size();
    EXPECT_LT(width / height, 5) << n.gates.size();
  }
}

TEST(Export, EveryFormatThatIsReadBackIsProvedEqual) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Netlist n = test::random_netlist(seed, 1 + static_cast<int>(seed % 13), static_cast<int>(seed * 5),
                                           1 + static_cast<int>(seed % 5));
    EXPECT_EQ(import_circuit(export_json(n), "x.json"), n);
    for (const std::string& text :
         {export_blif(n), export_aiger_ascii(n), export_aiger_binary(n), export_blif(test::simplify_quickly(n))}) {
      const VerifyReport report = verify(n, import_circuit(text, "x"));
      EXPECT_EQ(report.verdict, VerifyReport::Verdict::kEqual) << seed << "\n" << text;
      EXPECT_TRUE(report.inputs_by_name && report.outputs_by_name);
    }
  }
}

}  // namespace
}  // namespace espalier
