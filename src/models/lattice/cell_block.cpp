#include "models/lattice/cell_block.hpp"

#include <algorithm>
#include <cstring>

#include "logic/gate_kernels.hpp"
#include "models/lattice/block_copy.hpp"

namespace espalier {
namespace {

constexpr int L = kBlockCells;
constexpr int kGroupLanes = 256;        // nine patch rows of so many lanes, and their gradients, fit in L1
constexpr std::size_t kSpill = kEight;  // room after the last row that is filled in eights

int widest(const AutomatonShape& s) {
  return std::max(s.update_inputs(), *std::max_element(s.update.begin(), s.update.end()));
}

// Some channels, and where their data stand among those of all.
struct Group {
  int first, channels, lanes;
  std::ptrdiff_t patch, perceived, row;

  Group(const Automaton& automaton, int first, int channels)
      : first(first),
        channels(channels),
        lanes(channels * L),
        patch(std::ptrdiff_t{9} * first * L),
        perceived(std::ptrdiff_t{automaton.shape().kernels} * automaton.perceive_gates() * first * L),
        row(static_cast<std::ptrdiff_t>(automaton.shape().update_row(first, 0, 0)) * L) {}
};

template <class Visit>
void each_group(const SoftGates& gates, const CellScratch& s, Visit visit) {
  const int channels = gates.automaton().shape().channels;
  for (int first = 0; first < channels; first += s.group_channels)
    visit(Group(gates.automaton(), first, std::min(s.group_channels, channels - first)));
}

// The patch of `group` for all nine places.
void load_patch(const Geometry& geometry, int block, const float* grid, const Group& group, float* patch) {
  for (int o = 0; o < 9; ++o)
    for (int c = 0; c < group.channels; ++c)
      load_block(geometry, block, grid + (group.first + c) * geometry.plane(), geometry.shift(o),
                 patch + o * group.lanes + c * L);
}

enum class Keep { kNothing, kValues };  // for the backward pass

// Fills the rows of the update network's input: own channels, then what all kernels perceive.
void perceive_all(const SoftGates& gates, const Geometry& geometry, int block, const float* grid, Keep keep,
                  CellScratch& s) {
  each_group(gates, s, [&](const Group& group) {
    float *patch = s.patch.data() + group.patch, *values = s.perceived.data() + group.perceived;
    load_patch(geometry, block, grid, group, patch);
    std::memcpy(&s.update[static_cast<std::size_t>(group.first) * L], patch + 4 * group.lanes,
                sizeof(float) * group.lanes);
    if (keep == Keep::kValues)
      gates.perceive_forward(group.channels, patch, values, s.update.data() + group.row);
    else
      gates.perceive_rows(group.channels, patch, values, s.update.data() + group.row);
  });
}

// Where the rows of the last update layer are when all are kept.
float* last_update_rows(const SoftGates& gates, CellScratch& s) {
  const AutomatonShape& shape = gates.automaton().shape();
  return &s.update[static_cast<std::size_t>(shape.update_inputs() + gates.automaton().update_gates() - shape.channels) *
                   L];
}

// All update layers; activations follow the input rows in s.update, one layer after the other if they are to be kept,
// else in two places by turns. Returns the last layer's rows.
const float* update_forward(const SoftGates& gates, Keep keep, CellScratch& s) {
  float* in = s.update.data();
  const auto& plans = gates.update_plans();
  float* places[2] = {s.spare[0].data(), s.spare[1].data()};
  for (std::size_t l = 0; l < plans.size(); ++l) {
    float* out = keep == Keep::kValues ? in + static_cast<std::ptrdiff_t>(plans[l].inputs) * L : places[l % 2];
    gate_layer_forward(plans[l], gates.coefficients(gates.update_first(static_cast<int>(l))), L, in, out);
    in = out;
  }
  return in;
}

// From the gradient in the last layer's rows back to that in the input rows, each in the place of the values.
void update_backward(const SoftGates& gates, CellScratch& s, float* dc) {
  const auto& plans = gates.update_plans();
  float* dout = last_update_rows(gates, s);
  for (int l = static_cast<int>(plans.size()) - 1; l >= 0; --l) {
    float* values = dout - static_cast<std::ptrdiff_t>(plans[l].inputs) * L;
    const int first = gates.update_first(l);
    gate_layer_backward(plans[l], gates.coefficients(first), L, values, dout, s.spare[0].data(),
                        dc + 4 * static_cast<std::ptrdiff_t>(first));
    dout = values;
  }
}

}  // namespace

CellScratch::CellScratch(const SoftGates& gates) {
  const AutomatonShape& shape = gates.automaton().shape();
  group_channels = std::min(shape.channels, kGroupLanes / L);
  const auto lanes = static_cast<std::size_t>(group_channels) * L;
  const auto kernel_gates = static_cast<std::size_t>(gates.automaton().perceive_gates());
  patch.resize(std::size_t{9} * shape.channels * L + kSpill);
  perceived.resize(kernel_gates * shape.kernels * shape.channels * L);
  dpatch.resize(9 * lanes);
  update.resize(static_cast<std::size_t>(shape.update_inputs() + gates.automaton().update_gates()) * L);
  dout.resize(static_cast<std::size_t>(shape.channels) * L + kSpill);
  const std::size_t floats = std::max<std::size_t>(widest(shape) * L, gates.perceive_spare_rows() * lanes);
  for (auto& buffer : spare) buffer.resize(floats);
}

void cell_block_forward(const SoftGates& gates, const Geometry& geometry, int block, const float* grid,
                        const float* fire, CellScratch& s, float* next) {
  const int channels = gates.automaton().shape().channels;
  perceive_all(gates, geometry, block, grid, Keep::kNothing, s);
  const float* out = update_forward(gates, Keep::kNothing, s);
  for (int c = 0; c < channels; ++c) {
    const float* row = out + c * L;
    alignas(64) float kept[L];
    if (fire) {
      const float* old = &s.update[static_cast<std::size_t>(c) * L];
      for (int i = 0; i < L; ++i) kept[i] = fire[i] != 0 ? row[i] : old[i];
      row = kept;
    }
    store_block(geometry, block, row, next + c * geometry.plane());
  }
}

void cell_block_backward(const SoftGates& gates, const Geometry& geometry, int block, const float* grid,
                         const float* fire, const float* dout, CellScratch& s, float* dpatch_planes, float* dc) {
  const AutomatonShape& shape = gates.automaton().shape();
  perceive_all(gates, geometry, block, grid, Keep::kValues, s);
  update_forward(gates, Keep::kValues, s);
  float* dlast = last_update_rows(gates, s);
  for (int i = 0; i < shape.channels * L; ++i) dlast[i] = fire ? dout[i] * fire[i % L] : dout[i];
  update_backward(gates, s, dc);
  const float* dinput = s.update.data();

  each_group(gates, s, [&](const Group& group) {
    std::fill_n(s.dpatch.data(), 9 * group.lanes, 0.0f);
    // The cell's own channels feed the update directly; an unfired cell hands its gradient straight on.
    float* centre = s.dpatch.data() + 4 * group.lanes;
    for (int i = 0; i < group.lanes; ++i) {
      const int at = group.first * L + i;
      centre[i] = dinput[at] + (fire ? dout[at] * (1 - fire[i % L]) : 0.0f);
    }
    gates.perceive_backward(group.channels, s.patch.data() + group.patch, s.perceived.data() + group.perceived,
                            dinput + group.row, s.spare[0].data(), s.dpatch.data(), dc);
    for (int o = 0; o < 9; ++o)
      for (int c = 0; c < group.channels; ++c)
        store_block(
            geometry, block, s.dpatch.data() + o * group.lanes + c * L,
            dpatch_planes + (static_cast<std::size_t>(o) * shape.channels + group.first + c) * geometry.plane());
  });
}

void cell_block_gather(const Geometry& geometry, int channels, int block, const float* dpatch, float* dstate) {
  for (int c = 0; c < channels; ++c)
    gather_block(geometry, block, dpatch + c * geometry.plane(), channels * geometry.plane(), dstate + c * L);
}

}  // namespace espalier
