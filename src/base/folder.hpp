// A folder by its handle: whatever becomes of its name, files go into the folder that was opened.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.hpp"

namespace espalier {

class Folder {
 public:
  // An Error when there is none, or it cannot be read.
  explicit Folder(const std::string& path);

  int handle() const { return handle_.get(); }
  const std::string& path() const { return path_; }  // as it was when opened; Errors name it
  bool is_at(const std::string& path) const;         // that path leads here
  bool is_removed() const;
  std::string whereabouts() const;  // its present path

  bool has(const std::string& name) const;        // also a link that leads nowhere
  bool is_file(const std::string& name) const;    // an ordinary one, and no link
  bool is_folder(const std::string& name) const;  // and no link
  std::vector<std::string> names() const;         // of all that is in it, ascending

  InputFile open(const std::string& name) const;
  std::vector<std::byte> read(const std::string& name) const;
  // As write_atomically.
  void write(const std::string& name, std::span<const std::byte> bytes) const;
  void write(const std::string& name, std::string_view text) const;
  // To the end of an ordinary file, which is created when missing; what cannot be added whole is not added at all.
  void append(const std::string& name, std::string_view text) const;
  void cut(const std::string& name, std::uint64_t bytes) const;  // an ordinary file to its first bytes
  void move(const std::string& name, const Folder& to, const std::string& as) const;
  void remove(const std::string& name) const;         // a file, if it is there
  bool remove_folder(const std::string& name) const;  // false when something is left in it
  Folder make(const std::string& name) const;         // a folder in it, or the one that is there
  Folder inner(const std::string& name) const;        // one that is there

  // Removes what writers that were killed left here; files of living processes stay.
  void remove_stale_temporaries() const;

  // One owner at a time; false when another has it. Unlike a lock's file it cannot be deleted, but not all file systems
  // know it: there everybody gets it.
  bool try_own() const;

 private:
  Folder(std::string path, int handle);
  std::string full(const std::string& name) const { return path_ + "/" + name; }

  std::string path_;
  FileDescriptor handle_;
};

}  // namespace espalier
