// Are two nets equal because of what lies just below them? In a netlist whose equal nets are merged from the inputs up,
// what was changed locally comes together again within a few gates: complete truth tables over a cut of few nets show
// it, however many inputs and gates lie below the cut.
#pragma once

#include <cstdint>
#include <vector>

#include "espalier/netlist.hpp"

namespace espalier {

class WindowProof {
 public:
  // Of cuts of at most so many nets; the netlist may grow.
  WindowProof(const Netlist& netlist, std::size_t most) : netlist_(netlist), most_(most) {}

  // Net x and y (kNoNet: the constant 0), or its inverse, are the same function of some cut below both. False says
  // nothing: over other values than the cut can have they may differ.
  bool equal(Net x, Net y, bool inverted);
  std::uint64_t spent() const { return spent_; }  // gate words

 private:
  struct Cut {
    std::vector<Net> leaves;
    std::size_t opened = 0;  // gates above it, the first of opened_
  };
  bool open_highest();
  bool same_over(const Cut& cut, Net x, Net y, bool inverted);
  void add_leaf(Net net);

  const Netlist& netlist_;
  std::size_t most_;
  std::vector<Net> leaves_;  // ascending
  std::vector<Net> opened_;  // descending
  std::vector<std::uint32_t> row_;
  std::vector<std::uint64_t> words_;
  std::uint64_t spent_ = 0;
};

}  // namespace espalier
