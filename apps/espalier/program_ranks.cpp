#include "program_ranks.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <hwy/targets.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/files.hpp"
#include "base/hash.hpp"
#include "command_line.hpp"
#include "espalier/error.hpp"
#include "espalier/model.hpp"
#include "espalier/thread_pool.hpp"

namespace espalier::app {
namespace {

ProgramRanks* joined = nullptr;

void silence_standard_streams() {
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
  ::close(nowhere);
}

// Ranks of one machine share its cores, unless whoever started them has given each its own.
void share_cores() {
  const char* local = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  if (!local) local = std::getenv("SLURM_NTASKS_PER_NODE");
  const int here = local ? std::atoi(local) : 1, cores = ThreadPool::usable_cores();
  if (here > 1 && cores >= static_cast<int>(std::thread::hardware_concurrency()))
    ::setenv("ESPALIER_THREADS", std::to_string(std::max(1, cores / here)).c_str(), 0);
}

// All that must be the same for the same bits, as words for whoever reads that it is not.
struct Trait {
  const char* what;
  std::string value;
};
std::vector<Trait> traits(int argc, char** argv) {
  const std::vector<std::byte> program = read_bytes("/proc/self/exe");
  std::string options;
  for (int i = 1; i < argc; ++i) options += fmt::format("{}{}", i > 1 ? " " : "", argv[i]);
  // Vectors of any width give the same bits, but not with and without fused multiply-adds.
  const bool fused = (hwy::SupportedTargets() & ~(HWY_SCALAR | HWY_EMU128 | HWY_SSSE3 | HWY_SSE4)) != 0;
  return {{"the program", Hasher().add(program.data(), program.size()).hex()},
          {"its options", options},
          {"vector instructions", fused ? "fused multiply-add" : "no fused multiply-add"}};
}

// Says on rank 0 what is not alike; true on all when everything is.
bool alike(Ranks& ranks, int argc, char** argv) {
  for (const Trait& trait : traits(argc, argv)) {
    const std::vector<std::string> all = ranks.all_gather_text(trait.value);
    for (int r = 1; r < ranks.size(); ++r) {
      const std::string& other = all[static_cast<std::size_t>(r)];
      if (other == all[0]) continue;
      const std::string line =
          fmt::format("espalier: [ranks] got {} on rank {} ({}): {}, expected what rank 0 ({}) has: {}\n", trait.what,
                      r, ranks.host(r), other, ranks.host(0), all[0]);
      std::fputs(line.c_str(), stderr);
      return false;
    }
  }
  return true;
}

}  // namespace

ProgramRanks* program_ranks() { return joined; }

void check_same_model(Ranks& ranks, const Model& model) {
  const Bytes file = model_file(model).serialize();
  ranks.check_same("model", Hasher().add(file.data(), file.size()).hex());
}

int as_rank(int argc, char** argv, int (*work)(int, char**)) {
  std::unique_ptr<ProgramRanks> ranks;
  try {
    ranks = join_ranks();
  } catch (const Error& error) {
    std::fprintf(stderr, "espalier: %s\n", error.what());
    return kUsage;
  }
  if (!ranks) return work(argc, argv);
  if (ranks->size() > 1) {
    joined = ranks.get();
    if (!ranks->first()) silence_standard_streams();
    share_cores();
  }
  int exit_code = kUsage;
  try {
    if (!joined || alike(*joined, argc, argv)) exit_code = work(argc, argv);
  } catch (const std::exception& error) {  // commands catch their own: this is about being alike
    ranks->end_job(error.what(), kFailed);
  }
  const bool first = ranks->first();
  ranks->leave();
  joined = nullptr;
  return first ? exit_code : kDone;
}

}  // namespace espalier::app
