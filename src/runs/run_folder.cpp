#include "runs/run_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/files.hpp"
#include "espalier/error.hpp"

namespace espalier {
namespace {

namespace fs = std::filesystem;
constexpr const char* kConfig = "config.json";
constexpr const char* kNextConfig = "config-next.json";  // of a run that is about to replace the one that is there
constexpr const char* kMetrics = "metrics.csv";
constexpr const char* kCheckpoint = "checkpoint.safetensors";
constexpr const char* kPrevious = "checkpoint-previous.safetensors";
constexpr const char* kNext = "checkpoint-next.safetensors";  // while it is being written
constexpr const char* kLock = "lock";
constexpr const char* kSeeds = "seeds.csv";
// All that a run writes but its config and its lock.
constexpr const char* kMade[] = {kCheckpoint, kPrevious,    kNext, "model.safetensors", kMetrics, "loss.svg",
                                 "gates.svg", "growth.gif", kSeeds};

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 && name[0] ? name : "this host";
}

// Locks of open file descriptions go over NFS (version 4) and do not vanish when another part of the process closes the
// file; where a system has none, those of processes.
int try_lock(int descriptor) {
  struct flock whole = {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
#ifdef F_OFD_SETLK
  if (::fcntl(descriptor, F_OFD_SETLK, &whole) == 0) return 0;
  if (errno != EINVAL) return errno;
#endif
  return ::fcntl(descriptor, F_SETLK, &whole) == 0 ? 0 : errno;
}

void remove_file(const std::string& path) {
  std::error_code error;
  fs::remove(path, error);
  if (error) fail_errno("remove file", path, error.value());
}

void move_file(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) fail_errno("write file", to, error.value());
}

void remove_made(const std::string& path) {
  for (const char* name : kMade) remove_file(path + "/" + name);
}

// Seeds of an older run in the same folder. What is not ours stays, and its folder with it.
void remove_seeds(const std::string& path) {
  for (const auto& entry : fs::directory_iterator(path)) {
    const std::string name = entry.path().filename().string(), inner = entry.path().string();
    if (!entry.is_directory() || !name.starts_with("seed-") || !RunFolder::holds_run(inner)) continue;
    remove_made(inner);
    remove_file(inner + "/" + kNextConfig);
    remove_file(inner + "/" + kConfig);  // last: as long as it is there, the folder is known as a run
    std::error_code not_empty;
    fs::remove(entry.path(), not_empty);
  }
}

// What is to replace a run is written down first, so that a disk that is full loses nothing; from then on the folder
// belongs to the new run, and whoever opens it next does what a kill left undone.
void finish_replacing(const std::string& path) {
  const std::string config = read_text(path + "/" + kNextConfig, 1 << 24);
  remove_made(path);
  remove_seeds(path);
  write_atomically(path + "/" + kConfig, std::string_view(config));
  remove_file(path + "/" + kNextConfig);
}

bool is_being_replaced(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path + "/" + kNextConfig, ignored);
}

}  // namespace

FolderLock::FolderLock(const std::string& folder) {
  const std::string path = folder + "/" + kLock;
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
  if (descriptor_ < 0)
    fail("run folder", fmt::format("{}: {}", path, std::strerror(errno)), "a file that can be locked");
  const int error = try_lock(descriptor_);
  if (error == 0) {
    const std::string owner = fmt::format("process {} on {}\n", ::getpid(), host_name());
    [[maybe_unused]] const int cut = ::ftruncate(descriptor_, 0);
    [[maybe_unused]] const auto written = ::pwrite(descriptor_, owner.data(), owner.size(), 0);
    return;
  }
  char text[300] = {};
  const auto length = ::pread(descriptor_, text, sizeof text - 1, 0);
  std::string owner = length > 0 ? std::string(text, static_cast<std::size_t>(length)) : std::string();
  owner = owner.substr(0, owner.find('\n'));
  ::close(descriptor_);
  descriptor_ = -1;
  if (error == EACCES || error == EAGAIN)
    fail("run folder", fmt::format("{}, which {} is training in", folder, owner.empty() ? "another process" : owner),
         "a folder that nobody else uses", "wait for it, stop it, or choose another folder");
  if (error != ENOLCK && error != EOPNOTSUPP && error != ENOSYS)  // a file system without locks: go on without
    fail("run folder", fmt::format("{}: {}", path, std::strerror(error)), "a file that can be locked");
}

FolderLock::~FolderLock() {
  if (descriptor_ < 0) return;
  [[maybe_unused]] const int cut = ::ftruncate(descriptor_, 0);
  ::close(descriptor_);
}

RunFolder::RunFolder(std::string path, std::string config, std::shared_ptr<FolderLock> lock)
    : path_(std::move(path)), config_(std::move(config)), lock_(std::move(lock)) {}

bool RunFolder::holds_run(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path + "/" + kConfig, ignored) || is_being_replaced(path);
}

std::string RunFolder::seed_folder(const std::string& path, std::uint64_t seed) {
  return fmt::format("{}/seed-{}", path, seed);
}

RunFolder RunFolder::create(const std::string& path, const std::string& config, bool force, Lock lock) {
  if (holds_run(path) && !force)
    fail("run folder", fmt::format("{}, which holds a run", path), "a new folder",
         "resume that run, replace it by force, or choose another folder");
  make_folder(path);
  remove_stale_temporaries(path);
  const auto ours = [](const fs::directory_entry& e) { return e.path().filename() == kLock; };
  if (!holds_run(path) && !force)
    for (const auto& entry : fs::directory_iterator(path))
      if (!ours(entry))
        fail("run folder", fmt::format("{}, which holds other files", path), "a new or an empty folder",
             "choose another folder, or write among them by force");
  auto held = lock == Lock::kTake ? std::make_shared<FolderLock>(path) : nullptr;
  RunFolder run(path, config, std::move(held));
  if (force) {
    write_atomically(run.file(kNextConfig), std::string_view(config));
    finish_replacing(path);
  } else {
    write_atomically(run.file(kConfig), std::string_view(config));
  }
  return run;
}

RunFolder RunFolder::open(const std::string& path, Lock lock) {
  if (!fs::is_directory(path)) fail("resume", path, "the folder of a run");
  if (!holds_run(path)) fail("resume", fmt::format("{}, which has no config.json", path), "the folder of a run");
  auto held = lock == Lock::kTake ? std::make_shared<FolderLock>(path) : nullptr;
  remove_stale_temporaries(path);  // what a kill in the middle of a write left behind
  if (is_being_replaced(path)) finish_replacing(path);
  return RunFolder(path, read_text(path + "/" + kConfig, 1 << 24), std::move(held));
}

void RunFolder::replace_config(const std::string& config) {
  write_atomically(file(kConfig), std::string_view(config));
  config_ = config;
}

void RunFolder::append_metrics(const TrainState& state) const {
  std::string text;
  std::error_code missing;
  if (const auto size = fs::file_size(file(kMetrics), missing); missing || size == 0) {
    text = "step,seconds,loss,score,validation_loss,solved";
    for (const auto& [name, value] : state.last.extra) text += "," + name;
    text += "\n";
  }
  text += fmt::format("{},{:.3f},{},{},{},{}", state.step, state.seconds, state.loss, state.last.score, state.last.loss,
                      state.last.solved ? 1 : 0);
  for (const auto& [name, value] : state.last.extra) text += fmt::format(",{}", value);
  append_text(file(kMetrics), text + "\n");
}

// Lines are in ascending order of steps: looks from the end for the last whole line to keep, and cuts the file there.
// So a long file costs no more than a short one.
void RunFolder::trim_metrics(std::uint64_t step) const {
  const std::string path = file(kMetrics);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (descriptor < 0) {
    if (errno == ENOENT) return;
    fail("resume", fmt::format("{}: {}", path, std::strerror(errno)), "a file that can be written");
  }
  const struct Closer {
    int descriptor;
    ~Closer() { ::close(descriptor); }
  } closer{descriptor};
  struct stat info = {};
  if (::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) fail("resume", path, "a plain file");
  constexpr off_t kBlock = 1 << 16;
  std::string tail;  // from `from` to the end of what is still looked at
  off_t from = info.st_size, keep = 0;
  for (bool found = false; !found;) {
    const off_t begin = std::max<off_t>(0, from - kBlock);
    std::string block(static_cast<std::size_t>(from - begin), 0);
    const ssize_t got = ::pread(descriptor, block.data(), block.size(), begin);
    if (got < 0) fail("resume", fmt::format("{}: {}", path, std::strerror(errno)), "a file that can be read");
    block.resize(static_cast<std::size_t>(got));
    tail.insert(0, block);
    from = begin;
    // Whole lines only: the first may go on before this block, the last was cut off by a kill unless it has its end.
    std::size_t end = tail.rfind('\n');
    while (end != std::string::npos && !found) {
      const std::size_t before = end == 0 ? std::string::npos : tail.rfind('\n', end - 1);
      if (before == std::string::npos && from > 0) break;
      const std::size_t first = before == std::string::npos ? 0 : before + 1;
      const bool header = from == 0 && first == 0;
      if (header || std::strtoull(tail.c_str() + first, nullptr, 10) <= step) {
        keep = from + static_cast<off_t>(end) + 1;
        found = true;
      } else {
        end = before;
      }
    }
    if (from == 0) break;
    if (!found) tail.resize(end == std::string::npos ? tail.size() : end + 1);
    if (tail.size() > (std::size_t{1} << 24)) fail("resume", path, "lines of a readable length");
  }
  if (keep == 0)  // also when a kill came between making the file and its first line
    remove_file(path);
  else if (keep != info.st_size && ::ftruncate(descriptor, keep) != 0)
    fail("resume", fmt::format("{}: {}", path, std::strerror(errno)), "a file that can be cut");
}

void RunFolder::write_checkpoint(const SafetensorsFile& checkpoint) const {
  // The new one is whole and on disk before the old ones move up: a kill in a long write leaves two generations.
  const std::string now = file(kCheckpoint), before = file(kPrevious), next = file(kNext);
  write_safetensors(next, checkpoint);
  std::error_code ignored;
  fs::remove(before, ignored);
  fs::create_hard_link(now, before, ignored);  // none at the first checkpoint
  move_file(next, now);
}

void RunFolder::drop_checkpoint() const { move_file(file(kPrevious), file(kCheckpoint)); }

std::optional<std::string> RunFolder::checkpoint() const {
  return fs::exists(file(kCheckpoint)) ? std::optional(file(kCheckpoint)) : std::nullopt;
}

std::optional<std::string> RunFolder::previous_checkpoint() const {
  return fs::exists(file(kPrevious)) ? std::optional(file(kPrevious)) : std::nullopt;
}

}  // namespace espalier
