// Help, version, lists, info and bench.
#include "app/program.hpp"

#include <set>

#include "espalier/model.hpp"
#include "espalier/safetensors.hpp"

namespace espalier {
namespace {

void expect_in(const std::string& text, const std::vector<std::string>& words) {
  for (const std::string& word : words) EXPECT_NE(text.find(word), std::string::npos) << word << " in: " << text;
}

TEST(Program, HelpNamesTheCommandsAndTheirOptions) {
  for (const char* flag : {"--help", "-h"}) {
    const Ended e = run({flag});
    EXPECT_EQ(e.exit_code, 0);
    EXPECT_EQ(e.err, "");
    expect_in(e.out, {"train", "info", "bench"});
  }
  expect_in(run({"train", "--help"}).out, {"--list", "--resume", "checkerboard"});
  expect_in(run({"train", "checkerboard", "--help"}).out,
            {"--train-steps", "--lr", "--seeds", "--out", "--update", "256x10"});
  expect_in(run({"bench", "--help"}).out, {"--threads", "--filter", "--signature"});
  expect_in(run({"info", "--help"}).out, {"--json"});
}

TEST(Program, HelpShowsDefaultsAsPeopleWriteThem) {
  const auto check = [](const Arguments& arguments) {
    const std::string shown = run(arguments).out;
    EXPECT_GT(shown.size(), 100u);
    for (const char* odd : {"{false}", "{true}", "{"}) EXPECT_EQ(shown.find(odd), std::string::npos) << arguments[0];
  };
  for (const char* command : {"bench", "circuit", "data", "eval", "export", "ged", "info", "predict", "prove", "refine",
                              "rewrite", "run", "sweep", "train", "verify"})
    check({command, "--help"});
  for (const Task& task : all_tasks()) check({"train", task.name, "--help"});
}

// A name that the system does not take is as wrong as one that is not there, and is told in the same words.
TEST(Program, PathsThatTheSystemRefusesAreOneLine) {
  const std::string name(300, 'n');
  for (const Arguments& arguments : {Arguments{"info", name},
                                     {"eval", name},
                                     {"run", name},
                                     {"circuit", name},
                                     {"ged", name, name},
                                     {"predict", name, name},
                                     {"rewrite", name, "x"},
                                     {"train", "--resume", name},
                                     {"export", name, "--to", "c", "-o", "-"},
                                     {"refine", name},
                                     {"train", "life", "--from", name},
                                     {"verify", name, name}}) {
    const Ended e = run(arguments);
    EXPECT_EQ(e.exit_code, 1) << arguments[0];
    EXPECT_EQ(e.error_lines(), 1u) << e.err;
    EXPECT_EQ(e.err.find("filesystem"), std::string::npos) << e.err;
  }
}

TEST(Info, SaysThatAModelOfAnUnknownFormatCannotBeUsed) {
  const TempFolder folder;
  ASSERT_EQ(run({"train", "checkerboard-small", "--train-steps", "1", "--quiet", "--out", folder / "run"}).exit_code,
            0);
  SafetensorsFile file = read_safetensors(folder / "run/model.safetensors");
  EXPECT_EQ(run({"info", folder / "run"}).err, "");
  EXPECT_EQ(run({"info", folder / "run/checkpoint.safetensors"}).err, "");
  file.metadata["format"] = "espalier model 9";
  file.seal();
  write_safetensors(folder / "new.safetensors", file);
  const Ended e = run({"info", folder / "new.safetensors"});
  EXPECT_EQ(e.exit_code, 0);
  expect_in(e.out, {"espalier model 9", "update.0"});
  expect_in(e.err, {"cannot be used", "espalier model 9"});
  EXPECT_EQ(e.error_lines(), 1u) << e.err;
}

TEST(Program, VersionIsOneLine) {
  const Ended e = run({"--version"});
  EXPECT_EQ(e.exit_code, 0);
  EXPECT_TRUE(e.out.starts_with("espalier ")) << e.out;
}

TEST(Program, ListShowsEveryTaskInOneLine) {
  const Ended e = run({"train", "--list"});
  EXPECT_EQ(e.exit_code, 0);
  expect_in(e.out, {"life ", "checkerboard ", "checkerboard-small ", "checkerboard-async ", "lizard ", "letter ",
                    "pattern ", "rule ", "boards ", "simplify ", "table "});
}

TEST(Program, AFlagWithAValueIsWrongUsage) {
  for (const char* flag : {"--signature=\xff", "--json=no", "--json=99999999999999999999"})
    expect_one_line(run({"bench", flag}), 2, {"--help"});
}

TEST(Program, WhatIsMissingIsNamedWithWhatItMayBe) {
  const auto refused = [](const Arguments& arguments, const std::vector<std::string>& words) {
    expect_one_line(run(arguments), 2, words);
  };
  refused({"eval"}, {"eval: got no model, expected a trained automaton or table model"});
  refused({"predict", "x"}, {"predict: got no csv, expected rows with the columns"});
  refused({"prove", "x"}, {"prove: got no property, expected"});
  refused({"train", "life", "--lr"}, {"--lr: got nothing after it"});
  refused({"train", "life", "--quiet=no"}, {"--quiet: got a value", "--no-quiet"});
  refused({"sweep", "life", "--lr", "0.1,0.2"}, {"--lr: got \"0.1,0.2\"", "--vary \"lr=0.1,0.2\""});
  refused({"hlep"}, {"did you mean help?"});
  refused({"data", "mnist"}, {"data: got \"mnist\", expected a command (simplify)"});
  refused({"run", "x", "--gif", "x.png"}, {"--gif: got a file whose name says another kind"});
}

TEST(Program, WhatStandsBeforeACommandOrATaskIsRefusedAndNotIgnored) {
  const TempFolder folder;
  const auto refused = [&](const Arguments& arguments, const std::vector<std::string>& words) {
    expect_one_line(run(arguments, {.folder = folder.path()}), 2, words);
  };
  refused({"--json", "info", "x"}, {"--json", "before \"info\""});
  refused({"--bogus", "info", "x"}, {"--bogus", "no such option"});
  refused({"bogus", "info", "x"}, {"bogus", "expected a command"});
  refused({"train", "--lr", "5", "life"}, {"--lr", "before \"life\""});
  refused({"train", "--quiet", "life"}, {"--quiet", "before \"life\""});
  refused({"train", "--no-trials", "life"}, {"--no-trials", "before \"life\""});
  refused({"train", "life", "--no-list"}, {"--no-list", "with \"train\" alone"});
  refused({"train", "bogus", "life"}, {"bogus", "task"});
  refused({"sweep", "bogus", "life"}, {"sweep: got \"bogus\", expected a task"});
  refused({"sweep", "bogus"}, {"sweep: got \"bogus\", expected a task"});
  refused({"train", "--resume", "x", "life"}, {"--resume", "with \"train\" alone"});
  refused({"train", "life", "--resume", "x"}, {"--resume", "with \"train\" alone"});
  refused({"sweep", "--seeds", "1", "life"}, {"--seeds", "before \"life\""});
  refused({"sweep"}, {"got no task"});
  refused({"train", "--resume", "x", "--lr", "5"}, {"--lr: it belongs to a task", "\"train life --lr\""});
  refused({"sweep", "life", "--until-solved"}, {"--until-solved", "no such option"});  // a trial is one seed
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Program, OutputThatCannotBeWrittenIsAFailure) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  const std::string program = test::program_path();
  for (const char* arguments : {" train --list", " --version", " --help"})
    for (const char* to : {" >/dev/full", " >&-"})
      EXPECT_EQ(WEXITSTATUS(std::system((program + arguments + to + " 2>/dev/null").c_str())), 1) << arguments << to;
  EXPECT_EQ(WEXITSTATUS(std::system((program + " trian >/dev/null 2>/dev/full").c_str())), 2);
}

TEST(Program, AReaderThatHasSeenEnoughNeedsNoWord) {
  const TempFolder folder;
  for (const char* arguments : {"--help", "train life --help", "train --list"}) {
    const std::string pipe = folder / "pipe", command = test::program_path() + " " + arguments;
    // The reader, 3, is gone before the program begins to write into 4.
    const std::string script = "mkfifo " + pipe + "; exec 3<>" + pipe + " 4>" + pipe + " 3>&-; rm " + pipe + "; " +
                               command + " >&4 2>" + (folder / "errors") + "; echo $? >" + (folder / "status");
    ASSERT_EQ(std::system(("bash -c '" + script + "'").c_str()), 0) << arguments;
    EXPECT_EQ(text_of(folder / "errors"), "") << arguments;
    EXPECT_EQ(text_of(folder / "status"), "1\n") << arguments;
  }
}

TEST(Program, PathsThatCannotBeLookedAtAreOneLineThatSaysWhy) {
  const std::string path(5000, 'a');
  for (const char* command : {"eval", "info", "circuit", "run", "refine"})
    expect_one_line(run({command, path}), 1, {"too long"});
  expect_one_line(run({"train", "--resume", path}), 1, {"aaa"});
  const Ended e = run({"eval", "x", "--\x1b[31mred\r"});
  expect_one_line(e, 2, {"[31mred"});
  EXPECT_EQ(e.err.find_first_of("\x1b\r"), std::string::npos);
}

TEST(Info, LayersAreInTheirOrderAndEqualOnesOneLine) {
  const TempFolder folder;
  run({"train", "life", "--seeds", "1", "--train-steps", "1", "--quiet", "--out", folder / "run"});
  const std::string shown = run({"info", folder / "run"}).out;
  expect_in(shown, {"update.0 .. update.16", "perceive.3", "update=128x17,64,32,16,8,4,2,1"});
  expect_in(shown, {"run            life, seed 1: ", ", step 1 of 1\n"});
  std::filesystem::remove(folder / "run/model.safetensors");  // one that has none yet
  expect_in(run({"info", folder / "run"}).out, {"life, seed 1: "});
  EXPECT_EQ(shown.find("update.8"), std::string::npos) << shown;
}

TEST(Info, TellsWhatIsInAModel) {
  const TempFolder folder;
  ASSERT_EQ(run({"train", "checkerboard-small", "--train-steps", "2", "--quiet", "--out", folder / "run"}).exit_code,
            0);
  const std::string model = folder / "run/model.safetensors";
  expect_in(run({"info", model}).out, {"update.0", "perceive.0", "checkerboard-small"});
  const auto j = run({"info", "--json", model}).json();
  EXPECT_TRUE(j.at("tensors").contains("update.0"));
  EXPECT_EQ(j.at("metadata").at("config").at("task"), "checkerboard-small");
}

TEST(Run, TakesAModelOrItsFolderAndGivesTheSameBoardForAnyNumberOfThreads) {
  const TempFolder folder;
  ASSERT_EQ(run({"train", "checkerboard-small", "--train-steps", "2", "--quiet", "--out", folder / "run"}).exit_code,
            0);
  std::set<std::string> hashes;
  for (const std::string& model : {folder / "run", folder / "run/model.safetensors"})
    for (const char* threads : {"1", "2"}) {
      const auto j = run({"run", model, "--size", "40x100", "--steps", "9", "--async", "0.5", "--damage", "3,4,5,6",
                          "--threads", threads, "--quiet", "--json"})
                         .json();
      EXPECT_EQ(j.at("height"), 40);
      EXPECT_EQ(j.at("steps"), 9);
      hashes.insert(j.at("board_hash").get<std::string>());
    }
  EXPECT_EQ(hashes.size(), 1u);
  expect_one_line(run({"run", folder / "none"}), 1, {"none"});
  expect_one_line(run({"run", folder.path()}), 1, {"model.safetensors"});
  expect_one_line(run({"run", folder / "run", "--size", "0x5"}), 2, {"0x5"});
  expect_one_line(run({"run", folder / "run", "--async", "7"}), 2, {"--async"});
  expect_one_line(run({"run", folder / "run", "--seed", "-1"}), 2, {"--seed", "-1"});
  expect_one_line(run({"run", folder / "run", "--damage", "100,100,5,5"}), 2, {"8 x 8 board"});
  expect_one_line(run({"run", folder / "run", "--damage", "0,0,5,5,10,5"}), 2, {"FROM before TO"});
  expect_one_line(run({"run", folder / "run", "--channels"}), 2, {"--gif or --png"});
}

TEST(Run, WritesPicturesOnlyWhereNothingIsLost) {
  const TempFolder folder;
  ASSERT_EQ(run({"train", "checkerboard-small", "--train-steps", "2", "--quiet", "--out", folder / "run"}).exit_code,
            0);
  const std::string model = folder / "run/model.safetensors", before = text_of(model);
  expect_one_line(run({"run", folder / "run", "--gif", model}), 1, {"--gif", "the file to read"});
  expect_one_line(run({"run", model, "--png", model}), 1, {"--png", "the file to read"});
  expect_one_line(run({"export", model, "--to", "c", "-o", model}), 1, {"the file to read"});
  EXPECT_EQ(text_of(model), before);
  const std::string picture = folder / "picture";
  expect_one_line(run({"run", model, "--gif", picture, "--png", picture}), 2, {"where the GIF goes"});
  expect_one_line(run({"run", model, "--png", folder / "none/x.png"}), 1, {"none/x.png", "does not exist"});
  ASSERT_EQ(run({"run", model, "--png", picture, "--quiet"}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(picture));
}

TEST(Run, CtrlCIsHeardDuringALongRun) {
  const TempFolder folder;
  ASSERT_EQ(run({"train", "checkerboard-small", "--train-steps", "2", "--quiet", "--out", folder / "run"}).exit_code,
            0);
  Running program({"run", folder / "run", "--size", "256", "--steps", "1000000000", "--quiet", "--json"});
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  program.send(SIGTERM);
  const Ended e = program.wait();
  EXPECT_EQ(e.exit_code, 130);
  EXPECT_LT(e.json().at("steps"), 1'000'000'000);
}

// While the board is set up, while a soft step is made, and between steps.
TEST(Run, TermIsHeardWhateverALargeBoardIsDoing) {
  const TempFolder folder;
  ASSERT_EQ(run({"train", "checkerboard-small", "--train-steps", "2", "--quiet", "--out", folder / "run"}).exit_code,
            0);
  for (const Arguments& more : {Arguments{}, {"--json"}, {"--soft"}})
    for (const int milliseconds : {30, 600, 2500}) {
      Arguments arguments{"run", folder / "run", "--size", "4096", "--steps", "1000000", "--quiet"};
      arguments.insert(arguments.end(), more.begin(), more.end());
      Running program(arguments);
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
      program.send(SIGTERM);
      for (int i = 0; i < 1500 && !program.ended(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      EXPECT_TRUE(program.ended()) << milliseconds << " ms: not heard";
      program.send(SIGKILL);
      const Ended e = program.wait();
      EXPECT_TRUE(e.exit_code == 130 || e.signal == SIGTERM) << e.exit_code << ", " << e.signal;
    }
}

TEST(Run, APictureGoesToStandardOutputAlone) {
  const TempFolder folder;
  ASSERT_EQ(run({"train", "checkerboard-small", "--train-steps", "2", "--quiet", "--out", folder / "run"}).exit_code,
            0);
  const Surroundings here{.folder = folder.path()};
  for (const char* kind : {"--png", "--gif"}) {
    const Ended piped = run({"run", folder / "run", "--steps", "2", kind, "-"}, here);
    EXPECT_EQ(piped.exit_code, 0) << piped.err;
    ASSERT_EQ(run({"run", folder / "run", "--steps", "2", "--quiet", kind, folder / "file"}).exit_code, 0);
    EXPECT_EQ(piped.out, text_of(folder / "file")) << kind;
    expect_one_line(run({"run", folder / "run", "--json", kind, "-"}, here), 2, {"--json"});
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "-"));
}

TEST(Models, ChangedOnDiskAreRefused) {
  const TempFolder folder;
  ASSERT_EQ(run({"train", "checkerboard-small", "--train-steps", "2", "--quiet", "--out", folder / "run"}).exit_code,
            0);
  const std::string model = folder / "run/model.safetensors";
  const std::string good = text_of(model);
  for (const std::size_t at : {good.size() / 2, good.size() - 1}) {
    std::string flipped = good;
    flipped[at] ^= 1;
    std::ofstream(model, std::ios::binary) << flipped;
    expect_one_line(run({"eval", model}), 1, {"changed or damaged"});
  }
  std::string metadata = good;  // what is no tensor is believed no more than what is
  metadata[good.find("\"option.width\"") + 16] ^= 1;
  std::ofstream(model, std::ios::binary) << metadata;
  expect_one_line(run({"eval", model}), 1, {"changed or damaged"});
  std::ofstream(model, std::ios::binary) << good;
  EXPECT_EQ(run({"eval", model}).exit_code, 0);
}

TEST(Info, RefusesWhatIsNoModel) {
  const TempFolder folder;
  expect_one_line(run({"info", folder / "none"}), 1, {"none"});
  std::ofstream(folder / "text") << "hello";
  expect_one_line(run({"info", folder / "text"}), 1, {"text"});
  std::ofstream(folder / "rows.csv") << "length,width,colour\n1,2,red\n";
  expect_one_line(run({"info", folder / "rows.csv"}), 1, {"rows.csv\"", "expected a safetensors file"});
  std::ofstream(folder / "huge", std::ios::binary) << std::string(8, '\xff') << "{}";
  expect_one_line(run({"info", folder / "huge"}), 1, {"huge"});
  expect_one_line(run({"info", folder.path()}), 1, {folder.path()});
  expect_one_line(run({"info"}), 2, {"model"});
}

TEST(Bench, JsonHasEveryColumnAndEqualHashes) {
  const Ended e = run(
      {"bench", "--filter", "checkerboard-small", "--threads", "1,2,3", "--repeat", "1", "--seconds", "0", "--json"},
      {{{"ESPALIER_OVERSUBSCRIBE", "1"}}, "", RLIM_INFINITY});
  ASSERT_EQ(e.exit_code, 0) << e.err;
  const auto j = e.json();
  ASSERT_EQ(j.at("cases").size(), 3u);
  ASSERT_EQ(j.at("limits").size(), 3u);
  for (const auto& row : j.at("cases")) {
    EXPECT_EQ(row.at("case"), "lattice/checkerboard-small");
    EXPECT_EQ(row.at("unit"), "gates/s");
    EXPECT_EQ(row.at("hash"), j.at("cases")[0].at("hash"));
    EXPECT_EQ(row.at("hash_equal"), true);
    for (const char* field :
         {"median_seconds", "throughput", "ratio_to_one_thread", "ratio_to_reference", "fraction_of_limit", "peak_mb"})
      EXPECT_GT(row.at(field), 0) << field;
  }
  for (const auto& limit : j.at("limits")) {
    EXPECT_GT(limit.at("flops_per_second"), 1e8);
    EXPECT_GT(limit.at("memory_bytes_per_second"), 1e7);
  }
}

TEST(Bench, SignatureDoesNotDependOnThreads) {
  const Surroundings many{{{"ESPALIER_OVERSUBSCRIBE", "1"}}, "", RLIM_INFINITY};
  const Ended one = run({"bench", "--signature", "--threads", "1"}, many);
  // A line for every case, and one hash over all of them at the end.
  EXPECT_GT(std::count(one.out.begin(), one.out.end(), '\n'), 50) << one.out;
  const std::string last = one.out.substr(one.out.rfind('\n', one.out.size() - 2) + 1);
  EXPECT_EQ(last.size(), 33u) << last;
  EXPECT_EQ(last.find_first_not_of("0123456789abcdef\n"), std::string::npos) << last;
  EXPECT_EQ(run({"bench", "--signature", "--threads", "5"}, many).out, one.out);
}

TEST(Bench, WrongUsageIsOneLine) {
  expect_one_line(run({"bench", "--filter", "nothing-of-this-name"}), 1,
                  {"nothing-of-this-name", "a part of a case's name"});
  for (const char* threads : {"0", "1,", ",1", "two", "1;2", "9999"})
    expect_one_line(run({"bench", "--threads", threads}), 2, {"--threads"});
  expect_one_line(run({"bench", "--repeat", "0"}), 2, {"--repeat"});
}

}  // namespace
}  // namespace espalier
