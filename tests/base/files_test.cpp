#include "base/files.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "base/folder.hpp"
#include "espalier/error.hpp"
#include "temp_folder.hpp"

namespace espalier {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::size_t entries_in(const std::string& folder) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
}

TEST(Files, WhatIsWrittenIsReadBack) {
  const TempFolder folder;
  for (const std::string& text : {std::string(), std::string("a\0b\n", 4), std::string(300'000, 'x')}) {
    write_atomically(folder / "file", text);
    EXPECT_EQ(read_text(folder / "file"), text);
    const std::vector<std::byte> bytes = read_bytes(folder / "file");
    ASSERT_EQ(bytes.size(), text.size());
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), std::as_bytes(std::span(text)).begin()));
  }
  EXPECT_EQ(entries_in(folder.path()), 1u) << "temporary files stay behind";
}

TEST(Files, AReaderBesideAWriterSeesOnlyWholeFiles) {
  const TempFolder folder;
  const std::string path = folder / "file", old_text(50'000, 'a'), new_text(80'000, 'b');
  write_atomically(path, old_text);
  std::thread writer([&] {
    for (int i = 0; i < 30; ++i) write_atomically(path, i % 2 ? old_text : new_text);
  });
  for (int i = 0; i < 300; ++i) {
    const std::string seen = read_text(path);
    EXPECT_TRUE(seen == old_text || seen == new_text) << "half a file of " << seen.size();
  }
  writer.join();
}

// Runs `write` in a process that may write files of at most 4 KiB; returns its exit code.
template <class Write>
int under_a_file_size_limit(Write&& write) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    try {
      write();
    } catch (const Error& error) {
      _exit(std::string(error.what()).find("ulimit -f") != std::string::npos ? 7 : 8);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(Files, AFullDiskKeepsTheOldFileAndIsAnErrorNotASignal) {
  const TempFolder folder;
  write_atomically(folder / "file", "old");
  const std::string large(1 << 20, 'x');
  EXPECT_EQ(under_a_file_size_limit([&] { write_atomically(folder / "file", large); }), 7);
  EXPECT_EQ(read_text(folder / "file"), "old");
  EXPECT_EQ(entries_in(folder.path()), 1u) << "the unfinished temporary file stays behind";
  EXPECT_EQ(under_a_file_size_limit([&] { write_atomically(folder / "file", "small"); }), 0);
  EXPECT_EQ(read_text(folder / "file"), "small");
}

TEST(Files, AppendingAddsToTheEndOrNotAtAll) {
  const TempFolder folder;
  const std::string path = folder / "log";
  const Folder handle(folder.path());
  handle.append("log", "one\n");
  handle.append("log", "two\n");
  EXPECT_EQ(read_text(path), "one\ntwo\n");
  EXPECT_EQ(under_a_file_size_limit([&] { handle.append("log", std::string(1 << 20, 'x')); }), 7);
  EXPECT_EQ(read_text(path), "one\ntwo\n");
  EXPECT_THAT(message_of<Error>([&] { handle.append("absent/log", "x"); }), HasSubstr("No such file"));
}

TEST(Files, ErrorsNameThePathTheCauseAndTheWayOut) {
  const TempFolder folder;
  const std::string missing = folder / "absent/file";
  EXPECT_THAT(message_of<Error>([&] { read_text(missing); }),
              AllOf(HasSubstr("[read file]"), HasSubstr(missing), HasSubstr("No such file"), HasSubstr("hint:")));
  EXPECT_THAT(message_of<Error>([&] { write_atomically(missing, "x"); }),
              AllOf(HasSubstr("[write file]"), HasSubstr(missing), HasSubstr("No such file")));
  EXPECT_THAT(message_of<Error>([&] { read_text(folder.path()); }), HasSubstr("Is a directory"));
  EXPECT_THAT(message_of<Error>([&] { write_atomically(folder.path() + "/", "x"); }), HasSubstr("name of a file"));
  write_atomically(folder / "plain", "text");
  EXPECT_THAT(message_of<Error>([&] { make_folder(folder / "plain/sub"); }),
              AllOf(HasSubstr("[make folder]"), HasSubstr("is a file, not a folder")));
  EXPECT_THAT(message_of<Error>([&] { make_folder(folder / "plain"); }), HasSubstr("[make folder]"));
  std::filesystem::create_directories(folder / "taken");
  EXPECT_THAT(message_of<Error>([&] { write_atomically(folder / "taken", "x"); }), HasSubstr("Is a directory"));
  EXPECT_EQ(entries_in(folder.path()), 2u) << "temporary files stay behind";
}

TEST(Files, AFolderWithoutPermissionIsAClearError) {
  if (geteuid() == 0) {
    // Root may write anywhere but in the kernel's own file systems.
    EXPECT_THAT(message_of<Error>([] { write_atomically("/proc/espalier", "x"); }), HasSubstr("/proc/espalier"));
    EXPECT_THAT(message_of<Error>([] { make_folder("/proc/espalier"); }), HasSubstr("/proc/espalier"));
    return;
  }
  const TempFolder folder;
  chmod(folder.path().c_str(), 0500);
  EXPECT_THAT(message_of<Error>([&] { write_atomically(folder / "x", "x"); }), HasSubstr("permission is missing"));
  EXPECT_THAT(message_of<Error>([&] { make_folder(folder.path()); }), HasSubstr("permission is missing"));
  chmod(folder.path().c_str(), 0700);
}

TEST(Files, TooLargeAFileIsRefusedBeforeItIsRead) {
  const TempFolder folder;
  write_atomically(folder / "file", "12345");
  EXPECT_EQ(read_text(folder / "file", 5), "12345");
  EXPECT_THAT(message_of<Error>([&] { read_text(folder / "file", 4); }), HasSubstr("at most 4 bytes"));
  // A sparse file of 8 TB: refused by its size, no memory is asked for.
  write_atomically(folder / "sparse", "");
  std::filesystem::resize_file(folder / "sparse", std::uintmax_t{1} << 43);
  EXPECT_THAT(message_of<Error>([&] { read_bytes(folder / "sparse"); }), HasSubstr("at most"));
}

TEST(Files, APipeIsRefusedInsteadOfWaitedFor) {
  const TempFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(message_of<Error>([&] { read_text(folder / "pipe"); }), HasSubstr("a pipe or device"));
}

TEST(Files, APipeIsWrittenToAndNeverReplaced) {
  const TempFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THROW(write_atomically(pipe, std::string_view("text")), Error) << "nobody reads it";
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  write_atomically(pipe, std::string_view("text"));
  char got[8] = {};
  EXPECT_EQ(::read(reader, got, sizeof got), 4);
  EXPECT_STREQ(got, "text");
  ::close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST(Files, ALinkStaysAndWhatItNamesIsReplaced) {
  const TempFolder folder;
  write_atomically(folder / "real", std::string_view("old"));
  std::filesystem::create_symlink("real", folder / "link");
  std::filesystem::create_symlink("not-yet", folder / "dangling");
  write_atomically(folder / "link", std::string_view("new"));
  write_atomically(folder / "dangling", std::string_view("made"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(read_text(folder / "real"), "new");
  EXPECT_EQ(read_text(folder / "not-yet"), "made");
  std::filesystem::create_symlink("circle", folder / "circle");
  EXPECT_THROW(write_atomically(folder / "circle", std::string_view("x")), Error);
}

TEST(Files, LeftoversOfDeadWritersAreSweptAndOthersStay) {
  const TempFolder folder;
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  const std::string dead = folder / (".model.espalier-tmp-" + std::to_string(child) + "-0");
  const std::string living = folder / (".model.espalier-tmp-" + std::to_string(getpid()) + "-0");
  for (const std::string& path : {dead, living, folder / ".model.espalier-tmp-x", folder / "model"})
    std::ofstream(path) << "x";
  Folder(folder.path()).remove_stale_temporaries();
  EXPECT_FALSE(std::filesystem::exists(dead));
  EXPECT_TRUE(std::filesystem::exists(living));
  EXPECT_EQ(entries_in(folder.path()), 3u);
}

// --- Folders by their handle.

TEST(Folder, FilesFollowTheFolderAndNotItsName) {
  const TempFolder temp;
  make_folder(temp / "run");
  make_folder(temp / "other");
  const Folder folder(temp / "run");
  folder.write("file", "one");
  EXPECT_TRUE(folder.is_at(temp / "run"));
  std::filesystem::rename(temp / "run", temp / "moved");
  std::filesystem::rename(temp / "other", temp / "run");
  folder.write("file", "two");
  folder.append("log", "line\n");
  EXPECT_FALSE(folder.is_at(temp / "run"));
  EXPECT_TRUE(folder.is_at(temp / "moved"));
  EXPECT_EQ(std::filesystem::canonical(folder.whereabouts()), std::filesystem::canonical(temp / "moved"));
  EXPECT_EQ(read_text(temp / "moved/file"), "two");
  EXPECT_EQ(read_text(temp / "moved/log"), "line\n");
  EXPECT_EQ(entries_in(temp / "run"), 0u);
  EXPECT_FALSE(folder.is_removed());
  std::filesystem::remove_all(temp / "moved");
  EXPECT_TRUE(folder.is_removed());
  EXPECT_THROW(folder.write("file", "three"), Error);
}

TEST(Folder, LinksAreFollowedByWholeFilesAndByNothingElse) {
  const TempFolder temp;
  make_folder(temp / "run");
  write_atomically(temp / "precious", "mine");
  std::filesystem::create_symlink("../precious", temp / "run/link");
  const Folder folder(temp / "run");
  EXPECT_TRUE(folder.has("link"));
  EXPECT_FALSE(folder.is_file("link"));
  EXPECT_THROW(folder.append("link", "x"), Error);
  EXPECT_THROW(folder.cut("link", 0), Error);
  EXPECT_EQ(read_text(temp / "precious"), "mine");
  folder.write("link", "new");
  EXPECT_EQ(read_text(temp / "precious"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(temp / "run/link"));
  folder.remove("link");
  EXPECT_EQ(read_text(temp / "precious"), "new");
}

TEST(Folder, HasOneOwnerThatDeletedFilesDoNotChange) {
  const TempFolder temp;
  const Folder first(temp.path()), second(temp.path());
  EXPECT_TRUE(first.try_own());
  EXPECT_FALSE(second.try_own());
}

// Not every path below /dev or /proc names a device.
TEST(Files, InMemoryFoldersOfTheSystemFilesAreReplacedAsAnywhere) {
  if (::access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "this system has no /dev/shm";
  const std::string folder = "/dev/shm/espalier-test-" + std::to_string(getpid());
  make_folder(folder);
  for (const char* text : {"one", "two"}) write_atomically(folder + "/file", std::string_view(text));
  EXPECT_EQ(read_text(folder + "/file"), "two");
  EXPECT_FALSE(is_stream(folder + "/file"));
  std::filesystem::remove_all(folder);
  const TempFolder temp;
  const std::string before = std::filesystem::current_path().string();
  std::filesystem::current_path(temp.path());
  for (const char* text : {"one", "two"}) write_atomically("/proc/self/cwd/file", std::string_view(text));
  std::filesystem::current_path(before);
  EXPECT_EQ(read_text(temp / "file"), "two");
}

TEST(Files, AnOpenFileByItsNumberIsAddedTo) {
  const TempFolder folder;
  const FileDescriptor file(::open((folder / "file").c_str(), O_RDWR | O_CREAT, 0600));
  const std::string number = "/dev/fd/" + std::to_string(file.get());
  std::filesystem::create_symlink(number, folder / "link");
  for (const std::string& path : {number, folder / "link"}) {
    EXPECT_TRUE(is_stream(path)) << path;
    write_atomically(path, std::string_view("more "));
  }
  EXPECT_EQ(read_text(folder / "file"), "more more ");
  EXPECT_TRUE(is_stream("/dev/null"));
  EXPECT_FALSE(is_stream(folder / "file"));
  EXPECT_FALSE(is_stream(folder / "none"));
}

TEST(Files, OneThatGrowsHasItsNameWhenItIsWholeAndElseIsGone) {
  const TempFolder folder;
  write_atomically(folder / "file", std::string_view("old"));
  {
    const GrowingFile file(folder / "file");
    std::fputs("new", file.stream());
  }
  EXPECT_EQ(read_text(folder / "file"), "old");
  {
    GrowingFile file(folder / "file");
    std::fputs("new", file.stream());
    EXPECT_EQ(read_text(folder / "file"), "old");
    file.place();
  }
  EXPECT_EQ(read_text(folder / "file"), "new");
  EXPECT_EQ(entries_in(folder.path()), 1u);
  EXPECT_THROW(GrowingFile("/dev/null"), Error);
}

TEST(Files, ALongPathDoesNotHideTheCause) {
  const std::string path = "/tmp/" + std::string(5000, 'a');
  EXPECT_THAT(message_of<Error>([&] { read_bytes(path); }), AllOf(HasSubstr("too long"), HasSubstr("/tmp/aaa")));
  EXPECT_FALSE(is_folder(path));
  EXPECT_FALSE(file_exists(path));
}

}  // namespace
}  // namespace espalier
