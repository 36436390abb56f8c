// One owner at a time: a lock on a file, which dies with its process and names it.
#pragma once

#include <string>

namespace espalier {

class Folder;

class FileLock {
 public:
  enum class After { kKeep, kRemove };  // the file, when it is released

  // An Error that names the process and the host of the owner when there is one. `what` is locked, for `doing`:
  // "which process 7 on host is {doing}". On file systems without locks nothing is locked.
  FileLock(const std::string& path, const std::string& what, const std::string& doing, After after = After::kKeep);
  // A file in a folder, which must outlive the lock.
  FileLock(const Folder& folder, const std::string& name, const std::string& what, const std::string& doing);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  // Who holds such a lock in a folder, "process 7 on host"; empty: nobody. It is not taken for that: its owner, and
  // whoever is about to take it, notice nothing.
  static std::string owner(const Folder& folder, const std::string& name);

  // Whether the file that was locked still has its name: one that was deleted keeps nobody out. True where nothing
  // could be locked.
  bool still_there() const;

 private:
  FileLock(int folder, const std::string& path, const std::string& shown, const std::string& what,
           const std::string& doing, After after);

  int folder_;
  std::string path_;
  After after_;
  int descriptor_ = -1;
};

}  // namespace espalier
