#include "base/file_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.hpp"
#include "base/folder.hpp"
#include "espalier/error.hpp"

namespace espalier {
namespace {

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

bool is_locked(int descriptor) {
  struct flock whole = {};
  whole.l_type = F_RDLCK;
#ifdef F_OFD_GETLK
  if (::fcntl(descriptor, F_OFD_GETLK, &whole) == 0) return whole.l_type != F_UNLCK;
  if (errno != EINVAL) return false;
#endif
  return ::fcntl(descriptor, F_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

constexpr std::string_view kOwner = "process ";

std::string first_line(int descriptor) {
  char text[300] = {};
  const auto length = ::pread(descriptor, text, sizeof text - 1, 0);
  const std::string line = length > 0 ? std::string(text, static_cast<std::size_t>(length)) : std::string();
  return line.substr(0, line.find('\n'));
}

}  // namespace

FileLock::FileLock(const std::string& path, const std::string& what, const std::string& doing, After after)
    : FileLock(AT_FDCWD, path, path, what, doing, after) {}

FileLock::FileLock(const Folder& folder, const std::string& name, const std::string& what, const std::string& doing)
    : FileLock(folder.handle(), name, folder.path() + "/" + name, what, doing, After::kKeep) {}

FileLock::FileLock(int folder, const std::string& path, const std::string& shown, const std::string& what,
                   const std::string& doing, After after)
    : folder_(folder), path_(path), after_(after) {
  int error = 0;
  do {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = ::openat(folder, path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
    if (descriptor_ < 0) fail_errno("lock", shown, errno);
    error = try_lock(descriptor_);
  } while (error == 0 && !still_there());  // its owner may have removed it before it was locked
  std::string owner = first_line(descriptor_);
  const bool foreign = !owner.starts_with(kOwner) && !kOwner.starts_with(owner);
  if (error == 0 && !foreign) {
    owner = fmt::format("{}{} on {}\n", kOwner, ::getpid(), host_name());
    [[maybe_unused]] const int cut = ::ftruncate(descriptor_, 0);
    [[maybe_unused]] const auto written = ::pwrite(descriptor_, owner.data(), owner.size(), 0);
    return;
  }
  ::close(descriptor_);
  descriptor_ = -1;
  if (foreign)
    fail("lock", fmt::format("{}, a file of somebody else", shown), "a name that is free, for the lock of this program",
         "move it away, or choose another place");
  if (error == EACCES || error == EAGAIN)
    fail("lock", fmt::format("{}, which {} is {}", what, owner.empty() ? "another process" : owner, doing),
         "a place that nobody else uses", "wait for it, stop it, or choose another place");
  if (error != ENOLCK && error != EOPNOTSUPP && error != ENOSYS)  // a file system without locks: go on without
    fail_errno("lock", shown, error);
}

std::string FileLock::owner(const Folder& folder, const std::string& name) {
  const FileDescriptor file(::openat(folder.handle(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.open() || !is_locked(file.get())) return "";
  const std::string owner = first_line(file.get());
  return owner.starts_with(kOwner) ? owner : "another process";  // which has yet to write its name
}

bool FileLock::still_there() const {
  struct stat ours = {}, there = {};
  return descriptor_ < 0 ||
         (::fstat(descriptor_, &ours) == 0 && ::fstatat(folder_, path_.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
          ours.st_ino == there.st_ino && ours.st_dev == there.st_dev);
}

FileLock::~FileLock() {
  if (descriptor_ < 0) return;
  if (after_ == After::kRemove && still_there()) ::unlinkat(folder_, path_.c_str(), 0);
  [[maybe_unused]] const int cut = ::ftruncate(descriptor_, 0);
  ::close(descriptor_);
}

}  // namespace espalier
