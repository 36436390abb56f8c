#include "base/temporary_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <filesystem>

#include "base/files.hpp"
#include "espalier/error.hpp"

namespace espalier {
namespace {

constexpr std::string_view kMark = ".espalier-tmp-";

// A write past the file-size limit (ulimit -f) sends SIGXFSZ, which would end the process. While one of these
// lives, the signal waits on this thread instead, the write returns EFBIG, and the signal is thrown away.
class HoldFileSizeSignal {
 public:
  HoldFileSizeSignal() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  ~HoldFileSizeSignal() {
    const timespec at_once{};
    if (!sigismember(&before_, SIGXFSZ)) sigtimedwait(&signals_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t signals_, before_;
};

}  // namespace

void write_all(int descriptor, std::span<const std::byte> bytes, const std::string& path) {
  const HoldFileSizeSignal hold;
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(descriptor, bytes.data(), std::min(bytes.size(), std::size_t{1} << 30));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) fail_errno("write file", path, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(wrote));
  }
}

TemporaryFile::TemporaryFile(int folder, const std::string& target, const std::string& path)
    : at_(folder), target_(target), path_(path) {
  static std::atomic<unsigned> counter{0};  // names only: two threads may write beside each other
  const std::filesystem::path place(target);
  if (place.filename().empty() || place.filename() == "." || place.filename() == "..")
    fail("write file", fmt::format("\"{}\"", path), "the name of a file");
  folder_ = place.has_parent_path() ? place.parent_path().string() : ".";
  do {
    name_ = fmt::format("{}/.{}{}{}-{}", folder_, place.filename().string(), kMark, getpid(), counter++);
    fd_ = ::openat(at_, name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (fd_ < 0 && errno == EEXIST);
  if (fd_ < 0) fail_errno("write file", path_, errno);
}

TemporaryFile::~TemporaryFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!placed_) ::unlinkat(at_, name_.c_str(), 0);
}

// Content first, name second, folder third: whatever survives a crash is a whole file.
void TemporaryFile::place() {
  if (::fsync(fd_) != 0) fail_errno("write file", path_, errno);
  const int closed = ::close(fd_);
  fd_ = -1;
  if (closed != 0) fail_errno("write file", path_, errno);
  if (::renameat(at_, name_.c_str(), at_, target_.c_str()) != 0) fail_errno("write file", path_, errno);
  placed_ = true;
  const FileDescriptor folder(::openat(at_, folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems know no fsync of a folder, and a folder may be writable but not readable: the file is
  // whole either way.
  if (folder.open() && ::fsync(folder.get()) != 0 && errno == EIO) fail_errno("write file", path_, errno);
}

int TemporaryFile::maker_of(std::string_view name) {
  const std::size_t at = name.rfind(kMark);
  if (at == std::string_view::npos || name[0] != '.') return 0;
  int pid = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + at + kMark.size(), end, pid);
  return error == std::errc() && stop != end && *stop == '-' ? pid : 0;
}

}  // namespace espalier
