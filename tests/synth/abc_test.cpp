#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "espalier/error.hpp"
#include "espalier/synth.hpp"
#include "netlist/circuits.hpp"
#include "synth/external_tool.hpp"
#include "synth/tools.hpp"
#include "temp_folder.hpp"

namespace espalier {
namespace {

SimplifyOptions with_abc(const std::string& program = {}) {
  SimplifyOptions options;
  options.with_abc = true;
  options.abc_options.program = program;
  return options;
}

TEST(Abc, MakesACircuitSmallerAndTheResultIsProved) {
  const Netlist raw = test::layered_netlist(3, 30, 200, 7, 30);
  SimplifyReport report;
  SimplifyOptions alone, together = with_abc();
  alone.resubstitute = together.resubstitute = false;  // with it there is nothing left for abc to find
  const Netlist small = simplify(raw, alone), smaller = simplify(raw, together, &report);
  EXPECT_LT(smaller.gates.size(), small.gates.size());
  EXPECT_GE(report.abc.kept, 1u);
  EXPECT_EQ(report.abc.failed, 0u);
  EXPECT_EQ(report.abc.unproved, 0u);
  EXPECT_EQ(report.abc.program, find_abc());
  EXPECT_EQ(report.steps.back().pass, "abc");
  EXPECT_EQ(report.steps.back().gates, count_netlist(smaller).gates());
  EXPECT_EQ(smaller.inputs, raw.inputs);
  EXPECT_EQ(verify(raw, smaller).verdict, VerifyReport::Verdict::kEqual);
}

TEST(Abc, NeverMakesACircuitLarger) {
  const Netlist life = life_cell();
  SimplifyOptions options = with_abc();
  options.resubstitute_options.walks = 5;
  EXPECT_LE(simplify(life, options).gates.size(), life.gates.size());
}

TEST(Abc, AMissingOrBrokenProgramIsAnError) {
  EXPECT_THROW(simplify(life_cell(), with_abc("no-such-program")), Error);
  EXPECT_EQ(find_abc("no-such-program"), "");
  SimplifyReport report;
  SimplifyOptions broken = with_abc("/bin/false"), silent = with_abc("/bin/true");
  broken.resubstitute_options.walks = silent.resubstitute_options.walks = 0;
  EXPECT_THROW(simplify(life_cell(), broken, &report), Error);
  EXPECT_GT(report.abc.runs, 0u);
  EXPECT_EQ(report.abc.failed, report.abc.runs);
  EXPECT_THROW(simplify(life_cell(), silent), Error);  // content with everything, and no circuit
}

TEST(ExternalTool, AFolderIsNoProgramAndAnEmptyPartOfThePathIsHere) {
  const TempFolder folder;
  std::filesystem::create_directories(folder / "first/tool");
  std::filesystem::create_directories(folder / "second");
  test::write_file(folder / "second/tool", "#!/bin/sh\nexit 7\n");
  test::write_file(folder / "second/text", "no program\n");
  std::filesystem::permissions(folder / "second/tool", std::filesystem::perms::owner_all);
  const std::string path = std::getenv("PATH");
  setenv("PATH", ((folder / "first") + ":" + (folder / "second")).c_str(), 1);
  EXPECT_EQ(find_program("tool"), folder / "second/tool");
  EXPECT_EQ(find_program(folder / "first/tool"), "");
  EXPECT_EQ(find_program("text"), "");
  EXPECT_EQ(run_program({find_program("tool")}, 30), 7);
  setenv("PATH", ("::" + path).c_str(), 1);
  EXPECT_EQ(find_program("tool"), "");
  setenv("PATH", path.c_str(), 1);
}

TEST(ExternalTool, FilesInMemoryAreReadAndWrittenAndSlowProgramsAreStopped) {
  const MemoryFile in("some text\n"), out;
  EXPECT_EQ(run_program({"/bin/sh", "-c", "cat " + in.path() + " " + in.path() + " > " + out.path()}, 30, {&in, &out}),
            0);
  EXPECT_EQ(out.content(), "some text\nsome text\n");
  EXPECT_NE(run_program({"/bin/sh", "-c", "cat " + in.path()}, 30), 0);  // it was not shared
  EXPECT_EQ(run_program({"/bin/sleep", "1000"}, 0.05), -1);
  EXPECT_NE(run_program({"/no/such/program"}, 30), 0);
}

}  // namespace
}  // namespace espalier
