#include "models/lattice/board_cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>

#include "espalier/error.hpp"

namespace espalier {
namespace {

constexpr std::size_t kMaxPatterns = 60'000;  // that a case can name
constexpr std::size_t kMaxNexts = 64;         // among which votes are counted
constexpr std::size_t kSampled = 8192;        // cells
constexpr std::size_t kMergedAt = 1 << 20;    // cases that are kept before equal ones become one
constexpr int kMaxChannels = 64;              // of a code

std::vector<std::uint64_t> codes_of(const std::vector<std::uint8_t>& bits, int channels) {
  std::vector<std::uint64_t> codes(bits.size() / static_cast<std::size_t>(channels));
  std::size_t at = 0;
  for (std::uint64_t& code : codes)
    for (int c = 0; c < channels; ++c) code |= std::uint64_t{bits[at++]} << c;
  return codes;
}

std::vector<std::uint64_t> distinct(std::vector<std::uint64_t> codes) {
  std::ranges::sort(codes);
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
  return codes;
}

std::uint16_t index_of(const std::vector<std::uint64_t>& codes, std::uint64_t code) {
  return static_cast<std::uint16_t>(std::ranges::lower_bound(codes, code) - codes.begin());
}

using PatchCells = std::array<std::uint16_t, kPatch>;

// [cell]: the state.
std::vector<std::uint16_t> states_of_cells(const BoardCases& b, const std::vector<std::uint64_t>& codes) {
  const std::vector<std::uint64_t> real(b.states.begin(),
                                        b.states.begin() + std::ssize(b.states) - (b.outside ? 1 : 0));
  std::vector<std::uint16_t> states;
  states.reserve(codes.size());
  for (const std::uint64_t code : codes) states.push_back(index_of(real, code));
  return states;
}

// Every cell of all boards, in order: its number, what is around it, and which places of that are outside.
template <class Body>
void for_cells(const IdentifyData& d, const BoardCases& b, const std::vector<std::uint16_t>& states, Body&& body) {
  const std::uint16_t beyond = b.outside.value_or(0);
  const int height = d.height, width = d.width;
  std::size_t cell = 0;
  for (int n = 0; n < d.count; ++n) {
    const std::uint16_t* const board = states.data() + cell;
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x, ++cell) {
        PatchCells cells;
        unsigned outside = 0;
        for (int p = 0; p < kPatch; ++p) {
          const int v = y + p / 3 - 1, u = x + p % 3 - 1;
          const bool inside = v >= 0 && v < height && u >= 0 && u < width;
          if (!inside && !d.periodic) {
            cells[p] = beyond;
            outside |= 1u << p;
          } else {
            cells[p] = board[static_cast<std::size_t>((v + height) % height) * width + (u + width) % width];
          }
        }
        body(cell, cells, outside);
      }
  }
}

void sort_and_merge(std::vector<PatchCase>& cases) {
  const auto key = [](const PatchCase& c) { return std::tie(c.cells, c.next); };
  std::ranges::sort(cases, [&](const PatchCase& a, const PatchCase& b) { return key(a) < key(b); });
  std::size_t kept = 0;
  for (const PatchCase& c : cases) {
    if (kept > 0 && key(cases[kept - 1]) == key(c))
      cases[kept - 1].times += c.times;
    else
      cases[kept++] = c;
  }
  cases.resize(kept);
}

// What repeats of a whole neighbourhood tell, whatever the rule is.
void measure_repeats(BoardCases& b) {
  std::size_t right_bits = 0, repeated = 0;
  double disagreeing = 0, pairs = 0;  // pairs of each patch weigh as many as its cells
  for_patches(b.all, [&](std::span<const PatchCase> patch) {
    ++b.neighbourhoods;
    std::size_t n = 0;
    double same = 0;
    for (const PatchCase& c : patch) {
      n += c.times;
      same += static_cast<double>(c.times) * (c.times - 1.0);
    }
    for (int bit = 0; bit < b.target_channels; ++bit) {
      std::size_t ones = 0;
      for (const PatchCase& c : patch) ones += (b.nexts[c.next] >> bit & 1) ? c.times : 0;
      right_bits += std::max(ones, n - ones);
    }
    if (n < 2) return;
    repeated += n;
    const auto count = static_cast<double>(n);
    disagreeing += count - same / (count - 1);
    pairs += count;
  });
  const auto cells = static_cast<double>(b.cells);
  b.ceiling = static_cast<double>(right_bits) / (cells * b.target_channels);
  b.repeated = static_cast<double>(repeated) / cells;
  if (pairs == 0) return;
  // Two cells agree when noise spares both, or makes the same of both.
  const double alternatives = std::max<double>(1, static_cast<double>(b.nexts.size()) - 1), a = 1 / alternatives;
  b.contradiction = (1 - std::sqrt(std::max(0.0, 1 - (1 + a) * disagreeing / pairs))) / (1 + a);
}

// Noise can make any pattern of a target; only the commonest can be the outcome of a case.
void drop_rare_nexts(BoardCases& b) {
  if (b.nexts.size() <= kMaxNexts) return;
  std::vector<std::size_t> times(b.nexts.size());
  for (const PatchCase& c : b.all) times[c.next] += c.times;
  std::vector<std::uint16_t> order(b.nexts.size()), renamed(b.nexts.size(), BoardCases::kRareNext);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint16_t>(i);
  std::ranges::stable_sort(order, [&](std::uint16_t x, std::uint16_t y) { return times[x] > times[y]; });
  order.resize(kMaxNexts);
  std::ranges::sort(order);
  std::vector<std::uint64_t> kept;
  for (const std::uint16_t next : order) {
    renamed[next] = static_cast<std::uint16_t>(kept.size());
    kept.push_back(b.nexts[next]);
  }
  b.nexts = std::move(kept);
  for (PatchCase& c : b.all) c.next = renamed[c.next];
  for (PatchCase& c : b.sample) c.next = renamed[c.next];
  sort_and_merge(b.all);
  sort_and_merge(b.sample);
}

void check(const IdentifyData& d) {
  if (d.count < 1 || d.height < 1 || d.width < 1 || d.start_channels < 1 || d.target_channels < 1)
    fail("identify",
         fmt::format("{} boards of {} x {}, channels: {} and {}", d.count, d.height, d.width, d.start_channels,
                     d.target_channels),
         "at least one of each");
  const auto cells = static_cast<std::size_t>(d.count) * d.height * d.width;
  if (d.start.size() != cells * d.start_channels || d.target.size() != cells * d.target_channels)
    fail("identify", fmt::format("{} and {} values", d.start.size(), d.target.size()),
         fmt::format("{} and {}", cells * d.start_channels, cells * d.target_channels));
  for (const auto* values : {&d.start, &d.target})
    if (std::ranges::any_of(*values, [](std::uint8_t value) { return value > 1; }))
      fail("identify", "a value above 1", "0 and 1");
}

}  // namespace

std::optional<BoardCases> read_cases(const IdentifyData& d) {
  check(d);
  if (d.start_channels > kMaxChannels || d.target_channels > kMaxChannels) return {};
  const std::vector<std::uint64_t> start = codes_of(d.start, d.start_channels);
  const std::vector<std::uint64_t> target = codes_of(d.target, d.target_channels);
  BoardCases b;
  b.start_channels = d.start_channels;
  b.target_channels = d.target_channels;
  b.cells = start.size();
  b.states = distinct(start);
  b.nexts = distinct(target);
  if (b.states.size() > kMaxPatterns || b.nexts.size() > kMaxPatterns) return {};
  const std::vector<std::uint16_t> of_cell = states_of_cells(b, start);
  if (!d.periodic && b.states.front() != 0) {
    b.outside = static_cast<std::uint16_t>(b.states.size());
    b.states.push_back(0);
  }
  const std::size_t board_cells = static_cast<std::size_t>(d.height) * d.width;
  // A stride prime to the usual widths, so that the sample has cells of all columns.
  const std::size_t stride = std::max<std::size_t>(1, b.cells / kSampled) | 1;
  std::size_t merge_at = kMergedAt;
  for_cells(d, b, of_cell, [&](std::size_t cell, const PatchCells& cells, unsigned outside) {
    b.all.push_back({cells, index_of(b.nexts, target[cell]), 1});
    if (cell % stride == 0) b.sample.push_back(b.all.back());
    if (b.all.size() >= merge_at) {
      sort_and_merge(b.all);
      merge_at = std::max(kMergedAt, 2 * b.all.size());
    }
    if (cell < board_cells) b.outside_masks.push_back(static_cast<std::uint16_t>(b.outside ? outside : 0));
  });
  b.outside_masks.push_back(0);  // on a larger board there is always a cell with eight neighbours
  std::ranges::sort(b.outside_masks);
  b.outside_masks.erase(std::unique(b.outside_masks.begin(), b.outside_masks.end()), b.outside_masks.end());
  sort_and_merge(b.all);
  sort_and_merge(b.sample);
  measure_repeats(b);
  drop_rare_nexts(b);
  if (b.all.size() <= kSampled) b.sample.clear();
  return b;
}

CellCases cases_of_cells(const IdentifyData& d, const BoardCases& b) {
  CellCases result;
  result.state = states_of_cells(b, codes_of(d.start, d.start_channels));
  const std::vector<std::uint64_t> target = codes_of(d.target, d.target_channels);
  result.number.reserve(target.size());
  const auto key = [](const PatchCase& c) { return std::tie(c.cells, c.next); };
  for_cells(d, b, result.state, [&](std::size_t cell, const PatchCells& cells, unsigned) {
    const bool named = std::ranges::binary_search(b.nexts, target[cell]);
    const PatchCase sought{cells, named ? index_of(b.nexts, target[cell]) : BoardCases::kRareNext, 1};
    const auto at = std::ranges::lower_bound(b.all, key(sought), {}, key);
    result.number.push_back(static_cast<std::uint32_t>(at - b.all.begin()));
  });
  return result;
}

bool BoardCases::one_hot() const {
  if (real_states() < 2) return false;
  for (std::size_t s = 0; s < real_states(); ++s)
    if (std::popcount(states[s]) != 1) return false;
  return true;
}

std::string BoardCases::bits_of(std::uint64_t code, int channels) const {
  std::string bits;
  for (int c = 0; c < channels; ++c) bits += code >> c & 1 ? '1' : '0';
  return bits;
}

std::string BoardCases::state_name(std::uint16_t state) const {
  if (outside && state == *outside) return "outside";
  return fmt::format(
      "{}", one_hot() && start_channels > 1 ? static_cast<unsigned>(std::countr_zero(states[state])) : states[state]);
}

std::string BoardCases::next_name(std::uint16_t next) const {
  const std::span<const std::uint64_t> real(states.data(), real_states());
  const auto state = std::ranges::find(real, nexts[next]);
  if (start_channels == target_channels && state != real.end())
    return state_name(static_cast<std::uint16_t>(state - real.begin()));
  return bits_of(nexts[next], target_channels);
}

}  // namespace espalier
