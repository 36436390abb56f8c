// What a rule may see of a patch: a map from patches to keys. Two patches of the same key become the same.
#pragma once

#include <string>
#include <vector>

#include "models/lattice/board_cases.hpp"

namespace espalier {

inline constexpr std::uint16_t kEightNeighbours = 0b111'101'111, kFourNeighbours = 0b010'101'010, kOwnCell = 1u << 4;

// Either counts: the own state, and counters to which every cell of some places adds something by its state. Or cells:
// the states at some places, perhaps up to rotation and reflection.
struct NeighbourView {
  enum class Kind { kCounts, kCells };
  enum class Symmetry { kNone, kRotations, kRotationsAndReflections };
  using Key = std::uint64_t;

  Kind kind = Kind::kCounts;
  std::string words;
  double choice_bits = 0;    // to say which view of its family it is
  std::uint16_t places = 0;  // bit p: counted, or read

  // Counts. A key is the own state (where `own`) above the counters.
  bool own = true;
  int counters = 0, counter_bits = 4;
  std::vector<std::vector<std::uint16_t>> sets;  // [counter]: the states, or differences, that are counted
  std::vector<Key> adds;                         // [state], or of a cyclic view [difference]; outside is the last
  std::vector<std::string> labels;               // [counter]: "in state 1"
  // Of a cyclic view: the place of each state in the cycle. States are seen relative to the own one, and so is the
  // next: the key has no own state.
  std::vector<std::uint16_t> cycle;
  bool cyclic() const { return !cycle.empty(); }

  // Cells.
  Symmetry symmetry = Symmetry::kNone;
  int state_bits = 0;

  Key key(const std::array<std::uint16_t, kPatch>& cells) const;
  std::uint64_t counter(Key key, int c) const { return key >> (c * counter_bits) & ((Key{1} << counter_bits) - 1); }
  std::uint16_t own_of(Key key) const;  // of a view that has it
  std::uint16_t cell_of(Key key, int place) const {
    return static_cast<std::uint16_t>(key >> (place * state_bits) & ((Key{1} << state_bits) - 1));
  }
  // Do the bits that its circuit is a table of fit into a word?
  bool fits_a_word(int channels) const {
    return kind == Kind::kCells || (channels + counters * counter_bits < 64 && (!cyclic() || 2 * channels < 64));
  }
  bool has_own() const { return kind == Kind::kCounts ? own : (places & kOwnCell) != 0; }
  // How unlike two keys are.
  int distance(Key a, Key b) const;
  std::string describe(Key key, const BoardCases& cases) const;

  static constexpr int kOwnShift = 48;
};

// Every key that can occur with the states that occur, ascending; nothing when there are more than `most`.
std::optional<std::vector<NeighbourView::Key>> possible_keys(const NeighbourView& view, const BoardCases& cases,
                                                             std::size_t most);
// Every choice of states at the places of a view of cells, as its key without symmetry; what possible_keys() gives is
// what becomes of them.
std::optional<std::vector<NeighbourView::Key>> possible_patches(const NeighbourView& view, const BoardCases& cases,
                                                                std::size_t most);
// The key with the symmetry of one without.
NeighbourView::Key canonical(const NeighbourView& view, NeighbourView::Key patch);

// All views that are worth trying on these cases but those of chosen cells, simple ones first.
std::vector<NeighbourView> standard_views(const BoardCases& cases);
// The states at these places; nothing when a circuit of so many bits is out of reach.
std::optional<NeighbourView> cells_view(const BoardCases& cases, std::uint16_t places);
// Where there are too many sets of states to try them all: one more counter, or one more state in the counted set.
std::vector<NeighbourView> grown_views(const NeighbourView& view, const BoardCases& cases);

}  // namespace espalier
