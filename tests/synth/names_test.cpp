// Names that are troublesome in other languages, judged by the tools that read them.
#include "synth/names.hpp"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "base/files.hpp"
#include "base/text.hpp"
#include "espalier/error.hpp"
#include "espalier/synth.hpp"
#include "synth/formats.hpp"
#include "synth/tools.hpp"
#include "temp_folder.hpp"

namespace espalier {
namespace {

using test::run;
using test::write_file;

constexpr const char* kReserved = R"(
always and assign automatic begin buf bufif0 bufif1 case casex casez cell cmos config deassign default defparam design
disable edge else end endcase endconfig endfunction endgenerate endmodule endprimitive endspecify endtable endtask event
for force forever fork function generate genvar highz0 highz1 if ifnone incdir include initial inout input instance
integer join large liblist library localparam macromodule medium module nand negedge nmos nor noshowcancelled not notif0
notif1 or output parameter pmos posedge primitive pull0 pull1 pulldown pullup pulsestyle_ondetect pulsestyle_onevent
rcmos real realtime reg release repeat rnmos rpmos rtran rtranif0 rtranif1 scalared showcancelled signed small specify
specparam strong0 strong1 supply0 supply1 table task time tran tranif0 tranif1 tri tri0 tri1 triand trior trireg
unsigned use uwire vectored wait wand weak0 weak1 while wire wor xnor xor accept_on alias always_comb always_ff
always_latch assert assume before bind bins binsof bit break byte chandle checker class clocking const constraint context
continue cover covergroup coverpoint cross dist do endchecker endclass endclocking endgroup endinterface endpackage
endprogram endproperty endsequence enum eventually expect export extends extern final first_match foreach forkjoin global
iff ignore_bins illegal_bins implements implies import inside int interconnect interface intersect join_any join_none let
local logic longint matches modport nettype new nexttime null package packed priority program property protected pure rand
randc randcase randsequence ref reject_on restrict return s_always s_eventually s_nexttime s_until s_until_with sequence
shortint shortreal soft solve static string strong struct super sync_accept_on sync_reject_on tagged this throughout
timeprecision timeunit type typedef union unique unique0 until until_with untyped var virtual void wait_order weak
wildcard with within auto char double float goto inline long register short sizeof switch volatile main async await
arguments catch debugger delete eval finally instanceof in of throw try typeof undefined yield)";

Netlist and_gate(const std::string& name) {
  Netlist n;
  n.name = name;
  const Net a = n.add_input("a"), b = n.add_input("b");
  n.add_output("y", n.add_gate(Gate::kAnd, a, b));
  return n;
}

TEST(Names, EveryReservedWordIsAModuleAndAFunction) {
  const TempFolder folder;
  std::string verilog, c;
  std::istringstream words(kReserved);
  std::set<std::string> seen;
  for (std::string word; words >> word;) {
    if (!seen.insert(word).second) continue;
    verilog += export_verilog(and_gate(word));
    const CSource source = export_c(and_gate(word), "none.h");
    c += source.header + source.source.substr(source.source.find('\n'));
  }
  EXPECT_GT(seen.size(), 250u);
  write_file(folder / "all.v", verilog);
  write_file(folder / "all.c", c);
  for (const char* standard : {"-g2001", "-g2005", "-g2012"}) {
    const auto icarus = run(std::string("iverilog -t null ") + standard + " " + (folder / "all.v"));
    EXPECT_EQ(icarus.code, 0) << standard << icarus.output.substr(0, 1000);
  }
  for (const char* compiler : {"cc -std=c99 -pedantic", "c++ -x c++"}) {
    const auto compiled = run(std::string(compiler) + " -Werror -fsyntax-only " + (folder / "all.c"));
    EXPECT_EQ(compiled.code, 0) << compiler << compiled.output.substr(0, 1000);
  }
}

TEST(Names, OfAnyLettersLeaveEveryFormatWhole) {
  const TempFolder folder;
  for (const std::string name :
       {"a\u2028alert(1)", "a\u2029;", "x\ny", "*/ int y; /*", "\\", "\"", "'", "?\?/", "`define", "\xff\xfe",
        "\xe2\x80", "", " ", "1", "_", "größe", "%s%n{}", "</script>", "-->"}) {
    Netlist n = and_gate(name);
    n.inputs = {name + "a", name + "b"};
    n.outputs[0].name = name;
    const auto files = [&](CircuitFormat format, const std::string& file) {
      for (const ExportedFile& f :
           export_circuit(ProvedCircuit::unproved(n), {.format = format, .file = folder / file}))
        write_file(f.path, f.content);
    };
    files(CircuitFormat::kJavaScript, "m.mjs");
    files(CircuitFormat::kC, "m.c");
    files(CircuitFormat::kVerilog, "m.v");
    for (const std::string& command :
         {"node --check " + (folder / "m.mjs"), "cc -std=c99 -Wall -Werror -fsyntax-only " + (folder / "m.c"),
          "iverilog -t null " + (folder / "m.v") + " " + (folder / "m_tb.v")}) {
      const auto ran = run(command);
      EXPECT_EQ(ran.code, 0) << name << ": " << command << "\n" << ran.output.substr(0, 1000);
    }
    for (const auto& [format, file] : {std::pair{CircuitFormat::kBlif, "m.blif"},
                                       {CircuitFormat::kAiger, "m.aag"},
                                       {CircuitFormat::kAigerBinary, "m.aig"},
                                       {CircuitFormat::kJson, "m.json"}}) {
      files(format, file);
      EXPECT_EQ(verify(n, import_circuit(read_text(folder / file), file)).verdict, VerifyReport::Verdict::kEqual)
          << name << " in " << file;
    }
  }
}

TEST(Names, ThatVerilogWritesAlikeStayApart) {
  const TempFolder folder;
  Netlist n;
  n.name = "alike";
  for (const char* name : {"a\u2028", "a\u2029", "x\"y", "x_y", "x*y", "//", "/*", "module", "n9", "a[0]", "a.0"})
    n.add_input(name);
  n.add_output("x`y", n.add_gate(Gate::kAnd, 0, 1));
  n.add_output("n11", n.add_gate(Gate::kOr, 2, 3));
  n.add_output("a[0]", n.add_gate(Gate::kXor, 9, 10));
  for (const ExportedFile& f :
       export_circuit(ProvedCircuit::unproved(n), {.format = CircuitFormat::kVerilog, .file = folder / "m.v"}))
    write_file(f.path, f.content);
  const auto icarus = run("iverilog -o " + (folder / "m") + " " + (folder / "m.v") + " " + (folder / "m_tb.v"));
  EXPECT_EQ(icarus.code, 0) << icarus.output.substr(0, 1000);
  const auto ran = run("vvp " + (folder / "m"));  // all of its ports are joined to the right nets
  EXPECT_EQ(ran.code, 0) << ran.output.substr(0, 1000);
  EXPECT_EQ(ran.output.find("FAIL"), std::string::npos) << ran.output.substr(0, 1000);
}

TEST(Names, ThatCannotBeSeenReachNoExport) {
  Netlist n = and_gate("a\u202eb");  // what follows is read backwards
  n.name = "t\u202ea\u2066s\x1b[31mk\x9b\u200b";
  n.outputs[0].name = "o\u2069\x7f";
  for (std::size_t f = 0; f < kCircuitFormatNames.size(); ++f) {
    const auto format = static_cast<CircuitFormat>(f);
    if (format == CircuitFormat::kSvg || format == CircuitFormat::kAigerBinary) continue;
    for (const ExportedFile& file :
         export_circuit(ProvedCircuit::unproved(n), {.format = format, .file = "x" + std::to_string(f)})) {
      EXPECT_EQ(printable(file.content, true), file.content) << kCircuitFormatNames[f];
    }
  }
  EXPECT_EQ(comment_text("caf\u00e9 \u202e*/"), "caf\u00e9 ___");
  EXPECT_EQ(line_name("\u00e9\u2028 x"), "\u00e9__x");
}

TEST(Names, OfModulesThatAreAskedForAreKeptOrRefused) {
  const ProvedCircuit circuit = ProvedCircuit::unproved(and_gate("a"));
  for (const char* name : {"module", "if", "2x", "a b", "a\u202e", "_a"})
    for (const CircuitFormat format : {CircuitFormat::kC, CircuitFormat::kVerilog})
      EXPECT_THROW(export_circuit(circuit, {.format = format, .file = "a.v", .name = name}), Error) << name;
  EXPECT_NE(
      export_circuit(circuit, {.format = CircuitFormat::kVerilog, .file = "a.v", .name = "cell_2"})[0].content.find(
          "module cell_2 ("),
      std::string::npos);
}

TEST(Names, OfFilesThatCCannotIncludeAreRefused) {
  const ProvedCircuit circuit = ProvedCircuit::unproved(and_gate("a"));
  for (const char* file : {"a\u202e.c", "dir/a\".c", "a\n.c", "a\\b.c", "\x01.c"})
    EXPECT_THROW(export_circuit(circuit, {.format = CircuitFormat::kC, .file = file}), Error) << file;
  EXPECT_THROW(export_circuit(circuit, {.format = CircuitFormat::kC, .file = "a.c", .header_name = "\""}), Error);
  EXPECT_NO_THROW(export_circuit(circuit, {.format = CircuitFormat::kC, .file = "a \"folder\"/it's.c"}));
  EXPECT_NO_THROW(export_circuit(circuit, {.format = CircuitFormat::kVerilog, .file = "a\"\n.v"}));
}

}  // namespace
}  // namespace espalier
