#include "espalier/run_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>

#include "base/file_lock.hpp"
#include "base/files.hpp"
#include "base/json.hpp"
#include "espalier/error.hpp"
#include "runs/checkpoint.hpp"
#include "runs/metrics_file.hpp"
#include "runs/own_files.hpp"
#include "runs/run_folder.hpp"

namespace espalier {
namespace {

using Json = nlohmann::json;

// A file may be moved or cut between two looks at the folder; whoever writes there is through in a moment.
constexpr int kTries = 5;
constexpr std::chrono::milliseconds kPause(20);

template <class Read>
auto patiently(const Read& read) {
  for (int tries = 1;; ++tries) {
    try {
      return read();
    } catch (const Error&) {
      if (tries == kTries) throw;
    }
    std::this_thread::sleep_for(kPause);
  }
}

// Where the files of the run are: for a moment, or after a kill, those of a run that is being replaced have no config
// beside them but in the folder inside.
Folder files_of(const Folder& given) {
  const bool moved = !given.has(kConfig) && given.is_folder(kReplaced);
  return moved ? given.inner(kReplaced) : Folder(given.path());
}

std::string path_in(const Folder& folder, const std::string& name) { return folder.path() + "/" + name; }

// The newest that can be read: while a new one takes its place, the last has the name of the one before. What was next
// a moment ago may have its place by now: it is looked for again, or an older one would be told of than before.
std::optional<CheckpointSummary> checkpoint_in(const Folder& folder) {
  std::exception_ptr problem;
  for (const char* name : {kCheckpoint, kNext, kCheckpoint, kPrevious}) {
    if (!folder.has(name)) continue;
    try {
      return summarize_checkpoint(read_safetensors_metadata(path_in(folder, name)));
    } catch (const Error&) {
      if (!problem) problem = std::current_exception();
    }
  }
  if (problem) std::rethrow_exception(problem);
  return std::nullopt;
}

struct Ending {
  bool finished = false, passed = false, solved = false;
};

Ending ending_of(const std::optional<CheckpointSummary>& checkpoint, const ModelNotes& notes) {
  if (!checkpoint || !checkpoint->finished) return {};
  const auto solved = notes.find("solved");
  return {true, checkpoint->best && checkpoint->best->passed, solved != notes.end() && solved->second == "true"};
}

ModelNotes model_notes_in(const Folder& folder) {
  return folder.has(kModelFile) ? read_safetensors_metadata(path_in(folder, kModelFile)).metadata : ModelNotes();
}

Ending ending_in(const Folder& folder) { return ending_of(checkpoint_in(folder), model_notes_in(folder)); }

// Seeds end one by one, or once a lower one has passed; attempts follow each other until one has.
const char* state_of(const std::vector<Ending>& seeds) {
  for (const Ending& seed : seeds) {
    if (!seed.finished) return "interrupted";
    if (seed.passed) return seed.solved ? "solved" : "finished";
  }
  return "finished";
}

RunRecord read_now(const std::string& path) {
  const Folder given(path);
  if (!holds_run(given)) fail("run record", path, "the folder of a run");
  const Folder folder = files_of(given);
  RunRecord record{.folder = path, .config = read_text(path_in(folder, kConfig), 1 << 24)};
  try {
    const Json config = parse_json(record.config, path_in(folder, kConfig));
    record.task = config.at("task").get<std::string>();
    record.first_seed = config.at("seed").get<std::uint64_t>();
    record.num_seeds = config.at("seeds").get<std::uint64_t>();
    record.train_steps = config.at("train-steps").get<std::uint64_t>();
  } catch (const Json::exception&) {
    fail("run record", path_in(folder, kConfig), "the settings of a run", "it was changed or damaged");
  }
  record.process = FileLock::owner(given, kLock);
  record.metrics = read_metrics(folder);
  const std::optional<CheckpointSummary> checkpoint = checkpoint_in(folder);
  if (checkpoint) {
    record.step = checkpoint->step;
    record.seconds = checkpoint->seconds;
    record.best = checkpoint->best;
  }
  if (folder.has(kModelFile)) record.model = path_in(folder, kModelFile);
  record.model_notes = model_notes_in(folder);
  for (const char* name : {"loss.svg", "gates.svg", "growth.gif"})
    if (folder.has(name)) record.pictures.push_back(path_in(folder, name));

  const std::vector<std::string> seeds = seeds_in(folder);
  for (const std::string& seed : seeds) record.seeds.push_back(path_in(folder, seed));
  if (!record.process.empty()) {
    record.state = "running";
    return record;
  }
  std::vector<Ending> endings;
  if (record.num_seeds == 1) {
    endings.push_back(ending_of(checkpoint, record.model_notes));
    for (const std::string& seed : seeds) endings.push_back(ending_in(folder.inner(seed)));
  } else {
    for (std::uint64_t k = 0; k < record.num_seeds; ++k) {
      const std::string seed = fmt::format("seed-{}", record.first_seed + k);
      endings.push_back(std::ranges::find(seeds, seed) == seeds.end() ? Ending() : ending_in(folder.inner(seed)));
      if (!endings.back().finished || endings.back().passed) break;
    }
  }
  record.state = state_of(endings);
  return record;
}

}  // namespace

const std::vector<double>* Metrics::find(std::string_view name) const {
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? nullptr : &columns[static_cast<std::size_t>(found - names.begin())];
}

RunRecord RunRecord::read(const std::string& folder) {
  return patiently([&] { return read_now(folder); });
}

Metrics RunRecord::read_metrics(const std::string& folder) {
  return patiently([&] { return espalier::read_metrics(files_of(Folder(folder))); });
}

}  // namespace espalier
