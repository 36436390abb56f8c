#include "base/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/temporary_file.hpp"
#include "espalier/error.hpp"

namespace espalier {
namespace {

std::string_view hint_for(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT: return "the disk or the quota is full: free some space, or choose a folder on another disk";
    case EFBIG: return "the file would pass the size limit: raise it (ulimit -f), or choose another folder";
    case EROFS: return "the file system is mounted read-only: choose another folder";
    case EACCES:
    case EPERM: return "permission is missing: check owner and mode, or choose another folder";
    case ENOTDIR: return "a part of the path is a file, not a folder";
    case EISDIR: return "there is a folder of that name: choose another name";
    case ENOENT: return "check the spelling, and that the folder exists";
    case ENAMETOOLONG: return "choose a shorter name";
    case ENXIO: return "a pipe needs a reader";
    case ELOOP: return "symbolic links run in a circle";
    case EMFILE:
    case ENFILE: return "too many files are open: raise the limit (ulimit -n)";
    case EIO: return "the disk reports a fault: check it before trusting its files";
    default: return {};
  }
}

template <class Buffer>
Buffer read_whole(const std::string& path, std::size_t max_bytes) {
  InputFile file("read file", path);
  if (file.size() > max_bytes)
    fail("read file", fmt::format("\"{}\" of {} bytes", path, file.size()), fmt::format("at most {} bytes", max_bytes),
         "this does not look like the right file");
  Buffer buffer(file.size(), typename Buffer::value_type{});
  file.read(std::as_writable_bytes(std::span(buffer)));
  return buffer;
}

// A name for an open file of a process, such as /dev/fd/1: also where that is a plain file, it is another's to replace.
bool is_open_file(const std::string& path) {
  std::error_code error;
  const std::string folder = std::filesystem::canonical(std::filesystem::path(path).parent_path(), error).string();
  return !error && folder.starts_with("/proc/") && folder.ends_with("/fd");
}

// The path and what it leads to link by link, to the first that is none or is not there yet.
std::vector<std::string> follow_links(const std::string& path) {
  std::vector<std::string> chain{path};
  std::error_code error;
  while (!is_open_file(chain.back()) && std::filesystem::is_symlink(chain.back(), error)) {
    if (chain.size() > 40) fail_errno("write file", path, ELOOP);
    const std::filesystem::path next = std::filesystem::read_symlink(chain.back(), error);
    if (error) fail_errno("write file", path, error.value());
    chain.push_back((std::filesystem::path(chain.back()).parent_path() / next).string());
  }
  return chain;
}

}  // namespace

void fail_errno(std::string_view op, const std::string& path, int error) {
  constexpr std::size_t kHead = 100, kTail = 200;  // of a path so long that it would crowd out the cause
  const std::string shown =
      path.size() <= kHead + kTail ? path : path.substr(0, kHead) + "..." + path.substr(path.size() - kTail);
  fail(op, fmt::format("\"{}\": {}", shown, std::strerror(error)),
       op.starts_with("read") ? "a readable file" : "a writable place", hint_for(error));
}

int FileDescriptor::close() {
  if (fd_ < 0) return 0;
  const int fd = fd_;
  fd_ = -1;
  return ::close(fd);
}

InputFile::InputFile(std::string_view op, const std::string& path)
    // Non-blocking, so that a pipe without a writer is an error below and not an endless wait here.
    : InputFile(op, path, ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}

InputFile::InputFile(std::string_view op, const std::string& path, int descriptor)
    : op_(op), path_(path), fd_(descriptor) {
  if (!fd_.open()) fail_errno(op_, path_, errno);
  struct stat info {};
  if (fstat(fd_.get(), &info) != 0) fail_errno(op_, path_, errno);
  if (S_ISDIR(info.st_mode)) fail_errno(op_, path_, EISDIR);
  if (!S_ISREG(info.st_mode))
    fail(op_, fmt::format("\"{}\", a pipe or device", path_), "an ordinary file", "save its content to a file first");
  size_ = static_cast<std::uint64_t>(info.st_size);
}

void InputFile::read(std::span<std::byte> into) {
  while (!into.empty()) {
    // Linux moves at most 2 GiB a call.
    const ssize_t got = ::read(fd_.get(), into.data(), std::min(into.size(), std::size_t{1} << 30));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_errno(op_, path_, errno);
    if (got == 0)
      fail(op_, fmt::format("\"{}\", which became shorter while it was read", path_), fmt::format("{} bytes", size_));
    into = into.subspan(static_cast<std::size_t>(got));
  }
}

std::vector<std::byte> read_bytes(const std::string& path, std::size_t max_bytes) {
  return read_whole<std::vector<std::byte>>(path, max_bytes);
}

std::string read_text(const std::string& path, std::size_t max_bytes) {
  return read_whole<std::string>(path, max_bytes);
}

void write_atomically(const std::string& path, std::span<const std::byte> bytes) {
  if (is_stream(path)) {
    // Renaming would put a plain file in the place of a device, a pipe or a link to a stream.
    // A pipe that nobody reads is an error, not a reason to wait.
    const FileDescriptor device(::open(path.c_str(), O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC));
    if (!device.open()) fail_errno("write file", path, errno);
    ::fcntl(device.get(), F_SETFL, ::fcntl(device.get(), F_GETFL) & ~O_NONBLOCK);
    write_all(device.get(), bytes, path);
    return;
  }
  const std::string target = follow_links(path).back();  // a link stays, and what it names is replaced
  TemporaryFile file(AT_FDCWD, target, target);
  file.write(bytes);
  file.place();
}

GrowingFile::GrowingFile(const std::string& path) : path_(path) {
  if (is_stream(path)) fail("write file", fmt::format("\"{}\", a pipe or device", path), "an ordinary file");
  const std::string target = follow_links(path).back();
  file_ = std::make_unique<TemporaryFile>(AT_FDCWD, target, target);
  const int descriptor = ::dup(file_->descriptor());
  stream_ = descriptor < 0 ? nullptr : ::fdopen(descriptor, "w");
  if (!stream_) fail_errno("write file", path, errno);
}

GrowingFile::~GrowingFile() {
  if (stream_) std::fclose(stream_);
}

void GrowingFile::place() {
  const bool failed = std::ferror(stream_) != 0;
  const bool closed = std::fclose(stream_) == 0;
  stream_ = nullptr;
  if (failed || !closed) fail_errno("write file", path_, errno ? errno : EIO);
  file_->place();
}

bool is_stream(const std::string& path) {
  struct stat there {};
  if (::stat(path.c_str(), &there) != 0 || S_ISDIR(there.st_mode)) return false;
  return !S_ISREG(there.st_mode) || std::ranges::any_of(follow_links(path), is_open_file);
}

void write_atomically(const std::string& path, std::string_view text) {
  write_atomically(path, std::as_bytes(std::span(text)));
}

bool is_folder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

bool file_exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

std::string file_in(const std::string& path, std::string_view name) {
  return is_folder(path) ? fmt::format("{}/{}", path, name) : path;
}

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) fail_errno("make folder", path, error.value());
  if (!is_folder(path)) fail_errno("make folder", path, ENOTDIR);
  if (::access(path.c_str(), W_OK | X_OK) != 0) fail_errno("make folder", path, errno);
}

}  // namespace espalier
