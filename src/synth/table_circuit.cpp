#include "synth/table_circuit.hpp"

#include <algorithm>

namespace espalier {
namespace {

bool empty(const TableCircuit::Table& table) {
  return std::all_of(table.begin(), table.end(), [](std::uint64_t w) { return w == 0; });
}

bool meet(const TableCircuit::Table& x, const TableCircuit::Table& y) {
  for (std::size_t w = 0; w < x.size(); ++w)
    if (x[w] & y[w]) return true;
  return false;
}

}  // namespace

TableCircuit::TableCircuit(std::size_t variables, std::vector<std::uint32_t> order, bool eager, std::size_t max_steps)
    : variables_(variables),
      words_(variables > 6 ? std::size_t{1} << (variables - 6) : 1),
      order_(std::move(order)),
      eager_(eager),
      max_steps_(max_steps) {
  for (std::size_t v = 0; v < variables; ++v) {
    known_.emplace_back(words_);
    for (std::size_t w = 0; w < words_; ++w) known_.back()[w] = counting_word(v, w);
  }
}

std::optional<std::uint32_t> TableCircuit::build(const Table& on, const Table& off) {
  const std::uint32_t result = any({on, off, (std::uint32_t{1} << variables_) - 1});
  if (failed_) return std::nullopt;
  return result;
}

TableCircuit::Table TableCircuit::half(const Table& table, std::uint32_t v, bool value) const {
  Table part(words_);
  for (std::size_t w = 0; w < words_; ++w) part[w] = table[w] & (value ? known_[v][w] : ~known_[v][w]);
  return part;
}

TableCircuit::Table TableCircuit::merged(const Table& table, std::uint32_t v) const {
  Table both(words_);
  for (std::size_t w = 0; w < words_; ++w) {
    const std::uint64_t t = table[w];
    if (v < 6) {
      const std::uint64_t ones = known_[v][w];
      both[w] = t | (t & ~ones) << (1u << v) | (t & ones) >> (1u << v);
    } else {
      both[w] = t | table[w ^ (std::size_t{1} << (v - 6))];
    }
  }
  return both;
}

// A net that does already, in either polarity.
std::optional<std::uint32_t> TableCircuit::find(const Wanted& wanted) {
  for (std::uint32_t n = 0; n < known_.size(); ++n) {
    bool plain = true, turned = true;
    for (std::size_t w = 0; w < words_ && (plain || turned); ++w, ++spent_) {
      const std::uint64_t t = known_[n][w];
      plain = plain && !(t & wanted.off[w]) && !(~t & wanted.on[w]);
      turned = turned && !(~t & wanted.off[w]) && !(t & wanted.on[w]);
    }
    if (plain || turned) return 2 * n + (plain ? 0u : 1u);
  }
  return std::nullopt;
}

std::uint32_t TableCircuit::gate(Gate gate, std::uint32_t a, std::uint32_t b) {
  if (steps_.size() >= max_steps_) {
    failed_ = true;
    return 0;
  }
  Table table(words_);
  for (std::size_t w = 0; w < words_; ++w) table[w] = apply_gate(gate, word(a, w), word(b, w));
  spent_ += words_;
  steps_.push_back({gate, a, b});
  known_.push_back(std::move(table));
  return static_cast<std::uint32_t>(2 * (known_.size() - 1));
}

TableCircuit::Split TableCircuit::kind(const Wanted& f, std::uint32_t v) {
  const Table on0 = half(f.on, v, false), on1 = half(f.on, v, true);
  const Table off0 = half(f.off, v, false), off1 = half(f.off, v, true);
  spent_ += 8 * words_;
  const Table on0_both = merged(on0, v), on1_both = merged(on1, v);
  const bool below = !meet(on0_both, off1), above = !meet(on1_both, off0);
  if (below && above) return Split::kUnread;
  if (empty(on0) || empty(on1) || empty(off0) || empty(off1)) return Split::kAnd;
  if (!meet(on0_both, on1) && !meet(merged(off0, v), off1)) return Split::kXor;
  return below || above ? Split::kOneBelow : Split::kMux;
}

std::uint32_t TableCircuit::any(const Wanted& wanted) {
  if (failed_) return 0;
  if (const auto there = find(wanted)) return *there;
  std::uint32_t chosen = 0;
  Split best = Split::kNone;
  for (const std::uint32_t v : order_) {
    if (!(wanted.left >> v & 1u)) continue;
    const Split how = kind(wanted, v);
    if (how <= Split::kXor || best == Split::kNone || (eager_ && how < best)) {
      best = how;
      chosen = v;
    }
    if (how <= Split::kXor) break;
  }
  return split(wanted, chosen, best);
}

std::uint32_t TableCircuit::split(const Wanted& f, std::uint32_t v, Split how) {
  const std::uint32_t left = f.left & ~(std::uint32_t{1} << v), x = 2 * v;
  const auto not_and = [&](std::uint32_t a, std::uint32_t b) { return gate(Gate::kAnd, a ^ 1u, b ^ 1u) ^ 1u; };  // OR
  const Table on0 = half(f.on, v, false), on1 = half(f.on, v, true);
  const Table off0 = half(f.off, v, false), off1 = half(f.off, v, true);
  switch (how) {
    case Split::kUnread: return any({merged(f.on, v), merged(f.off, v), left});
    case Split::kAnd:
      // The half in which it is constant is left to the gate.
      if (empty(on0)) return gate(Gate::kAnd, x, any({on1, off1, left}));
      if (empty(on1)) return gate(Gate::kAnd, x ^ 1u, any({on0, off0, left}));
      if (empty(off0)) return not_and(x ^ 1u, any({on1, off1, left}));
      return not_and(x, any({on0, off0, left}));
    case Split::kXor: {
      Table on = on0, off = off0;
      for (std::size_t w = 0; w < words_; ++w) {
        on[w] |= off1[w];
        off[w] |= on1[w];
      }
      return gate(Gate::kXor, x, any({merged(on, v), merged(off, v), left}));
    }
    case Split::kOneBelow: {
      // Where it is below for x = 0: f0 | x & f1, else with x inverted.
      const bool below = !meet(merged(on0, v), off1);
      const std::uint32_t inner = any({merged(below ? on0 : on1, v), merged(f.off, v), left});
      if (failed_) return 0;
      Table on = below ? on1 : on0;
      for (std::size_t w = 0; w < words_; ++w) on[w] &= ~word(inner, w);
      if (empty(on)) return inner;
      const std::uint32_t rest = any({on, below ? off1 : off0, left});
      return not_and(inner, gate(Gate::kAnd, below ? x : x ^ 1u, rest));
    }
    case Split::kNone:
    case Split::kMux: break;
  }
  const std::uint32_t zero = any({on0, off0, left}), one = any({on1, off1, left});
  if (failed_) return 0;
  return not_and(gate(Gate::kAnd, x, one), gate(Gate::kAnd, x ^ 1u, zero));
}

}  // namespace espalier
