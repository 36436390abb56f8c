#include "open_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

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
    case ELOOP: return "symbolic links run in a circle";
    case EMFILE:
    case ENFILE: return "too many files are open: raise the limit (ulimit -n)";
    case EIO: return "the disk reports a fault: check it before trusting its files";
    default: return {};
  }
}

}  // namespace

void fail_errno(std::string_view op, const std::string& path, int error) {
  fail(op, fmt::format("\"{}\": {}", path, std::strerror(error)),
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
    : op_(op), path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
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

}  // namespace espalier
