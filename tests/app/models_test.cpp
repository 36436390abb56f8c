// Models as the commands use them: stored files, boards to start from, and what a model remembers of what it learned.
#include "app/program.hpp"
#include "base/files.hpp"
#include "base/image.hpp"
#include "base/pattern.hpp"
#include "decoded_gif.hpp"

namespace espalier {
namespace {

std::string stored(const std::string& name) { return test::source_dir() + "/tests/files/models/" + name; }

TEST(StoredModels, RunAndAreJudgedAsTheyWere) {
  const std::tuple<const char*, const char*, int> boards[] = {{"board", "b5e0fcbb8f4d93f766a950662914e61c", 32},
                                                              {"life", "a21d459c03bf6c99b7ce04b81707a4d0", 0},
                                                              {"pattern", "1ccf7168ccd4b582bd00040351d71078", 5}};
  for (const auto& [name, hash, alive] : boards) {
    const auto j = run({"run", stored(name), "--quiet", "--json", "--seed", "3"}).json();
    EXPECT_EQ(j.at("board_hash"), hash) << name;
    EXPECT_EQ(j.at("alive"), alive) << name;
  }
  // Soft gates: values near those of the program that wrote it, whose last bits depend on the machine.
  EXPECT_NEAR(run({"run", stored("board"), "--soft", "--quiet", "--json", "--seed", "3"}).json().at("alive"),
              31.61859142850153, 1e-3);
  const auto judged = run({"eval", stored("board"), "--json", "--reset-steps", "100"}).json();
  EXPECT_NEAR(judged.at("score"), 0.975, 1e-3);  // boards that nothing has seen
  EXPECT_EQ(judged.at("active_gates"), 35);
  EXPECT_EQ(judged.at("trials").at(5).at("score"), 0.6796875);
  EXPECT_EQ(run({"eval", stored("pattern"), "--require-solved"}).exit_code, 3) << "not on a board of twice the size";
  EXPECT_EQ(run({"eval", stored("life"), "--require-solved"}).exit_code, 3);
}

TEST(StoredModels, PredictAndRewriteAsTheyDid) {
  const Ended predicted = run({"predict", stored("table"), stored("table/rows.csv"), "--probabilities"});
  EXPECT_EQ(predicted.exit_code, 0) << predicted.err;
  EXPECT_TRUE(predicted.out.starts_with("kind,p(a),p(b)\na,0.8090,0.1910\na,0.7416,0.2584\na,0.7483,0.2517\n"))
      << predicted.out;
  const auto j = run({"rewrite", stored("simplify"), "(- x (* 0 z))", "--json", "--check"}).json();
  EXPECT_EQ(j.at("passes"), (nlohmann::json{"(- x (* 0 z))", "(- x 0)", "x"}));
  EXPECT_EQ(j.at("exact"), true);
  for (const char* name : {"board", "table", "simplify"}) EXPECT_EQ(run({"info", stored(name)}).exit_code, 0) << name;
  const auto circuit = run({"circuit", stored("board"), "--json"}).json();
  EXPECT_EQ(circuit.at("raw").at("gates"), 368);  // constants are no gates
  EXPECT_EQ(circuit.at("equal"), true);
}

TEST(StoredModels, ARunThatAnotherVersionBeganIsNotGoneOnWith) {
  const TempFolder folder;
  std::ofstream(folder / "config.json") << R"({"task": "checkerboard-small"})";
  std::ofstream(folder / "checkpoint.safetensors", std::ios::binary) << text_of(stored("board/model.safetensors"));
  expect_one_line(run({"train", "--resume", folder.path()}), 1, {"format", "another version"});
}

TEST(Models, OfAnotherKindAreNamed) {
  expect_one_line(run({"run", stored("table")}), 1, {"table network", "logic automaton"});
  expect_one_line(run({"predict", stored("board"), stored("table/rows.csv")}), 1, {"logic automaton", "table network"});
  expect_one_line(run({"rewrite", stored("board"), "x"}), 1, {"logic automaton", "rewrite network"});
}

// What training calls solved, eval does too: trials that were switched off count in neither, and both name them.
TEST(Models, EvalJudgesByWhatTrainingWasAskedFor) {
  const std::string kNotAsked = "not asked for: larger, dead square, healing";
  const TempFolder folder;
  const Ended trained = run({"train", "checkerboard-small", "--quiet", "--require-solved", "--out", folder / "run"});
  ASSERT_EQ(trained.exit_code, 0) << trained.out << trained.err;
  EXPECT_NE((trained.out + trained.err).find(kNotAsked), std::string::npos) << trained.out << trained.err;
  const Ended judged = run({"eval", folder / "run", "--require-solved", "--reset-steps", "5", "--json"});
  EXPECT_EQ(judged.exit_code, 0) << judged.out;
  EXPECT_NE(judged.out.find(kNotAsked), std::string::npos) << judged.out;
}

// --- A model that knows its rule, trained once: cells that hand on what is above and to the left of them.
class Starts : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempFolder;
    std::string table;
    for (int patch = 0; patch < 512; ++patch) table += patch & 1 ? '1' : '0';
    std::ofstream(*folder_ / "shift.txt") << table;
    const Ended e =
        run({"train", "rule", "--table", *folder_ / "shift.txt", "--quiet", "--require-solved", "--out", model()});
    ASSERT_EQ(e.exit_code, 0) << e.out << e.err;
  }
  static void TearDownTestSuite() { delete folder_; }
  static std::string model() { return *folder_ / "run"; }

  // The last board of a run as text, from the picture it writes.
  static std::string last_board(const Arguments& more) {
    Arguments all{"run", model(), "--scale", "1", "--quiet", "--png", *folder_ / "last.png"};
    all.insert(all.end(), more.begin(), more.end());
    const Ended e = run(all);
    EXPECT_EQ(e.exit_code, 0) << e.err;
    return format_pattern(read_pattern(*folder_ / "last.png"));
  }

  static inline TempFolder* folder_ = nullptr;
};

const std::string kGlider = ".#.\n..#\n###\n";

// In the middle of a board of 9 x 9, moved down and to the right.
std::string glider_at(int shift) {
  std::string board;
  for (int y = 0; y < 9; ++y) {
    for (int x = 0; x < 9; ++x) {
      const int v = (y - 3 - shift + 18) % 9, u = (x - 3 - shift + 18) % 9;
      board += v < 3 && u < 3 ? kGlider[static_cast<std::size_t>(v * 4 + u)] : '.';
    }
    board += '\n';
  }
  return board;
}

TEST_F(Starts, TextPicturesAndRleAreTheSameBoard) {
  std::ofstream(*folder_ / "glider.txt") << kGlider;
  for (const char* name : {"glider.rle", "GLIDER.RLE", "rle.txt"})  // told by its content
    std::ofstream(*folder_ / name) << "#N Glider\nx = 3, y = 3, rule = B3/S23\nbob$2bo$3o!\n";
  Image image(3, 3);
  for (int y = 0; y < 3; ++y)
    for (int x = 0; x < 3; ++x)
      if (kGlider[static_cast<std::size_t>(4 * y + x)] == '#') image.set(y, x, {255, 255, 255});
  write_png(*folder_ / "glider.png", image);
  for (const char* name : {"glider.txt", "glider.rle", "GLIDER.RLE", "rle.txt", "glider.png"})
    for (const int steps : {1, 2, 5})
      EXPECT_EQ(last_board({"--size", "9", "--start", *folder_ / name, "--steps", std::to_string(steps)}),
                glider_at(steps))
          << name << " after " << steps;
}

TEST_F(Starts, NoStepsShowTheStartAlone) {
  std::ofstream(*folder_ / "still.txt") << kGlider;
  const Arguments from{"--size", "9", "--start", *folder_ / "still.txt", "--steps", "0"};
  EXPECT_EQ(last_board(from), glider_at(0));
  const auto with = [&](const Arguments& more) {
    Arguments all{"run", model()};
    all.insert(all.end(), from.begin(), from.end());
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  const nlohmann::json j = with({"--json"}).json();
  EXPECT_EQ(j.at("steps"), 0);
  EXPECT_EQ(j.at("alive"), 5);
  EXPECT_NE(with({}).out, "");
  ASSERT_EQ(with({"--quiet", "--gif", *folder_ / "still.gif"}).exit_code, 0);
  EXPECT_EQ(decode_gif(read_bytes(*folder_ / "still.gif")).frames.size(), 1u);
  EXPECT_EQ(with({"--damage", "0,0,2,2", "--json"}).json().at("alive"), 5);
}

TEST(Life, AGliderFliesThroughLearnedLife) {
  const TempFolder folder;
  ASSERT_EQ(run({"train", "life", "--seeds", "4", "--require-solved", "--quiet", "--out", folder / "run"}).exit_code,
            0);
  std::ofstream(folder / "glider.rle") << "x = 3, y = 3, rule = B3/S23\nbob$2bo$3o!\n";
  for (const int flights : {1, 3, 9}) {  // of four steps, each a cell down and to the right; nine are once around
    ASSERT_EQ(run({"run", folder / "run", "--size", "9", "--start", folder / "glider.rle", "--steps",
                   std::to_string(4 * flights), "--scale", "1", "--quiet", "--png", folder / "last.png"})
                  .exit_code,
              0);
    EXPECT_EQ(format_pattern(read_pattern(folder / "last.png")), glider_at(flights % 9)) << flights;
  }
  // A pattern of another rule is told of, and run.
  const auto said = [&](const std::string& rule) {
    std::ofstream(folder / "other.rle") << "x = 3, y = 3" + rule + "\nbob$2bo$3o!\n";
    const Ended e = run({"run", folder / "run", "--start", folder / "other.rle", "--steps", "1", "--json"});
    EXPECT_EQ(e.exit_code, 0) << rule;
    return e.err;
  };
  for (const char* same : {"", ", rule = 23/3", ", rule = b3s23", ", rule = B3/S23:T100,200"})
    EXPECT_EQ(said(same), "");
  for (const std::string other : {"B36/S23", "WireWorld"}) {
    const std::string line = said(", rule = " + other);
    EXPECT_NE(line.find("the rule " + other + "; the model is one of B3/S23"), std::string::npos) << line;
    EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << line;
  }
}

TEST_F(Starts, WhatDoesNotFitIsRefused) {
  std::ofstream(*folder_ / "large.txt") << std::string(70, '#') + "\n";
  std::ofstream(*folder_ / "colour.txt") << "rgb\n";
  std::ofstream(*folder_ / "bad.rle") << "x = 3, y = 3\nbob$2bo$3oq!\n";
  expect_one_line(run({"run", model(), "--start", *folder_ / "large.txt"}), 2, {"--start", "1 x 70", "64 x 64"});
  expect_one_line(run({"run", model(), "--start", *folder_ / "colour.txt"}), 2, {"3 channels", "at most 1"});
  expect_one_line(run({"run", model(), "--start", *folder_ / "bad.rle"}), 1, {"bad.rle"});
  expect_one_line(run({"run", model(), "--start", *folder_ / "none.png"}), 1, {"none.png"});
  std::ofstream(*folder_ / "wires.rle") << "x = 3, y = 1, rule = WireWorld\nABC!\n";
  std::ofstream(*folder_ / "glider.cells") << "!Name: Glider\n.O.\n..O\nOOO\n";
  write_png(*folder_ / "gray.png", Image(4, 4, {90, 90, 90}));
  expect_one_line(run({"run", model(), "--start", *folder_ / "wires.rle"}), 1, {"'B', a state beyond 1"});
  expect_one_line(run({"run", model(), "--start", *folder_ / "glider.cells"}), 1,
                  {"a .cells pattern", ".png", ".txt", ".rle"});
  expect_one_line(run({"run", model(), "--start", *folder_ / "gray.png"}), 1, {"brighter than half"});
  expect_one_line(run({"run", model(), "--damage", "-1,0,2,2"}), 2, {"--damage", "-1,0,2,2", "TOP,LEFT"});
  expect_one_line(run({"run", model(), "--size", "-8"}), 2, {"--size", "sides of 1 to"});
  expect_one_line(run({"run", model(), "--steps", "-1"}), 2, {"--steps", "got -1, expected 0 to 1000000000"});
  expect_one_line(run({"prove", model(), "period", "-1"}), 2, {"period", "1 to 1000"});
}

TEST_F(Starts, TheModelIsJudgedByItsOwnRule) {
  const auto j = run({"eval", model(), "--json"}).json();
  EXPECT_EQ(j.at("goal"), *folder_ / "shift.txt");
  EXPECT_EQ(j.at("solved"), true);
  EXPECT_EQ(j.at("trials").at(1).at("name"), "long run");
  EXPECT_EQ(j.at("trials").at(1).at("exact"), true);
}

TEST(Rules, HighLifeIsComparedWithHighLife) {
  const TempFolder folder;
  for (const char* rule : {"B36/S23", "b36s23"}) {
    const std::string out = folder / (rule[0] == 'B' ? "a" : "b");
    ASSERT_EQ(run({"train", "rule", "--rule", rule, "--train-steps", "2", "--quiet", "--out", out}).exit_code, 0);
    const auto j = run({"eval", out, "--json"}).json();
    EXPECT_EQ(j.at("goal"), "B36/S23");
    EXPECT_NE(j.at("trials").at(1).at("description").dump().find("against B36/S23"), std::string::npos);
  }
  EXPECT_EQ(text_of(folder / "a/metrics.csv").substr(0, 5), "step,");
}

}  // namespace
}  // namespace espalier
