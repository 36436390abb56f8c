#include "base/folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>

#include "base/temporary_file.hpp"
#include "espalier/error.hpp"

namespace espalier {
namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

mode_t kind_of(int folder, const std::string& name) {
  struct stat info {};
  return ::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 ? info.st_mode & S_IFMT : 0;
}

}  // namespace

Folder::Folder(std::string path, int handle) : path_(std::move(path)), handle_(handle) {
  if (!handle_.open()) fail_errno("open folder", path_, errno);
}

Folder::Folder(const std::string& path) : Folder(path, ::open(path.c_str(), kFolderFlags)) {}

bool Folder::is_at(const std::string& path) const {
  struct stat ours {
  }, there{};
  return ::fstat(handle(), &ours) == 0 && ::stat(path.c_str(), &there) == 0 && ours.st_ino == there.st_ino &&
         ours.st_dev == there.st_dev;
}

bool Folder::is_removed() const {
  struct stat ours {};
  return ::fstat(handle(), &ours) == 0 && ours.st_nlink == 0;
}

std::string Folder::whereabouts() const {
  std::error_code error;
  const auto now = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", handle()), error);
  return error ? path_ : now.string();
}

bool Folder::has(const std::string& name) const { return kind_of(handle(), name) != 0; }
bool Folder::is_file(const std::string& name) const { return kind_of(handle(), name) == S_IFREG; }
bool Folder::is_folder(const std::string& name) const { return kind_of(handle(), name) == S_IFDIR; }

std::vector<std::string> Folder::names() const {
  struct Close {
    void operator()(DIR* listing) const { ::closedir(listing); }
  };
  const int again = ::openat(handle(), ".", kFolderFlags);  // with a place in the listing of its own
  const std::unique_ptr<DIR, Close> listing(again < 0 ? nullptr : ::fdopendir(again));
  if (!listing) fail_errno("read folder", path_, errno);
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(listing.get())) {
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

InputFile Folder::open(const std::string& name) const {
  return {"read file", full(name), ::openat(handle(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
}

std::vector<std::byte> Folder::read(const std::string& name) const {
  InputFile file = open(name);
  std::vector<std::byte> bytes(file.size());
  file.read(bytes);
  return bytes;
}

void Folder::write(const std::string& name, std::span<const std::byte> bytes) const {
  if (has(name) && !is_file(name)) return write_atomically(whereabouts() + "/" + name, bytes);  // a link is followed
  TemporaryFile file(handle(), name, full(name));
  file.write(bytes);
  file.place();
}

void Folder::write(const std::string& name, std::string_view text) const {
  write(name, std::as_bytes(std::span(text)));
}

void Folder::append(const std::string& name, std::string_view text) const {
  const FileDescriptor file(
      ::openat(handle(), name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
  if (!file.open()) fail_errno("write file", full(name), errno);
  struct stat before {};
  if (::fstat(file.get(), &before) != 0) fail_errno("write file", full(name), errno);
  if (!S_ISREG(before.st_mode)) fail("write file", full(name), "a plain file");
  try {
    write_all(file.get(), std::as_bytes(std::span(text)), full(name));
  } catch (const Error&) {
    if (::ftruncate(file.get(), before.st_size) != 0) fail_errno("write file", full(name), errno);
    throw;
  }
}

void Folder::cut(const std::string& name, std::uint64_t bytes) const {
  const FileDescriptor file(::openat(handle(), name.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.open() || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0)
    fail_errno("write file", full(name), errno);
}

void Folder::move(const std::string& name, const Folder& to, const std::string& as) const {
  if (::renameat(handle(), name.c_str(), to.handle(), as.c_str()) != 0) fail_errno("write file", to.full(as), errno);
}

void Folder::remove(const std::string& name) const {
  if (::unlinkat(handle(), name.c_str(), 0) != 0 && errno != ENOENT) fail_errno("remove file", full(name), errno);
}

bool Folder::remove_folder(const std::string& name) const {
  if (::unlinkat(handle(), name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return true;
  if (errno != ENOTEMPTY && errno != EEXIST) fail_errno("remove folder", full(name), errno);
  return false;
}

Folder Folder::make(const std::string& name) const {
  if (::mkdirat(handle(), name.c_str(), 0777) != 0 && errno != EEXIST) fail_errno("make folder", full(name), errno);
  return inner(name);
}

Folder Folder::inner(const std::string& name) const {
  return {full(name), ::openat(handle(), name.c_str(), kFolderFlags | O_NOFOLLOW)};
}

void Folder::remove_stale_temporaries() const {
  for (const std::string& name : names()) {
    const int maker = TemporaryFile::maker_of(name);
    if (maker > 0 && ::kill(maker, 0) != 0 && errno == ESRCH) ::unlinkat(handle(), name.c_str(), 0);
  }
}

bool Folder::try_own() const { return ::flock(handle(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK; }

}  // namespace espalier
