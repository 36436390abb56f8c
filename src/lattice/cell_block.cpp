#include "espalier/lattice/cell_block.hpp"

#include <algorithm>
#include <cstring>

#include "espalier/logic/gate_kernels.hpp"
#include "lattice/block_copy.hpp"

namespace espalier {
namespace {

constexpr int L = kBlockCells;
constexpr int kGroupLanes = 256;  // nine patch rows of so many lanes, and their gradients, fit in L1
constexpr std::size_t kSpill = 8;

int widest(const AutomatonShape& s) {
  return std::max(s.update_inputs(), *std::max_element(s.update.begin(), s.update.end()));
}

struct Group {
  int first, channels, lanes;
  Group(int first, int channels) : first(first), channels(channels), lanes(channels * L) {}
};

// Where the perception of a group stands among the rows of the update network's input.
template <class Float>
Float* perceived_rows(const SoftGates& gates, const Group& group, Float* rows) {
  return rows + static_cast<std::ptrdiff_t>(gates.automaton().shape().update_row(group.first, 0, 0)) * L;
}

// The patch of `group` for all nine places.
void load_patch(const Geometry& geometry, int block, const float* grid, const Group& group, float* patch) {
  for (int o = 0; o < 9; ++o)
    for (int c = 0; c < group.channels; ++c)
      load_block(geometry, block, grid + (group.first + c) * geometry.plane(), geometry.shift(o),
                 patch + o * group.lanes + c * L);
}

// Fills the rows of the update network's input: own channels, then what all kernels perceive.
void perceive_all(const SoftGates& gates, const Geometry& geometry, int block, const float* grid, CellScratch& s) {
  const int channels = gates.automaton().shape().channels;
  for (int first = 0; first < channels; first += s.group_channels) {
    const Group group(first, std::min(s.group_channels, channels - first));
    load_patch(geometry, block, grid, group, s.patch.data());
    std::memcpy(&s.update[static_cast<std::size_t>(first) * L], &s.patch[4 * static_cast<std::size_t>(group.lanes)],
                sizeof(float) * group.lanes);
    gates.perceive_forward(group.channels, s.patch.data(), perceived_rows(gates, group, s.update.data()), s.layers);
  }
}

// All update layers; activations follow the input rows in s.update. Returns the last layer's rows.
const float* update_forward(const SoftGates& gates, CellScratch& s) {
  float* in = s.update.data();
  const auto& plans = gates.update_plans();
  for (std::size_t l = 0; l < plans.size(); ++l) {
    float* out = in + static_cast<std::ptrdiff_t>(plans[l].inputs) * L;
    gate_layer_forward(plans[l], gates.coefficients(gates.update_first(static_cast<int>(l))), L, in, out);
    in = out;
  }
  return in;
}

// From dout in s.dupdate[0] back to the update inputs; returns the buffer that holds their gradient.
float* update_backward(const SoftGates& gates, CellScratch& s, float* dc) {
  const auto& plans = gates.update_plans();
  std::ptrdiff_t at = 0;
  for (const LayerPlan& plan : plans) at += static_cast<std::ptrdiff_t>(plan.inputs) * L;
  float *dout = s.dupdate[0].data(), *din = s.dupdate[1].data();
  for (int l = static_cast<int>(plans.size()) - 1; l >= 0; --l) {
    at -= static_cast<std::ptrdiff_t>(plans[l].inputs) * L;
    const int first = gates.update_first(l);
    gate_layer_backward(plans[l], gates.coefficients(first), L, s.update.data() + at, dout, din,
                        dc + 4 * static_cast<std::ptrdiff_t>(first));
    std::swap(dout, din);
  }
  return dout;
}

}  // namespace

CellScratch::CellScratch(const SoftGates& gates) {
  const AutomatonShape& shape = gates.automaton().shape();
  group_channels = std::min(shape.channels, kGroupLanes / L);
  const auto lanes = static_cast<std::size_t>(group_channels) * L;
  patch.resize(9 * lanes + kSpill);
  dpatch.resize(9 * lanes + kSpill);
  layers.resize(gates.perceive_scratch(group_channels));
  update.resize(static_cast<std::size_t>(shape.update_inputs() + gates.automaton().update_gates()) * L);
  for (auto& buffer : dupdate) buffer.resize(static_cast<std::size_t>(widest(shape)) * L);
}

void cell_block_forward(const SoftGates& gates, const Geometry& geometry, int block, const float* grid,
                        const float* fire, CellScratch& s, float* next) {
  const int channels = gates.automaton().shape().channels;
  perceive_all(gates, geometry, block, grid, s);
  const float* out = update_forward(gates, s);
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
  perceive_all(gates, geometry, block, grid, s);
  update_forward(gates, s);
  for (int i = 0; i < shape.channels * L; ++i) s.dupdate[0][i] = fire ? dout[i] * fire[i % L] : dout[i];
  const float* dinput = update_backward(gates, s, dc);

  for (int first = 0; first < shape.channels; first += s.group_channels) {
    const Group group(first, std::min(s.group_channels, shape.channels - first));
    load_patch(geometry, block, grid, group, s.patch.data());
    std::fill_n(s.dpatch.data(), 9 * group.lanes, 0.0f);
    // The cell's own channels feed the update directly; an unfired cell hands its gradient straight on.
    float* centre = s.dpatch.data() + 4 * group.lanes;
    for (int i = 0; i < group.lanes; ++i) {
      const int at = first * L + i;
      centre[i] = dinput[at] + (fire ? dout[at] * (1 - fire[i % L]) : 0.0f);
    }
    gates.perceive_backward(group.channels, s.patch.data(), perceived_rows(gates, group, dinput), s.dpatch.data(), dc,
                            s.layers);
    for (int o = 0; o < 9; ++o)
      for (int c = 0; c < group.channels; ++c)
        store_block(geometry, block, s.dpatch.data() + o * group.lanes + c * L,
                    dpatch_planes + (static_cast<std::size_t>(o) * shape.channels + first + c) * geometry.plane());
  }
}

void cell_block_gather(const Geometry& geometry, int channels, int block, const float* dpatch, float* dstate) {
  std::fill_n(dstate, channels * L, 0.0f);
  for (int c = 0; c < channels; ++c)
    for (int o = 0; o < 9; ++o)
      add_block(geometry, block, dpatch + (static_cast<std::size_t>(o) * channels + c) * geometry.plane(),
                -geometry.shift(o), dstate + c * L);
}

}  // namespace espalier
