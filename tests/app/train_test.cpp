// What `espalier train` promises at its surface: output, exit codes, and errors that leave everything in place.
#include "app/program.hpp"

namespace espalier {
namespace {

Arguments small(const Arguments& more) {
  Arguments all{"train", "checkerboard-small", "--train-steps", "6", "--eval-every", "2"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(Train, JsonIsOneObjectWithEveryFieldPromised) {
  const TempFolder folder;
  const Ended e = run(small({"--seed", "3", "--threads", "2", "--json", "--out", folder / "run"}));
  ASSERT_EQ(e.exit_code, 0) << e.err;
  const auto j = e.json();
  for (const char* field :
       {"task", "seed", "steps", "best_step", "threads", "soft_loss", "validation_loss", "score", "solved", "outcome",
        "seconds", "ms_per_step", "wall_seconds", "num_parameters", "weights_hash", "model", "peak_rss_mb", "report"})
    EXPECT_TRUE(j.contains(field) && !j.at(field).is_null()) << field;
  for (const char* field : {"goal", "gates", "active_gates", "live_gates"})
    EXPECT_TRUE(j.at("report").contains(field)) << field;
  EXPECT_EQ(j.at("task"), "checkerboard-small");
  EXPECT_EQ(j.at("seed"), 3);
  EXPECT_EQ(j.at("steps"), 6);
  EXPECT_EQ(j.at("weights_hash").get<std::string>().size(), 32u);
  EXPECT_GT(j.at("peak_rss_mb"), 1);
  EXPECT_EQ(j.at("model"), folder / "run/model.safetensors");
  for (const char* name : {"config.json", "metrics.csv", "model.safetensors", "checkpoint.safetensors"})
    EXPECT_TRUE(std::filesystem::exists(folder / "run/" + name)) << name;
}

TEST(Train, ProgressGoesToStandardErrorAndQuietMeansQuiet) {
  const TempFolder folder;
  const Ended loud = run(small({"--out", folder / "loud"}));
  EXPECT_GE(loud.error_lines(), 3u) << loud.err;
  EXPECT_NE(loud.out.find("model "), std::string::npos) << loud.out;
  const Ended quiet = run(small({"--quiet", "--json", "--out", folder / "quiet"}));
  EXPECT_EQ(quiet.err, "");
  quiet.json();
}

TEST(Train, TimeThatIsUpStopsItAndIsTold) {
  const TempFolder folder;
  const Arguments endless{"--train-steps", "1000000", "--no-until-solved", "--seconds", "0.2",
                          "--quiet",       "--out",   folder / "run"};
  const Ended e = run(small(endless));
  EXPECT_EQ(e.exit_code, 0) << e.err;
  EXPECT_NE(e.err.find("out of time"), std::string::npos) << e.err;
  EXPECT_NE(e.err.find("--resume " + (folder / "run")), std::string::npos) << e.err;
  EXPECT_TRUE(std::filesystem::exists(folder / "run/model.safetensors"));
}

TEST(Train, AnUnsolvedEndSaysHowNearItCameAndWhatToTry) {
  const TempFolder folder;
  const Ended e = run(small({"--quiet", "--out", folder / "run"}));
  EXPECT_EQ(e.exit_code, 0);
  EXPECT_NE(e.err.find("not solved"), std::string::npos) << e.err;
  EXPECT_NE(e.err.find("--train-steps 12"), std::string::npos) << e.err;
  EXPECT_NE(e.err.find("wrong bits per board"), std::string::npos) << e.err;
  EXPECT_NE(e.err.find("--seed 2"), std::string::npos) << e.err;
}

// What a run is made of, after a single step.
nlohmann::json config_of(const std::string& task, const Arguments& more) {
  const TempFolder folder;
  Arguments all{"train",   task,        "--train-steps", "1",     "--no-trials",
                "--quiet", "--seconds", "0.001",         "--out", folder / "run"};
  all.insert(all.end(), more.begin(), more.end());
  EXPECT_EQ(run(all).exit_code, 0);
  return nlohmann::json::parse(text_of(folder / "run/config.json"));
}

TEST(Train, PublishedMeansTheSettingsOfThePublicationButForThoseThatAreGiven) {
  const TempFolder folder;
  ASSERT_EQ(run({"train", "life", "--published", "--train-steps", "2", "--quiet", "--out", folder / "run"}).exit_code,
            0);
  const auto config = nlohmann::json::parse(text_of(folder / "run/config.json"));
  EXPECT_EQ(config.at("train-steps"), 2);
  EXPECT_EQ(config.at("start-logit"), 10);
  for (const char* none : {"gumbel-final", "refine", "budget"}) EXPECT_EQ(config.at(none), 0) << none;
  EXPECT_EQ(run({"train", "table", "--published"}).exit_code, 2);  // of no publication
  // Also where what is given is the default.
  const std::string refine = std::to_string(config_of("life", {}).at("refine").get<std::uint64_t>());
  EXPECT_EQ(config_of("life", {"--published", "--refine", refine}).at("refine"), std::stoull(refine));
}

TEST(Train, TheDefaultFolderIsNamedForTaskAndSeed) {
  const TempFolder folder;
  const Ended e = run(small({"--seed", "9", "--quiet"}), {{}, folder.path(), RLIM_INFINITY});
  EXPECT_EQ(e.exit_code, 0) << e.err;
  EXPECT_TRUE(std::filesystem::exists(folder / "runs/checkerboard-small-9/model.safetensors"));
}

TEST(Train, TimingTellsTheSharesOfAStep) {
  const TempFolder folder;
  const Ended e = run(small({"--quiet", "--timing", "--json", "--out", folder / "run"}));
  for (const char* phase : {"data", "forward", "backward", "optimizer", "evaluation"})
    EXPECT_NE(e.err.find(phase), std::string::npos) << e.err;
}

// For every kind of task, by the fast code and the plain one, for one seed and for several.
TEST(Train, TimingTellsForwardFromBackwardForEveryTask) {
  const TempFolder folder;
  const std::string iris = test::source_dir() + "/data/iris.csv";
  const Arguments tasks[] = {
      {"checkerboard-small", "--train-steps", "2", "--eval-every", "2"},
      {"table", "--csv", iris, "--target", "species", "--train-steps", "2", "--eval-every", "2"},
      {"simplify", "--train-steps", "2", "--eval-every", "2", "--train-examples", "40", "--validation-examples", "5",
       "--test-examples", "0", "--deep-examples", "0", "--batch-size", "20", "--features", "8", "--depth", "3"}};
  for (const Arguments& task : tasks)
    for (const bool reference : {false, true})
      for (const char* seeds : {"1", "3"}) {
        Arguments all{"train"};
        all.insert(all.end(), task.begin(), task.end());
        all.insert(all.end(), {"--seeds", seeds, "--quiet", "--timing", "--force", "--out", folder / "run"});
        if (reference) all.push_back("--reference");
        const Ended e = run(all);
        ASSERT_EQ(e.exit_code, 0) << e.err;
        SCOPED_TRACE(task.front() + (reference ? " --reference" : "") + " --seeds " + seeds + "\n" + e.err);
        double shares = 0;
        for (const char* phase : {"data", "forward", "backward", "reduction", "optimizer", "evaluation", "other"}) {
          const std::size_t at = e.err.find(std::string("  ") + phase + " "), ms = e.err.find(" ms ", at);
          // The plain code adds everything up as it goes.
          EXPECT_EQ(at == std::string::npos, std::string_view(phase) == "reduction" && reference) << phase;
          if (ms != std::string::npos) shares += std::strtod(e.err.c_str() + ms + 4, nullptr);
        }
        EXPECT_NEAR(shares, 100, 0.5);  // nothing is left out, and nothing is counted twice
      }
}

TEST(Train, TimingHasTheSearch) {
  const TempFolder folder;
  const Ended e = run(small({"--seeds", "1", "--refine", "600", "--quiet", "--timing", "--out", folder / "run"}));
  EXPECT_NE(e.err.find("  search "), std::string::npos) << e.err;
}

// Of all seeds, rounds and attempts, each counted once.
TEST(Train, TimingIsOfAllStepsAndInTheJson) {
  const TempFolder folder;
  const auto steps_of = [&](const Arguments& more) {
    Arguments all = small({"--train-steps", "20", "--refine", "0", "--lr", "1e-9", "--quiet", "--json", "--force"});
    all.insert(all.end(), more.begin(), more.end());
    all.insert(all.end(), {"--out", folder / "run"});
    const auto timing = run(all).json().at("timing");
    double sum = 0;
    for (const auto& [phase, seconds] : timing.at("phases").items()) sum += seconds.get<double>();
    EXPECT_NEAR(sum, timing.at("seconds").get<double>(), 1e-9) << timing;
    return timing.at("steps").get<int>();
  };
  EXPECT_EQ(steps_of({"--seeds", "1"}), 20);
  EXPECT_EQ(steps_of({"--seeds", "3"}), 60);
  EXPECT_EQ(steps_of({"--seeds", "1", "--budget", "60"}), 60) << "three attempts";
}

TEST(Train, AnExistingRunIsKeptWithoutForce) {
  const TempFolder folder;
  const std::string out = folder / "run";
  ASSERT_EQ(run(small({"--quiet", "--out", out})).exit_code, 0);
  const std::string config = text_of(out + "/config.json"), model = text_of(out + "/model.safetensors");
  expect_one_line(run(small({"--seed", "2", "--quiet", "--out", out})), 1, {"holds a run", "resume", "force", out});
  EXPECT_EQ(text_of(out + "/config.json"), config);
  EXPECT_EQ(text_of(out + "/model.safetensors"), model);
  std::ofstream(out + "/notes.txt") << "mine";
  expect_one_line(run(small({"--seed", "2", "--quiet", "--force", "--out", out})), 1, {"notes.txt"});
  EXPECT_EQ(text_of(out + "/config.json"), config) << "a folder with files of somebody else is not replaced";
  EXPECT_EQ(text_of(out + "/notes.txt"), "mine");
  std::filesystem::remove(out + "/notes.txt");
  EXPECT_EQ(run(small({"--seed", "2", "--quiet", "--force", "--out", out})).exit_code, 0);
  EXPECT_NE(text_of(out + "/config.json"), config);
}

TEST(Train, UnsolvedIsAnExitCodeOnlyWhenAskedFor) {
  const TempFolder folder;
  EXPECT_EQ(run(small({"--quiet", "--out", folder / "a"})).exit_code, 0);
  const Ended e = run(small({"--quiet", "--json", "--require-solved", "--out", folder / "b"}));
  EXPECT_EQ(e.exit_code, 3);
  EXPECT_EQ(e.json().at("solved"), false);
}

TEST(Train, AnOptionGivenTwiceMeansItsLastValue) {
  const TempFolder folder;
  EXPECT_EQ(run(small({"--train-steps", "3", "--quiet", "--json", "--out", folder / "a"})).json().at("steps"), 3);
}

TEST(Train, WhatIsOffAnywayMayBeTurnedOff) {
  const TempFolder folder;
  EXPECT_EQ(run(small({"--trials", "--no-trials", "--quiet", "--out", folder / "a"})).exit_code, 0);
  EXPECT_EQ(nlohmann::json::parse(text_of(folder / "a/config.json")).at("trials"), false);
}

TEST(Train, WrongUsageIsOneLineAndExit2) {
  const TempFolder folder;
  const Surroundings here{{}, folder.path(), RLIM_INFINITY};
  expect_one_line(run({"train", "chekerboard"}, here), 2, {"chekerboard", "checkerboard"});
  expect_one_line(run({"train"}, here), 2, {"--list"});
  expect_one_line(run({}, here), 2, {"--help"});
  expect_one_line(run({"trian"}, here), 2, {"trian"});
  expect_one_line(run(small({"--train-steps", "many"}), here), 2, {"--train-steps", "many", "whole number"});
  expect_one_line(run(small({"--train-steps", "-5"}), here), 2, {"--train-steps", "-5"});
  expect_one_line(run(small({"--epochs", "5"}), here), 2, {"--epochs", "--train-steps"});
  expect_one_line(run(small({"--lr", "fast"}), here), 2, {"--lr", "fast"});
  expect_one_line(run(small({"--optimizer", "magic"}), here), 2, {"--optimizer", "magic", "adamw"});
  expect_one_line(run(small({"--threads", "-3"}), here), 2, {"threads", "-3"});
  expect_one_line(run(small({"--threads", "lots"}), here), 2, {"threads", "lots"});
  expect_one_line(run(small({"--seed", "-1"}), here), 2, {"--seed", "-1"});
  expect_one_line(run(small({"--no-such-option"}), here), 2, {"--no-such-option"});
  expect_one_line(run(small({"--chanels", "3"}), here), 2, {"--chanels", "did you mean --channels?"});
  expect_one_line(run(small({"--out", ""}), here), 2, {"--out", "empty name"});
  expect_one_line(run(small({"more"}), here), 2, {"more"});
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "wrong usage left something behind";
}

TEST(Train, ImpossibleProblemsFailBeforeAnyWorkAndLeaveNoFolder) {
  const TempFolder folder;
  const std::string out = folder / "run";
  expect_one_line(run(small({"--update", "2,2,4", "--out", out})), 1, {"wiring", "hint"});
  expect_one_line(run(small({"--update", "abc", "--out", out})), 2, {"--update", "abc"});
  expect_one_line(run({"train", "life", "--height", "9", "--out", out}), 1, {"3 x 3"});
  expect_one_line(run({"train", "pattern", "--out", out}), 1, {"target"});
  expect_one_line(run({"train", "pattern", "--target", folder / "none.png", "--out", out}), 1, {"none.png"});
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(Train, FoldersThatCannotBeWrittenAreNamed) {
  const TempFolder folder;
  std::ofstream(folder / "file") << "not a folder";
  expect_one_line(run(small({"--out", folder / "file"})), 1, {folder / "file"});
  expect_one_line(run(small({"--out", folder / "file/run"})), 1, {folder / "file"});
  expect_one_line(run(small({"--out", "/proc/espalier"})), 1, {"/proc/espalier"});
  EXPECT_EQ(text_of(folder / "file"), "not a folder");
  if (geteuid() != 0) {  // root may write anywhere
    std::filesystem::create_directory(folder / "locked");
    std::filesystem::permissions(folder / "locked",
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
    expect_one_line(run(small({"--out", folder / "locked/run"})), 1, {"locked", "ermission"});
  }
}

TEST(Train, AFolderWithOtherFilesIsLeftAlone) {
  const TempFolder folder;
  std::filesystem::create_directory(folder / "mine");
  for (const char* name : {"model.safetensors", "seeds.csv"}) std::ofstream(folder / "mine/" + name) << "precious";
  for (const Arguments& force : {Arguments{}, {"--force"}}) {
    Arguments all = small({"--out", folder / "mine"});
    all.insert(all.end(), force.begin(), force.end());
    const Ended e = run(all);
    expect_one_line(e, 1, {"other files: model.safetensors, seeds.csv", "another folder"});
    EXPECT_EQ(e.err.find("force"), std::string::npos) << e.err;
  }
  expect_one_line(run(small({"--out", folder / "mine", "--seeds", "2"})), 1, {"other files"});
  for (const char* name : {"model.safetensors", "seeds.csv"})
    EXPECT_EQ(text_of(folder / "mine/" + name), "precious") << name;
  EXPECT_FALSE(std::filesystem::exists(folder / "mine/config.json"));
  std::filesystem::create_directory(folder / "empty");
  EXPECT_EQ(run(small({"--out", folder / "empty"})).exit_code, 0);
}

std::map<std::string, std::string> files_in(const std::string& path) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
    if (entry.is_regular_file()) files[entry.path().string()] = text_of(entry.path().string());
  return files;
}

// However it is said, a run never replaces what it reads.
TEST(Train, ForceDoesNotDeleteWhatTheRunReads) {
  const TempFolder folder;
  const std::string one = folder / "one", many = folder / "many", table = folder / "table";
  const Arguments rule{"train", "rule", "--rule", "B36/S23", "--train-steps", "2", "--refine", "0", "--quiet"};
  const auto with = [&](Arguments all, const Arguments& more) {
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  ASSERT_EQ(with(rule, {"--out", one}).exit_code, 0);
  ASSERT_EQ(with(rule, {"--out", many, "--seeds", "2"}).exit_code, 0);
  ASSERT_EQ(with({"train", "table"}, {"--csv", test::source_dir() + "/data/iris.csv", "--target", "species",
                                      "--train-steps", "20", "--eval-every", "1", "--quiet", "--out", table})
                .exit_code,
            0);
  const auto before = files_in(folder.path());
  expect_one_line(with(rule, {"--from", one, "--out", one, "--force"}), 1, {one, "reads"});
  expect_one_line(with(rule, {"--from", many + "/seed-1", "--out", many, "--force"}), 1, {many, "reads"});
  expect_one_line(with(rule, {"--from", many + "/seed-1", "--out", many, "--force", "--seeds", "2"}), 1, {many});
  expect_one_line(with({"train", "table"}, {"--csv", table + "/metrics.csv", "--target", "score", "--train-steps", "2",
                                            "--out", table, "--force"}),
                  1, {table});
  EXPECT_EQ(files_in(folder.path()), before);
}

TEST(Train, WhenTheNewRunFailsBeforeItsFirstCheckpointTheOldOneIsBack) {
  const TempFolder folder;
  const std::string out = folder / "run";
  ASSERT_EQ(run(small({"--quiet", "--out", out})).exit_code, 0);
  const auto before = files_in(out);
  expect_one_line(run(small({"--quiet", "--force", "--lr", "1000", "--weight-decay", "10", "--clip-value", "0",
                             "--train-steps", "100", "--checkpoint-every", "1000", "--out", out})),
                  1, {"expected a finite number"});
  EXPECT_EQ(files_in(out), before);
  expect_one_line(run(small({"--quiet", "--force", "--out", out}), {{}, "", 500}), 1, {"File too large"});
  EXPECT_EQ(files_in(out), before);
}

TEST(Train, AFolderOfAnotherToolIsNotReplaced) {
  const TempFolder folder;
  std::ofstream(folder / "config.json") << "{\"architectures\": [\"Bert\"], \"task\": \"life\"}";
  std::ofstream(folder / "model.safetensors") << "precious";
  const auto before = files_in(folder.path());
  const Ended e = run(small({"--out", folder.path(), "--force"}));
  expect_one_line(e, 1, {"config.json, model.safetensors"});
  EXPECT_EQ(e.err.find("force"), std::string::npos) << e.err;
  EXPECT_EQ(files_in(folder.path()), before);
}

TEST(Train, ASmallStackIsEnough) {
  const TempFolder folder;
  const Arguments all = small({"--quiet", "--json", "--threads", "2", "--refine", "0", "--out"});
  const auto with = [&](const std::string& out) {
    Arguments own = all;
    own.push_back(folder / out);
    return own;
  };
  Surroundings around;
  around.launcher = {"sh", "-c", "ulimit -s 64; exec \"$0\" \"$@\""};
  const Ended e = run(with("small"), around);
  ASSERT_EQ(e.exit_code, 0) << e.err << e.signal;
  EXPECT_EQ(e.json().at("weights_hash"), run(with("usual")).json().at("weights_hash"));
}

TEST(Train, TheAdviceAfterAnUnsolvedEndIsOfUse) {
  const TempFolder folder;
  const auto advice = [&](const Arguments& more, const Arguments& words) {
    Arguments arguments = small({"--seed", "5", "--train-steps", "4", "--refine", "0", "--force"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.insert(arguments.end(), {"--out", folder / "run"});
    const Ended e = run(arguments);
    EXPECT_EQ(e.exit_code, 0) << e.err;
    for (const std::string& word : words) EXPECT_NE(e.err.find(word), std::string::npos) << word << "\n" << e.err;
  };
  advice({}, {"the best of 1 attempt:", "--train-steps 8 ", "--seed 6 "});
  advice({"--seeds", "3"}, {"the best of 3 attempts:", "--train-steps 8 ", "--seed 8 ", "other starts"});
  advice({"--train-steps", "0"}, {"--train-steps 100 "});
  advice({"--budget", "1"}, {"--budget 8 "});  // twice what one attempt takes
  expect_one_line(run(small({"--seeds", "2", "--budget", "99", "--out", folder / "new"})), 1,
                  {"got 99 for 2 seeds", "a single seed"});
  advice({"--seeds", "2"}, {});
  expect_one_line(run({"train", "--resume", folder / "run", "--budget", "99"}), 1, {"budget", "several seeds"});
}

TEST(Train, OnlyRunsOfOursAreResumed) {
  const TempFolder folder;
  expect_one_line(run({"train", "--resume", folder / "nowhere"}), 1, {"nowhere"});
  expect_one_line(run({"train", "--resume", folder.path()}), 1, {folder.path(), "config.json"});
  std::ofstream(folder / "config.json") << "{\"name\": \"someone else's\"}";
  expect_one_line(run({"train", "--resume", folder.path()}), 1, {"task"});
  std::ofstream(folder / "config.json") << "{broken";
  expect_one_line(run({"train", "--resume", folder.path()}), 1, {"config.json", "JSON"});
  EXPECT_EQ(text_of(folder / "config.json"), "{broken");
}

TEST(Train, DamagedCheckpointsAreRefusedAndKept) {
  const TempFolder folder;
  const std::string out = folder / "run", file = out + "/checkpoint.safetensors";
  ASSERT_EQ(run(small({"--quiet", "--out", out})).exit_code, 0);
  const std::string good = text_of(file);
  const std::string damaged[] = {good.substr(0, good.size() / 2), good.substr(0, 5), "", std::string(good.size(), 'x')};
  for (const std::string& bad : damaged) {
    std::ofstream(file, std::ios::binary) << bad;
    expect_one_line(run({"train", "--resume", out}), 1, {});
    EXPECT_EQ(text_of(file), bad);
  }
  std::string flipped = good;
  flipped[good.size() - 40] = static_cast<char>(flipped[good.size() - 40] ^ 1);  // in the weights
  std::ofstream(file, std::ios::binary) << flipped;
  expect_one_line(run({"train", "--resume", out}), 1, {"damaged"});
}

TEST(Train, ACheckpointOfAnotherConfigIsRefused) {
  const TempFolder folder;
  ASSERT_EQ(run(small({"--quiet", "--out", folder / "a"})).exit_code, 0);
  ASSERT_EQ(run(small({"--quiet", "--lr", "0.01", "--out", folder / "b"})).exit_code, 0);
  std::filesystem::copy_file(folder / "a/checkpoint.safetensors", folder / "b/checkpoint.safetensors",
                             std::filesystem::copy_options::overwrite_existing);
  expect_one_line(run({"train", "--resume", folder / "b"}), 1, {"config.json"});
}

TEST(Train, ALossThatIsNotFiniteStopsAndKeepsTheLastGoodCheckpoint) {
  const TempFolder folder;
  const std::string out = folder / "run";
  // The decay alone multiplies the weights by about -1e4 a step: they overflow within a dozen steps.
  const Ended e = run({"train", "checkerboard-small", "--train-steps", "200", "--lr", "1000", "--weight-decay", "10",
                       "--clip-value", "0", "--checkpoint-every", "1", "--quiet", "--out", out});
  expect_one_line(e, 1, {"expected a finite number", "learning rate", "checkpoint"});
  ASSERT_TRUE(std::filesystem::exists(out + "/checkpoint.safetensors"));
  const Ended info = run({"info", out + "/checkpoint.safetensors"});
  EXPECT_EQ(info.exit_code, 0) << info.err;
  expect_one_line(run({"train", "--resume", out, "--quiet"}), 1, {"expected a finite number"});
}

TEST(Train, PicturesOfARunSayWhatTheyShow) {
  TempFolder folder;
  const std::string out = folder / "run";
  ASSERT_EQ(
      run({"train", "checkerboard-small", "--train-steps", "20", "--seed", "1", "--quiet", "--out", out}).exit_code, 0);
  const std::string loss = text_of(out + "/loss.svg"), gates = text_of(out + "/gates.svg"),
                    growth = text_of(out + "/growth.gif");
  EXPECT_NE(loss.find("squared error per board"), std::string::npos);
  EXPECT_EQ(loss.find("<rect x="), std::string::npos);  // no box over the curves
  EXPECT_NE(gates.find("(wires: "), std::string::npos);
  EXPECT_EQ(gates.find(">B<"), std::string::npos);
  // 8 cells of 40 pixels, and below them the strip that marks the trained step.
  ASSERT_GT(growth.size(), 10u);
  EXPECT_EQ(static_cast<unsigned char>(growth[8]) + 256 * static_cast<unsigned char>(growth[9]), 330);
}

}  // namespace
}  // namespace espalier
