// Whole files in, whole files out. Writing is atomic: a temporary name, flush to disk, rename.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

// Errors name the path and the cause. `max_bytes` guards against swallowing a wrong file whole.
std::vector<std::byte> read_bytes(const std::string& path, std::size_t max_bytes = std::size_t{1} << 32);
std::string read_text(const std::string& path, std::size_t max_bytes = std::size_t{1} << 30);

// A crash, a full disk or a kill leaves either the old file or the new one, never half of one. Works under a
// file-size limit too (ulimit -f): the caller gets an Error, the process no signal.
// Links are followed; devices and pipes are written to as they are.
void write_atomically(const std::string& path, std::span<const std::byte> bytes);
void write_atomically(const std::string& path, std::string_view text);

// A file that others write little by little. It has its name once it is whole and placed; else it is gone with this.
class TemporaryFile;
class GrowingFile {
 public:
  explicit GrowingFile(const std::string& path);
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  std::FILE* stream() const { return stream_; }
  void place();  // an Error when anything could not be written

 private:
  std::string path_;
  std::unique_ptr<TemporaryFile> file_;
  std::FILE* stream_ = nullptr;
};

// A device, a pipe or an open file by its number (/dev/stdout): written to as it is, and nothing can be beside it.
bool is_stream(const std::string& path);

// False for paths that cannot be looked at, which whoever opens them then reports.
bool is_folder(const std::string& path);
bool file_exists(const std::string& path);
// The file of that name when `path` is a folder, else `path`.
std::string file_in(const std::string& path, std::string_view name);

// Creates the folder and its parents; an Error says why it cannot be written.
void make_folder(const std::string& path);

// Throws Error: names the path, the text of errno and, for the usual causes, what to do about it.
[[noreturn]] void fail_errno(std::string_view op, const std::string& path, int error);

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() { close(); }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  int close();  // 0, or -1 with errno set; the descriptor is gone in both cases

 private:
  int fd_;
};

// A regular file opened for reading.
class InputFile {
 public:
  InputFile(std::string_view op, const std::string& path);
  // One that is open already, or could not be opened (errno says why); `path` is what Errors name.
  InputFile(std::string_view op, const std::string& path, int descriptor);

  std::uint64_t size() const { return size_; }  // as it was when opened
  // Fills `into` with the next bytes; an Error when the file ends before.
  void read(std::span<std::byte> into);

 private:
  std::string op_, path_;
  FileDescriptor fd_;
  std::uint64_t size_ = 0;
};

}  // namespace espalier
