// The passes of a GateNetwork without a tape. For those who go back at once, block by block: there the seals of a tape
// would cost a twentieth of the pass, and no other pass can come between.
#pragma once

#include "espalier/gate_network.hpp"

namespace espalier {

struct UnsealedGates {
  const GateNetwork& network;

  void forward(std::span<const float> coefficients, int lanes, std::span<const float> in, std::span<float> values,
               int copy = 0) const {
    network.run_forward(coefficients, lanes, in, values, copy);
  }
  void backward(std::span<const float> coefficients, int lanes, std::span<float> in, std::span<float> values,
                std::span<float> scratch, std::span<float> dc, int copy = 0) const {
    network.run_backward(coefficients, lanes, in, values, scratch, dc, copy);
  }
  void backward_adding(std::span<const float> coefficients, int lanes, std::span<const float> in,
                       std::span<float> values, std::span<float> scratch, std::span<float> din, std::span<float> dc,
                       int copy = 0) const {
    network.run_backward_adding(coefficients, lanes, in, values, scratch, din, dc, copy);
  }
};

}  // namespace espalier
