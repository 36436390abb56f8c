// espalier bench: how fast each room is on this machine, against one thread, the scalar reference and the
// machine's limits.
#include <fmt/format.h>

#include <charconv>

#include "arguments.hpp"
#include "bench/bench.hpp"
#include "bench/signature.hpp"
#include "commands.hpp"
#include "interrupt.hpp"
#include "output.hpp"
#include "program_ranks.hpp"

namespace espalier::app {
namespace {

struct BenchFlags {
  BenchOptions options;
  std::string threads;
  bool json = false, list = false, signature = false, quiet = false, comm = false;
  double rank_timeout = kRankTimeout;
};

std::vector<int> parse_threads(const std::string& text) {
  std::vector<int> list;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    int value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc{} || value < 1 || value > 1024 || (next < end && *next != ',') || next + 1 == end)
      throw UsageError("--threads", fmt::format("got \"{}\", expected thread counts such as 1,2,4", text));
    list.push_back(value);
    at = next + 1;
  }
  return list;
}

// 12.3 M, 4.56 G: three figures and the power of a thousand.
std::string scaled(double value) {
  constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T"};
  int power = 0;
  while (value >= 1000 && power < 4) value /= 1000, ++power;
  return fmt::format("{:.{}f} {}", value, value >= 100 ? 0 : value >= 10 ? 1 : 2, kPrefixes[power]);
}

std::string time_text(double seconds) {
  return seconds >= 1      ? fmt::format("{:.3f} s ", seconds)
         : seconds >= 1e-3 ? fmt::format("{:.3f} ms", seconds * 1e3)
                           : fmt::format("{:.3f} us", seconds * 1e6);
}

std::string or_dash(double value, const std::string& text) { return value > 0 ? text : "-"; }

void print_table(const BenchReport& report) {
  for (const auto& [threads, limits] : report.limits)
    fmt::print("machine with {} thread{}: {}flop/s ({}), memory {}B/s\n", threads, threads == 1 ? "" : "s",
               scaled(limits.flops), vector_target(), scaled(limits.bytes));
  fmt::print("\n{:<33} {:>7} {:>11} {:>11} {:>21} {:>6} {:>8} {:>7} {:>7}  {}\n", "case", "threads", "median", "best",
             "throughput", "x one", "x plain", "limit", "memory", "hash");
  for (const BenchRow& r : report.rows)
    fmt::print(
        "{:<33} {:>7} {:>11} {:>11} {:>21} {:>6.2f} {:>8} {:>7} {:>7}  {}\n", r.name, r.threads,
        time_text(r.median_seconds), time_text(r.best_seconds), scaled(r.throughput) + r.unit, r.ratio_to_one,
        or_dash(r.ratio_to_reference, fmt::format("{:.{}f}", r.ratio_to_reference, r.ratio_to_reference < 10 ? 2 : 0)),
        or_dash(r.fraction_of_limit, fmt::format("{:.1f} %", 100 * r.fraction_of_limit)),
        fmt::format("{:.0f} MB", r.peak_mb), r.hash_equal ? "equal" : "DIFFERENT");
}

Json to_json(const BenchReport& report) {
  Json j = {{"vector_target", vector_target()}, {"limits", Json::array()}, {"cases", Json::array()}};
  for (const auto& [threads, limits] : report.limits)
    j["limits"].push_back(
        {{"threads", threads}, {"flops_per_second", limits.flops}, {"memory_bytes_per_second", limits.bytes}});
  const auto or_null = [](double value) { return value > 0 ? Json(value) : Json(); };
  for (const BenchRow& r : report.rows)
    j["cases"].push_back({{"case", r.name},
                          {"unit", r.unit},
                          {"threads", r.threads},
                          {"samples", r.samples},
                          {"median_seconds", r.median_seconds},
                          {"best_seconds", r.best_seconds},
                          {"throughput", r.throughput},
                          {"ratio_to_one_thread", r.ratio_to_one},
                          {"ratio_to_reference", or_null(r.ratio_to_reference)},
                          {"fraction_of_limit", or_null(r.fraction_of_limit)},
                          {"peak_mb", r.peak_mb},
                          {"hash", r.hash},
                          {"hash_equal", r.hash_equal}});
  return j;
}

int run_signature(const BenchFlags& f) {
  const ThreadPool pool(f.options.threads.empty() ? 0 : f.options.threads.back());
  Json cases = Json::object();
  const SignatureWatcher print = [&](const std::string& name, const std::string& hash) {
    f.json ? void(cases[name] = hash) : fmt::print("{:<38} {}\n", name, hash);
  };
  const std::string all = signature(pool, print, f.options.filter);
  if (!f.options.filter.empty()) {  // one hash over some would be taken for that over all
    if (f.json) print_json({{"cases", cases}});
    return kDone;
  }
  f.json ? print_json({{"cases", cases}, {"signature", all}}) : fmt::print("{}\n", all);
  return kDone;
}

int list_cases(const BenchFlags& f) {
  if (f.json) {
    Json cases = Json::array();
    for (const BenchCase* c : select_cases(f.options.filter))
      cases.push_back({{"case", c->name}, {"unit", c->unit}, {"flops", c->flops}, {"bytes", c->bytes}});
    print_json({{"cases", cases}});
  } else {
    const auto counted = [](double amount, const char* unit) { return amount > 0 ? scaled(amount) + unit : "-"; };
    fmt::print("{:<33} {:<14} {:>14} {:>10}\n", "case", "unit", "flops of a run", "bytes");
    for (const BenchCase* c : select_cases(f.options.filter))
      fmt::print("{:<33} {:<14} {:>14} {:>10}\n", c->name, c->unit, counted(c->flops, ""), counted(c->bytes, "B"));
  }
  return kDone;
}

// What lists, hashes or compares ranks instead of measuring takes few of the other options.
void refuse_without_effect(const BenchFlags& f, const std::set<std::string>& given) {
  if (f.list + f.signature + f.comm > 1)
    throw UsageError(f.list ? "--list" : "--signature", fmt::format("got {}, too, expected one of them",
                                                                    f.list && f.signature ? "--signature" : "--comm"));
  const auto instead = [](const char* what) { return fmt::format("got {}, expected speeds to be measured", what); };
  if (f.list) refuse_given(given, {"threads", "repeat", "seconds"}, instead("--list"));
  if (f.signature) refuse_given(given, {"repeat", "seconds"}, instead("--signature"));
  if (f.comm) refuse_given(given, {"threads", "filter", "repeat"}, instead("--comm"));
}

int run(const BenchFlags& f) {
  if (f.list) return list_cases(f);
  if (f.comm) return comm_bench(f.options.seconds, f.json);
  if (program_ranks() && !program_ranks()->first()) return kDone;
  if (f.signature) return run_signature(f);
  const StopFlag& stop = interrupt_flag();
  const BenchReport report = bench(f.options, [&](const std::string& name, std::size_t index, std::size_t count) {
    if (!f.quiet && !stop.raised()) note("{}/{} {}\n", index + 1, count, name);
    return !stop.raised();
  });
  f.json ? print_json(to_json(report)) : print_table(report);
  if (stop.raised()) return kInterrupted;
  for (const BenchRow& r : report.rows)
    if (!r.hash_equal) return kFailed;
  return kDone;
}

}  // namespace

Command bench_command() {
  const auto f = std::make_shared<BenchFlags>();
  Command command{"bench", "measure the speed of every part of the program on this machine"};
  Fields& o = command.options;
  o.add("threads", f->threads, "thread counts to compare (default 1,2,4,... all cores)").metavar("1,2");
  o.add("filter", f->options.filter, "only cases whose name contains this").metavar("NAME");
  o.add("repeat", f->options.repeat, "samples of each case and thread count", 1, 100'000);
  o.add("seconds", f->options.seconds, "take no more samples of a case after this many seconds, once there are three",
        0, 86400);
  o.add("list", f->list, "list the cases");
  o.add("signature", f->signature,
        "hash what small fixed cases compute: one line per case, then, without a filter, one hash of all");
  o.add("comm", f->comm, "under mpirun: what it costs ranks to exchange bytes, and how much of a step they save");
  add_rank_timeout(o, f->rank_timeout);
  add_json(o, f->json);
  o.add("quiet", f->quiet, "do not name the cases as they run");
  command.over_ranks = true;
  return std::move(command).with(f, [given = command.given](BenchFlags& f) {
    refuse_without_effect(f, *given);
    if (program_ranks()) program_ranks()->set_patience(f.rank_timeout);
    f.options.threads = parse_threads(f.threads);
    return run(f);
  });
}

}  // namespace espalier::app
