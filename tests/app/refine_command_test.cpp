// espalier refine: models and netlists, stops and refusals.
#include <gtest/gtest.h>

#include "app/program.hpp"
#include "base/files.hpp"
#include "temp_folder.hpp"

namespace espalier {
namespace {

constexpr const char* kAnd = ".model m\n.inputs a b c\n.outputs y\n.names a b y\n11 1\n.end\n";
constexpr const char* kMajority = "# a b c  y\n000 0\n001 0\n010 0\n011 1\n100 0\n101 1\n110 1\n111 1\n";

TEST(RefineCommand, ANetlistComesToComputeItsTableWhichVerifyAndACompleteTableShow) {
  const TempFolder folder;
  write_atomically(folder / "and.blif", std::string_view(kAnd));
  write_atomically(folder / "table.txt", std::string_view(kMajority));
  const Ended e = run({"refine", folder / "and.blif", "--table", folder / "table.txt", "-o", folder / "out.blif",
                       "--shrink", "50000", "--quiet", "--json", "--require-solved"});
  ASSERT_EQ(e.exit_code, 0) << e.err;
  EXPECT_EQ(e.json().at("wrong"), 0.0);
  EXPECT_EQ(e.json().at("gates"), 4);  // the least for a majority of three
  write_atomically(
      folder / "majority.blif",
      std::string_view(".model m\n.inputs a b c\n.outputs y\n.names a b c y\n11- 1\n1-1 1\n-11 1\n.end\n"));
  EXPECT_EQ(run({"verify", folder / "out.blif", folder / "majority.blif"}).exit_code, 0);
}

TEST(RefineCommand, AModelOutOfTimeIsSavedAndGoesOnToTheSameBits) {
  const TempFolder folder;
  ASSERT_EQ(run({"train", "checkerboard-small", "--train-steps", "2", "--quiet", "--out", folder / "run"}).exit_code,
            0);
  const auto refine = [&](const std::string& out, Arguments more) {
    Arguments all{"refine", folder / "run", "-o", folder / out, "--evaluations", "30000", "--quiet", "--json"};
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  const Ended whole = refine("whole", {});
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const Ended first = refine("pieces", {"--seconds", "0.000001"});
  EXPECT_EQ(first.json().at("stopped"), "out of time");
  EXPECT_TRUE(std::filesystem::exists(folder / "pieces.search"));
  ASSERT_EQ(refine("pieces", {"--resume", "--seconds", "0.05"}).exit_code, 0);
  if (std::filesystem::exists(folder / "pieces.search")) {
    ASSERT_EQ(refine("pieces", {"--resume"}).exit_code, 0);
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "pieces.search"));
  EXPECT_EQ(read_text(folder / "pieces"), read_text(folder / "whole"));
  EXPECT_EQ(run({"eval", folder / "whole", "--reset-steps", "1"}).exit_code, 0);
  EXPECT_NE(run({"info", folder / "whole"}).out.find("refined.from"), std::string::npos);
}

TEST(RefineCommand, WhatCannotBeRefinedIsRefusedInOneLine) {
  const TempFolder folder;
  write_atomically(folder / "and.blif", std::string_view(kAnd));
  write_atomically(folder / "short.txt", std::string_view("00 1\n"));
  const Arguments wrong[] = {
      {"refine", folder / "nothing"},
      {"refine", folder / "and.blif"},
      {"refine", folder / "and.blif", "--table", folder / "nothing"},
      {"refine", folder / "and.blif", "--table", folder / "short.txt"},
      {"refine", folder / "and.blif", "--table", folder / "short.txt", "-o", folder / "and.blif"},
      {"refine", folder / "and.blif", "--table", folder / "short.txt", "-o", folder / "out.nothing"},
      {"refine", folder / "and.blif", "--evaluations", "0"},
  };
  for (const Arguments& arguments : wrong) {
    const Ended e = run(arguments);
    EXPECT_NE(e.exit_code, 0);
    EXPECT_EQ(e.error_lines(), 1u) << e.err;
  }
  EXPECT_EQ(read_text(folder / "and.blif"), kAnd);
}

}  // namespace
}  // namespace espalier
