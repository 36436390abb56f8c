// One owner at a time: a lock on a file, which dies with its process and names it.
#pragma once

#include <string>

namespace espalier {

class FileLock {
 public:
  enum class After { kKeep, kRemove };  // the file, when it is released

  // An Error that names the process and the host of the owner when there is one. `what` is locked, for `doing`:
  // "which process 7 on host is {doing}". On file systems without locks nothing is locked.
  FileLock(const std::string& path, const std::string& what, const std::string& doing, After after = After::kKeep);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  std::string path_;
  After after_;
  int descriptor_ = -1;
};

}  // namespace espalier
