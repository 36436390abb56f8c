// A board over ranks in bands of rows: the board of one process.
#include "ranks/mpirun.hpp"

namespace espalier {
namespace {

class RanksBands : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempFolder;
    const Arguments quick{"--train-steps", "2", "--eval-every", "2", "--seeds", "1", "--quiet"};
    ASSERT_EQ(run(Arguments{"train", "life", "--out", *folder_ / "life"} + quick).exit_code, 0);
    ASSERT_EQ(run(Arguments{"train", "checkerboard-small", "--out", *folder_ / "board"} + quick).exit_code, 0);
    ASSERT_EQ(run(Arguments{"train", "pattern", "--by", "training", "--target",
                            test::source_dir() + "/data/targets/lizard-20.txt", "--steps", "4", "--out",
                            *folder_ / "picture"} +
                  quick)
                  .exit_code,
              0);
  }
  static void TearDownTestSuite() { delete folder_; }

  static void expect_one_board(const std::string& model, const Arguments& options) {
    const Arguments all = Arguments{"run", *folder_ / model, "--json"} + options;
    const auto alone = run(all).json();
    for (const int count : {2, 3, 7}) {
      const Ended e = run(all, count == 7 ? ranks_over_tcp(count) : ranks(count));
      ASSERT_EQ(e.exit_code, 0) << e.err;
      const auto j = e.json();
      EXPECT_EQ(j.at("board_hash"), alone.at("board_hash")) << count << " ranks";
      EXPECT_EQ(j.at("alive"), alone.at("alive"));
    }
  }
  static inline TempFolder* folder_ = nullptr;
};

TEST_F(RanksBands, PeriodicBoards) { expect_one_board("life", {"--size", "50x131", "--steps", "30"}); }
TEST_F(RanksBands, AsynchronousBoards) {
  expect_one_board("life", {"--size", "37x200", "--steps", "20", "--async", "0.6"});
}
TEST_F(RanksBands, DamageAndResets) {
  expect_one_board("board", {"--size", "40x66", "--steps", "20", "--damage", "15,5,10,40,3,9", "--reset", "7"});
}
TEST_F(RanksBands, BoardsWithZerosAround) { expect_one_board("picture", {"--size", "45x30", "--steps", "25"}); }
TEST_F(RanksBands, FewerRowsThanRanks) { expect_one_board("life", {"--size", "5x70", "--steps", "12"}); }

TEST_F(RanksBands, APictureIsDrawnByTheFirstRank) {
  const Arguments all{"run", *folder_ / "life", "--size", "30", "--steps", "8", "--quiet"};
  ASSERT_EQ(run(all + Arguments{"--gif", *folder_ / "alone.gif"}).exit_code, 0);
  ASSERT_EQ(run(all + Arguments{"--gif", *folder_ / "ranks.gif"}, ranks(3)).exit_code, 0);
  EXPECT_EQ(text_of(*folder_ / "ranks.gif"), text_of(*folder_ / "alone.gif"));
}

TEST_F(RanksBands, TrialsGiveTheScoresOfOneProcess) {
  for (const char* model : {"life", "board", "picture"}) {
    const Arguments all{"eval", *folder_ / model, "--reset-steps", "20", "--json"};
    auto alone = run(all).json(), shared = run(all, ranks(3)).json();
    alone.erase("seconds");
    shared.erase("seconds");
    EXPECT_EQ(shared, alone) << model;
  }
}

}  // namespace
}  // namespace espalier
