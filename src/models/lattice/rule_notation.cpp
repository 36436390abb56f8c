#include "models/lattice/rule_notation.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace espalier {
namespace {

using Key = NeighbourView::Key;

class Reader {
 public:
  Reader(const NeighbourView& view, const CompleteTable& table, const BoardCases& cases)
      : view_(view), table_(table), cases_(cases) {}

  // The state that a cell becomes with so many living neighbours; nothing when that is no state.
  std::optional<std::uint16_t> next(std::uint16_t own, unsigned neighbours) const {
    const std::size_t entry = table_.find(Key{own} << NeighbourView::kOwnShift | neighbours);
    if (entry == table_.keys.size()) return {};
    const std::uint64_t code = cases_.nexts[table_.outcome[entry]];
    for (std::uint16_t s = 0; s < cases_.real_states(); ++s)
      if (cases_.states[s] == code) return s;
    return {};
  }
  // What it becomes whatever its neighbours are, apart from those numbers with which it becomes `except`.
  std::optional<std::uint16_t> otherwise(std::uint16_t own, std::optional<std::uint16_t> except) const {
    std::optional<std::uint16_t> all;
    for (unsigned n = 0; n <= 8; ++n) {
      const auto state = next(own, n);
      if (!state) return {};
      if (state == except) continue;
      if (all && all != state) return {};
      all = state;
    }
    return all;
  }
  std::string numbers(std::uint16_t own, std::uint16_t becomes) const {
    std::string digits;
    for (unsigned n = 0; n <= 8; ++n)
      if (next(own, n) == becomes) digits += static_cast<char>('0' + n);
    return digits;
  }

 private:
  const NeighbourView& view_;
  const CompleteTable& table_;
  const BoardCases& cases_;
};

}  // namespace

std::optional<std::string> notation_of(const NeighbourView& view, const CompleteTable& table, const BoardCases& cases) {
  const std::size_t states = cases.real_states();
  if (view.kind != NeighbourView::Kind::kCounts || !view.own || view.places != kEightNeighbours || view.counters != 1 ||
      view.counter_bits != 4 || cases.start_channels != cases.target_channels || cases.outside)
    return {};
  std::vector<std::uint16_t> counted;
  for (std::uint16_t s = 0; s < states; ++s)
    if (view.adds[s] != 0) counted.push_back(s);
  if (counted.size() != 1) return {};
  const std::uint16_t alive = counted.front();
  const Reader reader(view, table, cases);
  if (states == 2) {
    const std::uint16_t dead = 1 - alive;
    for (const std::uint16_t own : {dead, alive})
      for (unsigned n = 0; n <= 8; ++n)
        if (!reader.next(own, n)) return {};
    return fmt::format("B{}/S{}", reader.numbers(dead, alive), reader.numbers(alive, alive));
  }
  // Down the ages: alive, then each state once, the last of which becomes dead, from which life is born.
  std::vector<std::uint16_t> ages{alive};
  std::optional<std::uint16_t> next = reader.otherwise(alive, alive);
  while (next && std::ranges::count(ages, *next) == 0 && ages.size() < states) {
    ages.push_back(*next);
    if (ages.size() < states) next = reader.otherwise(*next, std::nullopt);
  }
  if (ages.size() != states) return {};
  const std::uint16_t dead = ages.back();
  if (const auto stays = reader.otherwise(dead, alive); stays && *stays != dead) return {};
  return fmt::format("B{}/S{}/{}", reader.numbers(dead, alive), reader.numbers(alive, alive), states);
}

}  // namespace espalier
