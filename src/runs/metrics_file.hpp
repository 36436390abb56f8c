// metrics.csv: one line per evaluation, and a seal by which damage shows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/folder.hpp"
#include "espalier/run_record.hpp"
#include "espalier/trainer.hpp"

namespace espalier {

inline constexpr const char* kMetrics = "metrics.csv";
inline constexpr const char* kDamagedMetrics = "metrics-damaged.csv";

// Of the first lines of the file, the header among them: every line changes the hash of all before it.
struct MetricsSeal {
  std::uint64_t lines = 0;
  std::string hash = {};

  void add(std::string_view line);        // without its end
  void add_row(const TrainState& state);  // what append_metrics adds, with the header before the first
  bool operator==(const MetricsSeal&) const = default;
};

// Adds the state's last evaluation (with a header first).
void append_metrics(const Folder& folder, const TrainState& state);

struct MetricsCheck {
  MetricsSeal seal = {};    // of the file as it is now
  std::uint64_t cut = 0;    // lines that were dropped from its end
  std::string damage = {};  // what somebody did to it; empty: nothing
};
// Cuts the file down to the lines that `expected` seals. Where it does not begin with these lines, it was damaged: what
// still looks like a row up to `step` is kept, and the file as it was stays beside it.
MetricsCheck trim_metrics(const Folder& folder, std::uint64_t step, const MetricsSeal& expected);

// All whole rows; empty where there is no file.
Metrics read_metrics(const Folder& folder);
Metrics parse_metrics(std::string_view text);

// The file, of a long one every second line, or every fourth, ...; empty where there is none.
std::string thinned_metrics(const Folder& folder);

}  // namespace espalier
