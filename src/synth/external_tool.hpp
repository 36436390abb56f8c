// Other programs: run without a shell, quietly, for a limited time, on files that are gone when this process is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace espalier {

// The first executable file of that name in $PATH (or the path itself, when it has a slash); empty when there is none.
std::string find_program(const std::string& name);

// A file in memory that a program started by run_program can read and write under its path. It has no place on a disk:
// nothing is left of it however this process ends, and no folder's name can confuse a program.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view content = {});
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int descriptor() const { return descriptor_; }
  std::string path() const { return "/dev/fd/" + std::to_string(descriptor_); }
  std::string content() const;

 private:
  int descriptor_;
};

// Exit code; -1 when it could not be started, crashed or was stopped after `seconds`. Output is thrown away. The
// program is killed when this process ends, even by SIGKILL. It sees the files of `shared` alone.
int run_program(const std::vector<std::string>& arguments, double seconds,
                const std::vector<const MemoryFile*>& shared = {});

// A folder for what must have a name; gone with the object.
class WorkFolder {
 public:
  WorkFolder();
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace espalier
