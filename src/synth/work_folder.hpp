// A temporary folder for talking to another program; gone with the object.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "espalier/error.hpp"

namespace espalier {

class WorkFolder {
 public:
  WorkFolder() : path_((std::filesystem::temp_directory_path() / "espalier-XXXXXX").string()) {
    if (!mkdtemp(path_.data())) fail("temporary folder", "no " + path_, "a folder that can be written", "set TMPDIR");
  }
  ~WorkFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace espalier
