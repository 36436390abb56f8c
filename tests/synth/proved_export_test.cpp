#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "espalier/error.hpp"
#include "espalier/synth.hpp"
#include "netlist/circuits.hpp"
#include "synth/formats.hpp"
#include "synth/tools.hpp"

namespace espalier {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string refusal(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no Error";
}

TEST(ProvedExport, ASimplifiedCircuitComesWithItsProof) {
  const Netlist raw = test::clumsy_small();
  const ProvedCircuit circuit = prove_and_simplify(raw);
  EXPECT_LT(circuit.netlist().gates.size(), raw.gates.size());
  EXPECT_EQ(verify(raw, circuit.netlist()).verdict, VerifyReport::Verdict::kEqual);
  EXPECT_THAT(circuit.proof(), HasSubstr("equal: 1 of 1 outputs proved"));
  EXPECT_EQ(circuit.report().steps.front().gates, count_netlist(raw).gates());
  EXPECT_EQ(ProvedCircuit::unproved(raw).netlist(), raw);
  EXPECT_THAT(ProvedCircuit::unproved(raw).proof(), HasSubstr("nothing proved"));
}

// Channel 1 is never shown, and no channel that is reads it.
TEST(ProvedExport, WhatIsLeftAcrossStepsHasTheProofOfTheWholeWay) {
  Netlist cell;
  for (int i = 0; i < 18; ++i) cell.add_input(fmt::format("i{}", i));
  cell.add_output("next0", cell.add_gate(Gate::kXor, 6, 10));
  cell.add_output("next1", cell.add_gate(Gate::kAnd, 9, 8));
  const ProvedCircuit across = prove_across_steps(prove_and_simplify(cell), {.visible = 1});
  EXPECT_EQ(across.kept_channels(), std::vector<int>{0});
  EXPECT_EQ(across.netlist().outputs.size(), 1u);
  EXPECT_THAT(across.proof(), HasSubstr("equal: 2 of 2 outputs proved"));
  EXPECT_THAT(across.proof(), HasSubstr("1 of 2 channels"));
}

TEST(ProvedExport, TheOptionsOfSimplifyingAreFields) {
  SimplifyOptions options;
  Fields fields = fields_of(options);
  fields.at("for").set_text("lut6");
  fields.at("search").set_text("12");
  fields.at("sweep").set_text("false");
  EXPECT_EQ(options.goal, CircuitGoal::kLut6);
  EXPECT_EQ(options.search, 12u);
  EXPECT_FALSE(options.sweep);
  EXPECT_THROW(fields.at("for").set_text("beauty"), Error);
}

// x y is y x: sweeping finds that when it is given enough conflicts, which the proof afterwards is not. Then there is
// nothing to export, rather than something unproved.
TEST(ProvedExport, WithoutAProofInTimeThereIsNoCircuit) {
  constexpr std::size_t kBits = 7;
  Netlist n;
  std::vector<Net> x, y;
  for (std::size_t i = 0; i < kBits; ++i) x.push_back(n.add_input(fmt::format("x{}", i)));
  for (std::size_t i = 0; i < kBits; ++i) y.push_back(n.add_input(fmt::format("y{}", i)));
  const auto middle = [&](const std::vector<Net>& u, const std::vector<Net>& v) {
    std::vector<Net> sum(2 * kBits, n.add_constant(false));
    for (std::size_t i = 0; i < kBits; ++i) {
      Net carry = n.add_constant(false);
      for (std::size_t j = 0; j < kBits; ++j) {
        const Net p = n.add_gate(Gate::kAnd, u[i], v[j]), half = n.add_gate(Gate::kXor, p, sum[i + j]);
        const Net both = n.add_gate(Gate::kAnd, p, sum[i + j]), pass = n.add_gate(Gate::kAnd, half, carry);
        sum[i + j] = n.add_gate(Gate::kXor, half, carry);
        carry = n.add_gate(Gate::kOr, both, pass);
      }
      sum[i + kBits] = carry;
    }
    return sum[kBits];
  };
  n.add_output("commutes", n.add_gate(Gate::kXnor, middle(x, y), middle(y, x)));
  SimplifyOptions thorough;
  thorough.resubstitute = false;
  thorough.sweep_options.conflicts = 1 << 20;
  EXPECT_LT(simplify(n, thorough).gates.size(), 3u);
  EXPECT_NO_THROW(prove_and_simplify(n, thorough));
  VerifyOptions hasty;
  hasty.seconds = 1e-9;
  hasty.table_inputs = 0;
  const std::string words = refusal([&] { prove_and_simplify(n, thorough, hasty); });
  EXPECT_THAT(words, HasSubstr("undecided"));
  EXPECT_THAT(words, Not(HasSubstr("--")));
}

TEST(ProvedExport, GivesTheFilesOfEveryFormat) {
  const ProvedCircuit circuit = prove_and_simplify(life_cell());
  const Netlist& n = circuit.netlist();
  const auto exported = [&](CircuitFormat format, const std::string& file) {
    return export_circuit(circuit, {.format = format, .file = file});
  };
  const auto c = exported(CircuitFormat::kC, "some/where/life.c");
  ASSERT_EQ(c.size(), 2u);
  EXPECT_EQ(c[0].path, "some/where/life.c");
  EXPECT_EQ(c[1].path, "some/where/life.h");
  EXPECT_THAT(c[0].content, HasSubstr("#include \"life.h\""));
  const auto verilog = exported(CircuitFormat::kVerilog, "life.v");
  ASSERT_EQ(verilog.size(), 2u);
  EXPECT_EQ(verilog[1].path, "life_tb.v");
  EXPECT_THAT(verilog[1].content, HasSubstr("module life_testbench"));
  for (const CircuitFormat format :
       {CircuitFormat::kBlif, CircuitFormat::kAiger, CircuitFormat::kAigerBinary, CircuitFormat::kJson}) {
    const auto files = exported(format, "x");
    ASSERT_EQ(files.size(), 1u);
    EXPECT_EQ(verify(import_circuit(files[0].content, "x"), n).verdict, VerifyReport::Verdict::kEqual);
  }
  EXPECT_THAT(exported(CircuitFormat::kDot, "x")[0].content, HasSubstr("digraph"));
  EXPECT_THAT(exported(CircuitFormat::kSvg, "x")[0].content, HasSubstr("<svg"));
  EXPECT_THAT(exported(CircuitFormat::kJavaScript, "x")[0].content, HasSubstr("export function cell"));
}

TEST(ProvedExport, OptionsNameModuleHeaderAndBoard) {
  ExportOptions options;
  options.format = CircuitFormat::kC;
  options.file = "cell.c";
  options.name = "conway";
  options.header_name = "include/conway.h";
  const ProvedCircuit circuit = ProvedCircuit::unproved(life_cell());
  const auto c = export_circuit(circuit, options);
  EXPECT_THAT(c[0].content, HasSubstr("#include \"include/conway.h\""));
  EXPECT_THAT(c[0].content, HasSubstr("void conway_step("));
  options.format = CircuitFormat::kVerilog;
  options.height = 5;
  options.width = 7;
  options.periodic = false;
  options.test_height = 3;
  const auto verilog = export_circuit(circuit, options);
  EXPECT_THAT(verilog[0].content, HasSubstr("parameter HEIGHT = 5"));
  EXPECT_THAT(verilog[0].content, HasSubstr("parameter WIDTH = 7"));
  EXPECT_THAT(verilog[0].content, HasSubstr("parameter PERIODIC = 0"));
  EXPECT_THAT(verilog[1].content, HasSubstr("conway_array #(.HEIGHT(3), .WIDTH(11)"));
  EXPECT_EQ(circuit.netlist().name, "life");
}

TEST(ProvedExport, RefusesWhatCannotBe) {
  const ProvedCircuit circuit = ProvedCircuit::unproved(life_cell());
  const auto with = [&](auto change) {
    ExportOptions options;
    change(options);
    return refusal([&] { export_circuit(circuit, options); });
  };
  EXPECT_THAT(with([](auto& o) { o.height = 0; }), HasSubstr("height"));
  EXPECT_THAT(with([](auto& o) { o.test_width = 100'000; }), HasSubstr("width"));
  EXPECT_THAT(with([](auto& o) { o.test_steps = -1; }), HasSubstr("steps"));
  EXPECT_THAT(with([](auto& o) { o.test_vectors = -1; }), HasSubstr("patterns"));
  EXPECT_THAT(with([](auto& o) { o.file = ""; }), HasSubstr("file"));
  EXPECT_THAT(with([](auto& o) { o.format = static_cast<CircuitFormat>(99); }), HasSubstr("format"));
  EXPECT_THAT(with([](auto& o) { o.format = CircuitFormat::kC, o.file = "cell.h"; }), HasSubstr("source"));
  EXPECT_THAT(refusal([] { circuit_format("vhdl"); }), HasSubstr("verilog"));
  EXPECT_EQ(circuit_format("js"), CircuitFormat::kJavaScript);
  Netlist broken = life_cell();
  broken.outputs[0].net = 10'000;
  EXPECT_THAT(refusal([&] { ProvedCircuit::unproved(broken); }), HasSubstr("output 0"));
  EXPECT_THAT(refusal([&] { prove_and_simplify(broken); }), HasSubstr("output 0"));
}

TEST(Synth, RefusesNetlistsOutOfOrderAndOptionsOutOfRange) {
  Netlist good = life_cell(), bad = good;
  bad.gates[4].b = bad.net_of_gate(20);
  EXPECT_THROW(simplify(bad), Error);
  EXPECT_THROW(verify(bad, good), Error);
  EXPECT_THROW(verify(good, bad), Error);
  const auto with = [&](auto change) {
    SimplifyOptions options;
    change(options);
    return refusal([&] { simplify(good, options); });
  };
  EXPECT_THAT(with([](auto& o) { o.max_rounds = -1; }), HasSubstr("rounds"));
  EXPECT_THAT(with([](auto& o) { o.sweep_options.random_words = 0; }), HasSubstr("words"));
  EXPECT_THAT(with([](auto& o) { o.sweep_options.table_inputs = 40; }), HasSubstr("table"));
  EXPECT_THAT(with([](auto& o) { o.sweep_options.conflicts = -1; }), HasSubstr("conflicts"));
  EXPECT_THAT(with([](auto& o) { o.resubstitute_options.table_inputs = 40; }), HasSubstr("table"));
  EXPECT_THAT(with([](auto& o) { o.resubstitute_options.walks = -1; }), HasSubstr("walks"));
  EXPECT_THAT(with([](auto& o) { o.abc_options.seconds = 0; }), HasSubstr("ABC"));
  EXPECT_THROW(verify(good, good, {.table_inputs = 50}), Error);
  EXPECT_THROW(verify(good, good, {.seconds = -1}), Error);
}

// A recursion over gates would end here, in any of the passes, proofs and formats.
TEST(Synth, AChainOfAHundredThousandGatesOverflowsNothing) {
  constexpr int kGateCount = 100'000, kInputs = 40;
  Netlist n;
  for (int i = 0; i < kInputs; ++i) n.add_input(fmt::format("i{}", i));
  Net net = 0;
  for (int g = 0; g < kGateCount; ++g)
    net = n.add_gate(g % 2 ? Gate::kXor : g % 3 ? Gate::kAnd : Gate::kOr, net, static_cast<Net>(g * 7 % kInputs));
  n.add_output("y", net);
  SimplifyOptions options;
  options.sweep_options.effort = options.resubstitute_options.effort = 1'000'000;
  options.resubstitute_options.effort_per_gate = 0;
  const Netlist small = simplify(n, options);
  EXPECT_EQ(test::signature(small, 4), test::signature(n, 4));
  EXPECT_EQ(verify(n, n).verdict, VerifyReport::Verdict::kEqual);
  EXPECT_EQ(test::signature(import_blif(export_blif(n), "x"), 4), test::signature(n, 4));
  EXPECT_EQ(test::signature(import_aiger(export_aiger_ascii(n), "x"), 4), test::signature(n, 4));
  EXPECT_EQ(test::signature(import_aiger(export_aiger_binary(n), "x"), 4), test::signature(n, 4));
  EXPECT_EQ(import_json(export_json(n), "x"), n);
}

TEST(Blif, CoversAreAsSmallAsTheyCanBe) {
  const auto rows_of = [](Gate gate) {
    Netlist n;
    n.add_input("a");
    n.add_input("b");
    n.add_output("y", n.add_gate(gate, 0, 1));
    const std::string text = export_blif(n);
    const std::size_t from = text.find(".names a b n2\n") + 14;
    return text.substr(from, text.find(".names n2 y") - from);
  };
  EXPECT_EQ(rows_of(Gate::kAnd), "11 1\n");
  EXPECT_EQ(rows_of(Gate::kOr), "1- 1\n-1 1\n");
  EXPECT_EQ(rows_of(Gate::kNand), "0- 1\n-0 1\n");
  EXPECT_EQ(rows_of(Gate::kAOrNotB), "-0 1\n1- 1\n");
  EXPECT_EQ(rows_of(Gate::kNotAOrB), "0- 1\n-1 1\n");
  EXPECT_EQ(rows_of(Gate::kXor), "00 0\n11 0\n");
  EXPECT_EQ(rows_of(Gate::kNor), "00 1\n");
  for (int g = 0; g < kGates; ++g) {
    Netlist n;
    n.add_input("a");
    n.add_input("b");
    n.add_output("y", n.add_gate(static_cast<Gate>(g), 0, 1));
    EXPECT_EQ(test::signature(import_blif(export_blif(n), "x")), test::signature(n)) << g;
  }
}

}  // namespace
}  // namespace espalier
