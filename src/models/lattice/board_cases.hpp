// Pairs of boards as cases: a patch of nine states, what its middle became, and how often.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/lattice/identify.hpp"
#include "netlist/cell.hpp"

namespace espalier {

struct PatchCase {
  std::array<std::uint16_t, kPatch> cells;  // states
  std::uint16_t next;                       // one of BoardCases::nexts, or kRareNext
  std::uint32_t times;
};

struct BoardCases {
  static constexpr std::uint16_t kRareNext = 0xffff;  // a pattern too rare to be the outcome of any case
  int start_channels = 1, target_channels = 1;
  std::size_t cells = 0;
  std::vector<std::uint64_t> states, nexts;  // codes, ascending; bit c is channel c
  // What lies outside of boards with zeros around them, when no cell is in that state: all bits 0, the last of `states`
  // rather than the first.
  std::optional<std::uint16_t> outside;
  std::vector<std::uint16_t> outside_masks;  // which places of a patch can be outside, bit p; 0 always among them
  std::vector<PatchCase> all;                // sorted by patch
  std::vector<PatchCase> sample;             // of some cells, evenly spread; empty when `all` is short
  double ceiling = 1, repeated = 0;
  std::optional<double> contradiction;
  std::size_t neighbourhoods = 0;

  std::size_t real_states() const { return states.size() - (outside ? 1 : 0); }
  bool one_hot() const;
  std::string state_name(std::uint16_t state) const;  // "2", "outside"
  std::string next_name(std::uint16_t next) const;
  std::string bits_of(std::uint64_t code, int channels) const;  // "01", channel 0 first
};

// Nothing when cells are in more states than a case can name.
std::optional<BoardCases> read_cases(const IdentifyData& data);

// Which of `cases.all` each cell of these boards is, and its state: [count][H][W].
struct CellCases {
  std::vector<std::uint32_t> number;
  std::vector<std::uint16_t> state;
};
CellCases cases_of_cells(const IdentifyData& data, const BoardCases& cases);

// Runs of cases with the same patch.
template <class Body>
void for_patches(std::span<const PatchCase> cases, Body&& body) {
  for (std::size_t begin = 0; begin < cases.size();) {
    std::size_t end = begin + 1;
    while (end < cases.size() && cases[end].cells == cases[begin].cells) ++end;
    body(cases.subspan(begin, end - begin));
    begin = end;
  }
}

}  // namespace espalier
