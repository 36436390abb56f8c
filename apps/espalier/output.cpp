#include "output.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>

#include "base/files.hpp"
#include "command_line.hpp"
#include "espalier/error.hpp"
#include "espalier/synth.hpp"
#include "runs/outputs.hpp"

namespace espalier::app {

namespace fs = std::filesystem;

std::string json_text(const Json& json) { return json.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n"; }

void print_json(const Json& json) { fmt::print("{}", json_text(json)); }

const char* verdict_word(const Verdict& verdict) {
  return verdict.solved ? "solved" : verdict.explained ? "explained up to noise" : "not solved";
}

Json json_of(const Provenance& provenance) {
  Json all = Json::array();
  for (const Making& m : provenance)
    all.push_back({{"by", m.by},
                   {"count", m.count},
                   {"wrong_before", m.wrong_before},
                   {"wrong_after", m.wrong_after},
                   {"gates_before", m.gates_before},
                   {"gates_after", m.gates_after}});
  return all;
}

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
  // A terminal that was stopped or a pipe that nobody empties must not stop the work: who does not read for a second
  // misses what is said until reading goes on.
  constexpr int kPatienceMs = 1000;
  constexpr std::size_t kAtOnce = 512;  // whoever has room has so much
  static std::atomic<bool> patient{true};
  for (std::string_view left = text; !left.empty();) {
    pollfd screen{STDERR_FILENO, POLLOUT, 0};
    const int ready = ::poll(&screen, 1, patient ? kPatienceMs : 0);
    if (ready < 0 && errno == EINTR) continue;
    patient = ready > 0;
    if (!patient) return;
    const ssize_t wrote = ::write(STDERR_FILENO, left.data(), std::min(left.size(), kAtOnce));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return;
    left.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

void write_output(const std::string& path, const std::string& text) {
  if (path.empty() || path == "-")
    fmt::print("{}", isatty(STDOUT_FILENO) ? printable(text, true) : text);
  else
    write_atomically(path, std::string_view(text));
}

Json counts_json(const NetlistCounts& counts) {
  Json histogram = Json::object();
  for (std::size_t g = 0; g < kGates; ++g)
    if (counts.histogram[g]) histogram[std::string(kGateNames[g])] = counts.histogram[g];
  return {{"inputs", counts.inputs},       {"used_inputs", counts.live_inputs},
          {"outputs", counts.outputs},     {"gates", counts.gates()},
          {"constants", counts.constants}, {"active", counts.active},
          {"depth", counts.depth},         {"by_type", histogram}};
}

int abc_exit_code(const AbcReport& report) {
  if (report.failed == 0) return kDone;
  note("espalier: {} of {} runs of {} failed; the circuit is proved all the same\n", report.failed, report.runs,
       report.program);
  return kFailed;
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
  if (::access(folder.c_str(), W_OK) != 0) refuse("in a folder that cannot be written to");
  for (const std::string& input : inputs) {
    if (input.empty()) continue;
    const std::string file = file_in(input, "model.safetensors");
    if (fs::equivalent(path, file, ignored)) refuse("which is the file to read");
  }
  check_named_output(option, path);
}

}  // namespace espalier::app
