// Private to the io room: file descriptors that close themselves, and errno put into words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace espalier {

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

  std::uint64_t size() const { return size_; }  // as it was when opened
  // Fills `into` with the next bytes; an Error when the file ends before.
  void read(std::span<std::byte> into);

 private:
  std::string op_, path_;
  FileDescriptor fd_;
  std::uint64_t size_ = 0;
};

}  // namespace espalier
