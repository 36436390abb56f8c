// Circuits from nothing but a truth table. Inputs that all outputs treat alike (possibly inverted) are counted by full
// adders, and the outputs made of the bits of the count: a trained cell that has learned to count its neighbours need
// not show it in its gates.
#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>

#include "espalier/random.hpp"
#include "synth/literal_builder.hpp"
#include "synth/passes.hpp"
#include "synth/table_circuit.hpp"

namespace espalier {
namespace {

constexpr std::size_t kLeastCounted = 3;  // inputs alike; two would be a half adder, which saves nothing
constexpr int kMaxTries = 200;            // orders of splitting
constexpr int kPatience = 40;             // of them that are no better than the best

// Live inputs that may be exchanged for each other, when those of `turned` are inverted.
struct Group {
  std::vector<std::uint32_t> members;
  std::vector<bool> turned;
};

class Rebuilder {
 public:
  using Table = TableCircuit::Table;
  Rebuilder(const Netlist& netlist, const RebuildOptions& options, std::uint64_t& spent)
      : netlist_(netlist), options_(options), spent_(spent), random_(options.seed, Purpose::kSweep, 5) {}

  std::vector<Netlist> run() {
    const std::vector<bool> live = live_nets(netlist_);
    for (Net i = 0; i < netlist_.inputs.size(); ++i)
      if (live[i]) inputs_.push_back(i);
    if (inputs_.empty() || inputs_.size() > static_cast<std::size_t>(options_.table_inputs)) return {};
    tabulate();
    std::vector<Netlist> found;
    const std::vector<Group> groups = find_groups();
    if (!groups.empty()) best_of_orders(groups, found);
    best_of_orders({}, found);
    return found;
  }

 private:
  void tabulate() {
    const std::size_t words = inputs_.size() > 6 ? std::size_t{1} << (inputs_.size() - 6) : 1;
    tables_.assign(netlist_.outputs.size(), Table(words));
    std::vector<std::uint64_t> in(netlist_.inputs.size());
    for (std::size_t w = 0; w < words; ++w) {
      for (std::size_t i = 0; i < inputs_.size(); ++i) in[inputs_[i]] = counting_word(i, w);
      const std::vector<std::uint64_t> values = evaluate_words(netlist_, in);
      for (std::size_t o = 0; o < tables_.size(); ++o) tables_[o][w] = values[netlist_.outputs[o].net];
    }
    spent_ += words * netlist_.nets();
  }

  bool value(std::size_t output, std::size_t pattern) const {
    return tables_[output][pattern / 64] >> (pattern % 64) & 1u;
  }

  // Do all outputs stay the same when inputs i and j are exchanged, one of them inverted if `turned`?
  bool alike(std::size_t i, std::size_t j, bool turned) {
    const std::size_t x = std::size_t{1} << i, y = std::size_t{1} << j;
    for (std::size_t p = 0; p < std::size_t{1} << inputs_.size(); ++p) {
      if (p & x || !(p & y) == !turned) continue;  // each pair of patterns once
      for (std::size_t o = 0; o < tables_.size(); ++o)
        if (value(o, p) != value(o, p ^ x ^ y)) return false;
    }
    return true;
  }

  std::vector<Group> find_groups() {
    std::vector<Group> groups;
    std::vector<bool> taken(inputs_.size());
    for (std::uint32_t i = 0; i < inputs_.size(); ++i) {
      if (taken[i]) continue;
      Group group{{i}, {false}};
      for (std::uint32_t j = i + 1; j < inputs_.size(); ++j) {
        if (taken[j]) continue;
        const bool same = alike(i, j, false);
        if (!same && !alike(i, j, true)) continue;
        group.members.push_back(j);
        group.turned.push_back(!same);
      }
      if (group.members.size() < kLeastCounted) continue;
      for (const std::uint32_t m : group.members) taken[m] = true;
      groups.push_back(std::move(group));
    }
    return groups;
  }

  // What the outputs are split by: single inputs, and bits of counts.
  struct Variables {
    std::vector<std::uint32_t> single;  // live inputs
    std::vector<Group> groups;
    std::vector<std::size_t> bits;  // of each group's count
    std::size_t count() const { return std::accumulate(bits.begin(), bits.end(), single.size()); }
  };

  Variables variables_of(const std::vector<Group>& groups) const {
    Variables v;
    v.groups = groups;
    std::vector<bool> counted(inputs_.size());
    for (const Group& group : groups) {
      v.bits.push_back(static_cast<std::size_t>(std::bit_width(group.members.size())));
      for (const std::uint32_t m : group.members) counted[m] = true;
    }
    for (std::uint32_t i = 0; i < inputs_.size(); ++i)
      if (!counted[i]) v.single.push_back(i);
    return v;
  }

  // The pattern of the live inputs that stands for values of the variables; none when a count is impossible.
  static std::optional<std::size_t> pattern_of(const Variables& v, std::size_t values) {
    std::size_t pattern = 0;
    for (const std::uint32_t i : v.single) {
      pattern |= (values & 1u) << i;
      values >>= 1;
    }
    for (std::size_t g = 0; g < v.groups.size(); ++g) {
      const Group& group = v.groups[g];
      const std::size_t count = values & ((std::size_t{1} << v.bits[g]) - 1);
      values >>= v.bits[g];
      if (count > group.members.size()) return std::nullopt;
      for (std::size_t m = 0; m < group.members.size(); ++m)
        pattern |= std::size_t{(m < count) != group.turned[m]} << group.members[m];
    }
    return pattern;
  }

  void best_of_orders(const std::vector<Group>& groups, std::vector<Netlist>& found) {
    const Variables variables = variables_of(groups);
    const std::size_t n = variables.count(), words = n > 6 ? std::size_t{1} << (n - 6) : 1;
    std::vector<Table> on(tables_.size(), Table(words)), off = on;
    for (std::size_t p = 0; p < 64 * words; ++p)
      if (const auto pattern = pattern_of(variables, p & ((std::size_t{1} << n) - 1)))
        for (std::size_t o = 0; o < tables_.size(); ++o)
          (value(o, *pattern) ? on : off)[o][p / 64] |= std::uint64_t{1} << (p % 64);
    std::vector<std::uint32_t> order(n);
    std::iota(order.begin(), order.end(), 0u);
    std::reverse(order.begin(), order.end());  // high bits of counts first
    std::optional<Netlist> best;
    const std::uint64_t end = spent_ + options_.effort / (groups.empty() ? 1 : 2);
    for (int attempt = 0, calm = 0; attempt < kMaxTries && calm < kPatience && spent_ < end; ++attempt, ++calm) {
      std::vector<std::uint32_t> next = order;
      if (attempt > 1) std::swap(next[draw(n)], next[draw(n)]);
      auto made = build(variables, on, off, next, attempt % 2 == 0);
      if (!made || (best && made->gates.size() > best->gates.size())) continue;
      if (!best || made->gates.size() < best->gates.size()) calm = 0;
      best = std::move(made);
      order = next;
    }
    if (best) found.push_back(std::move(*best));
  }

  std::uint64_t draw(std::uint64_t of) { return random_.choice(draws_++, of); }

  std::optional<Netlist> build(const Variables& variables, const std::vector<Table>& on, const std::vector<Table>& off,
                               const std::vector<std::uint32_t>& order, bool eager) {
    TableCircuit circuit(variables.count(), order, eager, options_.max_gates);
    std::vector<std::optional<std::uint32_t>> results(tables_.size());  // none: constant
    const auto empty = [](const Table& t) { return std::count(t.begin(), t.end(), 0u) == std::ssize(t); };
    bool all = true;
    for (std::size_t o = 0; o < tables_.size() && all; ++o)
      if (!empty(on[o]) && !empty(off[o])) all = (results[o] = circuit.build(on[o], off[o])).has_value();
    spent_ += circuit.spent();
    if (!all) return std::nullopt;
    Netlist result = without_gates(netlist_);
    LiteralBuilder builder(result);
    std::vector<Literal> literals;
    for (const std::uint32_t i : variables.single) literals.push_back({inputs_[i], false});
    for (const Group& group : variables.groups) count(group, builder, literals);
    const auto literal = [&](std::uint32_t l) { return literals[l / 2] ^ ((l & 1u) != 0); };
    for (const Recipe::Step& s : circuit.steps()) literals.push_back(builder.gate(s.gate, literal(s.a), literal(s.b)));
    for (std::size_t o = 0; o < results.size(); ++o)
      result.outputs[o].net = builder.net(results[o] ? literal(*results[o]) : Literal{kNoNet, !empty(on[o])});
    return remove_dead(absorb_nots(result));
  }

  // Full adders and half adders; the bits of the count are appended to `bits`.
  void count(const Group& group, LiteralBuilder& builder, std::vector<Literal>& bits) const {
    std::vector<Literal> column, carries;
    for (std::size_t m = 0; m < group.members.size(); ++m)
      column.push_back({inputs_[group.members[m]], group.turned[m]});
    while (!column.empty()) {
      std::size_t at = 0;
      while (column.size() - at > 1) {
        const Literal a = column[at], b = column[at + 1];
        const Literal half = builder.gate(Gate::kXor, a, b), both = builder.gate(Gate::kAnd, a, b);
        if (column.size() - at == 2) {
          column.push_back(half);
          carries.push_back(both);
          at += 2;
        } else {
          const Literal c = column[at + 2];
          column.push_back(builder.gate(Gate::kXor, half, c));
          carries.push_back(builder.gate(Gate::kOr, both, builder.gate(Gate::kAnd, half, c)));
          at += 3;
        }
      }
      bits.push_back(column[at]);
      column = std::move(carries);
      carries.clear();
    }
  }

  const Netlist& netlist_;
  const RebuildOptions& options_;
  std::uint64_t& spent_;
  Random random_;
  std::uint64_t draws_ = 0;
  std::vector<Net> inputs_;    // live ones
  std::vector<Table> tables_;  // [output], of the live inputs
};

}  // namespace

std::vector<Netlist> rebuild(const Netlist& netlist, const RebuildOptions& options, std::uint64_t* spent) {
  std::uint64_t local = 0;
  return Rebuilder(netlist, options, spent ? *spent : local).run();
}

}  // namespace espalier
