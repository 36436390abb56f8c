// A rank that dies, hangs, fails or is not like the others ends the job with a line that names it, and what was saved
// is whole.
#include <fstream>
#include <thread>

#include "ranks/mpirun.hpp"

namespace espalier {
namespace {

const Arguments kLong{"train", "checkerboard-small", "--seeds", "1",       "--train-steps", "40", "--eval-every",
                      "20",    "--checkpoint-every", "2",       "--quiet", "--json"};

// The processes that mpirun has started, by their order.
std::vector<pid_t> children(pid_t parent) {
  std::vector<pid_t> found;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(parent) + "/task")) {
    std::ifstream in(thread.path() / "children");
    for (pid_t pid = 0; in >> pid;) found.push_back(pid);
  }
  std::sort(found.begin(), found.end());
  return found;
}

TEST(RanksFaults, AKilledRankEndsTheJobAndItGoesOnWithAnotherNumber) {
  const TempFolder folder;
  const std::string whole = hash_of(run(kLong + Arguments{"--out", folder / "whole"}));
  const int counts[] = {3, 2, 4};
  for (int victim = 0; victim < 2; ++victim) {
    const std::string out = folder / ("killed-" + std::to_string(victim));
    {
      Running job(kLong + Arguments{"--out", out}, ranks(counts[victim]));
      job.wait_for(out + "/checkpoint.safetensors");
      const std::vector<pid_t> ranks = children(job.pid());
      ASSERT_EQ(ranks.size(), static_cast<std::size_t>(counts[victim]));
      ::kill(ranks[static_cast<std::size_t>(victim)], SIGKILL);
      const Ended e = job.wait();
      EXPECT_NE(e.exit_code, 0);
      EXPECT_NE(e.err.find("rank " + std::to_string(victim)), std::string::npos) << e.err;
    }
    const Ended e = run({"train", "--resume", out, "--quiet", "--json"}, ranks(counts[victim + 1]));
    EXPECT_EQ(hash_of(e), whole);
    EXPECT_EQ(metrics_but_seconds(out), metrics_but_seconds(folder / "whole"));
  }
}

TEST(RanksFaults, AStopThatOneRankHearsStopsAllAtTheSameStep) {
  const TempFolder folder;
  const std::string out = folder / "run";
  Running job(kLong + Arguments{"--train-steps", "1000000", "--out", out}, ranks(3));
  job.wait_for(out + "/checkpoint.safetensors");
  const std::vector<pid_t> ranks_now = children(job.pid());
  ASSERT_EQ(ranks_now.size(), 3u);
  ::kill(ranks_now[2], SIGTERM);
  const Ended e = job.wait();
  EXPECT_EQ(e.exit_code, 130) << e.err;
  EXPECT_NE(e.err.find("continue with: espalier train --resume"), std::string::npos) << e.err;
  EXPECT_EQ(e.json().value("outcome", ""), "interrupted");
}

TEST(RanksFaults, AHungRankIsNamed) {
  const TempFolder folder;
  const std::string out = folder / "run";
  Running job(kLong + Arguments{"--train-steps", "1000000", "--rank-timeout", "1", "--out", out}, ranks(3));
  job.wait_for(out + "/checkpoint.safetensors");
  const std::vector<pid_t> ranks = children(job.pid());
  ASSERT_EQ(ranks.size(), 3u);
  ::kill(ranks[1], SIGSTOP);
  const Ended e = job.wait();
  ::kill(ranks[1], SIGKILL);
  EXPECT_NE(e.exit_code, 0);
  EXPECT_NE(e.err.find("espalier: rank 1 on "), std::string::npos) << e.err;
  EXPECT_NE(e.err.find("has not answered for 1 s"), std::string::npos) << e.err;
}

// Rank 0 has work of its own, and the others have nothing left to do but to wait for it.
TEST(RanksFaults, ARankThatHangsWhileRankZeroWorksAloneIsNamed) {
  for (const int victim : {1, 0}) {
    // Rank 0 is missed while it works, another one when rank 0 has done.
    Running job({"bench", "--filter", "threads/empty-loop", "--rank-timeout", "1", "--threads", "1", "--seconds",
                 victim ? "0.1" : "100", "--repeat", victim ? "3" : "100000"},
                ranks(3));
    job.wait_for_words("threads/empty-loop");
    const std::vector<pid_t> ranks = children(job.pid());
    ASSERT_EQ(ranks.size(), 3u);
    ::kill(ranks[static_cast<std::size_t>(victim)], SIGSTOP);
    const Ended e = job.wait();
    ::kill(ranks[static_cast<std::size_t>(victim)], SIGKILL);
    EXPECT_NE(e.exit_code, 0);
    EXPECT_NE(e.err.find("espalier: rank " + std::to_string(victim) + " on "), std::string::npos) << e.err;
    EXPECT_EQ(count_of(e.err, "espalier: rank "), 1u) << e.err;
  }
}

// Woken by mpirun at the end of the job, it must not blame others for the time that it slept.
TEST(RanksFaults, AFirstRankOfManySeedsThatHangsIsTheOnlyOneNamed) {
  const TempFolder folder;
  const std::string out = folder / "run";
  Running job(kLong + Arguments{"--seeds", "3", "--train-steps", "1000000", "--rank-timeout", "1", "--out", out},
              ranks(3));
  for (const char* seed : {"1", "2", "3"}) job.wait_for(out + "/seed-" + seed + "/checkpoint.safetensors");
  const std::vector<pid_t> ranks = children(job.pid());
  ASSERT_EQ(ranks.size(), 3u);
  ::kill(ranks[0], SIGSTOP);
  const Ended e = job.wait();
  ::kill(ranks[0], SIGKILL);
  EXPECT_NE(e.exit_code, 0);
  EXPECT_NE(e.err.find("espalier: rank 0 on "), std::string::npos) << e.err;
  EXPECT_EQ(count_of(e.err, "espalier: rank "), 1u) << e.err;
  EXPECT_EQ(count_of(e.err, "stopping as soon as"), 0u) << e.err;
}

// In bands every rank waits for its neighbours alone: the hung one is at the end of a chain of those that wait.
TEST(RanksFaults, AHungRankOfManyBandsIsNamed) {
  const TempFolder folder;
  hash_of(run({"train", "checkerboard-small", "--seeds", "1", "--train-steps", "1", "--refine", "0", "--quiet",
               "--json", "--out", folder / "model"}));
  Running job({"run", folder / "model", "--size", "512", "--steps", "1000000000", "--json", "--quiet", "--threads", "1",
               "--rank-timeout", "1"},
              ranks(6));
  std::vector<pid_t> found;
  while (found.size() < 6) found = children(job.pid());
  std::this_thread::sleep_for(std::chrono::seconds(2));  // until all are at work
  ::kill(found[3], SIGSTOP);
  const Ended e = job.wait();
  ::kill(found[3], SIGKILL);
  EXPECT_NE(e.exit_code, 0);
  EXPECT_NE(e.err.find("espalier: rank 3 on "), std::string::npos) << e.err;
  EXPECT_EQ(count_of(e.err, "espalier: rank "), 1u) << e.err;
}

TEST(RanksFaults, AnErrorOfTheFirstRankIsOneLineAndEndsAll) {
  const TempFolder folder;
  std::filesystem::create_directories(folder / "run");
  std::ofstream(folder / "run/other") << "not ours";
  const Ended e = run(kLong + Arguments{"--out", folder / "run"}, ranks(3));
  EXPECT_EQ(e.exit_code, 1) << e.err;
  EXPECT_EQ(e.out, "");
  EXPECT_NE(e.err.find("espalier: rank 0 on "), std::string::npos) << e.err;
  EXPECT_NE(e.err.find(": [run folder] got "), std::string::npos) << e.err;
  EXPECT_EQ(count_of(e.err, "espalier: "), 1u) << e.err;
  EXPECT_EQ(count_of(e.err, "stopping as soon as"), 0u) << e.err;
}

TEST(RanksFaults, ADiskThatTakesNothingMoreEndsTheJobAndLeavesTheLastCheckpointWhole) {
  const TempFolder folder;
  const std::string out = folder / "run";
  hash_of(run(kLong + Arguments{"--train-steps", "4", "--out", out}, ranks(2)));
  const std::string before = text_of(out + "/checkpoint.safetensors");
  std::filesystem::create_directories(out + "/checkpoint-next.safetensors/in-the-way");
  const Arguments more{"train", "--resume", out, "--train-steps", "40", "--quiet", "--json", "--checkpoint-every", "2"};
  const Ended e = run(more, ranks(2));
  EXPECT_EQ(e.exit_code, 1);
  EXPECT_NE(e.err.find("espalier: "), std::string::npos) << e.err;
  EXPECT_EQ(text_of(out + "/checkpoint.safetensors"), before);
  std::filesystem::remove_all(out + "/checkpoint-next.safetensors");
  EXPECT_EQ(hash_of(run(more, ranks(3))), hash_of(run(kLong + Arguments{"--out", folder / "whole"})));
}

// Every write goes through rank 0, also those of seeds that others train.
TEST(RanksFaults, AFullDiskIsToldOfWithItsRankAndTheRunGoesOnWithAnotherNumber) {
  for (const char* seeds : {"1", "3"}) {
    const TempFolder folder;
    const std::string out = folder / "run";
    const Arguments task = kLong + Arguments{"--seeds", seeds, "--train-steps", "8", "--refine", "0", "--out"};
    const std::string whole = hash_of(run(task + Arguments{folder / "whole"}));
    const Ended e =
        run(task + Arguments{out}, ranks(3, {"-x", "LD_PRELOAD=" ESPALIER_FAULT_SHIM, "-x", "FAULT_PREFIX=" + out, "-x",
                                             "FAULT_KIND=full", "-x", "FAULT_AT=40"}));
    EXPECT_EQ(e.exit_code, 1) << e.err;
    EXPECT_NE(e.err.find("rank 0 on "), std::string::npos) << e.err;
    EXPECT_NE(e.err.find("No space left on device"), std::string::npos) << e.err;
    EXPECT_EQ(hash_of(run({"train", "--resume", out, "--quiet", "--json"}, ranks(2))), whole);
  }
}

TEST(RanksFaults, WrongUsageIsSaidOnce) {
  const Ended e = run({"train", "checkerboard-small", "--train-stepz", "3"}, ranks(3));
  EXPECT_NE(e.exit_code, 0);
  EXPECT_EQ(count_of(e.err, "espalier: --train-stepz"), 1u) << e.err;
}

TEST(RanksFaults, RanksWithOtherOptionsAreRefused) {
  const TempFolder folder;
  Surroundings around = ranks(1);  // and, after a colon, one more with other options
  const Arguments task = kLong + Arguments{"--out", folder / "run"};
  const Ended e =
      run(task + Arguments{":", "-n", "1", test::program_path()} + task + Arguments{"--batch", "3"}, around);
  EXPECT_NE(e.exit_code, 0);
  EXPECT_NE(e.err.find("its options on rank 1"), std::string::npos) << e.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "run"));
}

TEST(RanksFaults, RanksWithAnotherProgramAreRefused) {
  const TempFolder folder;
  std::filesystem::copy_file(test::program_path(), folder / "other");
  std::ofstream(folder / "other", std::ios::app) << "x";
  const Arguments task = kLong + Arguments{"--out", folder / "run"};
  const Ended e = run(task + Arguments{":", "-n", "1", folder / "other"} + task, ranks(1));
  EXPECT_NE(e.exit_code, 0);
  EXPECT_NE(e.err.find("the program on rank 1"), std::string::npos) << e.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "run"));
}

// As on a machine with another version of it. The mathematics of libm is part of the bits.
TEST(RanksFaults, RanksWithAnotherMathematicalLibraryAreRefused) {
  const TempFolder folder;
  std::ifstream maps("/proc/self/maps");
  std::string line, library;
  while (std::getline(maps, line))
    if (line.find("/libm.so") != std::string::npos) library = line.substr(line.find('/'));
  ASSERT_FALSE(library.empty());
  const std::string other = folder / std::filesystem::path(library).filename();
  std::filesystem::copy_file(library, other);
  std::ofstream(other, std::ios::app) << "x";
  const Arguments task{"train", "--list"};
  const Ended e =
      run(task + Arguments{":", "-n", "1", "env", "LD_LIBRARY_PATH=" + folder.path(), test::program_path()} + task,
          ranks(1));
  EXPECT_NE(e.exit_code, 0);
  EXPECT_NE(e.err.find("libraries on rank 1"), std::string::npos) << e.err;
}

TEST(RanksFaults, ARankOnAnotherHostIsNamedWithIt) {
  if (std::system("unshare --uts true 2>/dev/null") != 0) GTEST_SKIP() << "no right to a host name of one's own";
  const Arguments task{"train", "--list"};
  const Ended e = run(task +
                          Arguments{":", "-n", "1", "unshare", "--uts", "sh", "-c",
                                    "hostname far-away; exec \"$0\" \"$@\"", test::program_path()} +
                          task + Arguments{"--json"},
                      ranks(1));
  EXPECT_NE(e.exit_code, 0);
  EXPECT_NE(e.err.find("its options on rank 1 (far-away)"), std::string::npos) << e.err;
}

// As srun does without --mpi=pmix: each would do all of the work.
TEST(RanksFaults, ProgramsStartedTogetherThatKnowNothingOfEachOtherAreRefused) {
  const auto started = [](const char* rank) {
    return run({"train", "--list"}, {.environment = {{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", rank}}});
  };
  expect_one_line(started("0"), 2, {"[ranks] got one of 4 processes", "srun --mpi=pmix"});
  const Ended third = started("2");
  EXPECT_EQ(third.exit_code, 0) << "a failure of its own could end the first before that has spoken";
  EXPECT_EQ(third.err + third.out, "") << "said once is enough";
  Surroundings around = ranks(2);  // mpirun in the midst of a job of Slurm
  around.environment.emplace_back("SLURM_STEP_NUM_TASKS", "4");
  EXPECT_EQ(run({"train", "--list"}, around).exit_code, 0);
}

TEST(RanksFaults, AProgramBuiltWithoutMpiRefusesToBeOneOfSeveral) {
  Surroundings around = ranks(3);
  around.launcher.push_back(ESPALIER_WITHOUT_MPI);  // takes our own program for its argument
  const Ended e = run({}, around);
  EXPECT_EQ(e.exit_code, 2) << e.err;
  EXPECT_EQ(e.out, "");
  EXPECT_EQ(count_of(e.err, "espalier: [ranks] got one of 3 processes"), 1u) << e.err;
  EXPECT_NE(e.err.find("built without MPI"), std::string::npos) << e.err;
  around.launcher = {ESPALIER_WITHOUT_MPI};
  around.environment.clear();
  EXPECT_EQ(run({}, around).out, "at work\n");
}

// The same command on two ranks, each in a folder of its own.
Ended in_folders(const Arguments& command, const std::string& one, const std::string& two) {
  return run(command + Arguments{":", "-n", "1", "-wdir", two, test::program_path()} + command,
             ranks(1, {"-wdir", one}));
}

TEST(RanksFaults, RanksWithOtherDataAreRefused) {
  const TempFolder one, two;
  std::ofstream(one / "table.csv") << "a,y\n1,no\n2,yes\n3,no\n4,yes\n5,no\n6,yes\n";
  std::ofstream(two / "table.csv") << "a,y\n1,no\n2,yes\n3,no\n4,yes\n5,no\n7,yes\n";
  for (const char* seeds : {"1", "3"}) {
    const Arguments task{"train", "table",   "--csv", "table.csv", "--target", "y",     "--train-steps",
                         "2",     "--seeds", seeds,   "--quiet",   "--force",  "--out", one / "run"};
    const Ended e = in_folders(task, one.path(), two.path());
    EXPECT_NE(e.exit_code, 0);
    EXPECT_NE(e.err.find("a difference in the input files on rank 1"), std::string::npos) << e.err;
    EXPECT_FALSE(std::filesystem::exists(one / "run")) << "a folder was made for ranks that were refused";
  }
}

TEST(RanksFaults, RanksWithOtherModelsOrStartsAreRefused) {
  const TempFolder one, two, same;
  const Arguments task{"train", "checkerboard-small", "--seeds", "1", "--train-steps", "1", "--refine", "0", "--quiet"};
  run(task + Arguments{"--out", one / "model"});
  run(task + Arguments{"--seed", "2", "--out", two / "model"});
  for (const Arguments& command : {Arguments{"eval", "model"}, {"run", "model", "--json", "--quiet"}}) {
    const Ended e = in_folders(command, one.path(), two.path());
    EXPECT_NE(e.exit_code, 0) << command[0];
    EXPECT_NE(e.err.find("a difference in the model on rank 1"), std::string::npos) << e.err;
  }
  std::ofstream(one / "start.txt") << "#.\n.#\n";
  std::ofstream(two / "start.txt") << "##\n.#\n";
  const Ended e =
      in_folders({"run", one / "model", "--start", "start.txt", "--json", "--quiet"}, one.path(), two.path());
  EXPECT_NE(e.err.find("a difference in the start on rank 1"), std::string::npos) << e.err;
}

}  // namespace
}  // namespace espalier
