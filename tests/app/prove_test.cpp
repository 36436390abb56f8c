// The command prove as a user runs it, on a small checkerboard that is trained once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>

#include "base/image.hpp"
#include "program.hpp"
#include "synth/tools.hpp"

namespace espalier {
namespace {

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

TEST_F(Prove, ATrainedCheckerboardConvergesFromEveryStart) {
  const Ended text = run({"prove", model(), "converges"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("proved: from every start the 8 x 8 board shows the target after 10 steps"));
  EXPECT_THAT(text.out, HasSubstr("2^256 boards"));
  EXPECT_EQ(run({"prove", model(), "converges", "--json"}).json()["verdict"], "proved");
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
  int red = 0;
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x) red += image.at(y, x).red > image.at(y, x).green + 50;
  const int cell = 384 / 8;
  EXPECT_EQ(red, wrong * cell * cell);
  EXPECT_THAT(run({"prove", model(), "converges", "--steps", "2"}).out, HasSubstr("checked by simulation"));
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
}

// The same model by other means: its size, its boundary and its start are the defaults of what is exported.
TEST_F(Prove, ExportsRunTheModelsOwnBoardToItsTarget) {
  const auto exported = [&](const char* format, const char* file) {
    EXPECT_EQ(run({"export", model(), "--to", format, "-o", *folder_ / file, "--name", "tiny"}).exit_code, 0);
  };
  exported("verilog", "small.v");
  exported("js", "small.mjs");
  const std::string verilog = text_of(*folder_ / "small.v");
  for (const char* word : {"parameter HEIGHT = 8", "parameter WIDTH = 8", "parameter PERIODIC = 0", "START = 256'h"})
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
  // In JavaScript, with the boundary that step() takes by itself.
  std::ofstream(*folder_ / "top.mjs") << R"(import * as m from './small.mjs';
let now = new Uint32Array(m.channels * m.boardHeight), next = new Uint32Array(now.length);
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

}  // namespace
}  // namespace espalier
