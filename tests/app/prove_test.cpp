// The command prove as a user runs it, mostly on a small checkerboard that is trained once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>

#include "base/files.hpp"
#include "base/image.hpp"
#include "codecs.hpp"
#include "program.hpp"
#include "synth/tools.hpp"

namespace espalier {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

class Prove : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TempFolder>();
    const Ended trained = run({"train", "checkerboard-small", "--require-solved", "--quiet", "--out", model()});
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
  }
  static void TearDownTestSuite() { folder_.reset(); }
  static std::string model() { return *folder_ / "run"; }

  static std::unique_ptr<TempFolder> folder_;
};
std::unique_ptr<TempFolder> Prove::folder_;

// Trials that training did not ask for are named, and keep nothing from being solved; asked for, they do.
TEST_F(Prove, AModelIsSolvedForEvalAsItWasForTraining) {
  const Ended judged = run({"eval", model(), "--reset-steps", "1", "--require-solved"});
  EXPECT_EQ(judged.exit_code, 0);
  EXPECT_THAT(judged.out,
              HasSubstr("\nsolved: every bit right; not asked for: larger, dead square, healing, judged by "));
  EXPECT_THAT(judged.out, ContainsRegex("resets +[0-9.]+ %  +a random"));  // not exact
  EXPECT_THAT(judged.out, ContainsRegex("boards +100.00 %  exact "));
}

TEST_F(Prove, ATrainedCheckerboardConvergesFromEveryStart) {
  const Ended text = run({"prove", model(), "converges"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("proved: from every start the 8 x 8 board shows the target after 10 steps"));
  EXPECT_THAT(text.out, HasSubstr("2^256 boards"));
  const nlohmann::json j = run({"prove", model(), "converges", "--json"}).json();
  EXPECT_EQ(j["verdict"], "proved");
  EXPECT_GT(j["gates"], 0);
}

TEST_F(Prove, GatesAreThoseOfAnUnrolledBoardWhereThereIsOne) {
  const Arguments settles{"prove",   model(), "converges", "--async", "--size", "2",
                          "--steps", "6",     "--round",   "3",       "--json"};
  for (const Arguments& command : {settles, {"prove", model(), "equals", "--rule", "B3/S23", "--json"}})
    EXPECT_FALSE(run(command).json().contains("gates")) << command[2];
}

TEST_F(Prove, ARefutationComesWithABoardThatIsDrawnAndWritten) {
  const std::string png = *folder_ / "wrong.png";
  const Ended ended = run({"prove", model(), "converges", "--steps", "2", "--png", png, "--json"});
  EXPECT_EQ(ended.exit_code, 4) << ended.err;
  const nlohmann::json j = ended.json();
  EXPECT_EQ(j["verdict"], "refuted");
  EXPECT_EQ(j["counter_example"]["start"].size(), 4u);  // channels
  EXPECT_EQ(j["counter_example"]["start"][0].size(), 8u);
  const int wrong = j["counter_example"]["wrong"];
  EXPECT_GT(wrong, 0);
  const Image image = read_png(png);
  int marked = 0;
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x) marked += image.at(y, x) == Rgb{240, 140, 0};
  const int cell = 384 / 8;
  EXPECT_EQ(marked, wrong * (cell * cell - 2 * cell));  // but for the cross
  EXPECT_THAT(run({"prove", model(), "converges", "--steps", "2"}).out, HasSubstr("checked by simulation"));
}

// By hand: the board of the answer, run by another command, does what the answer says and breaks the claim.
void expect_replayed(const std::string& model, const Arguments& claim, const TempFolder& folder, int exit_code = 4) {
  Arguments proving{"prove", model, "--json"};
  proving.insert(proving.begin() + 2, claim.begin(), claim.end());
  const Ended proved = run(proving);
  ASSERT_EQ(proved.exit_code, exit_code) << proved.out << proved.err;
  std::ofstream(folder / "proof.json") << proved.out;
  const nlohmann::json example = proved.json().at("counter_example");
  const Ended ran = run({"run", model, "--start", folder / "proof.json", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const nlohmann::json j = ran.json();
  EXPECT_EQ(j.at("start"), example.at("start"));
  EXPECT_EQ(j.at("end"), example.at("end"));
  EXPECT_EQ(j.at("steps"), example.at("steps"));
  int wrong = 0;
  for (std::size_t c = 0; c < example.at("target").size(); ++c)
    for (std::size_t y = 0; y < j.at("height"); ++y)
      for (std::size_t x = 0; x < j.at("width"); ++x)
        wrong += j["end"][c][y].get<std::string>()[x] != example["target"][c][y].get<std::string>()[x];
  EXPECT_GT(wrong, 0);
  EXPECT_EQ(example.at("wrong"), wrong);
  for (std::size_t c = 0; claim[0] == "fixed" && c < example["target"].size(); ++c)
    EXPECT_EQ(j["start"][c], example["target"][c]);
}

TEST_F(Prove, ABoardThatBreaksAClaimIsRunAgain) {
  const TempFolder folder;
  expect_replayed(model(), {"converges", "--steps", "2"}, folder);
  expect_replayed(model(), {"converges", "--steps", "2", "--size", "5x7"}, folder);
  expect_replayed(model(), {"converges", "--async"}, folder);  // with the updates that break it
  const auto j = nlohmann::json::parse(text_of(folder / "proof.json"));
  EXPECT_EQ(j.at("counter_example").at("updates").size(), 20u);
  expect_one_line(run({"run", model(), "--start", folder / "proof.json", "--steps", "21"}), 2, {"--steps", "20"});
  expect_one_line(run({"run", model(), "--start", folder / "proof.json", "--async", "0.5"}), 2, {"--async"});
  expect_replayed(model(), {"fixed"}, folder);
  expect_one_line(run({"run", model(), "--start", folder / "proof.json", "--size", "50"}), 2, {"--size"});
  expect_replayed(model(), {"heals", "--damage", "2", "--steps", "1"}, folder);
  expect_replayed(model(), {"equals", "--rule", "B3/S23"}, folder);
  // What is no such board is named.
  std::ofstream(folder / "proved.json") << run({"prove", model(), "converges", "--json"}).out;
  expect_one_line(run({"run", model(), "--start", folder / "proved.json"}), 1, {"no counter-example", "proved"});
  for (const char* change : {"/counter_example/start/0", "/counter_example/start/1/2", "/counter_example/steps",
                             "/counter_example/updates", "/counter_example"}) {
    nlohmann::json bad = nlohmann::json::parse(text_of(folder / "proof.json"));
    bad[nlohmann::json::json_pointer(change)] = "?";
    std::ofstream(folder / "bad.json") << bad;
    expect_one_line(run({"run", model(), "--start", folder / "bad.json"}), 1, {"bad.json", "prove --json"});
  }
}

TEST_F(Prove, TheBoardThatRefutesIsTheSameForAnyNumberOfThreads) {
  const auto proof = [](const std::string& threads) {
    nlohmann::json j = run({"prove", model(), "converges", "--steps", "2", "--json", "--threads", threads}).json();
    j.erase("seconds");
    return j;
  };
  EXPECT_EQ(proof("1")["verdict"], "refuted");
  EXPECT_EQ(proof("3"), proof("1"));
}

TEST_F(Prove, UndecidedHasAnExitCodeOfItsOwn) {
  const Ended ended = run({"prove", model(), "converges", "--size", "200", "--steps", "500", "--seconds", "0.001"});
  EXPECT_EQ(ended.exit_code, 3) << ended.out << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("undecided"));
}

TEST_F(Prove, TheBoardIsExportedWithItsProperty) {
  const std::string file = *folder_ / "board.aag";
  const Ended ended = run({"export", model(), "--to", "aiger", "--board", "8", "-o", file});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("after 10 steps or later, from any start"));
  EXPECT_THAT(text_of(file), HasSubstr("o0 bad\n"));
  EXPECT_EQ(run({"export", model(), "--to", "blif", "--board", "8", "-o", *folder_ / "board.blif"}).exit_code, 2);
  // In the time that `prove` takes for enough, and in less.
  const auto judged = [&](const char* steps, const std::string& how) {
    const std::string binary = *folder_ / "board.aig";
    const Arguments command{"export", model(), "--to", "aiger-binary", "--board", "8", "--steps", steps, "-o", binary};
    EXPECT_EQ(run(command).exit_code, 0);
    return test::run("berkeley-abc -c 'read_aiger " + binary + "; " + how + "'").output;
  };
  EXPECT_THAT(judged("10", "pdr"), HasSubstr("Property proved"));
  EXPECT_THAT(judged("2", "bmc3 -F 12"), HasSubstr("asserted in frame 2"));
}

TEST_F(Prove, EveryPropertyHasItsAnswer) {
  const auto prove = [](const Arguments& more, int code, const std::vector<std::string>& words) {
    Arguments all{"prove", model()};
    all.insert(all.end(), more.begin(), more.end());
    const Ended ended = run(all);
    EXPECT_EQ(ended.exit_code, code) << ended.out << ended.err;
    for (const std::string& word : words) EXPECT_THAT(ended.out, HasSubstr(word));
  };
  // What is not shown may be anything in that claim; that a board stays where it has come to is proved all the same.
  prove({"fixed"}, 4, {"refuted: every board of any size", "proved that from every start the 8 x 8 board"});
  prove({"period", "2", "--size", "8"}, 4, {"refuted: every 8 x 8 board", "every 2 steps"});
  prove({"equals", "--rule", "B3/S23"}, 4, {"refuted: the cell is B3/S23"});
  prove({"heals", "--damage", "2"}, 0, {"proved: however 2 x 2 cells", "any of 49 places"});
  prove({"heals", "--damage", "2", "--steps", "1"}, 4, {"damage at row"});
  prove({"converges", "--async"}, 4, {"if each does at least once in a round", "the same after 20 moments"});
  prove({"converges", "--async", "--size", "2", "--steps", "6", "--round", "3"}, 0, {"by settling", "ever after"});
}

// The state of the upper left neighbour: no life-like rule, it has a direction.
TEST(ProveARule, ThatWasLearnedFromATableIsWhatTheCellIsComparedWith) {
  const TempFolder folder;
  std::string table;
  for (int patch = 0; patch < 512; ++patch) table += patch & 1 ? '1' : '0';
  std::ofstream(folder / "shift.table") << table << "\n";
  const std::string model = folder / "run";
  ASSERT_EQ(run({"train", "rule", "--table", folder / "shift.table", "--require-solved", "--quiet", "--out", model})
                .exit_code,
            0);
  const Ended proved = run({"prove", model, "equals"});
  EXPECT_EQ(proved.exit_code, 0) << proved.err;
  EXPECT_THAT(proved.out, HasSubstr("proved: the cell is "));
  EXPECT_THAT(proved.out, HasSubstr("shift.table"));
  EXPECT_EQ(run({"prove", model, "equals", "--rule", "B3/S23"}).exit_code, 4);
}

TEST_F(Prove, AProofIsWrittenForOtherCheckers) {
  const std::string proof = *folder_ / "proof";
  const Ended ended = run({"prove", model(), "converges", "--size", "4", "--steps", "10", "--proof", proof});
  ASSERT_EQ(ended.exit_code, 0) << ended.out << ended.err;
  EXPECT_THAT(
      test::run("python3 " + test::source_dir() + "/tests/python/check_drat.py " + proof + ".cnf " + proof).output,
      HasSubstr("VERIFIED"));
}

// The README's sentence.
TEST(ProveTheDefaultTask, TheTrainedCheckerboardConvergesFromEveryStartWhereTheSideIsAMultipleOfFour) {
  const TempFolder folder;
  const std::string board = folder / "board";
  ASSERT_EQ(
      run({"train", "checkerboard", "--seed", "4", "--refine", "0", "--require-solved", "--quiet", "--out", board})
          .exit_code,
      0);
  const auto converges = [&](const char* size, const char* steps) {
    return run({"prove", board, "converges", "--size", size, "--steps", steps, "--json"}).json()["verdict"];
  };
  EXPECT_EQ(converges("16", "20"), "proved");
  EXPECT_EQ(converges("32", "60"), "proved");
  EXPECT_EQ(converges("64", "80"), "proved");
  EXPECT_EQ(converges("16", "15"), "refuted");
  EXPECT_EQ(converges("18", "80"), "refuted");
  // Once it has shown the target twice in a row it stays, which is less than what `fixed` claims.
  const Ended fixed = run({"prove", board, "fixed", "--size", "16", "--json"});
  EXPECT_EQ(fixed.exit_code, 5);
  EXPECT_EQ(fixed.json()["verdict"], "weaker");
  EXPECT_THAT(fixed.json()["claim"], HasSubstr("board that shows the target shows it ever after"));
  EXPECT_THAT(fixed.json()["weaker_claim"], HasSubstr("shows the target 2 times in a row shows it ever after"));
  EXPECT_THAT(run({"prove", board, "fixed"}).out,
              testing::AllOf(HasSubstr("refuted: every board of any size that shows the target shows it ever after"),
                             HasSubstr("only a weaker claim is proved: every board with sides that are multiples of 4"),
                             testing::Not(testing::StartsWith("proved"))));
  expect_replayed(board, {"fixed"}, folder, 5);
}

TEST_F(Prove, CircuitsAreShownAsTablesAndWithoutTheChannelsThatCanGo) {
  const Ended text = run({"circuit", model(), "--lut", "4"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  for (const char* word : {"simplified: 2 gates of depth 2, 6 ANDs, 2 LUT4 of depth 1", "across steps: 4 channels -> 3",
                           "from the second step on: 4 channels -> "})
    EXPECT_THAT(text.out, HasSubstr(word));
  const nlohmann::json any = run({"circuit", model(), "--json"}).json(),
                       start = run({"circuit", model(), "--json", "--from-start"}).json();
  EXPECT_EQ(any["across_steps"]["unneeded"].size(), 1u);
  EXPECT_LE(any["from_second_step"]["channels"], any["across_steps"]["channels"]);
  EXPECT_EQ(any["from_second_step"]["kept"], start["across_steps"]["kept"]);  // noise is any start
  const nlohmann::json flat = run({"circuit", model(), "--json", "--for", "depth"}).json();
  EXPECT_LE(flat["simplified"]["depth"], any["simplified"]["depth"]);
  const std::string file = *folder_ / "across.v";
  const Ended exported = run({"export", model(), "--to", "verilog", "--across-steps", "-o", file});
  EXPECT_EQ(exported.exit_code, 0) << exported.err;
  EXPECT_THAT(exported.out, HasSubstr("3 of 4 channels"));
  EXPECT_THAT(text_of(file), HasSubstr("module checkerboard_small_array"));  // named for its task
}

// The same model by other means: its size, its boundary and its start are the defaults of what is exported.
TEST_F(Prove, ExportsRunTheModelsOwnBoardToItsTarget) {
  const auto exported = [&](const char* format, const char* file) {
    EXPECT_EQ(run({"export", model(), "--to", format, "-o", *folder_ / file, "--name", "tiny"}).exit_code, 0);
  };
  exported("verilog", "small.v");
  exported("js", "small.mjs");
  const std::string verilog = text_of(*folder_ / "small.v");
  for (const char* word : {"parameter HEIGHT = 8", "parameter WIDTH = 8", "parameter PERIODIC = 0", " << 7*WIDTH*4)"})
    EXPECT_THAT(verilog, HasSubstr(word));
  // An array without a parameter set, twenty steps on: the checkerboard.
  std::ofstream(*folder_ / "top.v") << R"(module top;
  reg clk;
  wire [255:0] state;
  integer i;
  tiny_array board (.clk(clk), .load(1'b0), .data(256'b0), .state(state));
  initial begin
    clk = 0;
    for (i = 0; i < 20; i = i + 1) begin #1 clk = 1; #1 clk = 0; end
    for (i = 0; i < 64; i = i + 1) $write("%b", state[4 * i]);
  end
endmodule
)";
  const auto shell = [&](const std::string& command) {
    return test::run("cd " + folder_->path() + " && " + command).output;
  };
  std::string wanted;
  for (int i = 0; i < 64; ++i) wanted += (i / 16 + i % 8 / 2) % 2 ? '1' : '0';
  EXPECT_EQ(shell("iverilog -g2001 -o top small.v top.v && vvp -n top"), wanted);
  EXPECT_EQ(shell("iverilog -g2001 -o bench small.v small_tb.v && vvp -n bench"), "PASS\n");
  EXPECT_EQ(
      shell("sed 's/PERIODIC = 0/PERIODIC = 1/' small.v > torus.v && iverilog -g2001 -o bench torus.v small_tb.v && "
            "vvp -n bench | head -1"),
      "FAIL the model's own board, step 20\n");
  // In JavaScript, from the model's start and with the boundary that step() takes by itself.
  std::ofstream(*folder_ / "top.mjs") << R"(import * as m from './small.mjs';
let now = m.boardStart(), next = new Uint32Array(now.length);
for (let s = 0; s < 20; ++s) { m.step(now, next, m.boardHeight, m.boardWidth); [now, next] = [next, now]; }
for (let i = 0; i < 64; ++i) process.stdout.write(String(now[i >> 3] >>> (i & 7) & 1));
)";
  EXPECT_EQ(shell("node top.mjs"), wanted);
}

TEST_F(Prove, WrongUsageIsOneClearLine) {
  expect_one_line(run({"prove", model(), "grows"}), 2, {"grows", "converges, fixed, period, equals, heals"});
  expect_one_line(run({"prove", model(), "period"}), 2, {"period", "number of steps"});
  expect_one_line(run({"prove", model(), "fixed", "2"}), 2, {"\"2\"", "nothing"});
  expect_one_line(run({"prove", model(), "converges", "--size", "0"}), 2, {"--size"});
  expect_one_line(run({"prove", model(), "equals", "--proof", *folder_ / "p"}), 2, {"--proof"});
  expect_one_line(run({"prove", model(), "equals"}), 1, {"checkerboard"});
  expect_one_line(run({"prove", model(), "heals", "--damage", "9"}), 1, {"9 x 9", "8 x 8"});
}

TEST_F(Prove, AProofIsWholeOrNotThereAndReplacesNoLink) {
  const TempFolder out;
  const Arguments proving{"prove", model(), "converges", "--proof", out / "proof"};
  write_atomically(out / "real", std::string_view("old"));
  std::filesystem::create_symlink(out / "real", out / "proof");
  Surroundings small;
  small.file_size_limit = 4096;
  const Ended failed = run(proving, small);
  EXPECT_EQ(failed.exit_code, 1) << failed.out;
  EXPECT_EQ(failed.error_lines(), 1u) << failed.err;
  EXPECT_EQ(text_of(out / "real"), "old");
  EXPECT_FALSE(std::filesystem::exists(out / "proof.cnf"));
  ASSERT_EQ(run(proving).exit_code, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(out / "proof"));
  EXPECT_GT(text_of(out / "real").size(), 4096u);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(out.path())) files += entry.exists();
  EXPECT_EQ(files, 3u) << "proof, real and proof.cnf";
}

TEST_F(Prove, AProofIsNotWrittenIntoAStreamOrOverTheModel) {
  expect_one_line(run({"prove", model(), "converges", "--proof", "-"}), 2, {"--proof"});
  expect_one_line(run({"prove", model(), "converges", "--proof", "/dev/null"}), 2, {"--proof"});
  const TempFolder out;
  std::filesystem::copy(model() + "/model.safetensors", out / "m.cnf");
  expect_one_line(run({"prove", out / "m.cnf", "converges", "--proof", out / "m"}), 1, {"file to read"});
}

}  // namespace
}  // namespace espalier
