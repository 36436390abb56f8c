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
  // The weights that it was made from are another network.
  expect_one_line(run({"eval", folder / "whole", "--divergence", "--json"}), 1, {"no weights made"});
  const Ended trained = run({"eval", folder / "run", "--divergence", "--json", "--svg", folder / "apart.svg"});
  EXPECT_GT(trained.json().at("steps").back().at("difference"), 0.0);
  EXPECT_NE(read_text(folder / "apart.svg").find("<svg"), std::string::npos);
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

class RefineFiles : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempFolder;
    ASSERT_EQ(run({"train", "checkerboard-small", "--train-steps", "2", "--refine", "0", "--quiet", "--out",
                   *folder_ / "run"})
                  .exit_code,
              0);
  }
  static void TearDownTestSuite() { delete folder_; }

  static Arguments refine(const std::string& model, const std::string& out, const Arguments& more = {}) {
    Arguments all{"refine", model, "-o", out, "--evaluations", "3000", "--quiet", "--json"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  static std::string model() { return *folder_ / "run"; }

  static inline TempFolder* folder_ = nullptr;
};

TEST_F(RefineFiles, OneOutputHasOneOwner) {
  const TempFolder out;
  Running first({"refine", model(), "-o", out / "m", "--evaluations", "1000000000000", "--quiet", "--json"});
  first.wait_for(out / "m.search");
  expect_one_line(run(refine(model(), out / "m")), 1, {std::to_string(first.pid()), "searching"});
  first.send(SIGINT);
  EXPECT_EQ(first.wait().exit_code, 130);
  EXPECT_FALSE(std::filesystem::exists(out / "m.lock"));
  EXPECT_EQ(run(refine(model(), out / "m", {"--seed", "2"})).exit_code, 0);
}

TEST_F(RefineFiles, StreamsAreRefused) {
  for (const char* stream : {"-", "/dev/stdout", "/dev/null"}) expect_one_line(run(refine(model(), stream)), 2, {"-o"});
  EXPECT_FALSE(std::filesystem::exists("-"));
}

TEST_F(RefineFiles, WhatIsNoSearchIsNotDeleted) {
  const TempFolder out;
  std::filesystem::copy(model() + "/model.safetensors", out / "m.search");
  const std::string before = text_of(out / "m.search");
  expect_one_line(run(refine(out / "m.search", out / "m")), 1, {"m.search"});
  write_atomically(out / "n.search", std::string_view("my notes"));
  expect_one_line(run(refine(model(), out / "n")), 1, {"n.search"});
  EXPECT_EQ(text_of(out / "m.search"), before);
  EXPECT_EQ(text_of(out / "n.search"), "my notes");
}

TEST_F(RefineFiles, AFolderWhoseNameIsNotUtf8IsRefined) {
  const TempFolder out;
  std::filesystem::copy(model(), out / "run\xff");
  const Ended e = run(refine(out / "run\xff", out / "m"));
  EXPECT_EQ(e.exit_code, 0) << e.err;
  EXPECT_TRUE(std::filesystem::exists(out / "m"));
}

TEST_F(RefineFiles, ASearchWithAnyNumberChangedIsRefused) {
  const TempFolder out;
  ASSERT_EQ(run(refine(model(), out / "m", {"--seconds", "0.000001"})).exit_code, 0);
  const std::string good = text_of(out / "m.search");
  for (const char* name : {"evaluations", "generation", "best_wrong", "improved_at", "parent_wrong"}) {
    std::string changed = good;
    changed[good.find(std::string("\"") + name + "\"") + std::string(name).size() + 4] ^= 1;
    write_atomically(out / "m.search", std::string_view(changed));
    expect_one_line(run(refine(model(), out / "m", {"--resume"})), 1, {"m.search"});
  }
  write_atomically(out / "m.search", std::string_view(good));
  EXPECT_EQ(run(refine(model(), out / "m", {"--resume"})).exit_code, 0);
}

}  // namespace
}  // namespace espalier
