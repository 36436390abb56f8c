// What commands write never takes the place of a run's files, nor of files that nobody named; and what they print is
// safe to look at.
#include <gmock/gmock.h>

#include "app/program.hpp"
#include "base/files.hpp"

namespace espalier {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kAnd = ".model m\n.inputs a b\n.outputs y\n.names a b y\n11 1\n.end\n";

class Outputs : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TempFolder>();
    ASSERT_EQ(run({"train", "checkerboard-small", "--train-steps", "5", "--quiet", "--out", model()}).exit_code, 0);
    write_atomically(*folder_ / "and.blif", std::string_view(kAnd));
    write_atomically(*folder_ / "table.txt", std::string_view("00 0\n01 0\n10 0\n11 1\n"));
  }
  static void TearDownTestSuite() { folder_.reset(); }
  static std::string model() { return *folder_ / "run"; }
  static std::string circuit() { return *folder_ / "and.blif"; }

  static std::unique_ptr<TempFolder> folder_;
};
std::unique_ptr<TempFolder> Outputs::folder_;

TEST_F(Outputs, NoCommandWritesOverAFileOfARun) {
  std::map<std::string, std::string> before;
  for (const char* name : {"config.json", "checkpoint.safetensors", "checkpoint-previous.safetensors", "metrics.csv",
                           "model.safetensors", "loss.svg", "growth.gif", "lock", "seeds.csv"})
    before[name] = text_of(model() + "/" + name);
  std::filesystem::create_symlink(model() + "/config.json", *folder_ / "link");
  for (const auto& [name, content] : before) {
    const std::string own = model() + "/" + name;
    const Arguments commands[] = {
        {"refine", model(), "-o", own, "--evaluations", "10", "--quiet"},
        {"refine", circuit(), "--table", *folder_ / "table.txt", "-o", own, "--quiet"},
        {"data", "simplify", "--count", "3", "-o", own},
        {"export", circuit(), "--to", "blif", "-o", own},
        {"export", model(), "--to", "aiger", "--board", "4", "-o", own},
        {"run", model(), "--quiet", "--steps", "1", "--gif", own},
        {"run", model(), "--quiet", "--steps", "1", "--png", own},
        {"eval", model(), "--divergence", "2", "--svg", own},
        {"prove", model(), "converges", "--steps", "1", "--png", own},
        {"prove", model(), "converges", "--steps", "1", "--proof", own},
    };
    for (const Arguments& command : commands) {
      const Ended ended = run(command);
      EXPECT_NE(ended.exit_code, 0) << command[0] << " " << name;
      EXPECT_EQ(ended.error_lines(), 1u) << ended.err;
      EXPECT_EQ(text_of(own), content) << command[0] << " " << name;
    }
  }
  expect_one_line(run({"data", "simplify", "--count", "3", "-o", *folder_ / "link"}), 1, {"link", "of the run"});
  EXPECT_EQ(text_of(model() + "/config.json"), before["config.json"]);
  // Files beside them, and files of those names elsewhere, are anybody's.
  EXPECT_EQ(run({"export", circuit(), "--to", "blif", "-o", model() + "/cell.blif"}).exit_code, 0);
  EXPECT_EQ(run({"data", "simplify", "--count", "3", "-o", *folder_ / "metrics.csv"}).exit_code, 0);
}

TEST_F(Outputs, WhatIsWrittenBesideAFileReplacesOnlyItsLike) {
  const TempFolder folder;
  for (const auto& [format, file, beside] : {std::tuple{"verilog", "z.v", "z_tb.v"}, std::tuple{"c", "z.c", "z.h"}}) {
    std::ofstream(folder / beside) << "mine";
    const Arguments exporting{"export", circuit(), "--to", format, "-o", folder / file};
    expect_one_line(run(exporting), 1, {beside, "already"});
    EXPECT_EQ(text_of(folder / beside), "mine");
    EXPECT_FALSE(file_exists(folder / file));
    std::filesystem::remove(folder / beside);
    ASSERT_EQ(run(exporting).exit_code, 0);
    const std::string made = text_of(folder / beside);
    ASSERT_EQ(run(exporting).exit_code, 0);  // that of the same circuit
    EXPECT_EQ(text_of(folder / beside), made);
    EXPECT_THAT(made, HasSubstr("Written by espalier"));
  }
  std::ofstream(folder / "out_tb.v") << "mine";
  expect_one_line(
      run({"refine", circuit(), "--table", *folder_ / "table.txt", "-o", folder / "out.verilog", "--quiet"}), 1,
      {"out_tb.v", "already"});
  std::ofstream(folder / "p.cnf") << "mine";
  expect_one_line(run({"prove", model(), "converges", "--proof", folder / "p"}), 1, {"p.cnf", "already"});
  std::ofstream(folder / "r.lock") << "mine";
  expect_one_line(run({"refine", model(), "-o", folder / "r", "--quiet"}), 1, {"r.lock", "already"});
  for (const char* name : {"out_tb.v", "p.cnf", "r.lock"}) EXPECT_EQ(text_of(folder / name), "mine") << name;
  // The name that refine takes by itself was not asked for.
  std::filesystem::copy_file(model() + "/model.safetensors", folder / "m.safetensors");
  std::ofstream(folder / "m-refined.safetensors") << "mine";
  expect_one_line(run({"refine", folder / "m.safetensors", "--quiet"}), 1, {"m-refined.safetensors", "already"});
  EXPECT_EQ(text_of(folder / "m-refined.safetensors"), "mine");
}

TEST_F(Outputs, ASweepReplacesNoResultsButItsOwn) {
  const TempFolder folder;
  const std::string results = folder / "results.csv", shares = folder / "shares.svg";
  const Arguments sweep{"sweep",   "checkerboard-small", "--seeds", "1",     "--train-steps", "2",
                        "--quiet", "--threads",          "1",       "--out", folder.path()};
  std::filesystem::create_directories(folder / "mine/seed-1");  // several seeds of somebody, like trials of a sweep
  std::filesystem::copy_file(model() + "/config.json", folder / "mine/seed-1/config.json");
  std::ofstream(shares) << "<svg>mine</svg>";
  expect_one_line(run(sweep), 1, {"shares.svg", "already"});
  std::ofstream(results) << "name,solved\n";
  expect_one_line(run(sweep), 1, {"results.csv", "already"});
  EXPECT_EQ(text_of(results), "name,solved\n");
  EXPECT_EQ(text_of(shares), "<svg>mine</svg>");
  std::filesystem::remove(results);
  std::filesystem::remove(shares);
  EXPECT_EQ(run(sweep).exit_code, 0);
  EXPECT_EQ(run(sweep).exit_code, 0) << "again, over its own";
}

TEST_F(Outputs, AnExportIsInTheFormatOfItsEnding) {
  const TempFolder folder;
  const Ended verilog = run({"export", circuit(), "-o", folder / "m.v"});
  EXPECT_EQ(verilog.exit_code, 0) << verilog.err;
  EXPECT_THAT(verilog.err, HasSubstr("m.v is written as verilog, by its ending"));
  EXPECT_THAT(text_of(folder / "m.v"), HasSubstr("module m ("));
  EXPECT_EQ(run({"export", circuit(), "-o", folder / "m.aig", "--json"}).json().at("format"), "aiger-binary");
  EXPECT_EQ(run({"export", circuit(), "-o", folder / "n.v", "--to", "blif"}).err, "");
  expect_one_line(run({"export", circuit(), "-o", folder / "m.odd"}), 2, {"--to", "m.odd", "verilog", "aiger-binary"});
  expect_one_line(run({"export", circuit(), "-o", "-"}), 2, {"--to"});
  expect_one_line(run({"export", circuit(), "-o", folder / "x.v", "--name", "module"}), 1, {"\"module\"", "m_module"});
}

TEST_F(Outputs, HelpIsACommandToo) {
  const auto help = [](const Arguments& words) {
    const Ended ended = run(words);
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return ended.out;
  };
  EXPECT_EQ(help({"help"}), help({"--help"}));
  EXPECT_EQ(help({"help", "train"}), help({"train", "--help"}));
  EXPECT_EQ(help({"help", "train", "life"}), help({"train", "life", "--help"}));
  EXPECT_NE(help({"help", "prove"}), help({"help"}));
  expect_one_line(run({"help", "trian"}), 2, {"trian", "did you mean train?"});
}

TEST_F(Outputs, WrongWordsAreAnsweredWithTheRightOnes) {
  expect_one_line(run({"train", "life", "--learning-rate", "1"}), 2, {"--learning-rate", "did you mean --lr?"});
  expect_one_line(run({"train", "table", "--steps", "1"}), 2, {"--steps", "did you mean --train-steps?"});
  expect_one_line(run({"run", model(), "--jobs", "1"}), 2, {"--jobs", "did you mean --threads?"});
  const Ended none = run({"train", "life", "--verbose"});
  expect_one_line(none, 2, {"--verbose", "no such option"});
  EXPECT_THAT(none.err, Not(HasSubstr("did you mean")));
  expect_one_line(run({"refine", circuit()}), 2, {"--table", "and.blif", "input bits, a space, its output bits"});
}

// Every text that somebody else has written: names of files, of options, of labels.
TEST_F(Outputs, NothingThatIsPrintedReachesTheTerminalAsACommand) {
  const TempFolder folder;
  const std::string evil =
      "e\x1b[31mvil\u202e\xc2\x9b"
      "1m\x07";
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(folder / name, std::ios::binary) << text;
    return folder / name;
  };
  const std::string netlist = write(evil + ".blif", kAnd), table = write(evil + ".txt", "00 0\n11 1\n");
  const std::string a = write("a.json", R"({"nodes": ["A\u001b[31m\u202e"], "edges": []})"),
                    b = write("b.json", R"({"nodes": ["B\u009b31m"], "edges": []})");
  const Arguments commands[] = {
      {"circuit", netlist},
      {"circuit", netlist, "--json"},
      {"export", netlist, "-o", folder / (evil + ".v")},
      {"export", netlist, "-o", folder / (evil + ".v"), "--json"},
      {"verify", netlist, circuit()},
      {"refine", netlist, "--table", table, "-o", folder / (evil + ".out.blif"), "--quiet", "--evaluations", "10"},
      {"ged", a, b, "--edits"},
      {"ged", a, b, "--edits", "--json"},
      {"train", "checkerboard-small", "--train-steps", "1", "--quiet", "--out", folder / evil},
      {"info", folder / evil},
      {"train", evil},
      {"--" + evil},
      {evil},
      {"run", folder / ("no" + evil)},
      {"eval", model(), "--" + evil},
      {"run", model(), "--size", evil},
  };
  for (const Arguments& command : commands) {
    const Ended ended = run(command);
    for (const std::string& text : {ended.out, ended.err}) {
      EXPECT_THAT(text, Not(HasSubstr("\x1b"))) << command[0];
      EXPECT_THAT(text, Not(HasSubstr("\x07"))) << command[0];
      EXPECT_THAT(text, Not(HasSubstr("\u202e"))) << command[0];
      EXPECT_THAT(text, Not(HasSubstr("\xc2\x9b"))) << command[0];
    }
  }
  EXPECT_THAT(run({"ged", a, b, "--edits"}).out, HasSubstr("A\\x1b[31m\\u202e"));
  EXPECT_THAT(run({"circuit", netlist}).out, HasSubstr("e\\x1b[31mvil\\u202e\\u009b1m\\x07.blif"));
}

}  // namespace
}  // namespace espalier
