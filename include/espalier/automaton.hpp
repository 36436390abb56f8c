// The logic automaton: what one cell computes from its 3x3 neighbourhood.
// Perceive: K small gate networks read the patch of each channel. Update: one gate network reads the cell's
// own channels and all kernel outputs, and gives the cell's next channels.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/parameters.hpp"
#include "espalier/wiring.hpp"

namespace espalier {

enum class Boundary { kPeriodic, kZero };
Boundary boundary_kind(std::string_view name);  // "periodic" or "zero"
std::string_view boundary_name(Boundary boundary);

struct AutomatonShape {
  int channels = 1;                         // C
  int kernels = 1;                          // K
  std::vector<int> perceive;                // widths after the nine inputs; the first is 8 (the neighbours)
  std::vector<int> update;                  // widths after the input; the last is C
  WiringKind wiring = WiringKind::kUnique;  // of the update layers
  Boundary boundary = Boundary::kPeriodic;

  int perceive_outputs() const { return perceive.back(); }
  // Own channels first, then kernel outputs ordered by channel, output index, kernel.
  int update_inputs() const { return channels + channels * perceive_outputs() * kernels; }
  int update_row(int channel, int output, int kernel) const {
    return channels + (channel * perceive_outputs() + output) * kernels + kernel;
  }
};

// Shape and wiring; the logits live in Parameters, one tensor a layer:
//   perceive.L [K, gates, 16] and update.L [gates, 16].
class Automaton {
 public:
  // Draws the wiring from the seed. An impossible shape is an Error.
  Automaton(const AutomatonShape& shape, std::uint64_t seed);
  // With wiring from a file, which is checked against the shape.
  Automaton(const AutomatonShape& shape, std::vector<Wiring> perceive, std::vector<Wiring> update);

  const AutomatonShape& shape() const { return shape_; }
  const std::vector<Wiring>& perceive() const { return perceive_; }  // shared by all kernels
  const std::vector<Wiring>& update() const { return update_; }
  int perceive_gates() const;  // of one kernel
  int update_gates() const;
  int gates() const { return shape_.kernels * perceive_gates() + update_gates(); }
  // Gate evaluations of one cell in one step: kernels are applied to every channel.
  long gates_per_cell() const;

  // Appends the logit tensors: all 0 but `start_logit` for gate A.
  void add_parameters(Parameters& parameters, float start_logit) const;
  // Number of a gate in the flat order of the parameters: its logits start at 16 times that.
  std::int32_t perceive_gate(int kernel, int layer, int gate) const;
  std::int32_t update_gate(int layer, int gate) const;

 private:
  AutomatonShape shape_;
  std::vector<Wiring> perceive_, update_;
};

}  // namespace espalier
