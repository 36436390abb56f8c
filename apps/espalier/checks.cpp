#include "checks.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <filesystem>

#include "espalier/error.hpp"

namespace espalier::app {

namespace fs = std::filesystem;

CLI::Validator is_seed() {
  CLI::Validator seed;
  seed.operation([](std::string& text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size()) return std::string();
    return fmt::format("got \"{}\", expected a whole number from 0 to {}", text, UINT64_MAX);
  });
  return seed;
}

void check_output(const std::string& option, const std::string& path, std::initializer_list<std::string> inputs) {
  if (path.empty()) return;
  const auto refuse = [&](const char* what) { fail(option, fmt::format("{}, {}", path, what), "a file to write"); };
  std::error_code ignored;
  const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
  if (fs::exists(path, ignored) && !fs::is_directory(path, ignored) && !fs::is_regular_file(path, ignored)) return;
  if (!fs::is_directory(folder, ignored)) refuse("whose folder does not exist");
  if (fs::is_directory(path, ignored)) refuse("which is a folder");
  if (::access(folder.c_str(), W_OK) != 0) refuse("in a folder that may not be written to");
  for (const std::string& input : inputs)
    if (!input.empty() && fs::equivalent(path, input, ignored)) refuse("which is the file to read");
}

}  // namespace espalier::app
