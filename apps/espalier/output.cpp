#include "output.hpp"

#include <unistd.h>

#include <filesystem>

#include "base/files.hpp"
#include "espalier/error.hpp"

namespace espalier::app {

namespace fs = std::filesystem;

std::string json_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

void print_json(const Json& json) { fmt::print("{}", json_text(json)); }

Json json_of(const Facts& facts) {
  Json all = Json::object();
  for (const auto& [name, value] : facts) {
    Json* at = &all;
    std::size_t start = 0;
    for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', start)) {
      at = &(*at)[name.substr(start, dot - start)];
      start = dot + 1;
    }
    std::visit([&](const auto& v) { (*at)[name.substr(start)] = v; }, value);
  }
  return all;
}

void note(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  std::clearerr(stderr);
}

void write_output(const std::string& path, const std::string& text) {
  if (path.empty() || path == "-")
    fmt::print("{}", text);
  else
    write_atomically(path, std::string_view(text));
}

bool is_stream(const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored) || fs::is_directory(path, ignored)) return false;
  return path.starts_with("/dev/") || path.starts_with("/proc/") || !fs::is_regular_file(path, ignored);
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

void check_output(const std::string& option, const std::string& path, std::initializer_list<std::string> inputs) {
  if (path.empty() || path == "-") return;
  const auto refuse = [&](const char* what) { fail(option, fmt::format("{}, {}", path, what), "a file to write"); };
  std::error_code ignored;
  const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
  if (is_stream(path)) return;
  if (!fs::is_directory(folder, ignored)) refuse("whose folder does not exist");
  if (fs::is_directory(path, ignored)) refuse("which is a folder");
  if (::access(folder.c_str(), W_OK) != 0) refuse("in a folder that may not be written to");
  for (const std::string& input : inputs) {
    if (input.empty()) continue;
    const std::string file = fs::is_directory(input, ignored) ? input + "/model.safetensors" : input;
    if (fs::equivalent(path, file, ignored)) refuse("which is the file to read");
  }
}

}  // namespace espalier::app
