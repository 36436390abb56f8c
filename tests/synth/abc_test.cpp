#include "synth/abc.hpp"

#include <gtest/gtest.h>

#include "espalier/error.hpp"
#include "espalier/verify.hpp"
#include "netlist/circuits.hpp"

namespace espalier {
namespace {

TEST(Abc, MakesACircuitSmallerAndTheResultIsProved) {
  const Netlist raw = test::layered_netlist(3, 30, 200, 7, 30);
  const Netlist small = simplify(raw);
  AbcReport report;
  const Netlist smaller = simplify_with_abc(small, raw, {}, &report);
  EXPECT_LT(smaller.gates.size(), small.gates.size());
  EXPECT_GE(report.kept, 1u);
  EXPECT_EQ(report.failed, 0u);
  EXPECT_EQ(report.unproved, 0u);
  EXPECT_EQ(smaller.inputs, raw.inputs);
  EXPECT_EQ(verify(raw, smaller).verdict, VerifyReport::Verdict::kEqual);
}

TEST(Abc, NeverMakesACircuitLarger) {
  const Netlist life = life_cell();
  AbcOptions options;
  options.simplify.resubstitute_options.walks = 5;
  EXPECT_LE(simplify_with_abc(life, life, options).gates.size(), life.gates.size());
}

TEST(Abc, AMissingProgramIsAnErrorAndABrokenOneIsNoHarm) {
  AbcOptions options;
  options.program = "no-such-program";
  EXPECT_THROW(simplify_with_abc(life_cell(), life_cell(), options), Error);
  options.program = "/bin/false";
  AbcReport report;
  EXPECT_EQ(simplify_with_abc(life_cell(), life_cell(), options, &report), life_cell());
  EXPECT_EQ(report.failed, report.runs);
}

}  // namespace
}  // namespace espalier
