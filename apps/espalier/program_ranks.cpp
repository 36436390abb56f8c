#include "program_ranks.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <hwy/targets.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <optional>

#include "base/hash.hpp"
#include "command_line.hpp"
#include "espalier/error.hpp"
#include "espalier/model.hpp"
#include "program_traits.hpp"

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
void share_cores(Ranks& ranks) {
  ::setenv("ESPALIER_THREADS", std::to_string(fair_threads(ranks, program_place())).c_str(), 0);
}

// A number that whoever started us left in the environment, under the first of these names that is set.
std::optional<int> number_from(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const char* text = std::getenv(name)) return std::atoi(text);
  return std::nullopt;
}

// Started as one of several and alone all the same, each would do all of the work and write to the same folder.
void refuse_lone_ranks() {
  const int started = number_from({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}).value_or(1);
  if (started > 1) fail("ranks", fmt::format("one of {} processes", started), "a single one", hint_for_lone_ranks());
}

}  // namespace

ProgramRanks* program_ranks() { return joined; }

void check_same_model(Ranks& ranks, const Model& model) {
  const Bytes file = model_file(model).serialize();
  ranks.check_same("model", Hasher().add(file.data(), file.size()).hex());
}

int as_rank(int argc, char** argv, int (*work)(int, char**)) {
  const std::unique_ptr<ProgramRanks> ranks = join_ranks();
  if (!ranks || ranks->size() == 1) {
    try {
      refuse_lone_ranks();
    } catch (const Error& error) {
      // Only the first speaks and fails: a failure of another one could end the first before it has spoken.
      const bool first =
          number_from({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"}).value_or(0) == 0;
      if (first) std::fprintf(stderr, "espalier: %s\n", error.what());
      if (ranks) ranks->leave();
      return first ? kUsage : kDone;
    }
  }
  if (!ranks) return work(argc, argv);
  if (ranks->size() > 1) {
    joined = ranks.get();
    if (!ranks->first()) silence_standard_streams();
    share_cores(*ranks);
  }
  int exit_code = kUsage;
  try {
    const std::string difference =
        joined ? trait_difference(*joined, program_traits({argv + 1, argv + argc}, hwy::SupportedTargets())) : "";
    if (difference.empty())
      exit_code = work(argc, argv);
    else
      std::fprintf(stderr, "espalier: %s\n", difference.c_str());  // on the first alone
  } catch (const std::exception& error) {  // commands catch their own: this is about being alike
    ranks->end_job(error.what(), kFailed);
  }
  const bool first = ranks->first();
  ranks->leave();
  joined = nullptr;
  return first ? exit_code : kDone;
}

}  // namespace espalier::app
