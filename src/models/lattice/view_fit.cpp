#include "models/lattice/view_fit.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace espalier {
namespace {

using Key = NeighbourView::Key;

// Numbers keys as they come. Never iterated over but in that order.
class KeyNumbers {
 public:
  KeyNumbers() : slots_(64, kFree) {}
  std::uint32_t number(Key key) {
    if (2 * keys_.size() >= slots_.size()) grow();
    std::size_t at = place(key);
    while (slots_[at] != kFree && keys_[slots_[at]] != key) at = (at + 1) & (slots_.size() - 1);
    if (slots_[at] == kFree) {
      slots_[at] = static_cast<std::uint32_t>(keys_.size());
      keys_.push_back(key);
    }
    return slots_[at];
  }
  std::vector<Key>& keys() { return keys_; }

 private:
  static constexpr std::uint32_t kFree = ~std::uint32_t{0};
  std::size_t place(Key key) const { return (key * 0x9e3779b97f4a7c15u >> 32) & (slots_.size() - 1); }
  void grow() {
    slots_.assign(4 * slots_.size(), kFree);
    for (std::uint32_t i = 0; i < keys_.size(); ++i) {
      std::size_t at = place(keys_[i]);
      while (slots_[at] != kFree) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = i;
    }
  }
  std::vector<std::uint32_t> slots_;
  std::vector<Key> keys_;
};

// [next]: the state with that code; nothing where there is none.
std::vector<std::optional<std::uint16_t>> states_of_nexts(const BoardCases& cases) {
  std::vector<std::optional<std::uint16_t>> states(cases.nexts.size());
  for (std::size_t n = 0; n < states.size(); ++n)
    for (std::uint16_t s = 0; s < cases.real_states(); ++s)
      if (cases.states[s] == cases.nexts[n]) states[n] = s;
  return states;
}

}  // namespace

double entropy_bits(double q) { return q <= 0 || q >= 1 ? 0 : -q * std::log2(q) - (1 - q) * std::log2(1 - q); }

void Misfit::add(std::uint64_t said, const BoardCases& cases, const PatchCase& c) {
  wrong_bits.resize(cases.target_channels);
  // Of a pattern that is too rare to have a name we know only that it is another one.
  const std::uint64_t apart = c.next == BoardCases::kRareNext ? 1 : said ^ cases.nexts[c.next];
  if (apart == 0) return;
  wrong += c.times;
  for (std::uint64_t left = apart; left != 0; left &= left - 1) wrong_bits[std::countr_zero(left)] += c.times;
}

double Misfit::bits(std::size_t cells, std::size_t outcomes) const {
  const auto n = static_cast<double>(cells);
  const double parameter = 0.5 * std::log2(n), alternatives = std::max(1.0, static_cast<double>(outcomes) - 1);
  const auto by_cells = n * entropy_bits(static_cast<double>(wrong) / n) +
                        static_cast<double>(wrong) * std::log2(alternatives) + parameter;
  double by_bits = 0;
  for (const std::size_t w : wrong_bits) by_bits += n * entropy_bits(static_cast<double>(w) / n) + parameter;
  return 1 + (wrong == 0 ? parameter : std::min(by_cells, by_bits));
}

std::uint64_t moved_on(const NeighbourView& view, const BoardCases& cases, std::uint16_t own, std::uint16_t by) {
  const std::size_t place = (view.cycle[own] + std::size_t{by}) % view.cycle.size();
  return cases.states[static_cast<std::size_t>(std::ranges::find(view.cycle, place) - view.cycle.begin())];
}

std::uint64_t FittedView::said(std::size_t entry, std::uint16_t own, const BoardCases& cases) const {
  return view.cyclic() ? moved_on(view, cases, own, outcome[entry]) : cases.nexts[outcome[entry]];
}

std::optional<FittedView> fit_view(const NeighbourView& view, const BoardCases& cases, std::span<const PatchCase> some,
                                   double limit) {
  const std::size_t outcomes = view.cyclic() ? view.cycle.size() : cases.nexts.size();
  const double entry_bits = std::max(1.0, std::log2(static_cast<double>(outcomes)));
  const std::size_t width = outcomes + 1;  // the last: none of them
  const auto states = view.cyclic() ? states_of_nexts(cases) : std::vector<std::optional<std::uint16_t>>{};
  FittedView fit{view, {}, {}, {}, {}, {}, {}, {}};
  KeyNumbers numbers;
  std::vector<std::uint32_t> votes;
  fit.key_of.reserve(some.size());
  std::size_t cells = 0;
  for (const PatchCase& c : some) {
    const std::uint32_t number = numbers.number(view.key(c.cells));
    fit.key_of.push_back(number);
    if (width * number >= votes.size()) {
      votes.resize(votes.size() + width);
      if (static_cast<double>(numbers.keys().size()) * entry_bits > limit) return {};
    }
    std::size_t vote = outcomes;
    if (c.next != BoardCases::kRareNext) {
      const std::optional<std::uint16_t> state = view.cyclic() ? states[c.next] : std::nullopt;
      if (state) vote = (view.cycle[*state] + outcomes - view.cycle[c.cells[4]]) % outcomes;
      if (!view.cyclic()) vote = c.next;
    }
    votes[width * number + vote] += c.times;
    cells += c.times;
  }
  fit.keys = std::move(numbers.keys());
  for (std::size_t k = 0; k < fit.keys.size(); ++k) {
    const std::span<const std::uint32_t> of_key(votes.data() + width * k, width);
    std::size_t best = 0;
    std::uint32_t total = of_key[outcomes], second = of_key[outcomes];
    for (std::size_t o = 0; o < outcomes; ++o) {
      total += of_key[o];
      if (of_key[o] > of_key[best]) best = o;
    }
    for (std::size_t o = 0; o < outcomes; ++o)
      if (o != best) second = std::max(second, of_key[o]);
    fit.outcome.push_back(static_cast<std::uint16_t>(best));
    fit.times.push_back(total);
    fit.first.push_back(of_key[best]);
    fit.second.push_back(second);
  }
  fit.misfit.wrong_bits.assign(cases.target_channels, 0);
  for (std::size_t i = 0; i < some.size(); ++i)
    fit.misfit.add(fit.said(fit.key_of[i], some[i].cells[4], cases), cases, some[i]);
  fit.misfit_bits = fit.misfit.bits(cells, cases.nexts.size());
  fit.bits = fit.misfit_bits + view.choice_bits + entry_bits * static_cast<double>(fit.keys.size());
  return fit;
}

}  // namespace espalier
