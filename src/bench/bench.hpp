// Runs benchmark cases over thread counts, interleaved, so that a slow moment of the machine hits all alike.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/bench_case.hpp"

namespace espalier {

// What this machine can do at the most, measured: the yardstick of the benchmarks.
struct MachineLimits {
  double flops = 0;  // fused multiply-adds per second, two flops each, single precision, in registers
  double bytes = 0;  // bytes per second of memory updated in place, reads and writes both counted
  // The least time for so much work: whichever of the two limits is hit first.
  double least_seconds(double work_flops, double work_bytes) const;
};

// Of samples of a time, at least one.
double median(std::vector<double> values);
double best(const std::vector<double>& values);

// All workers of the pool at once; the best of a few tries, about 0.2 s.
MachineLimits measure_limits(const ThreadPool& pool);
// The vector instructions chosen at run time, e.g. "AVX2".
const char* vector_target();

struct BenchOptions {
  std::vector<int> threads;  // the first is what the others are compared with; empty = 1, 2, 4, ... all cores
  std::string filter;        // cases whose name contains this
  int repeat = 31;           // samples of each thread count ...
  double seconds = 3;        // ... cut short, but to no fewer than three of these, after this long a case
};

struct BenchRow {
  std::string name = {}, unit = {};
  int threads = 1;
  int samples = 0;
  double median_seconds = 0;  // of one run
  // All else is counted at the best sample, like the machine's limits: other work on the machine only makes one worse.
  double best_seconds = 0;
  double throughput = 0;          // units a second
  double ratio_to_one = 1;        // throughput over that of the first thread count
  double ratio_to_reference = 0;  // throughput over that of the scalar reference; 0 = there is none
  double fraction_of_limit = 0;   // least time by the machine's limits over the best; 0 = not counted
  double peak_mb = 0;             // resident memory of the process, at its highest during the case
  std::string hash = {};
  bool hash_equal = true;  // to that of the first thread count
};

struct BenchReport {
  std::vector<BenchRow> rows;
  std::vector<std::pair<int, MachineLimits>> limits;  // by thread count
};

// Called with the name of each case before it runs; returning false ends the bench with what there is.
using BenchWatcher = std::function<bool(const std::string& name, std::size_t index, std::size_t count)>;

std::vector<const BenchCase*> select_cases(const std::string& filter);  // an Error when there is none
BenchReport bench(const BenchOptions& options, const BenchWatcher& watcher);

}  // namespace espalier
