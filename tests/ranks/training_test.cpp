// One seed over ranks: the same bits for any number of them, with any number of threads each, also after an end and a
// beginning with another number.
#include <fstream>

#include "espalier/random.hpp"
#include "ranks/mpirun.hpp"

namespace espalier {
namespace {

// Trains without mpirun, then with every number of ranks and threads.
void expect_one_hash(const Arguments& task) {
  const TempFolder folder;
  const Arguments all = Arguments{"train"} + task + Arguments{"--seeds", "1", "--quiet", "--json", "--force"};
  const std::string alone = hash_of(run(all + Arguments{"--out", folder / "alone"}));
  for (const int count : kRankCounts)
    for (const char* threads : {"1", "2"}) {
      const Ended e =
          run(all + Arguments{"--threads", threads, "--check-ranks", "--out", folder / "ranks"}, ranks(count));
      EXPECT_EQ(hash_of(e), alone) << count << " ranks, " << threads << " threads";
      EXPECT_EQ(metrics_but_seconds(folder / "ranks"), metrics_but_seconds(folder / "alone"));
      EXPECT_EQ(text_of(folder / "ranks/model.safetensors"), text_of(folder / "alone/model.safetensors"));
    }
}

TEST(RanksDeterminism, LifeGivesOneHash) {
  expect_one_hash({"life", "--train-steps", "4", "--eval-every", "2", "--refine", "3000"});
}

TEST(RanksDeterminism, ACheckerboardGivesOneHash) {
  expect_one_hash({"checkerboard-small", "--train-steps", "4", "--eval-every", "2", "--refine", "3000"});
}

TEST(RanksDeterminism, AnAsynchronousCheckerboardGivesOneHash) {
  expect_one_hash({"checkerboard-async", "--train-steps", "2", "--eval-every", "2", "--steps", "6", "--batch", "5",
                   "--refine", "300"});
}

TEST(RanksDeterminism, APictureGivesOneHash) {
  expect_one_hash({"pattern", "--by", "training", "--target", test::source_dir() + "/data/targets/lizard-20.txt",
                   "--train-steps", "2", "--eval-every", "2", "--steps", "4", "--batch", "3", "--refine", "300"});
}

// The other lattice tasks, with five boards: so that there is something to share, and not equally.
const Arguments kFive{"--train-steps", "2", "--eval-every", "2", "--refine", "0", "--batch", "5"};

TEST(RanksDeterminism, ALargeCheckerboardGivesOneHash) {
  expect_one_hash(Arguments{"checkerboard", "--steps", "2"} + kFive);
}
TEST(RanksDeterminism, ALetterGivesOneHash) {
  expect_one_hash(Arguments{"letter", "--by", "training", "--steps", "2"} + kFive);
}
TEST(RanksDeterminism, ALizardGivesOneHash) {
  expect_one_hash(Arguments{"lizard", "--by", "training", "--steps", "2"} + kFive);
}
TEST(RanksDeterminism, AnyRuleGivesOneHash) {
  expect_one_hash(Arguments{"rule", "--rule", "B36/S23"} + kFive + Arguments{"--batch", "20"});
}
TEST(RanksDeterminism, PairsOfBoardsGiveOneHash) {
  expect_one_hash(Arguments{"boards", "--data", test::source_dir() + "/tests/files/pairs.npz"} + kFive);
}
TEST(RanksDeterminism, APictureThatHealsGivesOneHash) {
  expect_one_hash(Arguments{"pattern", "--by", "training", "--target",
                            test::source_dir() + "/data/targets/lizard-20.txt", "--heal", "--steps", "2"} +
                  kFive);
}

void write_table(const std::string& path) {
  std::ofstream csv(path);
  const Random random(3, Purpose::kData);
  csv << "a,b,c,y\n";
  for (int i = 0; i < 1500; ++i) {
    const float a = random.normal(3 * i), b = random.normal(3 * i + 1), c = random.normal(3 * i + 2);
    csv << a << "," << b << "," << c << "," << (a * b > c ? "yes" : "no") << "\n";
  }
}

TEST(RanksDeterminism, ATableGivesOneHash) {
  const TempFolder folder;
  write_table(folder / "table.csv");
  expect_one_hash({"table", "--csv", folder / "table.csv", "--target", "y", "--batch-size", "700", "--grow", "2",
                   "--train-steps", "6", "--eval-every", "3"});
}

TEST(RanksDeterminism, SimplifyingGivesOneHash) {
  expect_one_hash({"simplify", "--train-examples", "200", "--validation-examples", "20", "--test-examples", "20",
                   "--deep-examples", "5", "--train-steps", "4", "--eval-every", "2"});
}

TEST(RanksDeterminism, OverTcpWithoutSharedMemoryTheHashIsTheSame) {
  for (const char* seeds : {"1", "3"}) {
    const TempFolder folder;
    const Arguments task{"train", "checkerboard-small", "--seeds", seeds, "--train-steps", "4", "--quiet", "--json"};
    const std::string alone = hash_of(run(task + Arguments{"--out", folder / "alone"}));
    EXPECT_EQ(hash_of(run(task + Arguments{"--out", folder / "tcp"}, ranks_over_tcp(3))), alone);
    EXPECT_EQ(text_of(folder / "tcp/model.safetensors"), text_of(folder / "alone/model.safetensors"));
  }
}

// What is too long for one message of the library: gathers of one seed, checkpoints and models of several.
TEST(RanksDeterminism, MessagesInPiecesGiveTheSameHash) {
  for (const char* seeds : {"1", "3"}) {
    const TempFolder folder;
    const Arguments task{"train", "checkerboard-small", "--seeds", seeds, "--train-steps", "4", "--quiet", "--json"};
    Surroundings around = ranks(3);
    around.environment.emplace_back("ESPALIER_MESSAGE_BYTES", "1000");
    const std::string alone = hash_of(run(task + Arguments{"--out", folder / "alone"}));
    EXPECT_EQ(hash_of(run(task + Arguments{"--out", folder / "pieces"}, around)), alone);
    EXPECT_EQ(text_of(folder / "pieces/model.safetensors"), text_of(folder / "alone/model.safetensors"));
  }
}

TEST(RanksResume, WithAnotherNumberOfRanksTheBitsAreTheSame) {
  const TempFolder folder;
  const Arguments task{"train", "checkerboard-small", "--seeds", "1", "--eval-every", "2", "--quiet", "--json"};
  const std::string whole = hash_of(run(task + Arguments{"--train-steps", "9", "--out", folder / "whole"}));
  hash_of(run(task + Arguments{"--train-steps", "2", "--out", folder / "parts"}, ranks(3)));
  const auto go_on = [&](const char* steps, int count) {
    return hash_of(run({"train", "--resume", folder / "parts", "--train-steps", steps, "--quiet", "--json"},
                       count ? ranks(count) : Surroundings{}));
  };
  go_on("4", 2);
  go_on("6", 0);
  go_on("8", 7);
  EXPECT_EQ(go_on("9", 4), whole);
  EXPECT_EQ(metrics_but_seconds(folder / "parts"), metrics_but_seconds(folder / "whole"));
}

TEST(RanksResume, ATrainingOnAFileGoesOnWithAnotherNumberOfRanks) {
  const TempFolder folder;
  write_table(folder / "table.csv");
  const Arguments task{"train",    "table", "--schedule",   "constant", "--csv",   folder / "table.csv",
                       "--target", "y",     "--batch-size", "700",      "--seeds", "1",
                       "--quiet",  "--json"};
  const std::string whole = hash_of(run(task + Arguments{"--train-steps", "4", "--out", folder / "whole"}));
  hash_of(run(task + Arguments{"--train-steps", "2", "--out", folder / "parts"}, ranks(3)));
  const Ended more = run({"train", "--resume", folder / "parts", "--train-steps", "4", "--quiet", "--json"}, ranks(2));
  EXPECT_EQ(hash_of(more), whole);
}

TEST(Ranks, OnlyTheFirstPrints) {
  const TempFolder folder;
  const Ended e = run({"train", "checkerboard-small", "--seeds", "1", "--train-steps", "2", "--quiet", "--timing",
                       "--out", folder / "run"},
                      ranks(4));
  EXPECT_EQ(e.exit_code, 0) << e.err;
  EXPECT_EQ(count_of(e.out, "weights "), 1u) << e.out;
  EXPECT_EQ(count_of(e.err, "bytes per step"), 1u) << e.err;
}

TEST(Ranks, CommandsThatDoNotShareWorkRunOnce) {
  const Ended e = run({"train", "--list"}, ranks(3));
  EXPECT_EQ(e.exit_code, 0) << e.err;
  EXPECT_EQ(e.out, run({"train", "--list"}).out);
  EXPECT_EQ(run({"bench", "--list"}, ranks(2)).out, run({"bench", "--list"}).out);
}

}  // namespace
}  // namespace espalier
