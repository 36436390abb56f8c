// What ranks cost: the bytes that each sends for a step, as docs/scaling.md says, and the memory that each needs.
#include <fstream>

#include "ranks/mpirun.hpp"

namespace espalier {
namespace {

using Figures = std::vector<std::uint64_t>;

const Arguments kShort{"--seeds", "1", "--train-steps", "3", "--eval-every", "2", "--quiet", "--json"};
const Arguments kSimplify{"simplify", "--train-examples", "200", "--validation-examples", "20", "--test-examples",
                          "20",       "--deep-examples",  "5"};

nlohmann::json trained(const Arguments& task, int count) {
  const TempFolder folder;
  const Ended e = run(Arguments{"train"} + task + Arguments{"--out", folder / "run"}, ranks(count));
  EXPECT_EQ(e.exit_code, 0) << e.err;
  return e.json();
}

Figures bytes_per_step(const nlohmann::json& j) { return j.at("ranks").at("bytes_per_step").get<Figures>(); }

// Each rank gives every other one the sums of its whole subtrees, its part of the last states, and a byte that says
// whether to stop. Of 32 slots in groups of two, three ranks have 10, 10 and 12: 2, 3 and 2 subtrees.
TEST(RanksFigures, ALatticeSendsWhatTheModelSays) {
  const Arguments task = Arguments{"checkerboard", "--batch", "16", "--steps", "2", "--refine", "0"} + kShort;
  constexpr std::uint64_t kGradient = 3040 * 4 * 4, kBoard = 16 * 16 * 4;
  EXPECT_EQ(bytes_per_step(trained(task, 2)), Figures(2, kGradient + 8 * kBoard + 1));
  EXPECT_EQ(bytes_per_step(trained(task, 3)),
            (Figures{2 * (2 * kGradient + 5 * kBoard + 1), 2 * (3 * kGradient + 5 * kBoard + 1),
                     2 * (2 * kGradient + 6 * kBoard + 1)}));
}

// 16 slots, of which three ranks have 5, 5 and 6; a loss of each.
TEST(RanksFigures, SimplifyingSendsWhatTheModelSays) {
  const auto two = trained(kSimplify + kShort, 2);
  const std::uint64_t gradient = two.at("num_parameters").get<std::uint64_t>() * 4;
  EXPECT_EQ(bytes_per_step(two), Figures(2, gradient + 8 * 8 + 1));
  EXPECT_EQ(bytes_per_step(trained(kSimplify + kShort, 3)),
            (Figures{2 * (2 * gradient + 5 * 8 + 1), 2 * (3 * gradient + 5 * 8 + 1), 2 * (2 * gradient + 6 * 8 + 1)}));
}

// A batch of 700 rows is 11 slots of 64 rows, of which two ranks have 5 and 6: 2 and 3 subtrees. The network has 3
// inputs, 16 hidden nodes and 2 outputs. Evaluations over ranks are no part of a step.
TEST(RanksFigures, ATableSendsWhatTheModelSays) {
  const TempFolder folder;
  std::ofstream csv(folder / "table.csv");
  csv << "a,b,c,y\n";
  for (int i = 0; i < 1500; ++i)
    csv << i % 7 << "," << i % 11 << "," << i % 13 << "," << (i % 3 ? "yes" : "no") << "\n";
  csv.close();
  const Arguments task{"table", "--csv", folder / "table.csv", "--target", "y", "--hidden", "16", "--batch-size"};
  constexpr std::uint64_t kGradient = ((3 * 16 + 16 * 2 + 3 * 2) + (3 + 16 + 2)) * 4, kRow = 2 * 4;
  EXPECT_EQ(bytes_per_step(trained(task + Arguments{"700"} + kShort, 2)),
            (Figures{2 * kGradient + 320 * kRow + 1, 3 * kGradient + 380 * kRow + 1}));
  EXPECT_EQ(bytes_per_step(trained(task + Arguments{"32"} + kShort, 2)), Figures(2, 1)) << "one slot is not shared";
}

TEST(RanksFigures, SeveralSeedsSendCheckpointsToTheFirstRank) {
  const Figures bytes = bytes_per_step(trained(
      {"checkerboard-small", "--seeds", "3", "--train-steps", "4", "--checkpoint-every", "2", "--quiet", "--json"}, 3));
  ASSERT_EQ(bytes.size(), 3u);
  EXPECT_GT(bytes[1], 10 * bytes[0]);
  EXPECT_GT(bytes[2], 10 * bytes[0]);
}

TEST(RanksFigures, NoRankNeedsATenthMoreMemoryThanAnother) {
  for (const Arguments& task : {Arguments{"checkerboard", "--batch", "16", "--steps", "4", "--refine", "0"} + kShort,
                                Arguments{"lizard", "--by", "training", "--seeds", "6", "--train-steps", "2",
                                          "--refine", "0", "--quiet", "--json"},
                                kSimplify + kShort}) {
    const auto peaks = trained(task + Arguments{"--threads", "1"}, 3).at("ranks").at("peak_rss_mb");
    ASSERT_EQ(peaks.size(), 3u);
    const auto [least, most] = std::minmax_element(peaks.begin(), peaks.end());
    EXPECT_LE(most->get<double>(), 1.1 * least->get<double>()) << task[0] << ": " << peaks;
  }
}

TEST(RanksFigures, RanksWithoutUseAreToldOf) {
  const auto said = [](const Arguments& task) {
    const TempFolder folder;
    return run(Arguments{"train"} + task + kShort + Arguments{"--out", folder / "run"}, ranks(2)).err;
  };
  const char* words = "no part of a step can be shared out: each of the 2 ranks does all of it";
  EXPECT_EQ(count_of(said({"letter", "--by", "training", "--steps", "2", "--refine", "0"}), words), 1u);
  EXPECT_EQ(count_of(said({"checkerboard-small", "--refine", "0"}), words), 0u);
}

TEST(RanksFigures, TheBenchOfRanksEndsInTheSameWeights) {
  const Ended e = run({"bench", "--comm", "--seconds", "0.1", "--json"}, ranks(2));
  ASSERT_EQ(e.exit_code, 0) << e.err;
  const auto j = e.json();
  EXPECT_EQ(count_of(e.err, "--bind-to none"), j.at("cores").get<int>() < 2 ? 1u : 0u) << e.err;
  EXPECT_EQ(j.at("gather").size(), 5u);
  ASSERT_EQ(j.at("steps").size(), 2u);
  EXPECT_EQ(j.at("steps")[0].at("bytes_sent"), 56832);
  EXPECT_EQ(j.at("steps")[1].at("bytes_sent"), 147800);
  for (const auto& step : j.at("steps")) EXPECT_EQ(step.at("weights_equal"), true);
}

}  // namespace
}  // namespace espalier
