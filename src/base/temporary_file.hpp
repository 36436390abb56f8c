// A new file under its temporary name, in the folder where it will have its own.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace espalier {

// Writes it all, also under a file-size limit, which is an Error and no signal. `path` is what the Error names.
void write_all(int descriptor, std::span<const std::byte> bytes, const std::string& path);

// Removed again unless it was placed.
class TemporaryFile {
 public:
  // `target` is the path of the file to be, seen from `folder`: a handle, or AT_FDCWD. `path` is what Errors name.
  TemporaryFile(int folder, const std::string& target, const std::string& path);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  int descriptor() const { return fd_; }
  void write(std::span<const std::byte> bytes) { write_all(fd_, bytes, path_); }
  void place();  // flushes it and gives it its name

  // The process that made a file of this name; 0 for names that are not temporary.
  static int maker_of(std::string_view name);

 private:
  int at_;
  std::string target_, path_, folder_, name_;
  int fd_ = -1;
  bool placed_ = false;
};

}  // namespace espalier
