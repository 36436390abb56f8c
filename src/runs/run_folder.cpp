#include "runs/run_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/file_lock.hpp"
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
constexpr const char* kMade[] = {kCheckpoint, kPrevious,    kNext,  RunFolder::kModel, kMetrics, "loss.svg",
                                 "gates.svg", "growth.gif", kSeeds, "halving.csv"};

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

// Seeds of an older run in the same folder.
std::vector<std::string> seeds_in(const std::string& path) {
  std::vector<std::string> seeds;
  for (const auto& entry : fs::directory_iterator(path)) {
    std::string inner = entry.path().string();
    if (entry.path().filename().string().starts_with("seed-") && is_folder(inner) && RunFolder::holds_run(inner))
      seeds.push_back(std::move(inner));
  }
  return seeds;
}

std::shared_ptr<FileLock> lock_folder(const std::string& path) {
  return std::make_shared<FileLock>(path + "/" + kLock, path, "training in");
}

// One of them may be resumed by itself.
std::vector<std::shared_ptr<FileLock>> lock_seeds(const std::string& path) {
  std::vector<std::shared_ptr<FileLock>> locks;
  for (const std::string& seed : seeds_in(path)) locks.push_back(lock_folder(seed));
  return locks;
}

// What is not ours stays, and its folder with it.
void remove_seeds(const std::string& path) {
  for (const std::string& inner : seeds_in(path)) {
    remove_made(inner);
    remove_file(inner + "/" + kNextConfig);
    remove_file(inner + "/" + kConfig);  // last: as long as it is there, the folder is known as a run
    remove_file(inner + "/" + kLock);
    std::error_code not_empty;
    fs::remove(inner, not_empty);
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

bool is_being_replaced(const std::string& path) { return file_exists(path + "/" + kNextConfig); }

// What a kill between the two moves of a new checkpoint left undone.
void finish_moving(const std::string& path) {
  const std::string now = path + "/" + kCheckpoint, next = path + "/" + kNext;
  if (!file_exists(now) && file_exists(next)) move_file(next, now);
}

}  // namespace

RunFolder::RunFolder(std::string path, std::string config, std::shared_ptr<FileLock> lock)
    : path_(std::move(path)), config_(std::move(config)), lock_(std::move(lock)) {}

bool RunFolder::holds_run(const std::string& path) {
  return file_exists(path + "/" + kConfig) || is_being_replaced(path);
}

std::string RunFolder::seed_folder(const std::string& path, std::uint64_t seed) {
  return fmt::format("{}/seed-{}", path, seed);
}

RunFolder RunFolder::create(const std::string& path, const std::string& config, bool force) {
  // Who is training here is told of first: its files may have been made this very moment.
  const auto refuse = [&](const char* what, const char* expected, const char* hint) {
    if (file_exists(path + "/" + kLock)) lock_folder(path);
    fail("run folder", fmt::format("{}, which {}", path, what), expected, hint);
  };
  const auto refuse_run = [&] {
    if (holds_run(path) && !force)
      refuse("holds a run", "a new folder",
             "resume that run, replace it with the option \"force\", or choose another folder");
  };
  refuse_run();
  make_folder(path);
  remove_stale_temporaries(path);
  if (!holds_run(path) && !force)
    for (const auto& entry : fs::directory_iterator(path))
      if (entry.path().filename() != kLock)
        refuse("holds other files", "a new or an empty folder",
               "choose another folder, or use this one with the option \"force\"");
  RunFolder run(path, config, lock_folder(path));
  refuse_run();
  if (force) {
    const auto seeds = lock_seeds(path);
    write_atomically(run.file(kNextConfig), std::string_view(config));
    finish_replacing(path);
  } else {
    write_atomically(run.file(kConfig), std::string_view(config));
  }
  return run;
}

RunFolder RunFolder::open(const std::string& path) {
  if (!is_folder(path)) fail("resume", path, "the folder of a run");
  if (!holds_run(path)) fail("resume", fmt::format("{}, which has no config.json", path), "the folder of a run");
  auto held = lock_folder(path);
  remove_stale_temporaries(path);  // what a kill in the middle of a write left behind
  if (is_being_replaced(path)) {
    const auto seeds = lock_seeds(path);
    finish_replacing(path);
  }
  finish_moving(path);
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
  const FileDescriptor csv(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (!csv.open()) {
    if (errno == ENOENT) return;
    if (errno == ELOOP)
      fail("resume", path + ", which is a link", "a plain file", "resuming cuts lines off it: move the file here");
    fail("resume", fmt::format("{}: {}", path, std::strerror(errno)), "a file that can be written");
  }
  struct stat info = {};
  if (::fstat(csv.get(), &info) != 0 || !S_ISREG(info.st_mode)) fail("resume", path, "a plain file");
  constexpr off_t kBlock = 1 << 16;
  std::string tail;  // from `from` to the end of what is still looked at
  off_t from = info.st_size, keep = 0;
  for (bool found = false; !found;) {
    const off_t begin = std::max<off_t>(0, from - kBlock);
    std::string block(static_cast<std::size_t>(from - begin), 0);
    const ssize_t got = ::pread(csv.get(), block.data(), block.size(), begin);
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
  else if (keep != info.st_size && ::ftruncate(csv.get(), keep) != 0)
    fail("resume", fmt::format("{}: {}", path, std::strerror(errno)), "a file that can be cut");
}

void RunFolder::write(const std::string& name, std::span<const std::byte> bytes) const {
  write_atomically(file(name), bytes);
}

bool RunFolder::has(const std::string& name) const {
  std::error_code missing;
  return fs::file_size(file(name), missing) > 0 && !missing;
}

// Line by line, so that a long file costs no more memory than a short one.
std::string RunFolder::metrics() const {
  constexpr std::size_t kMaxLines = 8192, kMaxLine = 4096, kBlock = 1 << 16;
  const std::string path = file(kMetrics);
  if (!file_exists(path)) return "";
  InputFile input("read file", path);
  std::string header, line, block;
  std::vector<std::string> lines;
  std::uint64_t number = 0, stride = 1;
  const auto take = [&] {
    if (number == 0) header = line;
    if (number > 0 && (number - 1) % stride == 0) lines.push_back(line);
    ++number;
    line.clear();
    if (lines.size() < kMaxLines) return;
    stride *= 2;
    for (std::size_t i = 0; i < kMaxLines / 2; ++i) lines[i] = std::move(lines[2 * i]);
    lines.resize(kMaxLines / 2);
  };
  for (std::uint64_t left = input.size(); left > 0; left -= block.size()) {
    block.resize(std::min<std::uint64_t>(left, kBlock));
    input.read(std::as_writable_bytes(std::span(block)));
    for (const char c : block) {
      if (c == '\n')
        take();
      else if (line.size() < kMaxLine)
        line += c;
    }
  }
  if (!line.empty()) take();
  std::string text = header + "\n";
  for (const std::string& l : lines) text += l + "\n";
  return text;
}

void RunFolder::write_checkpoint(std::span<const std::byte> checkpoint) const {
  // The new one is whole, on disk and read back before the old ones move up: a kill in a long write leaves two
  // generations, one between the two moves the previous and the next, which finish_moving() takes then.
  const std::string now = file(kCheckpoint), next = file(kNext);
  write_atomically(next, checkpoint);
  if (!std::ranges::equal(read_bytes(next), checkpoint))
    fail("write file", fmt::format("\"{}\", which does not read as it was written", next), "the same bytes",
         "check the disk before trusting its files");
  if (file_exists(now)) move_file(now, file(kPrevious));
  move_file(next, now);
}

void RunFolder::drop_checkpoint() const { move_file(file(kPrevious), file(kCheckpoint)); }

std::optional<std::string> RunFolder::checkpoint() const {
  return file_exists(file(kCheckpoint)) ? std::optional(file(kCheckpoint)) : std::nullopt;
}

std::optional<std::string> RunFolder::previous_checkpoint() const {
  return file_exists(file(kPrevious)) ? std::optional(file(kPrevious)) : std::nullopt;
}

}  // namespace espalier
