#include "bench/bench.hpp"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cstdio>

#include "base/clock.hpp"
#include "espalier/error.hpp"
#include "espalier/trainer.hpp"

namespace espalier {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double best(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }

namespace {

constexpr double kSampleSeconds =
    0.02;  // a sample repeats the run until it is about this long: short, so that some are undisturbed
constexpr int kFewestSamples = 3;
constexpr double kQuickReference = 0.1;  // seconds of one run up to which a reference is sampled as often as the case

// Linux counts the peak anew after this; elsewhere the peak is that of the whole process so far.
void reset_peak_memory() {
  malloc_trim(0);
  if (std::FILE* file = std::fopen("/proc/self/clear_refs", "w")) {
    std::fputs("5", file);
    std::fclose(file);
  }
}

// Times one piece of work; how often a sample repeats it is found on the first call, which warms up too.
class Stopwatch {
 public:
  explicit Stopwatch(std::function<void()> work) : work_(std::move(work)) {}

  void warm_up() {
    double seconds = timed(1);
    seconds = std::min(seconds, timed(1));
    runs_ = std::clamp(static_cast<int>(kSampleSeconds / std::max(seconds, 1e-9)), 1, 1'000'000);
  }
  void sample() { samples_.push_back(timed(runs_) / runs_); }
  // After as much work that is not timed: the other watches left workers asleep, their cores slow and caches cold.
  void warm_sample() {
    timed(runs_);
    sample();
  }
  const std::vector<double>& samples() const { return samples_; }

 private:
  double timed(int runs) {
    const double start = seconds_now();
    for (int i = 0; i < runs; ++i) work_();
    return seconds_now() - start;
  }
  std::function<void()> work_;
  int runs_ = 1;
  std::vector<double> samples_;
};

struct Pools {
  explicit Pools(const std::vector<int>& threads) {
    for (const int t : threads) list.push_back(std::make_unique<ThreadPool>(t));
  }
  std::vector<std::unique_ptr<ThreadPool>> list;
};

std::vector<BenchRow> run_case(const BenchCase& c, const BenchOptions& options, const Pools& pools,
                               const std::vector<std::pair<int, MachineLimits>>& limits) {
  reset_peak_memory();
  const BenchBody body = c.prepare();
  std::vector<std::string> hashes;
  for (const auto& pool : pools.list) hashes.push_back(body.result(*pool));
  std::vector<Stopwatch> watches;
  for (const auto& pool : pools.list) watches.emplace_back([&body, p = pool.get()] { body.run(*p); });
  for (Stopwatch& w : watches) w.warm_up();
  int sampled = 0;
  const auto sample_all = [&] {
    for (Stopwatch& w : watches) w.warm_sample();
    ++sampled;
  };
  const int fewest = std::min(kFewestSamples, options.repeat);
  while (sampled < fewest) sample_all();  // without the reference, whose memory is not the case's
  const double peak = peak_rss_mb();

  BenchReference reference;
  if (c.prepare_reference) reference = c.prepare_reference();
  Stopwatch reference_watch(reference.run);
  if (reference.run) reference_watch.warm_up();
  for (int sample = 0; reference.run && sample < fewest; ++sample) {
    reference_watch.sample();
    if (sampled < options.repeat) sample_all();
  }
  const double start = seconds_now();
  while (sampled < options.repeat && seconds_now() - start < options.seconds) {
    if (reference.run && best(reference_watch.samples()) < kQuickReference) reference_watch.warm_sample();
    sample_all();
  }

  std::vector<BenchRow> rows;
  for (std::size_t i = 0; i < watches.size(); ++i) {
    const std::vector<double>& samples = watches[i].samples();
    BenchRow row;
    row.name = c.name;
    row.unit = c.unit;
    row.threads = pools.list[i]->threads();
    row.samples = static_cast<int>(samples.size());
    row.median_seconds = median(samples);
    row.best_seconds = best(samples);
    row.throughput = c.work / row.best_seconds;
    row.ratio_to_one = best(watches[0].samples()) / row.best_seconds;
    if (reference.run) row.ratio_to_reference = row.throughput / (reference.work / best(reference_watch.samples()));
    row.fraction_of_limit = limits[i].second.least_seconds(c.flops, c.bytes) / row.best_seconds;
    row.peak_mb = peak;
    row.hash = hashes[i];
    row.hash_equal = hashes[i] == hashes[0];
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<int> default_threads() {
  const int cores = ThreadPool::usable_cores();
  std::vector<int> threads;
  for (int t = 1; t < cores; t *= 2) threads.push_back(t);
  threads.push_back(cores);
  return threads;
}

// The better of two measurements: other work on the machine only ever makes one worse.
void keep_best(MachineLimits& a, const MachineLimits& b) {
  a = {std::max(a.flops, b.flops), std::max(a.bytes, b.bytes)};
}

}  // namespace

std::vector<const BenchCase*> select_cases(const std::string& filter) {
  std::vector<const BenchCase*> cases;
  for (const BenchCase& c : all_bench_cases())
    if (c.name.find(filter) != std::string::npos) cases.push_back(&c);
  if (cases.empty()) fail("bench", fmt::format("the filter \"{}\"", filter), "a part of a case's name");
  return cases;
}

BenchReport bench(const BenchOptions& given, const BenchWatcher& watcher) {
  BenchOptions options = given;
  if (options.threads.empty()) options.threads = default_threads();
  const auto cases = select_cases(options.filter);
  const Pools pools(options.threads);
  BenchReport report;
  for (const auto& pool : pools.list) report.limits.emplace_back(pool->threads(), measure_limits(*pool));
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!watcher(cases[i]->name, i, cases.size())) break;
    // Measured again before every case, so that the limits are those of the same minutes.
    for (std::size_t p = 0; p < pools.list.size(); ++p)
      keep_best(report.limits[p].second, measure_limits(*pools.list[p]));
    for (BenchRow& row : run_case(*cases[i], options, pools, report.limits)) report.rows.push_back(std::move(row));
  }
  return report;
}

}  // namespace espalier
