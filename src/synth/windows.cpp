// Resubstitution in windows: a gate, what it feeds a few levels up, and what lies below both down to a bounded number
// of leaves, on complete truth tables of the leaves. What the gates above cannot tell need not be right.
#include <algorithm>

#include "espalier/random.hpp"
#include "synth/gate_plan.hpp"
#include "synth/passes.hpp"
#include "synth/resub_search.hpp"

namespace espalier {
namespace {

constexpr std::size_t kMaxAbove = 24;    // gates that a gate feeds, itself included
constexpr std::size_t kMaxReaders = 24;  // of one net; beyond that its readers are not looked at
constexpr std::size_t kMaxBelow = 120;   // nets in a window below
constexpr std::size_t kMaxBeside = 60;   // nets made of those
constexpr std::size_t kMaxOffers = 200;  // recipes weighed for one gate
constexpr std::size_t kMaxWhole = 8192;  // gates that are seen at once from each of them
constexpr std::uint64_t kWalks = 4;      // a net that is walked over is much less than a word operation
constexpr std::size_t kShortWalk = 256;  // nets that only one gate needs; more of them are counted
constexpr std::uint64_t kOverhead = 20;  // word operations that a net in a window costs beside its table, about

class Windows {
 public:
  using Table = ResubSearch::Table;
  Windows(const Netlist& netlist, const WindowOptions& options, ResubstituteReport& report)
      : graph_(netlist, options.goal == CircuitGoal::kAnds),
        options_(options),
        report_(report),
        random_(options.seed, Purpose::kSweep, 4),
        weigher_(graph_) {}

  Netlist run() {
    const std::vector<std::uint32_t> order = graph_.topological_order();
    if (order.empty()) return graph_.netlist();
    limit_ = options_.effort / order.size();
    max_walked_ = kWalks * options_.effort;
    for (std::uint32_t n = 1; n <= graph_.inputs(); ++n)
      if (graph_.node(n).refs > 0) live_inputs_.push_back(n);
    whole_ = live_inputs_.size() <= static_cast<std::size_t>(options_.table_inputs) && order.size() <= kMaxWhole;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::uint32_t n = order[options_.from_outputs ? order.size() - 1 - i : i];
      if (graph_.is_gate(n)) improve(n);
      if (walked_ <= max_walked_) continue;
      report_.spent += walked_;  // a long chain that nothing else reads, walked down from each of its gates
      break;
    }
    return graph_.netlist(options_.goal == CircuitGoal::kDepth);
  }

 private:
  enum Place : std::uint8_t { kOutside, kAbove, kLeaf, kBelow };

  void mark(std::uint32_t n, Place place) {
    if (place_.size() < graph_.size()) place_.resize(graph_.size(), kOutside);
    if (place_[n] == kOutside) marked_.push_back(n);
    place_[n] = place;
  }
  Place place(std::uint32_t n) const { return n < place_.size() ? place_[n] : kOutside; }

  // All there is, on tables of the circuit's inputs.
  void collect_all(std::uint32_t n) {
    leaves_ = live_inputs_;
    for (const std::uint32_t leaf : leaves_) mark(leaf, kLeaf);
    above_.assign(1, n);
    mark(n, kAbove);
    for (std::size_t i = 0; i < above_.size(); ++i)
      for (const std::uint32_t reader : graph_.node(above_[i]).readers)
        if (reader < kOutputReader && place(reader) != kAbove) {
          mark(reader, kAbove);
          above_.push_back(reader);
        }
    sort_by_level(above_);
    below_.clear();
    for (std::uint32_t m = graph_.inputs() + 1; m < graph_.size(); ++m)
      if (graph_.is_gate(m) && place(m) != kAbove) {
        mark(m, kBelow);
        below_.push_back(m);
      }
  }

  void sort_by_level(std::vector<std::uint32_t>& nodes) const {
    std::sort(nodes.begin(), nodes.end(), [&](std::uint32_t x, std::uint32_t y) {
      return std::pair(graph_.node(x).level, x) < std::pair(graph_.node(y).level, y);
    });
  }

  // The gates above in ascending levels, so that what one of them reads is among them or does not depend on `n`.
  void collect_above(std::uint32_t n) {
    next_.assign(1, {graph_.node(n).level, n});
    leaves_.clear();
    above_.clear();
    bool closed = false;
    while (!next_.empty() && above_.size() < kMaxAbove && !closed) {
      const auto first = std::min_element(next_.begin(), next_.end());
      const std::uint32_t top = first->second;
      *first = next_.back();
      next_.pop_back();
      if (place(top) == kAbove) continue;  // reached on two ways
      Few<std::uint32_t, 2> fresh;
      for (const Edge edge : {graph_.node(top).a, graph_.node(top).b})
        if (place(node_of(edge)) == kOutside && node_of(edge) != 0) fresh.push_back(node_of(edge));
      if (leaves_.size() + fresh.size() > static_cast<std::size_t>(options_.leaves)) break;
      for (const std::uint32_t leaf : fresh) {
        mark(leaf, kLeaf);
        leaves_.push_back(leaf);
      }
      mark(top, kAbove);
      above_.push_back(top);
      closed = graph_.node(top).readers.size() > kMaxReaders;
      if (closed) break;
      for (const std::uint32_t reader : graph_.node(top).readers)
        if (reader < kOutputReader) next_.emplace_back(graph_.node(reader).level, reader);
    }
  }

  // Leaves are replaced by what they read, where that adds the fewest leaves.
  void deepen() {
    below_.clear();
    while (below_.size() < kMaxBelow) {
      std::size_t best = leaves_.size();
      int best_cost = 3;
      std::uint32_t best_level = 0;
      for (std::size_t i = 0; i < leaves_.size(); ++i) {
        if (!graph_.is_gate(leaves_[i])) continue;
        const GraphNode& node = graph_.node(leaves_[i]);
        const int cost = (place(node_of(node.a)) == kOutside) + (place(node_of(node.b)) == kOutside) - 1;
        if (leaves_.size() + static_cast<std::size_t>(cost + 1) > static_cast<std::size_t>(options_.leaves) + 1)
          continue;
        if (cost < best_cost || (cost == best_cost && node.level > best_level)) {
          best = i;
          best_cost = cost;
          best_level = node.level;
        }
      }
      if (best == leaves_.size()) return;
      const std::uint32_t opened = leaves_[best];
      leaves_.erase(leaves_.begin() + static_cast<std::ptrdiff_t>(best));
      mark(opened, kBelow);
      below_.push_back(opened);
      for (const Edge edge : {graph_.node(opened).a, graph_.node(opened).b})
        if (place(node_of(edge)) == kOutside) {
          mark(node_of(edge), kLeaf);
          leaves_.push_back(node_of(edge));
        }
    }
  }

  // Nets made of nets in the window, which do not depend on the gate.
  void look_beside() {
    std::vector<std::uint32_t> frontier = leaves_;
    frontier.insert(frontier.end(), below_.begin(), below_.end());
    std::size_t added = 0;
    for (std::size_t i = 0; i < frontier.size() && added < kMaxBeside; ++i) {
      const std::vector<std::uint32_t>& readers = graph_.node(frontier[i]).readers;
      for (std::size_t r = 0; r < std::min(readers.size(), kMaxReaders) && added < kMaxBeside; ++r) {
        const std::uint32_t reader = readers[r];
        if (reader >= kOutputReader || place(reader) != kOutside || !graph_.is_gate(reader)) continue;
        const Place a = place(node_of(graph_.node(reader).a)), b = place(node_of(graph_.node(reader).b));
        if ((a != kLeaf && a != kBelow) || (b != kLeaf && b != kBelow)) continue;
        mark(reader, kBelow);
        below_.push_back(reader);
        frontier.push_back(reader);
        ++added;
      }
    }
  }

  std::uint64_t* table(std::uint32_t n) { return &tables_[row_[n] * words_]; }
  void compute(std::uint32_t n) {
    const GraphNode& node = graph_.node(n);
    const std::uint64_t *a = table(node_of(node.a)), *b = table(node_of(node.b));
    const std::uint64_t x = inverted(node.a) ? ~std::uint64_t{0} : 0, y = inverted(node.b) ? ~std::uint64_t{0} : 0;
    std::uint64_t* own = table(n);
    for (std::size_t w = 0; w < words_; ++w) own[w] = node.is_xor ? (a[w] ^ x) ^ (b[w] ^ y) : (a[w] ^ x) & (b[w] ^ y);
  }

  void simulate() {
    words_ = leaves_.size() > 6 ? std::size_t{1} << (leaves_.size() - 6) : 1;
    if (row_.size() < graph_.size()) row_.resize(graph_.size());
    sort_by_level(below_);
    tables_.assign((1 + leaves_.size() + below_.size() + above_.size()) * words_, 0);
    row_[0] = 0;
    std::uint32_t row = 1;
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      row_[leaves_[i]] = row++;
      for (std::size_t w = 0; w < words_; ++w) table(leaves_[i])[w] = counting_word(i, w);
    }
    for (const auto* list : {&below_, &above_})
      for (const std::uint32_t n : *list) {
        row_[n] = row++;
        compute(n);
      }
    report_.spent += row * (2 * words_ + kOverhead);
  }

  // Patterns of the leaves on which something that leaves the window changes with `n`.
  Table care_of(std::uint32_t n) {
    const std::vector<std::uint64_t> before(table(n), table(n) + above_.size() * words_);  // rows of above_
    for (std::size_t w = 0; w < words_; ++w) table(n)[w] = ~table(n)[w];
    for (std::size_t i = 1; i < above_.size(); ++i) compute(above_[i]);
    Table care(words_);
    for (std::size_t i = 0; i < above_.size(); ++i) {
      const std::vector<std::uint32_t>& readers = graph_.node(above_[i]).readers;
      const bool seen = (!whole_ && readers.size() > kMaxReaders) ||
                        std::any_of(readers.begin(), readers.end(),
                                    [&](auto reader) { return reader >= kOutputReader || place(reader) != kAbove; });
      if (!seen) continue;
      for (std::size_t w = 0; w < words_; ++w) care[w] |= table(above_[i])[w] ^ before[i * words_ + w];
    }
    std::copy(before.begin(), before.end(), table(n));
    return care;
  }

  void improve(std::uint32_t n) {
    for (const std::uint32_t m : marked_) place_[m] = kOutside;
    marked_.clear();
    if (whole_) {
      collect_all(n);
    } else {
      collect_above(n);
      deepen();
      look_beside();
    }
    simulate();
    const Table care = care_of(n);
    Table on(words_), off(words_);
    bool ever_on = false, ever_off = false;
    // Fewer than six leaves fill a part of the word only, over and over: that does no harm.
    for (std::size_t w = 0; w < words_; ++w) {
      on[w] = table(n)[w] & care[w];
      off[w] = ~table(n)[w] & care[w];
      ever_on = ever_on || on[w];
      ever_off = ever_off || off[w];
    }
    ++report_.tried;
    if (!ever_on || !ever_off) {
      GatePlan plan;
      plan.constant = ever_on;
      ++report_.replaced;
      return weigher_.carry_out(n, plan);
    }
    std::vector<std::uint32_t> divisors = leaves_;
    divisors.insert(divisors.end(), below_.begin(), below_.end());
    std::vector<const std::uint64_t*> tables;
    for (const std::uint32_t d : divisors) tables.push_back(table(d));

    const std::size_t all = graph_.dereference(n);
    graph_.reference(n);
    const std::uint64_t walk = all > kShortWalk ? 2 * all : 0;
    walked_ += walk;
    const int steps = static_cast<int>(std::min<std::size_t>(options_.sideways ? all : all - 1, 2));
    GatePlan best;
    int best_gain = 0;
    std::uint64_t equals = 0;
    std::size_t offers = 0;
    const std::uint32_t level = graph_.node(n).level;
    ResubSearch search(std::move(tables), words_, !graph_.only_ands(), limit_);
    search.run(on, off, steps, [&](const Recipe& recipe) {
      const GatePlan plan = plan_of(recipe, divisors);
      const PlanWeigher::Weight weight = weigher_.weigh(n, plan);
      walked_ += walk;
      const bool too_deep = options_.goal == CircuitGoal::kDepth && weight.level > level;
      if (weight.possible && !too_deep) {
        const bool even =
            options_.sideways && weight.gain == 0 && best_gain == 0 && random_.choice(draws_++, ++equals) == 0;
        if (weight.gain > best_gain || even) {
          best_gain = weight.gain;
          best = plan;
        }
      }
      return ++offers < kMaxOffers && walked_ <= max_walked_ &&
             best_gain + static_cast<int>(recipe.steps.size()) < static_cast<int>(all);
    });
    report_.spent += search.spent();
    if (best.base.empty()) return;
    ++report_.replaced;
    weigher_.carry_out(n, best);
  }

  // Only the divisors in use, so that no others are held.
  static GatePlan plan_of(const Recipe& recipe, const std::vector<std::uint32_t>& divisors) {
    GatePlan plan;
    std::vector<std::uint32_t> used;
    const auto use = [&](std::uint32_t literal) {
      if (literal / 2 < divisors.size() && std::find(used.begin(), used.end(), literal / 2) == used.end())
        used.push_back(literal / 2);
    };
    for (const Recipe::Step& step : recipe.steps) {
      use(step.a);
      use(step.b);
    }
    use(recipe.result);
    const auto moved = [&](std::uint32_t literal) {
      const std::uint32_t index = literal / 2;
      const auto at = index < divisors.size()
                          ? static_cast<std::uint32_t>(std::find(used.begin(), used.end(), index) - used.begin())
                          : static_cast<std::uint32_t>(used.size() + index - divisors.size());
      return 2 * at + (literal & 1u);
    };
    for (const std::uint32_t d : used) plan.base.push_back(2 * divisors[d]);
    for (const Recipe::Step& step : recipe.steps)
      plan.steps.push_back({step.gate == Gate::kXor, moved(step.a), moved(step.b)});
    plan.result = moved(recipe.result);
    return plan;
  }

  GateGraph graph_;
  const WindowOptions& options_;
  ResubstituteReport& report_;
  Random random_;
  PlanWeigher weigher_;
  std::uint64_t limit_ = 0, draws_ = 0, walked_ = 0, max_walked_ = 0;
  std::vector<Place> place_;           // [node]
  std::vector<std::uint32_t> marked_;  // nodes that are not outside
  std::vector<std::uint32_t> leaves_, below_, above_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> next_;  // level and gate, while those above are collected
  std::vector<std::uint32_t> row_;                             // [node]
  std::vector<std::uint64_t> tables_;                          // [row][word]
  std::size_t words_ = 1;
  std::vector<std::uint32_t> live_inputs_;
  bool whole_ = false;  // the window is the circuit
};

}  // namespace

Netlist resubstitute_once(const Netlist& netlist, const WindowOptions& options, ResubstituteReport* report) {
  ResubstituteReport local;
  return Windows(netlist, options, report ? *report : local).run();
}

}  // namespace espalier
