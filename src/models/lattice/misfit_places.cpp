#include "models/lattice/misfit_places.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "models/lattice/noise_test.hpp"

namespace espalier {
namespace {

constexpr double kSigmas = 6;
constexpr double kByChance = 3;  // more than expected, where hardly anything is
constexpr std::size_t kMostCountedStates = 8;
constexpr std::size_t kMostPairedCells = 1 << 18;  // of which pairs of far cells are looked at

struct Offset {
  int y, x;
};

// The cells within so many steps that no patch has.
std::vector<Offset> further_away(int steps) {
  std::vector<Offset> offsets;
  for (int y = -steps; y <= steps; ++y)
    for (int x = -steps; x <= steps; ++x)
      if (std::abs(y) > 1 || std::abs(x) > 1) offsets.push_back({y, x});
  return offsets;
}

// A sum over cells of something that noise leaves at 0 on average.
struct Sum {
  double value = 0, variance = 0;
  void add(double x, double v) {
    value += x;
    variance += v;
  }
  bool large() const { return value > kSigmas * std::sqrt(variance) + kByChance; }
  bool far_from_0() const { return std::abs(value) > kSigmas * std::sqrt(variance) + kByChance; }
};

class WrongCells {
 public:
  WrongCells(const IdentifyData& data, const BoardCases& cases, const std::vector<std::uint32_t>& entry,
             const std::vector<bool>& wrong)
      : data_(data), cases_(cases) {
    const std::vector<EntryNoise> entries = noise_of_entries(cases, entry, wrong);
    CellCases cells = cases_of_cells(data, cases);
    state_ = std::move(cells.state);
    for (const std::uint32_t i : cells.number) {
      const EntryNoise& e = entries[entry[i]];
      excess_.push_back((wrong[i] ? 1 : 0) - e.rate());
      variance_.push_back(e.variance());
    }
  }

  // Do they depend on the state of a cell further away?
  bool on_a_far_cell() const {
    const std::size_t states = cases_.real_states();
    for (const Offset offset : further_away(3)) {
      std::vector<Sum> sums(states);
      for_pairs(offset,
                [&](std::size_t cell, std::size_t far) { sums[state_[far]].add(excess_[cell], variance_[cell]); });
      if (std::ranges::any_of(sums, &Sum::far_from_0)) return true;
    }
    return false;
  }

  // On how many cells of the next ring are in some state? A few wrong cells show that sooner than each far cell does.
  bool on_far_counts() const {
    const std::vector<Offset> ring = further_away(2);
    for (std::uint16_t state = 0; state < std::min<std::size_t>(cases_.real_states(), kMostCountedStates); ++state) {
      std::vector<std::uint8_t> count(excess_.size());
      for (const Offset offset : ring)
        for_pairs(offset, [&](std::size_t cell, std::size_t far) { count[cell] += state_[far] == state; });
      Sum counts;
      for (std::size_t cell = 0; cell < count.size(); ++cell)
        counts.add(count[cell] * variance_[cell], variance_[cell]);
      const double mean = counts.value / counts.variance, scale = std::sqrt(static_cast<double>(ring.size()));
      Sum sum;
      for (std::size_t cell = 0; cell < count.size(); ++cell) {
        const double more = (count[cell] - mean) / scale;
        sum.add(more * excess_[cell], more * more * variance_[cell]);
      }
      if (sum.far_from_0()) return true;
    }
    return false;
  }

  // On whether two of them are in the same state? Neither tells anything by itself where they decide by parity.
  bool on_two_far_cells() const {
    const std::vector<Offset> offsets = further_away(2);
    const auto board = static_cast<std::size_t>(data_.height) * data_.width;
    const std::size_t boards = std::clamp<std::size_t>(kMostPairedCells / board, 1, data_.count);
    std::vector<std::uint16_t> far(offsets.size() * boards * board);
    for (std::size_t o = 0; o < offsets.size(); ++o)
      for_pairs(offsets[o], [&](std::size_t cell, std::size_t other) {
        if (cell < boards * board) far[o * boards * board + cell] = state_[other] + 1;
      });
    for (std::size_t a = 0; a < offsets.size(); ++a)
      for (std::size_t b = a + 1; b < offsets.size(); ++b) {
        const std::uint16_t *first = &far[a * boards * board], *second = &far[b * boards * board];
        Sum same;
        for (std::size_t cell = 0; cell < boards * board; ++cell)
          if (first[cell] == second[cell]) same.add(excess_[cell], variance_[cell]);
        if (same.far_from_0()) return true;
      }
    return false;
  }

  // Is a cell wrong more often where another one near it is?
  bool together() const {
    for (int y = 0; y <= 2; ++y)
      for (int x = y == 0 ? 1 : -2; x <= 2; ++x) {
        Sum sum;
        for_pairs({y, x},
                  [&](std::size_t a, std::size_t b) { sum.add(excess_[a] * excess_[b], variance_[a] * variance_[b]); });
        if (sum.large()) return true;
      }
    return false;
  }

  // Are some groups of cells wrong more often than others? `group(cell)` is one of so many.
  template <class Group>
  bool uneven(std::size_t groups, const Group& group) const {
    std::vector<Sum> sums(groups);
    for (std::size_t cell = 0; cell < excess_.size(); ++cell) sums[group(cell)].add(excess_[cell], variance_[cell]);
    Sum squares;
    for (const Sum& s : sums) squares.add(s.value * s.value - s.variance, s.variance + 2 * s.variance * s.variance);
    return squares.large();
  }

 private:
  // Each cell with the one so far from it, where that is on the board.
  template <class Body>
  void for_pairs(Offset offset, Body&& body) const {
    const int H = data_.height, W = data_.width;
    std::size_t cell = 0;
    for (int n = 0; n < data_.count; ++n) {
      const std::size_t board = cell;
      for (int y = 0; y < H; ++y)
        for (int x = 0; x < W; ++x, ++cell) {
          int v = y + offset.y, u = x + offset.x;
          if (data_.periodic) {
            v = (v % H + H) % H;
            u = (u % W + W) % W;
          }
          if (variance_[cell] > 0 && v >= 0 && v < H && u >= 0 && u < W)
            body(cell, board + static_cast<std::size_t>(v) * W + u);
        }
    }
  }

  const IdentifyData& data_;
  const BoardCases& cases_;
  std::vector<std::uint16_t> state_;  // [cell]
  std::vector<double> excess_;        // [cell]: 1 or 0, whether it is wrong, less the rate of its entry
  std::vector<double> variance_;      // [cell]
};

}  // namespace

std::string misfit_depends_on(const IdentifyData& data, const BoardCases& cases,
                              const std::vector<std::uint32_t>& entry, const std::vector<bool>& wrong) {
  const WrongCells cells(data, cases, entry, wrong);
  const auto board = static_cast<std::size_t>(data.height) * data.width;
  if (cells.uneven(board, [&](std::size_t cell) { return cell % board; }))
    return "some places of the boards are wrong more often than others";
  if (cells.on_a_far_cell() || cells.on_far_counts() || cells.on_two_far_cells())
    return "it depends on cells further away than the eight neighbours";
  if (cells.together() || cells.uneven(data.count, [&](std::size_t cell) { return cell / board; }))
    return "wrong cells come in crowds, near each other or on some of the boards";
  return "";
}

}  // namespace espalier
