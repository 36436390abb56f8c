#include <gtest/gtest.h>

#include "espalier/error.hpp"
#include "espalier/synth.hpp"
#include "netlist/circuits.hpp"

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
  const Netlist small = simplify(raw), smaller = simplify(raw, with_abc(), &report);
  EXPECT_LT(smaller.gates.size(), small.gates.size());
  EXPECT_GE(report.abc.kept, 1u);
  EXPECT_EQ(report.abc.failed, 0u);
  EXPECT_EQ(report.abc.unproved, 0u);
  EXPECT_EQ(report.abc.program, find_abc());
  EXPECT_EQ(report.steps.back().pass, "abc");
  EXPECT_EQ(report.steps.back().gates, smaller.gates.size());
  EXPECT_EQ(smaller.inputs, raw.inputs);
  EXPECT_EQ(verify(raw, smaller).verdict, VerifyReport::Verdict::kEqual);
}

TEST(Abc, NeverMakesACircuitLarger) {
  const Netlist life = life_cell();
  SimplifyOptions options = with_abc();
  options.resubstitute_options.walks = 5;
  EXPECT_LE(simplify(life, options).gates.size(), life.gates.size());
}

TEST(Abc, AMissingProgramIsAnErrorAndABrokenOneIsNoHarm) {
  EXPECT_THROW(simplify(life_cell(), with_abc("no-such-program")), Error);
  EXPECT_EQ(find_abc("no-such-program"), "");
  SimplifyReport report;
  EXPECT_EQ(simplify(life_cell(), with_abc("/bin/false"), &report), simplify(life_cell()));
  EXPECT_GT(report.abc.runs, 0u);
  EXPECT_EQ(report.abc.failed, report.abc.runs);
}

}  // namespace
}  // namespace espalier
