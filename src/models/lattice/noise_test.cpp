#include "models/lattice/noise_test.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace espalier {
namespace {

// Over pairs of cells of the same group: noise strikes one cell whatever it does to the other, so the product of what
// each has more than its entry's rate is 0 on average. What depends on the neighbourhood strikes both or none.
struct Pairs {
  double product = 0;   // summed
  double variance = 0;  // of that sum, if it is noise
  double all = 0;       // what the sum would be if nothing were noise
  void add(const EntryNoise& entry, double cells, double wrong) {
    const double q = entry.rate(), v = entry.variance(), excess = wrong - cells * q;
    product += (excess * excess - wrong * (1 - q) * (1 - q) - (cells - wrong) * q * q) / 2;
    const double pairs = cells * (cells - 1) / 2;
    variance += pairs * v * v;
    all += pairs * v;
  }
  // The 2 stands for pairs that come together by chance where hardly any are expected.
  bool like_noise() const { return product <= 4 * std::sqrt(variance) + 2; }
  // Would it have been seen if half of the misfit were structure?
  bool decisive() const {
    const double seen = std::max(product, 0.0);
    return seen + 3 * std::sqrt(variance + seen + 1) <= all / 2;
  }
};

Pairs pairs_of_patches(const BoardCases& cases, const std::vector<std::uint32_t>& entry, const std::vector<bool>& wrong,
                       const std::vector<EntryNoise>& entries) {
  Pairs pairs;
  for_patches(cases.all, [&](std::span<const PatchCase> patch) {
    const auto first = static_cast<std::size_t>(patch.data() - cases.all.data());
    double n = 0, bad = 0;
    for (std::size_t i = first; i < first + patch.size(); ++i) {
      n += cases.all[i].times;
      bad += wrong[i] ? cases.all[i].times : 0;
    }
    pairs.add(entries[entry[first]], n, bad);
  });
  return pairs;
}

// Cells that agree in their own state, in the numbers of neighbours in each state, and in their entry.
Pairs pairs_of_counts(const BoardCases& cases, const std::vector<std::uint32_t>& entry, const std::vector<bool>& wrong,
                      const std::vector<EntryNoise>& entries) {
  std::vector<std::array<std::uint16_t, kPatch>> sorted(cases.all.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    sorted[i] = cases.all[i].cells;
    std::swap(sorted[i][0], sorted[i][4]);
    std::sort(sorted[i].begin() + 1, sorted[i].end());
  }
  std::vector<std::uint32_t> order(sorted.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto key = [&](std::uint32_t i) { return std::tie(entry[i], sorted[i]); };
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  Pairs pairs;
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    double n = 0, bad = 0;
    for (; end < order.size() && key(order[end]) == key(order[begin]); ++end) {
      n += cases.all[order[end]].times;
      bad += wrong[order[end]] ? cases.all[order[end]].times : 0;
    }
    pairs.add(entries[entry[order[begin]]], n, bad);
    begin = end;
  }
  return pairs;
}

// Does the misfit depend on the state of one cell of the patch, more than by chance? Where whole neighbourhoods hardly
// repeat, this still sees the most likely kinds of structure.
bool depends_on_a_cell(const BoardCases& cases, const std::vector<std::uint32_t>& entry, const std::vector<bool>& wrong,
                       const std::vector<EntryNoise>& entries) {
  constexpr double kSigmas = 6;
  struct Sum {
    double wrong = 0, expected = 0, variance = 0;
  };
  std::vector<Sum> sums(kPatch * cases.states.size());
  for (std::size_t i = 0; i < cases.all.size(); ++i) {
    const PatchCase& c = cases.all[i];
    const EntryNoise& e = entries[entry[i]];
    if (e.wrong == 0) continue;
    for (std::size_t p = 0; p < kPatch; ++p) {
      Sum& sum = sums[p * cases.states.size() + c.cells[p]];
      sum.wrong += wrong[i] ? c.times : 0;
      sum.expected += c.times * e.rate();
      sum.variance += c.times * e.variance();
    }
  }
  return std::ranges::any_of(
      sums, [](const Sum& s) { return std::abs(s.wrong - s.expected) > kSigmas * std::sqrt(s.variance) + 3; });
}

}  // namespace

std::vector<EntryNoise> noise_of_entries(const BoardCases& cases, const std::vector<std::uint32_t>& entry,
                                         const std::vector<bool>& wrong) {
  std::vector<EntryNoise> entries(*std::ranges::max_element(entry) + std::size_t{1});
  for (std::size_t i = 0; i < entry.size(); ++i) {
    entries[entry[i]].times += cases.all[i].times;
    if (wrong[i]) entries[entry[i]].wrong += cases.all[i].times;
  }
  return entries;
}

NoiseVerdict judge_misfit(const BoardCases& cases, const std::vector<std::uint32_t>& entry,
                          const std::vector<bool>& wrong) {
  const std::vector<EntryNoise> entries = noise_of_entries(cases, entry, wrong);
  const auto structured = [](const Pairs& pairs) {
    return fmt::format("about {:.0f} % of what it leaves unexplained is the same whenever a neighbourhood repeats",
                       100 * std::clamp(pairs.product / pairs.all, 0.0, 1.0));
  };
  const Pairs patches = pairs_of_patches(cases, entry, wrong, entries);
  if (!patches.like_noise()) return {false, "", structured(patches)};
  if (depends_on_a_cell(cases, entry, wrong, entries))
    return {false, "", "what it leaves unexplained depends on the state of a neighbour"};
  if (patches.decisive()) return {true, "cells with the same nine cells around them", ""};
  const Pairs counts = pairs_of_counts(cases, entry, wrong, entries);
  if (!counts.like_noise()) return {false, "", structured(counts)};
  if (counts.decisive()) return {true, "cells with the same numbers of neighbours in each state", ""};
  return {false, "", "too few neighbourhoods repeat to tell noise from structure"};
}

}  // namespace espalier
