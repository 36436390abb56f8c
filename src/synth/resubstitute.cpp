// Rewriting and resubstitution in turn: down to the bottom of a valley, then walks over rewrites that cost nothing and,
// now and then, kicks that cost a gate or two, in search of a deeper one. From the circuit as it is, and from others of
// the same function.
#include <algorithm>
#include <optional>
#include <tuple>

#include "synth/gate_graph.hpp"
#include "synth/passes.hpp"

namespace espalier {
namespace {

constexpr int kDescents = 20;                              // rounds that only go down
constexpr int kRoundsOfAKick = 4;                          // before the next starts from the best again
constexpr std::size_t kKicked = 3;                         // gates, about
constexpr int kPatience = 120;                             // rounds without a gain before another attempt begins
constexpr std::size_t kAttempts = 40, kVainAttempts = 10;  // in all; in a row without a gain
constexpr int kCalmRounds = 12;                            // rounds without a gain before the first kick
constexpr std::size_t kFar = 4;            // a start is given up when it is more than 1 / kFar larger at the bottom
constexpr std::uint64_t kRebuilding = 16;  // a part of the effort
constexpr std::uint64_t kFactoring = 4;    // another part, not counted: most circuits take next to nothing of it
constexpr std::uint64_t kDescending = 4;   // another part, for each start
constexpr std::uint64_t kPasses = 20;      // that the effort must allow
constexpr std::uint64_t kHope = 3;    // another part, that may go by without a gain, beside what it took to come so far
constexpr std::size_t kLarge = 1000;  // gates; with more of them that part shrinks when the descent gained less than
constexpr double kWorthWalking = 1.0 / 128;  // of them, at most to
constexpr double kLeastPatience = 1.0 / 16;

class Walker {
 public:
  Walker(const Netlist& netlist, const ResubstituteOptions& options, ResubstituteReport& report)
      : options_(options),
        report_(report),
        effort_(options.effort + options.effort_per_gate * netlist.gates.size()),
        best_(netlist),
        now_(netlist) {}

  Netlist run() {
    std::vector<Netlist> starts{best_};
    if (options_.walks > 0 && options_.goal != CircuitGoal::kDepth && !exhausted()) {
      for (Netlist& other : rebuild(best_, rebuilding(), &report_.spent)) starts.push_back(std::move(other));
      Netlist other = factor(best_, effort_ / kFactoring);
      if (other.gates.size() < best_.gates.size()) starts.push_back(std::move(other));
    }
    descend_all(starts);
    Netlist found = starts.front();
    std::size_t vain = 0;
    for (std::size_t attempt = 0; attempt < kAttempts && vain < kVainAttempts && !exhausted(); ++attempt, ++vain) {
      if (options_.walks == 0) break;
      best_ = now_ = starts[attempt % starts.size()];
      walk();
      if (cost(best_) >= cost(found)) continue;
      if (best_.gates.size() < found.gates.size()) vain = 0;
      found = best_;
    }
    return found;
  }

 private:
  // To the bottom of each valley; the deepest comes first, and those that are far above it are given up. A small one is
  // looked at before a large one, which might leave no effort for it.
  void descend_all(std::vector<Netlist>& starts) {
    // Counted in ANDs, a circuit has no XORs from the start.
    if (options_.goal == CircuitGoal::kAnds)
      for (Netlist& start : starts) start = GateGraph(start, true).netlist();
    const auto cheaper = [&](const Netlist& x, const Netlist& y) { return cost(x) < cost(y); };
    std::stable_sort(starts.begin(), starts.end(), cheaper);
    const std::size_t gates = starts.front().gates.size();
    for (Netlist& start : starts) {
      best_ = now_ = start;
      descend(report_.spent + effort_ / kDescending);
      start = best_;
    }
    std::stable_sort(starts.begin(), starts.end(), cheaper);
    const std::size_t least = std::get<0>(cost(starts.front()));
    patience_ = patience_after(gates, starts.front().gates.size());
    std::erase_if(starts, [&](const Netlist& start) { return std::get<0>(cost(start)) * kFar > least * (kFar + 1); });
  }

  RebuildOptions rebuilding() const {
    return {options_.table_inputs, 2 * best_.gates.size() + 20, options_.seed, effort_ / kRebuilding};
  }

  void descend(std::uint64_t end) {
    for (int round = 0; round < kDescents && report_.spent < std::min(end, effort_); ++round) {
      const auto before = cost(now_);
      pass(false);
      keep();
      if (cost(now_) >= before) break;
    }
  }

  // Until many rounds in a row have gained nothing.
  void walk() {
    int calm = 0;
    for (int walk = 0; walk < options_.walks && calm < kPatience && !exhausted() && !best_.gates.empty(); ++walk) {
      if (options_.rewriting && calm >= kCalmRounds && calm % kRoundsOfAKick == 0) {
        const auto one_in = static_cast<int>(std::max<std::size_t>(2, best_.gates.size() / kKicked));
        now_ = rewrite(best_, {options_.goal, true, one_in, seed()}, &report_.spent);
      }
      pass(true);
      calm = keep() ? 0 : calm + 1;
    }
  }

  // Where nothing was to be had on the way down, as in circuits of random gates, walks find next to nothing either, and
  // those over many gates are long. (Without rewriting they are short.)
  double patience_after(std::size_t before, std::size_t after) const {
    if (before <= kLarge || !options_.rewriting) return 1;
    const double gained = 1 - static_cast<double>(after) / static_cast<double>(before);
    return std::clamp(gained / kWorthWalking, kLeastPatience, 1.0);
  }

  // All is spent, or much of it for nothing: when the best is old, a better one is far.
  bool exhausted() const {
    const auto vain = static_cast<double>(last_gain_ + effort_ / kHope);
    return report_.spent >= std::min(effort_, last_gain_ + static_cast<std::uint64_t>(patience_ * vain));
  }
  std::uint64_t seed() { return options_.seed * 0x9E3779B97F4A7C15u + ++rounds_; }

  std::tuple<std::size_t, std::size_t> cost(const Netlist& n) const {
    const std::size_t depth = count_netlist(n).depth;
    if (options_.goal == CircuitGoal::kDepth) return {depth, n.gates.size()};
    return {n.gates.size(), depth};
  }

  void pass(bool sideways) {
    if (options_.rewriting) now_ = rewrite(now_, {options_.goal, sideways, 0, seed()}, &report_.spent);
    WindowOptions window;
    window.goal = options_.goal;
    window.sideways = sideways;
    window.from_outputs = rounds_ % 4 != 0;
    window.seed = seed();
    window.table_inputs = options_.table_inputs;
    window.leaves = options_.leaves;
    window.effort = effort_ / kPasses;
    now_ = resubstitute_once(now_, window, &report_);
  }

  // What is no worse is walked on from; true for a gain.
  bool keep() {
    const auto now = cost(now_), best = cost(best_);
    if (std::get<0>(now) > std::get<0>(best) || (options_.goal == CircuitGoal::kDepth && now > best)) return false;
    best_ = now_;
    if (!record_ || std::get<0>(now) < *record_) {
      record_ = std::get<0>(now);
      last_gain_ = report_.spent;
    }
    return std::get<0>(now) < std::get<0>(best) || (options_.goal == CircuitGoal::kDepth && now < best);
  }

  const ResubstituteOptions& options_;
  ResubstituteReport& report_;
  const std::uint64_t effort_;
  Netlist best_, now_;
  std::uint64_t rounds_ = 0;
  std::optional<std::size_t> record_;  // the least of all attempts
  std::uint64_t last_gain_ = 0;        // what was spent when it was reached
  double patience_ = 1;                // with walks that gain nothing
};

}  // namespace

Netlist resubstitute(const Netlist& netlist, const ResubstituteOptions& options, ResubstituteReport* report) {
  ResubstituteReport local;
  return Walker(netlist, options, report ? *report : local).run();
}

}  // namespace espalier
