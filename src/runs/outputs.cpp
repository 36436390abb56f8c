#include "runs/outputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/files.hpp"
#include "espalier/error.hpp"
#include "runs/run_folder.hpp"

namespace espalier {
namespace {

std::string first_line(const std::string& path) {
  constexpr std::size_t kMost = 200;
  InputFile file("read file", path);
  std::string text(std::min<std::uint64_t>(file.size(), kMost), '\0');
  file.read(std::as_writable_bytes(std::span(text)));
  return text.substr(0, text.find('\n'));
}

}  // namespace

void check_named_output(std::string_view op, const std::string& path) {
  if (RunFolder::owns(path))
    fail(op, fmt::format("{}, a file of the run in its folder", path), "a file to write that no run needs",
         "choose another name");
}

void check_unnamed_output(std::string_view op, const std::string& path, std::string_view mark) {
  check_named_output(op, path);
  if (!file_exists(path) || is_stream(path)) return;
  if (!mark.empty() && first_line(path).find(mark) != std::string::npos) return;
  fail(op, fmt::format("{}, which is there already and would be replaced unasked", path), "a free name",
       mark.empty() ? "name it as the output to replace it, or choose another"
                    : "move it away, or choose another name for the output");
}

}  // namespace espalier
