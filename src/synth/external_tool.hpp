// Other programs: run without a shell, quietly, for a limited time, on files in a temporary folder.
#pragma once

#include <string>
#include <vector>

namespace espalier {

// The first executable file of that name in $PATH (or the path itself, when it has a slash); empty when there is none.
std::string find_program(const std::string& name);

// Exit code; -1 when it could not be started, crashed or was stopped after `seconds`. Output is thrown away.
int run_program(const std::vector<std::string>& arguments, double seconds);

// Gone with the object.
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
