#include "synth/external_tool.hpp"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/clock.hpp"
#include "base/files.hpp"
#include "espalier/error.hpp"

namespace espalier {
namespace {

// A folder may be "executable" too.
bool is_program(const std::string& file) {
  struct stat info {};
  return ::stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(file.c_str(), X_OK) == 0;
}

// In the child, where nothing may be allocated.
[[noreturn]] void become(char* const* argv, const int* shared, std::size_t count, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it ended before that was in force
  const int nothing = ::open("/dev/null", O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::dup2(nothing, stream) < 0) ::_exit(127);
  for (std::size_t i = 0; i < count; ++i) ::fcntl(shared[i], F_SETFD, 0);
  ::execv(argv[0], argv);
  ::_exit(127);
}

}  // namespace

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return is_program(name) ? name : "";
  const char* path = std::getenv("PATH");
  std::string_view rest = path ? path : "";
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const std::string file = std::string(colon == 0 ? "." : rest.substr(0, colon)) + "/" + name;
    if (is_program(file)) return file;
    rest = colon == std::string_view::npos ? std::string_view{} : rest.substr(colon + 1);
  }
  return "";
}

MemoryFile::MemoryFile(std::string_view content) : descriptor_(::memfd_create("espalier", MFD_CLOEXEC)) {
  if (descriptor_ < 0) fail_errno("write file", "a file in memory", errno);
  for (std::size_t done = 0; done < content.size();) {
    const ssize_t wrote = ::write(descriptor_, content.data() + done, content.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      const int error = errno;
      ::close(descriptor_);
      fail_errno("write file", "a file in memory", error);
    }
    done += static_cast<std::size_t>(wrote);
  }
}

MemoryFile::~MemoryFile() { ::close(descriptor_); }

std::string MemoryFile::content() const { return read_text(path()); }

int run_program(const std::vector<std::string>& arguments, double seconds,
                const std::vector<const MemoryFile*>& shared) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::vector<int> descriptors;
  for (const MemoryFile* file : shared) descriptors.push_back(file->descriptor());
  const pid_t parent = ::getpid(), child = ::fork();
  if (child == 0) become(argv.data(), descriptors.data(), descriptors.size(), parent);
  if (child < 0) return -1;
  const double end = seconds_now() + seconds;
  int status = 0;
  while (true) {
    const pid_t got = ::waitpid(child, &status, WNOHANG);
    if (got == child) break;
    if (seconds_now() > end || (got < 0 && errno != EINTR)) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      return -1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

WorkFolder::WorkFolder() : path_((std::filesystem::temp_directory_path() / "espalier-XXXXXX").string()) {
  if (!mkdtemp(path_.data())) fail("temporary folder", "no " + path_, "a folder that can be written", "set TMPDIR");
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace espalier
