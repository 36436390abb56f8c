#include "models/lattice/neighbour_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace espalier {
namespace {

using Key = NeighbourView::Key;

// places_of[t][p]: where transform t finds what it puts at place p. The four rotations first, then their mirror images.
using Transforms = std::array<std::array<int, kPatch>, 8>;
constexpr Transforms make_transforms() {
  Transforms transforms{};
  for (int t = 0; t < 8; ++t)
    for (int p = 0; p < kPatch; ++p) {
      int y = p / 3, x = p % 3;
      if (t >= 4) x = 2 - x;
      for (int turn = 0; turn < t % 4; ++turn) {
        const int old = y;
        y = x;
        x = 2 - old;
      }
      transforms[t][p] = y * 3 + x;
    }
  return transforms;
}
constexpr Transforms kTransforms = make_transforms();

void sort_unique(std::vector<Key>& keys) {
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
}

// All sums of `cells` of these terms; nothing when there are too many.
std::optional<std::vector<Key>> sums(const std::vector<Key>& terms, int cells, std::size_t most) {
  std::vector<Key> reached{0};
  for (int i = 0; i < cells; ++i) {
    std::vector<Key> next;
    for (const Key sum : reached)
      for (const Key term : terms) next.push_back(sum + term);
    sort_unique(next);
    if (next.size() > most) return {};
    reached = std::move(next);
  }
  return reached;
}

}  // namespace

Key NeighbourView::key(const std::array<std::uint16_t, kPatch>& cells) const {
  Key key = 0;
  if (kind == Kind::kCells) {
    for (unsigned left = places; left != 0; left &= left - 1) {
      const int p = std::countr_zero(left);
      key |= Key{cells[p]} << (p * state_bits);
    }
    return canonical(*this, key);
  }
  if (cyclic()) {
    const auto states = static_cast<std::uint16_t>(cycle.size());
    const std::uint16_t mine = cycle[cells[4]];
    for (int p = 0; p < kPatch; ++p) {
      if (!(places >> p & 1)) continue;
      const bool outside = cells[p] >= states;
      key += adds[outside ? states : (cycle[cells[p]] + states - mine) % states];
    }
    return key;
  }
  for (unsigned left = places; left != 0; left &= left - 1) key += adds[cells[std::countr_zero(left)]];
  return own ? key | Key{cells[4]} << kOwnShift : key;
}

Key canonical(const NeighbourView& view, Key patch) {
  if (view.symmetry == NeighbourView::Symmetry::kNone) return patch;
  Key least = patch;
  const int transforms = view.symmetry == NeighbourView::Symmetry::kRotations ? 4 : 8;
  for (int t = 1; t < transforms; ++t) {
    Key turned = 0;
    for (int p = 0; p < kPatch; ++p) turned |= Key{view.cell_of(patch, kTransforms[t][p])} << (p * view.state_bits);
    least = std::min(least, turned);
  }
  return least;
}

std::uint16_t NeighbourView::own_of(Key key) const {
  return kind == Kind::kCounts ? static_cast<std::uint16_t>(key >> kOwnShift) : cell_of(key, 4);
}

int NeighbourView::distance(Key a, Key b) const {
  constexpr int kOtherOwn = 1000;  // further than any other difference
  int sum = has_own() && own_of(a) != own_of(b) ? kOtherOwn : 0;
  if (kind == Kind::kCells) {
    for (int p = 0; p < kPatch; ++p) sum += cell_of(a, p) != cell_of(b, p);
  } else {
    for (int c = 0; c < counters; ++c)
      sum += std::abs(static_cast<int>(counter(a, c)) - static_cast<int>(counter(b, c)));
  }
  return sum;
}

std::string NeighbourView::describe(Key key, const BoardCases& cases) const {
  if (kind == Kind::kCells) {
    std::string text;
    for (int p = 0; p < kPatch; ++p) {
      if (p > 0 && p % 3 == 0) text += " / ";
      if (p % 3 != 0) text += ' ';
      text += places >> p & 1 ? cases.state_name(cell_of(key, p)) : ".";
    }
    return "patch " + text;
  }
  std::string text = own ? "state " + cases.state_name(own_of(key)) : cyclic() ? "any state" : "";
  for (int c = 0; c < counters; ++c) {
    const char* const joint = c > 0 ? " and" : text.empty() ? "" : " with";
    const std::uint64_t n = counter(key, c);
    const char* const who = c > 0 ? "" : places & kOwnCell ? " cells" : n == 1 ? " neighbour" : " neighbours";
    text += fmt::format("{}{}{}{} {}", joint, text.empty() ? "" : " ", n, who, labels[c]);
  }
  return text;
}

std::optional<std::vector<Key>> possible_patches(const NeighbourView& view, const BoardCases& cases, std::size_t most) {
  std::vector<Key> patches;
  for (const std::uint16_t mask : cases.outside_masks) {
    std::vector<Key> some{0};
    for (int p = 0; p < kPatch; ++p) {
      if (!(view.places >> p & 1)) continue;
      std::vector<Key> next;
      const bool outside = mask >> p & 1;
      const std::size_t first = outside ? *cases.outside : 0, last = outside ? first + 1 : cases.real_states();
      if (some.size() * (last - first) > most) return {};
      for (const Key patch : some)
        for (std::size_t s = first; s < last; ++s) next.push_back(patch | Key{s} << (p * view.state_bits));
      some = std::move(next);
    }
    patches.insert(patches.end(), some.begin(), some.end());
  }
  sort_unique(patches);
  if (patches.size() > most) return {};
  return patches;
}

std::optional<std::vector<Key>> possible_keys(const NeighbourView& view, const BoardCases& cases, std::size_t most) {
  std::vector<Key> keys;
  if (view.kind == NeighbourView::Kind::kCells) {
    auto patches = possible_patches(view, cases, most);
    if (!patches) return {};
    for (const Key patch : *patches) keys.push_back(canonical(view, patch));
    sort_unique(keys);
    return keys;
  }
  const std::size_t real = cases.real_states();
  const std::vector<Key> terms(view.adds.begin(), view.adds.begin() + static_cast<std::ptrdiff_t>(real));
  for (const std::uint16_t mask : cases.outside_masks) {
    const auto neighbours = static_cast<std::uint16_t>(view.places & ~kOwnCell);
    const int lost = std::popcount(static_cast<unsigned>(neighbours & mask));
    const auto of_neighbours = sums(terms, std::popcount(static_cast<unsigned>(neighbours)) - lost, most);
    if (!of_neighbours || of_neighbours->size() * real > most) return {};
    for (const Key neighbour_sum : *of_neighbours) {
      const Key sum = lost > 0 ? neighbour_sum + static_cast<Key>(lost) * view.adds[real] : neighbour_sum;
      // A cyclic view sees the own cell at a difference of 0.
      for (std::size_t s = 0; s < (view.cyclic() ? 1 : real); ++s)
        keys.push_back((view.places & kOwnCell ? sum + view.adds[s] : sum) |
                       (view.own ? Key{s} << NeighbourView::kOwnShift : 0));
    }
  }
  sort_unique(keys);
  if (keys.size() > most) return {};
  return keys;
}

}  // namespace espalier
