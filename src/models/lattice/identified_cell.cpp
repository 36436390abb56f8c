#include "models/lattice/identified_cell.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>

#include "espalier/synth.hpp"
#include "synth/care_circuit.hpp"

namespace espalier {
namespace {

using Key = NeighbourView::Key;

constexpr std::size_t kMostKeys = 1 << 16;
constexpr double kMostComparisons = 1e8;

std::vector<int> forward(std::size_t n) {
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// Each entry that the data do not settle, and have not voted on, takes the outcome of the nearest settled one; of
// equally near ones that which was seen most.
template <class Distance>
void guess(CompleteTable& table, const std::vector<bool>& voted, std::uint16_t otherwise, const Distance& distance) {
  std::vector<std::size_t> settled;
  for (std::size_t i = 0; i < table.keys.size(); ++i)
    if (table.settled[i]) settled.push_back(i);
  const auto open = static_cast<double>(std::ranges::count(voted, false));
  const bool compare = open * static_cast<double>(settled.size()) <= kMostComparisons;
  for (std::size_t i = 0; i < table.keys.size(); ++i) {
    if (voted[i]) continue;
    table.outcome[i] = otherwise;
    if (!compare) continue;
    int least = -1;
    std::uint32_t times = 0;
    for (const std::size_t j : settled) {
      const int d = distance(table.keys[i], table.keys[j]);
      if (least >= 0 && (d > least || (d == least && table.times[j] <= times))) continue;
      least = d;
      times = table.times[j];
      table.outcome[i] = table.outcome[j];
    }
  }
}

// Bit b of how many of the literals in each column are 1, column c counting 2^c.
std::vector<Literal> add_up(LiteralBuilder& build, std::vector<std::vector<Literal>> columns, int bits) {
  std::vector<Literal> sum;
  columns.resize(static_cast<std::size_t>(bits) + 1);
  for (std::size_t c = 0; c < static_cast<std::size_t>(bits); ++c) {
    std::vector<Literal>& column = columns[c];
    std::size_t at = 0;
    while (column.size() - at >= 2) {
      const Literal x = column[at], y = column[at + 1], odd = build.gate(Gate::kXor, x, y);
      if (column.size() - at == 2) {
        columns[c + 1].push_back(build.gate(Gate::kAnd, x, y));
        column.push_back(odd);
        at += 2;
        continue;
      }
      const Literal z = column[at + 2], low = build.gate(Gate::kXor, odd, z);
      const Literal unequal = build.gate(Gate::kOr, odd, build.gate(Gate::kXor, y, z));
      columns[c + 1].push_back(build.gate(Gate::kXor, unequal, low));
      column.push_back(low);
      at += 3;
    }
    sum.push_back(at < column.size() ? column[at] : Literal{});
  }
  return sum;
}

class CellBuilder {
 public:
  CellBuilder(const BoardCases& cases, int channels)
      : cases_(cases), channels_(channels), cell_(empty_cell(channels)), build_(cell_) {}

  Literal input(int place, int channel) const { return {patch_net(place, channel, channels_), false}; }
  std::vector<Literal> inputs(int place) const {
    std::vector<Literal> bits;
    for (int c = 0; c < cases_.start_channels; ++c) bits.push_back(input(place, c));
    return bits;
  }
  LiteralBuilder& build() { return build_; }

  Netlist finish(const std::vector<Literal>& next) {
    for (int c = 0; c < channels_; ++c)
      cell_.add_output(
          fmt::format("next{}", c),
          build_.net(static_cast<std::size_t>(c) < next.size() ? next[static_cast<std::size_t>(c)] : Literal{}));
    return cell_;
  }

 private:
  const BoardCases& cases_;
  int channels_;
  Netlist cell_;
  LiteralBuilder build_;
};

// What a cell at a place adds to the counters.
class Detectors {
 public:
  Detectors(CellBuilder& cell, const NeighbourView& view, const BoardCases& cases)
      : cell_(cell), view_(view), cases_(cases) {}

  // The counters' bits, low ones first.
  std::vector<Literal> counters() {
    std::vector<Literal> bits;
    for (int c = 0; c < view_.counters; ++c) {
      std::vector<std::vector<Literal>> columns;
      std::uint64_t most = 0;
      for (const Key adds : view_.adds) most = std::max(most, view_.counter(adds, c));
      const int places = std::popcount(static_cast<unsigned>(view_.places));
      for (int weight = 0; most >> weight != 0; ++weight) {
        columns.emplace_back();
        for (int p = 0; p < kPatch; ++p)
          if (view_.places >> p & 1) columns.back().push_back(detect(p, c, weight));
      }
      std::vector<Literal> sum =
          add_up(cell_.build(), columns, static_cast<int>(std::bit_width(most * static_cast<std::uint64_t>(places))));
      sum.resize(static_cast<std::size_t>(view_.counter_bits));
      bits.insert(bits.end(), sum.begin(), sum.end());
    }
    return bits;
  }

 private:
  Literal detect(int place, int counter, int weight) {
    std::vector<Literal> inputs = cell_.inputs(place);
    const int shift = counter * view_.counter_bits + weight;
    std::vector<CareCase> values;
    const auto channels = cases_.start_channels;
    for (std::size_t s = 0; s < cases_.states.size(); ++s) {
      const bool outside = s >= cases_.real_states();
      if (!view_.cyclic()) {
        values.push_back({cases_.states[s], (view_.adds[s] >> shift & 1) != 0});
        continue;
      }
      const std::size_t cycle = view_.cycle.size();
      for (std::size_t own = 0; own < cycle; ++own) {
        const std::size_t ahead = outside ? cycle : (view_.cycle[s] + cycle - view_.cycle[own]) % cycle;
        values.push_back({cases_.states[s] | cases_.states[own] << channels, (view_.adds[ahead] >> shift & 1) != 0});
      }
    }
    if (view_.cyclic())
      for (const Literal own : cell_.inputs(4)) inputs.push_back(own);
    const std::vector<int> order = forward(inputs.size());
    return CareCircuit(cell_.build(), std::move(inputs), order).build(std::move(values));
  }

  CellBuilder& cell_;
  const NeighbourView& view_;
  const BoardCases& cases_;
};

// Small circuits are worth the long search for a smaller one; large ones are only tidied.
Netlist smaller(const Netlist& cell) {
  constexpr std::size_t kSmall = 400, kLarge = 2500;
  SimplifyOptions options = SimplifyOptions::brief();
  if (cell.gates.size() > kSmall) options.resubstitute_options.walks = 0;
  if (cell.gates.size() > kLarge) options.resubstitute = options.sweep = false;
  return simplify(cell, options);
}

// A table over some literals, in several orders of splitting: the smallest cell.
template <class Inputs>
Netlist smallest(const BoardCases& cases, int channels, const std::vector<std::vector<CareCase>>& values,
                 const Inputs& inputs) {
  std::optional<Netlist> best;
  for (const bool backward : {false, true}) {
    CellBuilder cell(cases, channels);
    std::vector<Literal> bits = inputs(cell);
    std::vector<int> order = forward(bits.size());
    if (backward) std::ranges::reverse(order);
    CareCircuit circuit(cell.build(), std::move(bits), order);
    std::vector<Literal> next;
    for (const std::vector<CareCase>& of_channel : values) next.push_back(circuit.build(of_channel));
    Netlist built = clean(cell.finish(next));
    if (!best || built.gates.size() < best->gates.size()) best = std::move(built);
  }
  return smaller(*best);
}

}  // namespace

std::size_t CompleteTable::find(Key key) const {
  const auto at = std::ranges::lower_bound(keys, key);
  return at != keys.end() && *at == key ? static_cast<std::size_t>(at - keys.begin()) : keys.size();
}

std::uint32_t needed_margin(double noise, std::size_t entries) {
  if (noise <= 0) return 1;
  // So that in a thousand tables of this size one has an entry made by noise.
  const double odds = std::log(1000.0 * static_cast<double>(std::max<std::size_t>(1, entries)));
  return static_cast<std::uint32_t>(std::ceil(odds / std::log(std::max(1.5, (1 - noise) / noise))));
}

std::optional<CompleteTable> complete(const FittedView& fit, const BoardCases& cases, double noise) {
  auto keys = possible_keys(fit.view, cases, kMostKeys);
  if (!keys) return {};
  CompleteTable table{std::move(*keys), {}, {}, {}};
  const std::size_t n = table.keys.size();
  table.outcome.assign(n, 0);
  table.settled.assign(n, false);
  table.times.assign(n, 0);
  std::vector<bool> voted(n);
  const std::uint32_t margin = needed_margin(noise, n);
  std::vector<std::size_t> common(cases.nexts.size() + fit.view.cycle.size());
  for (std::size_t k = 0; k < fit.keys.size(); ++k) {
    const std::size_t at = table.find(fit.keys[k]);
    if (at == n) return {};
    table.outcome[at] = fit.outcome[k];
    table.times[at] = fit.times[k];
    voted[at] = fit.first[k] > fit.second[k];
    table.settled[at] = fit.first[k] >= fit.second[k] + margin;
    common[fit.outcome[k]] += fit.times[k];
  }
  // With noise, a case that was seen once or twice says less than a whole row of the table in which nothing else
  // differs.
  if (noise > 0 && fit.view.own) {
    constexpr std::size_t kRow = 4;
    std::map<std::size_t, std::vector<std::uint16_t>> rows;  // outcomes that are settled, by own state
    for (std::size_t at = 0; at < n; ++at)
      if (table.settled[at]) rows[fit.view.own_of(table.keys[at])].push_back(table.outcome[at]);
    for (std::size_t at = 0; at < n; ++at) {
      const std::vector<std::uint16_t>& row = rows[fit.view.own_of(table.keys[at])];
      if (!table.settled[at] && row.size() >= kRow && std::ranges::count(row, row[0]) == std::ssize(row))
        voted[at] = false;
    }
  }
  const auto commonest = static_cast<std::uint16_t>(std::ranges::max_element(common) - common.begin());
  guess(table, voted, commonest, [&](Key a, Key b) { return fit.view.distance(a, b); });
  return table;
}

std::vector<CompleteTable> complete(const FittedBits& fit, const BoardCases& cases, double noise) {
  std::vector<CompleteTable> tables;
  for (const BitTable& bits : fit.tables) {
    CompleteTable& table = tables.emplace_back();
    std::vector<bool> voted;
    const std::vector<std::size_t> values = bits.possible(cases);
    const std::uint32_t margin = needed_margin(noise, values.size());
    for (const std::size_t value : values) {
      const std::uint32_t ones = bits.ones[value], zeros = bits.all[value] - ones;
      table.keys.push_back(value);
      table.outcome.push_back(ones > zeros ? 1 : 0);
      table.times.push_back(bits.all[value]);
      table.settled.push_back(std::max(ones, zeros) >= std::min(ones, zeros) + margin);
      voted.push_back(ones != zeros);
    }
    guess(table, voted, 0, [](Key a, Key b) { return std::popcount(a ^ b); });
  }
  return tables;
}

Netlist cell_of(const NeighbourView& view, const CompleteTable& table, const BoardCases& cases, int channels) {
  std::vector<std::vector<CareCase>> values(static_cast<std::size_t>(cases.target_channels));
  const auto add = [&](std::uint64_t bits, std::uint64_t code) {
    for (std::size_t c = 0; c < values.size(); ++c) values[c].push_back({bits, (code >> c & 1) != 0});
  };
  if (view.kind == NeighbourView::Kind::kCells) {
    const auto patches = possible_patches(view, cases, kMostKeys);
    for (const Key patch : *patches) {
      std::uint64_t bits = 0;
      int at = 0;
      for (int p = 0; p < kPatch; ++p) {
        if (!(view.places >> p & 1)) continue;
        bits |= cases.states[view.cell_of(patch, p)] << at;
        at += cases.start_channels;
      }
      add(bits, cases.nexts[table.outcome[table.find(canonical(view, patch))]]);
    }
    return smallest(cases, channels, values, [&](CellBuilder& cell) {
      std::vector<Literal> inputs;
      for (int p = 0; p < kPatch; ++p)
        if (view.places >> p & 1)
          for (const Literal bit : cell.inputs(p)) inputs.push_back(bit);
      return inputs;
    });
  }
  const bool reads_own = view.own || view.cyclic();
  const int own_bits = reads_own ? cases.start_channels : 0;
  for (std::size_t k = 0; k < table.keys.size(); ++k) {
    std::uint64_t counters = 0;
    for (int c = 0; c < view.counters; ++c)
      counters |= view.counter(table.keys[k], c) << (own_bits + c * view.counter_bits);
    if (view.cyclic()) {
      for (std::uint16_t own = 0; own < view.cycle.size(); ++own)
        add(counters | cases.states[own], moved_on(view, cases, own, table.outcome[k]));
    } else {
      add(counters | (view.own ? cases.states[view.own_of(table.keys[k])] : 0), cases.nexts[table.outcome[k]]);
    }
  }
  return smallest(cases, channels, values, [&](CellBuilder& cell) {
    std::vector<Literal> inputs;
    if (reads_own) inputs = cell.inputs(4);
    for (const Literal bit : Detectors(cell, view, cases).counters()) inputs.push_back(bit);
    return inputs;
  });
}

Netlist cell_of(const FittedBits& fit, const std::vector<CompleteTable>& tables, const BoardCases& cases,
                int channels) {
  CellBuilder cell(cases, channels);
  std::vector<Literal> next;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    std::vector<CareCase> values;
    for (std::size_t i = 0; i < tables[t].keys.size(); ++i)
      values.push_back({tables[t].keys[i], tables[t].outcome[i] != 0});
    std::vector<Literal> inputs;
    for (const int bit : fit.tables[t].reads)
      inputs.push_back(cell.input(bit / cases.start_channels, bit % cases.start_channels));
    const std::vector<int> order = forward(inputs.size());
    next.push_back(CareCircuit(cell.build(), std::move(inputs), order).build(std::move(values)));
  }
  return smaller(clean(cell.finish(next)));
}

}  // namespace espalier
