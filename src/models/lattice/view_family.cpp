// The views that are tried on every set of boards.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "models/lattice/neighbour_view.hpp"

namespace espalier {
namespace {

using Key = NeighbourView::Key;
using States = std::vector<std::uint16_t>;

constexpr std::size_t kMaxStates = 16;    // that are counted one by one
constexpr std::size_t kAllSubsets = 5;    // states: all sets of them are tried
constexpr std::size_t kMaxCounters = 11;  // of four bits, below the own state
constexpr double kFamilyBits = 4;

const char* neighbours_in_words(std::uint16_t places) {
  switch (places & ~kOwnCell) {
    case kEightNeighbours: return places & kOwnCell ? "cells of the nine" : "neighbours";
    default: return places & kOwnCell ? "cells among itself and the four at its sides" : "neighbours at its four sides";
  }
}

std::string label_of(const BoardCases& cases, const States& set, bool cyclic) {
  std::string names;
  for (const std::uint16_t s : set)
    names += (names.empty() ? "" : " or ") + (cyclic ? fmt::format("{}", s) : cases.state_name(s));
  if (cyclic) return fmt::format("{} states ahead", names);
  return "in state " + names;
}

void put_words(NeighbourView& v, const BoardCases& cases) {
  std::string counted;
  for (int c = 0; c < v.counters; ++c) counted += (c > 0 ? ", and " : "") + v.labels[c];
  const std::string what = v.counters == 0 ? ""
                                           : fmt::format("the number{} of {} {}", v.counters > 1 ? "s" : "",
                                                         neighbours_in_words(v.places), counted);
  v.words = v.own ? "own state" : "";
  if (!what.empty()) v.words += (v.own ? " and " : "") + what;
  if (v.words.empty()) v.words = "nothing: all cells become the same";
  v.words += fmt::format(" ({} states{})", cases.real_states(), v.cyclic() ? ", a cycle in which none is special" : "");
}

NeighbourView counts_view(const BoardCases& cases, bool own, std::uint16_t places, std::vector<States> sets,
                          const States& cycle = {}) {
  NeighbourView v;
  v.own = own;
  v.places = places;
  v.cycle = cycle;
  v.counters = static_cast<int>(sets.size());
  v.adds.assign(cases.real_states() + 1, 0);
  v.choice_bits = kFamilyBits + (cycle.empty() ? 0 : 2);
  for (std::size_t c = 0; c < sets.size(); ++c) {
    for (const std::uint16_t s : sets[c]) v.adds[s] |= Key{1} << (4 * c);
    v.labels.push_back(label_of(cases, sets[c], v.cyclic()));
    v.choice_bits += static_cast<double>(sets[c].size()) * std::log2(static_cast<double>(cases.real_states()));
  }
  v.sets = std::move(sets);
  put_words(v, cases);
  return v;
}

// The number of the state as such, not only whether it is one.
NeighbourView sum_view(const BoardCases& cases, bool own, std::uint16_t places) {
  NeighbourView v;
  v.own = own;
  v.places = places;
  v.counters = 1;
  v.counter_bits = 8;
  v.choice_bits = kFamilyBits;
  for (std::size_t s = 0; s < cases.real_states(); ++s) v.adds.push_back(s);
  v.adds.push_back(0);
  v.labels = {"in sum"};
  v.words = fmt::format("{}the sum of the states of {} ({} states, numbered in order)", own ? "own state and " : "",
                        neighbours_in_words(places), cases.real_states());
  return v;
}

NeighbourView planes_view(const BoardCases& cases, std::uint16_t places, const std::vector<int>& planes) {
  NeighbourView v;
  v.places = places;
  v.counters = static_cast<int>(planes.size());
  v.choice_bits = kFamilyBits + static_cast<double>(planes.size()) * std::log2(cases.start_channels);
  v.adds.assign(cases.real_states() + 1, 0);
  for (std::size_t c = 0; c < planes.size(); ++c) {
    for (std::size_t s = 0; s < cases.real_states(); ++s) v.adds[s] |= (cases.states[s] >> planes[c] & 1) << (4 * c);
    v.labels.push_back(fmt::format("with channel {}", planes[c]));
  }
  put_words(v, cases);
  return v;
}

std::vector<States> subsets(std::size_t of, std::size_t least, std::size_t most) {
  std::vector<States> result;
  for (std::size_t size = least; size <= most; ++size)
    for (unsigned mask = 0; mask < 1u << of; ++mask) {
      if (static_cast<std::size_t>(std::popcount(mask)) != size) continue;
      States set;
      for (std::uint16_t s = 0; s < of; ++s)
        if (mask >> s & 1) set.push_back(s);
      result.push_back(set);
    }
  return result;
}

std::vector<States> one_by_one(const States& set) {
  std::vector<States> sets;
  for (const std::uint16_t s : set) sets.push_back({s});
  return sets;
}

// Sets that are counted together, and sets whose states are counted each. Counts of all states but one tell the last
// one's, so none needs more; where something is outside, that is not so, and its count may matter.
struct CountedSets {
  std::vector<States> together, each;
};
CountedSets counted_sets(std::size_t states, bool outside) {
  CountedSets sets;
  if (states <= kAllSubsets) {
    // Of a set and its complement the smaller tells all.
    for (const States& set : subsets(states, 1, outside ? states : states / 2))
      if (outside || 2 * set.size() < states || set.front() != 0) sets.together.push_back(set);
    if (states == 2 && !outside) sets.together = {{1}};
    for (const States& set : subsets(states, 2, outside ? states : states - 1))
      if (outside || set.size() + 1 < states || set.front() != 0) sets.each.push_back(set);
    return sets;
  }
  for (std::uint16_t s = 0; s < states; ++s) sets.together.push_back({s});
  for (std::uint16_t first = 2; first + 1u < states; ++first) {
    States above(states - first);
    std::iota(above.begin(), above.end(), first);
    sets.together.push_back(above);
  }
  States but_one(states - 1);
  std::iota(but_one.begin(), but_one.end(), std::uint16_t{1});
  if (but_one.size() <= kMaxCounters) sets.each = {but_one};
  return sets;
}

// Orders in which states may follow each other in a cycle: each state's place. An order and its reverse are one.
std::vector<States> cycles(const BoardCases& cases) {
  const std::size_t k = cases.real_states();
  std::vector<States> orders;
  States order(k);
  std::iota(order.begin(), order.end(), std::uint16_t{0});
  const auto add = [&] {
    States place(k);
    for (std::uint16_t i = 0; i < k; ++i) place[order[i]] = i;
    orders.push_back(place);
  };
  if (k <= 4) {
    do {
      if (k < 3 || order[1] < order.back()) add();
    } while (std::next_permutation(order.begin() + 1, order.end()));
    return orders;
  }
  add();
  // Numbers written with the first channel as the highest bit.
  const auto reversed = [&](std::uint16_t s) {
    std::uint64_t code = 0;
    for (int c = 0; c < cases.start_channels; ++c) code = code << 1 | (cases.states[s] >> c & 1);
    return code;
  };
  std::ranges::sort(order, [&](std::uint16_t x, std::uint16_t y) { return reversed(x) < reversed(y); });
  if (!cases.one_hot()) add();
  return orders;
}

bool same_view(const NeighbourView& a, const NeighbourView& b) {
  return a.kind == b.kind && a.own == b.own && a.places == b.places && a.adds == b.adds && a.cycle == b.cycle;
}

}  // namespace

std::optional<NeighbourView> cells_view(const BoardCases& cases, std::uint16_t places) {
  constexpr double kMaxPatches = 1 << 15;
  NeighbourView v;
  v.kind = NeighbourView::Kind::kCells;
  v.places = places;
  v.state_bits = std::max(1, static_cast<int>(std::bit_width(cases.states.size() - 1)));
  const int cells = std::popcount(static_cast<unsigned>(places));
  if (v.state_bits * kPatch > 63 || cells * cases.start_channels > 63 ||
      std::pow(static_cast<double>(cases.states.size()), cells) > kMaxPatches)
    return {};
  v.choice_bits = kFamilyBits + kPatch;
  constexpr std::array<const char*, kPatch> kNames{"NW", "N", "NE", "W", "itself", "E", "SW", "S", "SE"};
  std::string names;
  for (int p = 0; p < kPatch; ++p)
    if (places >> p & 1) names += fmt::format("{}{}", names.empty() ? "" : ", ", kNames[p]);
  v.words = fmt::format("the cells {} ({} states)", names, cases.real_states());
  if (cells == kPatch) v.words = fmt::format("all nine cells ({} states)", cases.real_states());
  return v;
}

std::vector<NeighbourView> grown_views(const NeighbourView& view, const BoardCases& cases) {
  std::vector<NeighbourView> grown;
  const std::size_t k = cases.real_states();
  if (view.sets.empty() || k <= kAllSubsets) return grown;
  for (std::uint16_t s = 0; s < k; ++s) {
    if (std::ranges::any_of(view.sets, [&](const States& set) { return std::ranges::count(set, s) > 0; })) continue;
    std::vector<States> sets = view.sets;
    if (view.counters < static_cast<int>(kMaxCounters)) {
      sets.push_back({s});
      grown.push_back(counts_view(cases, view.own, view.places, sets, view.cycle));
      sets.pop_back();
    }
    if (view.counters == 1) {
      sets[0].push_back(s);
      std::ranges::sort(sets[0]);
      grown.push_back(counts_view(cases, view.own, view.places, sets, view.cycle));
    }
  }
  return grown;
}

std::vector<NeighbourView> standard_views(const BoardCases& cases) {
  const std::size_t k = cases.real_states();
  std::vector<NeighbourView> views;
  const auto add = [&](NeighbourView view) {
    if (std::ranges::none_of(views, [&](const NeighbourView& v) { return same_view(v, view); }))
      views.push_back(std::move(view));
  };
  add(counts_view(cases, false, 0, {}));
  if (k > 1) add(counts_view(cases, true, 0, {}));
  const bool countable = k >= 2 && k <= kMaxStates;
  for (const std::uint16_t places : {kEightNeighbours, kFourNeighbours}) {
    const auto with_itself = static_cast<std::uint16_t>(places | kOwnCell);
    if (countable) {
      const CountedSets sets = counted_sets(k, cases.outside.has_value());
      for (const States& set : sets.together) {
        add(counts_view(cases, true, places, {set}));
        add(counts_view(cases, false, with_itself, {set}));
      }
      for (const States& set : sets.each) {
        add(counts_view(cases, true, places, one_by_one(set)));
        add(counts_view(cases, false, with_itself, one_by_one(set)));
      }
      if (k > 2) {
        add(sum_view(cases, true, places));
        add(sum_view(cases, false, with_itself));
      }
    }
    if (cases.start_channels > 1 && !cases.one_hot() && k > 1) {
      const auto planes = static_cast<std::size_t>(cases.start_channels);
      const std::size_t most = planes <= 4 ? planes : 2;
      if (planes <= kMaxStates)
        for (const States& set : subsets(planes, 1, most)) add(planes_view(cases, places, {set.begin(), set.end()}));
      std::vector<int> all(planes);
      std::iota(all.begin(), all.end(), 0);
      if (planes <= kMaxCounters) add(planes_view(cases, places, all));
    }
    if (countable && k > 2 && cases.start_channels == cases.target_channels) {
      const CountedSets sets = counted_sets(k, cases.outside.has_value());
      for (const States& cycle : cycles(cases)) {
        for (const States& set : sets.together) add(counts_view(cases, false, places, {set}, cycle));
        for (const States& set : sets.each) add(counts_view(cases, false, places, one_by_one(set), cycle));
      }
    }
  }
  for (const std::uint16_t places : {static_cast<std::uint16_t>(kFourNeighbours | kOwnCell), std::uint16_t{511}})
    if (auto view = cells_view(cases, places); view && k > 1) {
      add(*view);
      if (places != 511) continue;
      view->symmetry = NeighbourView::Symmetry::kRotationsAndReflections;
      view->words = fmt::format("all nine cells up to rotation and reflection ({} states)", k);
      views.push_back(*view);
      view->symmetry = NeighbourView::Symmetry::kRotations;
      view->words = fmt::format("all nine cells up to rotation ({} states)", k);
      views.push_back(*view);
    }
  return views;
}

}  // namespace espalier
