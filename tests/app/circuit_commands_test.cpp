// The commands circuit, export and verify as a user runs them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "espalier/synth.hpp"
#include "netlist/circuits.hpp"
#include "places.hpp"
#include "synth/formats.hpp"
#include "synth/tools.hpp"
#include "temp_folder.hpp"

namespace espalier {
namespace {

using Json = nlohmann::json;
using test::Ran;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class CircuitCommands : public testing::Test {
 protected:
  void SetUp() override {
    Netlist raw = test::clumsy_life();
    raw.name = "life";
    test::write_file(raw_, export_json(raw));
    Netlist small = test::clumsy_small();
    small.name = "small";
    test::write_file(small_, export_json(small));
    Netlist broken = life_cell();
    broken.gates.back().gate = Gate::kNand;
    test::write_file(broken_, export_blif(broken));
  }
  Ran espalier(const std::string& arguments) const { return test::run(test::program_path() + " " + arguments); }
  static long lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

  TempFolder folder_;
  const std::string raw_ = folder_ / "raw.json", small_ = folder_ / "small.json", broken_ = folder_ / "broken.blif";
};

TEST_F(CircuitCommands, NamesOutOfFilesAreShownOnOneLine) {
  Netlist n;
  n.add_output("o\n\x1b[31m", n.add_input("a\r\nb"));
  test::write_file(folder_ / "odd.json", export_json(n));
  const Ran text = espalier("circuit " + (folder_ / "odd.json"));
  EXPECT_EQ(text.code, 0) << text.output;
  EXPECT_THAT(text.output, AllOf(HasSubstr("a\\x0d\\nb"), HasSubstr("o\\n\\x1b[31m"), Not(HasSubstr("\x1b"))));
}

TEST_F(CircuitCommands, CircuitCountsBeforeAndAfterEveryPass) {
  const Ran text = espalier("circuit " + small_);
  EXPECT_EQ(text.code, 0) << text.output;
  for (const char* word : {"as given", "bypass wires", "resubstitute", "inputs used, 5 of 9", "proved"})
    EXPECT_THAT(text.output, HasSubstr(word));
  const Ran ran = espalier("circuit " + raw_ + " --json");
  EXPECT_EQ(ran.code, 0);
  const Json j = Json::parse(ran.output);
  EXPECT_EQ(j["raw"]["gates"], 154);  // constants are none
  EXPECT_EQ(j["raw"]["constants"], 5);
  EXPECT_EQ(j["as"], "as given");
  EXPECT_LE(j["simplified"]["gates"], 60);
  EXPECT_EQ(j["passes"].front()["gates"], j["raw"]["gates"]);
  EXPECT_EQ(j["passes"].back()["gates"], j["simplified"]["gates"]);
  EXPECT_EQ(j["used_inputs"].size(), 9u);
  EXPECT_EQ(j["equal"], true);
}

TEST_F(CircuitCommands, SearchingGivesTheSameCircuitForAnyNumberOfThreads) {
  const auto counts = [&](const std::string& threads) {
    Json j = Json::parse(espalier("circuit " + small_ + " --search 3000 --json --threads " + threads).output);
    j.erase("seconds");
    return j;
  };
  const Json one = counts("1");
  EXPECT_LT(one["simplified"]["gates"], one["raw"]["gates"]);
  EXPECT_EQ(counts("3"), one);
  EXPECT_EQ(espalier("circuit " + small_ + " --threads x").code, 2);
}

TEST_F(CircuitCommands, EveryReadableExportIsProvedEqualByTheVerifyCommand) {
  for (const char* format : {"json", "blif", "aiger", "aiger-binary"})
    for (const char* raw : {"", " --raw"}) {
      const std::string file = folder_ / format;
      const Ran written = espalier(fmt::format("export {} --to {} -o {}{}", small_, format, file, raw));
      ASSERT_EQ(written.code, 0) << written.output;
      const Ran checked = espalier("verify " + small_ + " " + file);
      EXPECT_EQ(checked.code, 0) << checked.output;
      EXPECT_THAT(checked.output, HasSubstr("equal: 1 of 1 outputs proved"));
    }
}

TEST_F(CircuitCommands, ExportWritesWhatBelongsTogether) {
  EXPECT_EQ(espalier("export " + small_ + " --to c -o " + (folder_ / "life.c") + " --name game").code, 0);
  EXPECT_THAT(read_text(folder_ / "life.c"), HasSubstr("#include \"life.h\""));
  EXPECT_THAT(read_text(folder_ / "life.h"), HasSubstr("game_step("));
  EXPECT_EQ(espalier("export " + small_ + " --to verilog -o " + (folder_ / "life.v")).code, 0);
  EXPECT_THAT(read_text(folder_ / "life_tb.v"), HasSubstr("PASS"));
  EXPECT_EQ(espalier("export " + small_ + " --to svg -o " + (folder_ / "life.svg")).code, 0);
  EXPECT_THAT(read_text(folder_ / "life.svg"), HasSubstr("</svg>"));
  const Ran js = espalier("export " + small_ + " --to js --json -o " + (folder_ / "life.mjs"));
  EXPECT_EQ(Json::parse(js.output)["files"][0], folder_ / "life.mjs");
}

TEST_F(CircuitCommands, AHyphenMeansStandardOutputForEveryFormat) {
  const std::string place = "cd " + folder_.path() + " && ", program = test::program_path();
  for (const std::string_view format : kCircuitFormatNames) {
    const std::string words = fmt::format(" export {} --raw --to {}", small_, format);
    ASSERT_EQ(test::run(place + program + words + " -o - >hyphen 2>said").code, 0) << format;
    ASSERT_EQ(test::run(place + program + words + " -o /dev/stdout >device 2>&1 | cat").code, 0) << format;
    const std::string text = read_text(folder_ / "hyphen");
    EXPECT_EQ(lines(read_text(folder_ / "said")), 1) << format;
    ASSERT_EQ(test::run(place + program + words + " -o file").code, 0) << format;
    if (format != "c") {
      EXPECT_EQ(text, read_text(folder_ / "file")) << format;
    } else {  // header and source in one
      EXPECT_THAT(text, AllOf(HasSubstr("_step("), Not(HasSubstr("#include \""))));
      EXPECT_EQ(test::run("cp " + (folder_ / "hyphen") + " " + (folder_ / "one.c") +
                          " && cc -std=c99 -Wall -Werror -fsyntax-only " + (folder_ / "one.c"))
                    .code,
                0);
    }
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "-"));
  EXPECT_EQ(espalier("export " + small_ + " --to json -o - --json").code, 2);
  EXPECT_EQ(test::run(program + " export " + small_ + " --raw --to js -o - >/dev/full").code, 1);
}

TEST_F(CircuitCommands, ExportNeverReplacesWhatItReadsWithAFileBeside) {
  test::write_file(folder_ / "cell.h", read_text(small_));
  const Ran ran = espalier("export " + (folder_ / "cell.h") + " --raw --to c -o " + (folder_ / "cell.c"));
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.output, HasSubstr("the file to read"));
  EXPECT_EQ(read_text(folder_ / "cell.h"), read_text(small_));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "cell.c"));
}

// Abc is a helper: where it is put, what lies around it and how it fails changes nothing but the exit code.
TEST_F(CircuitCommands, AbcWorksFromAnyTemporaryFolderAndPath) {
  std::filesystem::create_directories(folder_ / "a blank; here");
  std::filesystem::create_directories(folder_ / "path/abc");
  std::filesystem::create_directories(folder_ / "path/berkeley-abc");
  const std::string odd = "TMPDIR='" + (folder_ / "a blank; here") + "' PATH=" + (folder_ / "path") + ":$PATH ";
  const Ran ran = test::run(odd + test::program_path() + " circuit --json --with-abc " + small_);
  ASSERT_EQ(ran.code, 0) << ran.output;
  EXPECT_GT(Json::parse(ran.output)["abc"]["runs"], 0);
  EXPECT_EQ(Json::parse(ran.output)["abc"]["failed"], 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "a blank; here"));
}

class FakeAbc : public CircuitCommands {
 protected:
  // What the program finds under abc's name.
  void make_abc(const std::string& script) {
    std::filesystem::create_directories(folder_ / "bin");
    test::write_file(folder_ / "bin/berkeley-abc", "#!/bin/sh\n" + script);
    std::filesystem::permissions(folder_ / "bin/berkeley-abc", std::filesystem::perms::owner_all);
    std::filesystem::create_directories(folder_ / "tmp");
  }
  std::string surroundings() const {
    return "TMPDIR=" + (folder_ / "tmp") + " PATH=" + (folder_ / "bin") + ":$PATH " + test::program_path();
  }
};

TEST_F(FakeAbc, ThatFailsIsNeverASuccess) {
  for (const char* script : {"exit 1\n", "exit 0\n", "kill -9 $$\n"}) {
    make_abc(script);
    for (const std::string& command : {" circuit --with-abc " + small_,
                                       " export --with-abc --to json -o " + (folder_ / "out.json") + " " + small_}) {
      const Ran ran = test::run(surroundings() + command);
      EXPECT_EQ(ran.code, 1) << script << ran.output;
      EXPECT_THAT(ran.output, HasSubstr("berkeley-abc"));
      EXPECT_FALSE(std::filesystem::exists(folder_ / "out.json"));
    }
  }
  // One run of several: the circuit is there, and the failure is told.
  make_abc("if [ -e " + (folder_ / "once") + " ]; then exit 1; fi; touch " + (folder_ / "once") +
           "; exec /usr/bin/berkeley-abc \"$@\"\n");
  const Ran ran = test::run(surroundings() + " circuit --with-abc " + small_);
  EXPECT_EQ(ran.code, 1) << ran.output;
  EXPECT_THAT(ran.output, AllOf(HasSubstr("failed; the circuit is proved"), HasSubstr("proved, ")));
}

TEST_F(FakeAbc, DiesWithTheProgramAndLeavesNothing) {
  make_abc("echo $$ >" + (folder_ / "new") + " && mv " + (folder_ / "new") + " " + (folder_ / "pid") +
           " && exec sleep 1000\n");
  for (const char* signal : {"TERM", "HUP", "KILL"}) {
    std::filesystem::remove(folder_ / "pid");
    const Ran ran =
        test::run(surroundings() + " circuit --with-abc " + small_ + " & own=$!; " + "until [ -e " + (folder_ / "pid") +
                  " ]; do sleep 0.02; done; kill -" + signal + " $own; wait $own; echo ended $?");
    EXPECT_THAT(ran.output, Not(HasSubstr("ended 0"))) << signal;
    const std::string pid = read_text(folder_ / "pid");
    const Ran gone = test::run("for i in $(seq 500); do kill -0 " + pid.substr(0, pid.find('\n')) +
                               " 2>/dev/null || exit 0; sleep 0.02; done; exit 1");
    EXPECT_EQ(gone.code, 0) << signal << ": abc lives on";
    EXPECT_TRUE(std::filesystem::is_empty(folder_ / "tmp")) << signal;
  }
}

TEST_F(CircuitCommands, VerifyShowsADifferenceThatIsReal) {
  const Ran text = espalier("verify " + raw_ + " " + broken_);
  EXPECT_EQ(text.code, 4);
  EXPECT_THAT(text.output, HasSubstr("different: output next0"));
  const Ran ran = espalier("verify --json " + raw_ + " " + broken_);
  EXPECT_EQ(ran.code, 4);
  const Json j = Json::parse(ran.output);
  EXPECT_EQ(j["verdict"], "different");
  const Json& e = j["counter_example"];
  std::vector<bool> patch;
  for (int p = 0; p < 9; ++p) patch.push_back(e["inputs"][fmt::format("p{}c0", p)] == 1);
  EXPECT_EQ(e["first"] == 1, test::conway(patch));
  EXPECT_NE(e["first"], e["second"]);
}

TEST_F(CircuitCommands, VerifyWarnsWhenOnlyTheOrderOfPortsMayDiffer) {
  const auto and_not = [&](const std::string& file, const char* a, const char* b, const char* row) {
    test::write_file(folder_ / file,
                     fmt::format(".model m\n.inputs {} {}\n.outputs y\n.names {} {} y\n{} 1\n.end\n", a, b, a, b, row));
    return folder_ / file;
  };
  const std::string first = and_not("first.blif", "a", "b", "10"), same = and_not("same.blif", "b", "a", "01"),
                    other = and_not("other.blif", "x", "y0", "01");
  EXPECT_EQ(espalier("verify " + first + " " + same).code, 0);  // by name
  const Ran ran = espalier("verify " + first + " " + other);
  EXPECT_EQ(ran.code, 4);
  EXPECT_THAT(ran.output, HasSubstr("warning: the inputs have different names"));
  EXPECT_THAT(ran.output, HasSubstr("their order may be all that differs"));
  EXPECT_EQ(espalier("verify " + first + " " + (folder_ / "none.blif")).code, 1);
}

TEST_F(CircuitCommands, NamesOfPortsAreTheSameInEveryFormatAndToEveryTool) {
  test::write_file(folder_ / "given.blif",
                   ".model given\n.inputs sel wire d[0] d[1]\n.outputs q.1 unused\n.names sel wire d[0] d[1] q.1\n"
                   "1-1- 1\n0--1 1\n-11- 1\n.names unused\n.end\n");
  for (const auto& [format, file] : {std::pair{"verilog", "g.v"}, std::pair{"blif", "g.blif"},
                                     std::pair{"aiger-binary", "g.aig"}, std::pair{"js", "g.mjs"}}) {
    const Ran ran = espalier("export " + (folder_ / "given.blif") + " --to " + format + " -o " + (folder_ / file));
    ASSERT_EQ(ran.code, 0) << ran.output;
  }
  const Ran yosys =
      test::run("cd " + folder_.path() +
                " && yosys -q -p 'read_verilog g.v; hierarchy -top given; proc; techmap; abc -g AND; clean -purge; "
                "write_blif yosys.blif'");
  ASSERT_EQ(yosys.code, 0) << yosys.output;
  // Without -n abc matches ports by name.
  for (const char* pair : {"given.blif g.blif", "given.blif g.aig", "given.blif yosys.blif", "g.aig yosys.blif"}) {
    const Ran abc = test::run("cd " + folder_.path() + " && berkeley-abc -c 'cec " + pair + "'");
    EXPECT_THAT(abc.output, HasSubstr("are equivalent")) << pair << abc.output;
    EXPECT_THAT(abc.output, testing::Not(HasSubstr("order"))) << pair << abc.output;
  }
  const Ran verified = espalier("verify " + (folder_ / "given.blif") + " " + (folder_ / "yosys.blif"));
  EXPECT_THAT(verified.output, HasSubstr("inputs matched by name, outputs by name"));
  EXPECT_EQ(test::run("cd " + folder_.path() +
                      " && node -e \"import('./g.mjs').then(m => console.log(m.inputNames.join(), "
                      "m.outputNames.join()))\"")
                .output,
            "sel,wire,d[0],d[1] q.1,unused\n");
}

TEST_F(CircuitCommands, BlifGivesAbcAsManyAndsAsAiger) {
  for (const auto& [format, file] : {std::pair{"blif", "l.blif"}, std::pair{"aiger-binary", "l.aig"}})
    ASSERT_EQ(espalier("export " + raw_ + " --to " + format + " -o " + (folder_ / file)).code, 0);
  const auto ands = [&](const std::string& file) {
    const std::string said = test::run("berkeley-abc -c 'read " + (folder_ / file) + "; strash; print_stats'").output;
    const std::size_t at = said.find("and =");
    return at == std::string::npos ? -1 : std::atoi(said.c_str() + at + 5);
  };
  EXPECT_GT(ands("l.aig"), 10);
  EXPECT_LE(ands("l.blif"), ands("l.aig"));
}

TEST_F(CircuitCommands, BadInputIsOneClearLine) {
  struct Bad {
    const char *file, *word;
    std::string text;
  };
  const std::string head = ".model m\n.inputs a b\n.outputs y\n", json = export_json(life_cell());
  const Bad cases[] = {
      {"cycle.blif", "cycle", head + ".names a y y\n11 1\n.end\n"},
      {"cycle.aag", "cycle", "aag 4 2 0 1 2\n2\n4\n6\n6 2 8\n8 6 4\n"},
      {"undefined.blif", "undefined.blif:4", head + ".names a q y\n11 1\n.end\n"},
      {"undefined.aag", "undefined.aag:5", "aag 4 2 0 1 1\n2\n4\n6\n6 2 8\n"},
      {"undefined.json", "gate 25", std::string(json).replace(json.rfind("[1, "), 4, "[1, 90")},
      {"inputs.blif", "inputs.blif:5", head + ".names a b y\n111 1\n.end\n"},
      {"inputs.aag", "inputs.aag:5", "aag 4 2 0 1 1\n2\n4\n6\n8\n8 2 4\n"},
      {"symbols.aag", "symbols.aag:6", "aag 3 2 0 1 1\n2\n4\n6\n6 2 4\ni2 extra\n"},
      {"cut.aig", "cut short", export_aiger_binary(life_cell()).substr(0, 40)},
      {"cut.json", "cut.json", json.substr(0, json.size() / 2)},
      {"text", "unknown kind", "hello\n"},
      {"empty", "unknown kind", ""},
  };
  for (const Bad& bad : cases) test::write_file(folder_ / bad.file, bad.text);
  std::vector<std::pair<std::string, std::string>> all{{"missing.json", "missing.json"}};
  for (const Bad& bad : cases) all.emplace_back(bad.file, bad.word);
  for (const auto& [file, word] : all) {
    for (const std::string& command : {"circuit " + (folder_ / file), "verify " + raw_ + " " + (folder_ / file),
                                       "export --to json -o " + (folder_ / "out") + " " + (folder_ / file)}) {
      const Ran ran = espalier(command);
      EXPECT_EQ(ran.code, 1) << command;
      EXPECT_EQ(lines(ran.output), 1) << ran.output;
      EXPECT_THAT(ran.output, HasSubstr(word));
      EXPECT_THAT(ran.output, HasSubstr(file));
    }
  }
  // A circuit that is no automaton's cell can be written, but not run on a board.
  const Netlist adder = test::random_netlist(3, 5, 20, 2);
  test::write_file(folder_ / "adder.json", export_json(adder));
  EXPECT_EQ(espalier("export " + (folder_ / "adder.json") + " --to c -o " + (folder_ / "adder.c")).code, 0);
  EXPECT_EQ(espalier("export " + raw_ + " --to fortran -o x").code, 2);
  EXPECT_EQ(espalier("export " + raw_ + " --to c").code, 2);
  const Ran unwritable = espalier("export " + raw_ + " --raw --to json -o " + (folder_ / "no/such/folder/x.json"));
  EXPECT_EQ(unwritable.code, 1);
  EXPECT_EQ(lines(unwritable.output), 1) << unwritable.output;
}

}  // namespace
}  // namespace espalier
