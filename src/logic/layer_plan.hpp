// The order in which a layer's gates are evaluated, chosen so that neighbours in time share a value.
//
// `unique` wiring pairs mostly neighbouring inputs: (0,1), (1,2), (2,3), ... Walked in that order, every input
// is loaded once and kept in registers for the next gate, and in the backward pass the gradient of an input
// is complete, and written once, when the walk leaves it. The plan finds these walks ("chains"), the pairs
// that stand alone, and the rest: gates that share inputs in some other way.
#pragma once

#include <cstdint>
#include <vector>

#include "espalier/gate_network.hpp"

namespace espalier {

// Where pins choose among candidates, every candidate has a weight. Weights are ordered by the input row that they
// weigh, then by pin: so the backward pass can go from row to row, with everything that reads one at hand.
struct WirePlan {
  int candidates = 1;               // M; 1: fixed wires, and nothing below
  std::vector<std::int32_t> row;    // [pins][M] the input row of each candidate
  std::vector<std::int32_t> place;  // [pins][M] of its weight
  std::vector<std::int32_t> first;  // [inputs + 1] the first weight of each row
  std::vector<std::int32_t> pin;    // [weights] whose candidate it is
  std::size_t weights = 0;          // pins x M, filled up to a multiple of four
  std::size_t logit_offset = 0;     // of the layer's among the network's logits of wires, and of its weights
  std::size_t weight_offset = 0;
  bool choose() const { return candidates > 1; }
};

struct LayerPlan {
  // Gates first .. first+count-1 (in plan order); gate first+i reads input rows row+i and row+i+1.
  struct Chain {
    std::int32_t row, first, count;
  };
  int inputs = 0, outputs = 0;
  std::vector<Chain> chains;                     // of two gates or more
  std::int32_t pairs_first = 0;                  // plan index of the first gate outside chains, reading rows of its own
  std::int32_t shared_first = 0;                 // plan index of the first gate that shares rows with others
  std::vector<std::int32_t> a, b;                // [outputs] input rows, in plan order
  std::vector<std::int32_t> gate;                // [outputs] the gate's number in the wiring = its output row
  std::vector<std::int32_t> unowned_rows;        // input rows that no chain or pair writes in the backward pass
  std::vector<std::int32_t> shared_rows;         // input rows that these gates read, each once
  std::vector<std::int32_t> shared_a, shared_b;  // [outputs - shared_first] where in shared_rows their inputs are
  WirePlan wires;  // where there are candidates: instead of all but `gate`, which counts up
};

LayerPlan plan_layer(const Wiring& wiring);

}  // namespace espalier
