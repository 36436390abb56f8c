#include "runs/metrics_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <vector>

#include "base/hash.hpp"
#include "espalier/error.hpp"

namespace espalier {
namespace {

constexpr std::string_view kColumns = "step,seconds,loss,score,validation_loss,passed";

std::string header_of(const TrainState& state) {
  std::string text(kColumns);
  for (const auto& [name, value] : state.last.extra) text += "," + name;
  return text;
}

std::string row_of(const TrainState& state) {
  std::string text = fmt::format("{},{:.3f},{},{},{},{}", state.step, state.seconds, state.loss, state.last.score,
                                 state.last.loss, state.last.passed ? 1 : 0);
  for (const auto& [name, value] : state.last.extra) text += fmt::format(",{}", value);
  return text;
}

// Line by line, so that a long file costs no more memory than a short one: `take` gets every line with a number of
// bytes up to its end, and says whether to go on. The last one is whole only if it has its end.
void read_lines(const Folder& folder, const std::function<bool(const std::string&, std::uint64_t, bool whole)>& take) {
  constexpr std::size_t kBlock = 1 << 16, kMaxLine = 1 << 20;
  InputFile input = folder.open(kMetrics);
  std::string line, block;
  std::uint64_t at = 0;
  for (std::uint64_t left = input.size(); left > 0; left -= block.size()) {
    block.resize(std::min<std::uint64_t>(left, kBlock));
    input.read(std::as_writable_bytes(std::span(block)));
    for (const char c : block) {
      ++at;
      if (c != '\n') {
        line += c;
        continue;
      }
      if (!take(line, at, true)) return;
      line.clear();
    }
    if (line.size() > kMaxLine)
      fail("metrics", folder.path() + "/" + kMetrics, "lines of a readable length", "move the file away");
  }
  if (!line.empty()) take(line, at, false);
}

// Fills in a row of numbers from a line that has exactly as many, the first of them a step.
bool read_row(std::string_view line, std::span<double> row) {
  const char *at = line.data(), *const end = at + line.size();
  for (std::size_t i = 0; i < row.size(); ++i) {
    const bool last = i + 1 == row.size();
    const auto [stop, error] = std::from_chars(at, end, row[i]);
    if (error != std::errc() || (last ? stop != end : stop == end || *stop != ',')) return false;
    at = stop + !last;
  }
  return !row.empty() && row[0] >= 0 && row[0] < 1e18;
}

std::size_t columns_of(std::string_view line) { return 1 + static_cast<std::size_t>(std::ranges::count(line, ',')); }

// The step of a line that is a row of numbers, as many as the header has names.
std::optional<std::uint64_t> step_of(const std::string& line, std::size_t columns) {
  std::vector<double> row(columns);
  return read_row(line, row) ? std::optional(static_cast<std::uint64_t>(row[0])) : std::nullopt;
}

// Makes a table of the file's lines.
class TableReader {
 public:
  // The first is the header; another that is no row counts for nothing.
  void take(std::string_view line) {
    if (table_.names.empty()) return take_header(line);
    if (!read_row(line, row_)) return;
    for (std::size_t i = 0; i < row_.size(); ++i) table_.columns[i].push_back(row_[i]);
  }
  Metrics table() { return std::move(table_); }

 private:
  void take_header(std::string_view line) {
    for (std::size_t at = 0, end = 0; end != line.npos; at = end + 1) {
      end = line.find(',', at);
      table_.names.emplace_back(line.substr(at, end - at));
    }
    table_.columns.resize(table_.names.size());
    row_.resize(table_.names.size());
  }

  Metrics table_;
  std::vector<double> row_;
};

// A header for rows whose own is damaged: the names that every run has, and numbers for those that it adds.
std::string header_for(std::size_t columns) {
  std::string header(kColumns);
  while (columns_of(header) < columns) header += fmt::format(",column-{}", columns_of(header) + 1);
  return header;
}

// Keeps the rows up to `step`, in ascending order, under a header that fits them, and tells of it.
MetricsSeal mend(const Folder& folder, std::uint64_t step, std::string& told) {
  std::string header(kColumns), kept;
  MetricsSeal seal;
  std::uint64_t last = 0;
  bool found = false;
  read_lines(folder, [&](const std::string& line, std::uint64_t, bool) {
    if (kept.empty() && line.starts_with("step,seconds,"))
      header = line, found = true;
    else if (!found && step_of(line, columns_of(line)))
      header = header_for(columns_of(line)), found = true;
    const auto own = step_of(line, columns_of(header));
    if (!own || *own > step || *own < last) return true;
    if (kept.empty()) seal.add(header);
    seal.add(line);
    kept += line + "\n";
    last = *own;
    return true;
  });
  told += seal.lines > 0 ? fmt::format("; {} rows are kept", seal.lines - 1) : "; no row is left";
  const std::string mended = kept.empty() ? "" : header + "\n" + kept;
  const std::vector<std::byte> before = folder.read(kMetrics);
  if (!mended.empty() && std::ranges::equal(before, std::as_bytes(std::span(mended)))) return seal;
  if (!before.empty()) {
    folder.write(kDamagedMetrics, before);
    told += fmt::format(", and the file as it was is now {}/{}", folder.path(), kDamagedMetrics);
  }
  if (mended.empty())
    folder.remove(kMetrics);
  else
    folder.write(kMetrics, mended);
  return seal;
}

}  // namespace

void MetricsSeal::add(std::string_view line) {
  hash = Hasher().add(hash).add(line).hex();
  ++lines;
}

void MetricsSeal::add_row(const TrainState& state) {
  if (lines == 0) add(header_of(state));
  add(row_of(state));
}

void append_metrics(const Folder& folder, const TrainState& state) {
  std::string text;
  if (!folder.is_file(kMetrics) || folder.open(kMetrics).size() == 0) text = header_of(state) + "\n";
  folder.append(kMetrics, text + row_of(state) + "\n");
}

MetricsCheck trim_metrics(const Folder& folder, std::uint64_t step, const MetricsSeal& expected) {
  const std::string path = folder.path() + "/" + kMetrics;
  MetricsCheck check;
  if (!folder.has(kMetrics)) {
    if (expected.lines > 0) check.damage = fmt::format("{} is gone", path);
    return check;
  }
  if (!folder.is_file(kMetrics))
    fail("resume", path + ", which is a link, a pipe or a folder", "a plain file",
         "lines are cut off it: move the file here");
  MetricsSeal seal;
  std::uint64_t keep = 0, size = 0;
  read_lines(folder, [&](const std::string& line, std::uint64_t end, bool whole) {
    size = end;
    if (whole && check.cut == 0 && seal.lines < expected.lines) {
      seal.add(line);
      keep = end;
    } else {
      ++check.cut;
    }
    return true;
  });
  check.seal = seal;
  if (seal != expected) {
    check.damage = seal.lines < expected.lines
                       ? fmt::format("{} has {} of the {} lines that were written", path, seal.lines, expected.lines)
                       : fmt::format("{} has lines that were not written by this run", path);
    check.cut = 0;
    check.seal = mend(folder, step, check.damage);
    return check;
  }
  if (keep == 0)  // also when a kill came between making the file and its first line
    folder.remove(kMetrics);
  else if (keep < size)
    folder.cut(kMetrics, keep);
  return check;
}

Metrics read_metrics(const Folder& folder) {
  TableReader reader;
  if (folder.has(kMetrics))
    read_lines(folder, [&](const std::string& line, std::uint64_t, bool whole) {
      if (whole) reader.take(line);  // another process may be writing this one
      return true;
    });
  return reader.table();
}

Metrics parse_metrics(std::string_view text) {
  TableReader reader;
  for (std::size_t at = 0, end = text.find('\n'); end != text.npos; at = end + 1, end = text.find('\n', at))
    reader.take(text.substr(at, end - at));
  return reader.table();
}

std::string thinned_metrics(const Folder& folder) {
  constexpr std::size_t kMaxLines = 8192, kMaxLine = 4096;
  if (!folder.has(kMetrics)) return "";
  std::string header;
  std::vector<std::string> lines;
  std::uint64_t number = 0, stride = 1;
  read_lines(folder, [&](const std::string& whole, std::uint64_t, bool) {
    const std::string line = whole.substr(0, kMaxLine);
    if (number == 0) header = line;
    if (number > 0 && (number - 1) % stride == 0) lines.push_back(line);
    ++number;
    if (lines.size() < kMaxLines) return true;
    stride *= 2;
    for (std::size_t i = 0; i < kMaxLines / 2; ++i) lines[i] = std::move(lines[2 * i]);
    lines.resize(kMaxLines / 2);
    return true;
  });
  std::string text = header + "\n";
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace espalier
