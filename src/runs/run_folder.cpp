#include "runs/run_folder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <thread>

#include "base/file_lock.hpp"
#include "base/files.hpp"
#include "espalier/error.hpp"
#include "espalier/run.hpp"

namespace espalier {
namespace {

constexpr const char* kDoing = "training in";
constexpr std::size_t kShownFiles = 5;
constexpr std::chrono::milliseconds kPause(20);  // while somebody deletes the folder's files
constexpr int kPauses = 50;

std::string config_in(const Folder& folder) {
  InputFile file = folder.open(kConfig);
  if (file.size() > 1 << 24) fail("resume", fmt::format("{}/{}", folder.path(), kConfig), "one of at most 16 MB");
  std::string text(file.size(), 0);
  file.read(std::as_writable_bytes(std::span(text)));
  return text;
}

// What a kill between the two moves of a new checkpoint left undone.
void finish_moving(const Folder& folder) {
  if (!folder.has(kCheckpoint) && folder.has(kNext)) folder.move(kNext, folder, kCheckpoint);
}

std::string some_of(std::vector<std::string> names) {
  const std::size_t more = names.size() > kShownFiles ? names.size() - kShownFiles : 0;
  names.resize(names.size() - more);
  return fmt::format("{}{}", fmt::join(names, ", "), more ? fmt::format(" and {} more", more) : "");
}

}  // namespace

// The folder that is owned, and what has become of it.
struct RunFolder::Held {
  explicit Held(const std::string& where) : path(where), folder(std::make_unique<Folder>(where)) { own(); }
  ~Held() {
    if (!gives_back) return;
    try {
      finish_replacing(*folder, true);  // a checkpoint that nobody was told of counts as well
    } catch (const Error&) {            // whoever opens it next does so
    }
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  void own() {
    lock.reset();
    lock = std::make_unique<FileLock>(*folder, kLock, path, kDoing);
    if (!folder->try_own())
      fail("lock", fmt::format("{}, which a process is {} whose lock was deleted", path, kDoing),
           "a place that nobody else uses", "wait for it, stop it, or choose another place");
  }

  // Before every write. Where nobody else can be in the folder, it takes what is written, and all of the run is there;
  // otherwise the run goes on in a new one beside it. What had only lost its lock may yet be removed: rm -r takes its
  // time.
  void look() {
    const std::lock_guard alone(mutex);
    if (saved_beside) return;
    if (folder->is_removed())
      save_beside("was removed");
    else if (!lock->still_there() && folder->has(kLock))
      save_beside("was taken over by another process, after its lock had been deleted,");
    else if (!trouble.empty())
      return;
    else if (!lock->still_there())
      trouble = fmt::format("{}, whose lock was deleted while it was trained in", path);
    else if (!folder->is_at(path))
      trouble = fmt::format("{}, which was moved to {} while it was trained in", path, folder->whereabouts());
  }

  // Whether somebody is deleting its files; waits until they are through, or seem to be.
  bool is_being_removed() const {
    const auto begun = [&] { return folder->is_removed() || !lock->still_there() || !folder->has(kConfig); };
    std::this_thread::sleep_for(kPause);
    for (int i = 0; i < kPauses && begun() && !folder->is_removed(); ++i) std::this_thread::sleep_for(kPause);
    return begun();
  }

  void save_beside(const char* what) {
    std::string beside = fmt::format("{}-saved-{}", path, ::getpid());
    for (int n = 2; std::filesystem::exists(std::filesystem::symlink_status(beside)); ++n)
      beside = fmt::format("{}-saved-{}-{}", path, ::getpid(), n);  // numbers of processes come again
    make_folder(beside);
    auto next = std::make_unique<Folder>(beside);
    next->write(kConfig, std::string_view(config));
    if (folder->is_file(kMetrics)) next->write(kMetrics, folder->read(kMetrics));
    trouble = fmt::format("{}, which {} while it was trained in; the run is saved in {}", path, what, beside);
    saved_beside = true;
    gives_back = false;  // nothing of what is there now is ours
    lock.reset();
    folder = std::move(next);
    lock = std::make_unique<FileLock>(*folder, kLock, beside, kDoing);
  }

  std::mutex mutex;  // seeds look at the folder of all of them
  std::string path, config, trouble;
  std::unique_ptr<Folder> folder;
  std::unique_ptr<FileLock> lock;
  bool gives_back = false;    // the run that this one replaces
  bool saved_beside = false;  // the folder is another now
};

RunFolder::RunFolder(std::string path, std::string config) : path_(std::move(path)), config_(std::move(config)) {}

RunFolder::RunFolder(std::string path, std::shared_ptr<Held> held) : path_(std::move(path)), held_(std::move(held)) {}

const Folder& RunFolder::folder() const { return *held_->folder; }

const Folder& RunFolder::place() const {
  held_->look();
  return *held_->folder;
}

void RunFolder::put(const std::function<void(const Folder& to)>& write) const {
  try {
    write(place());
  } catch (const Error&) {
    if (!held_->is_being_removed()) throw;
    write(place());
  }
}

bool RunFolder::owns(const std::string& path) {
  std::error_code error;
  const std::filesystem::path file = std::filesystem::weakly_canonical(path, error);
  return !error && holds_run(file.parent_path().string()) && is_own_name(file.filename().string());
}

bool RunFolder::holds_run(const std::string& path) { return is_folder(path) && espalier::holds_run(Folder(path)); }

std::string RunFolder::seed_folder(const std::string& path, std::uint64_t seed) {
  return fmt::format("{}/seed-{}", path, seed);
}

RunFolder RunFolder::create(const std::string& path, const std::string& config, bool force) {
  if ((std::filesystem::absolute(path) / ".").lexically_normal().parent_path().filename() == kReplaced)
    fail("run folder", fmt::format("{}, a name that runs use inside their folders", path), "another name",
         "what is kept there is removed once the run around it has a checkpoint");
  make_folder(path);
  const auto look = [&](const Folder& folder) {
    // Who is training here is told of first: its files may have been made this very moment.
    const auto refuse = [&](const std::string& what, const char* expected, const char* hint) {
      if (folder.has(kLock)) const FileLock owner(folder, kLock, path, kDoing);
      fail("run folder", fmt::format("{}, which holds {}", path, what), expected, hint);
    };
    const std::vector<std::string> foreign = foreign_files(folder);
    const bool run = espalier::holds_run(folder);
    if (run && !force && foreign.empty())
      refuse("a run", "a new folder",
             "resume that run, replace it with the option \"force\", or choose another folder");
    if (run && !foreign.empty())
      refuse(fmt::format("a run and other files: {}", some_of(foreign)), "a new folder",
             force ? "move them away, or choose another folder" : "resume that run, or choose another folder");
    std::vector<std::string> others;
    for (const std::string& name : folder.names())
      if (name != kLock) others.push_back(name);
    if (!run && !others.empty())
      refuse(fmt::format("other files: {}", some_of(others)), "a new or an empty folder", "choose another folder");
    return run;
  };
  {
    const Folder folder(path);
    folder.remove_stale_temporaries();
    look(folder);
  }
  RunFolder run(path, std::make_shared<Held>(path));
  run.config_ = run.held_->config = config;
  const Folder& folder = run.folder();
  if (look(folder)) {
    finish_replacing(folder, true);
    std::vector<std::unique_ptr<Held>> seeds;  // one of them may be resumed by itself
    for (const std::string& seed : seeds_in(folder)) seeds.push_back(std::make_unique<Held>(run.file(seed)));
    run.held_->gives_back = true;
    move_run_aside(folder);
  }
  folder.write(kConfig, std::string_view(config));
  return run;
}

RunFolder RunFolder::open(const std::string& path) {
  if (!is_folder(path)) fail("resume", path, "the folder of a run");
  {
    const Folder folder(path);
    if (!folder.has(kConfig) && !espalier::holds_run(folder))
      fail("resume", fmt::format("{}, which has no config.json", path), "the folder of a run");
    if (!espalier::holds_run(folder))  // nothing is written before this has been read
      RunConfig::parse(config_in(folder), path + "/" + kConfig, all_tasks());
  }
  RunFolder run(path, std::make_shared<Held>(path));
  const Folder& folder = run.folder();
  folder.remove_stale_temporaries();  // what a kill in the middle of a write left behind
  run.remark_ = finish_replacing(folder, false);
  finish_moving(folder);
  run.config_ = run.held_->config = config_in(folder);
  return run;
}

void RunFolder::replace_config(const std::string& config) {
  held_->config = config_ = config;
  put([&](const Folder& to) { to.write(kConfig, std::string_view(config)); });
}

void RunFolder::drop_replaced() const {
  held_->gives_back = false;
  try {
    remove_replaced_run(folder());
  } catch (const Error&) {  // whoever opens it next does so
  }
}

void RunFolder::check_place() const {
  held_->look();
  if (!held_->trouble.empty())
    fail("run folder", held_->trouble, "one that stays as it is", "it can be resumed where it is saved");
}

SafetensorsFile RunFolder::read(const std::string& path) const {
  if (folder().is_at(path_)) return read_safetensors(path);
  return read_safetensors(folder().whereabouts() + "/" + std::filesystem::path(path).filename().string());
}

void RunFolder::append_metrics(const TrainState& state) const {
  put([&](const Folder& to) { espalier::append_metrics(to, state); });
}

MetricsCheck RunFolder::trim_metrics(std::uint64_t step, const MetricsSeal& expected) const {
  return espalier::trim_metrics(place(), step, expected);
}

std::string RunFolder::metrics() const { return thinned_metrics(folder()); }

void RunFolder::write(const std::string& name, std::span<const std::byte> bytes) const {
  put([&](const Folder& to) { to.write(name, bytes); });
}

bool RunFolder::has(const std::string& name) const { return folder().has(name) && folder().open(name).size() > 0; }

void RunFolder::write_checkpoint(std::span<const std::byte> checkpoint) const {
  // The new one is whole, on disk and read back before the old ones move up: a kill in a long write leaves two
  // generations, one between the two moves the previous and the next, which finish_moving() takes then.
  const auto write = [&](const Folder& to) {
    to.write(kNext, checkpoint);
    if (!std::ranges::equal(to.read(kNext), checkpoint))
      fail("write file", fmt::format("\"{}\", which does not read as it was written", file(kNext)), "the same bytes",
           "check the disk before trusting its files");
    if (to.has(kCheckpoint)) to.move(kCheckpoint, to, kPrevious);
    to.move(kNext, to, kCheckpoint);
    // Nothing can be resumed without it. A removal that got no further may have taken it.
    if (!to.has(kConfig)) to.write(kConfig, std::string_view(config_));
  };
  put(write);
  held_->look();
  // A lock that is gone may be the first file of many.
  const bool stays = held_->trouble.empty() || held_->saved_beside || !held_->is_being_removed();
  if (!stays && (!folder().has(kCheckpoint) || !folder().has(kConfig))) put(write);
  check_place();
}

void RunFolder::drop_checkpoint() const { place().move(kPrevious, folder(), kCheckpoint); }

std::optional<std::string> RunFolder::checkpoint() const {
  return folder().has(kCheckpoint) ? std::optional(file(kCheckpoint)) : std::nullopt;
}

std::optional<std::string> RunFolder::previous_checkpoint() const {
  return folder().has(kPrevious) ? std::optional(file(kPrevious)) : std::nullopt;
}

}  // namespace espalier
