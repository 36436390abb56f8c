#include "espalier/lattice/cell_block.hpp"

#include <algorithm>
#include <cstring>

#include "espalier/logic/gate_kernels.hpp"
#include "lattice/block_copy.hpp"

namespace espalier {
namespace {

constexpr int L = kBlockCells;
constexpr int kGroupLanes = 128;  // nine patch rows and a kernel's activations of so many lanes fit in L1
constexpr std::size_t kSpill = 8;

int widest(const AutomatonShape& s) {
  return std::max(s.update_inputs(), *std::max_element(s.update.begin(), s.update.end()));
}

struct Group {
  int first, channels, lanes;
};

// The patch of `group` for all nine places.
void load_patch(const Geometry& geometry, int block, const float* grid, const Group& group, float* patch) {
  for (int o = 0; o < 9; ++o)
    for (int c = 0; c < group.channels; ++c)
      load_block(geometry, block, grid + (group.first + c) * geometry.plane(), geometry.shift(o),
                 patch + o * group.lanes + c * L);
}

// All layers of kernel k; returns the rows of the last layer.
const float* perceive_forward(const SoftGates& gates, int k, int lanes, const float* patch, float* rows) {
  const float* in = patch;
  const auto& plans = gates.perceive_plans();
  for (std::size_t l = 0; l < plans.size(); ++l) {
    gate_layer_forward(plans[l], gates.coefficients(gates.perceive_first(k, static_cast<int>(l))), lanes, in, rows);
    in = rows;
    rows += static_cast<std::ptrdiff_t>(plans[l].outputs) * lanes;
  }
  return in;
}

// dlast holds the gradient of the last layer, in the place of that layer's rows in `drows`; adds to dpatch.
void perceive_backward(const SoftGates& gates, int k, int lanes, const float* patch, const float* rows, float* drows,
                       float* dpatch, float* dc) {
  const auto& plans = gates.perceive_plans();
  std::ptrdiff_t end = 0;
  for (const LayerPlan& plan : plans) end += static_cast<std::ptrdiff_t>(plan.outputs) * lanes;
  for (int l = static_cast<int>(plans.size()) - 1; l >= 0; --l) {
    const std::ptrdiff_t start = end - static_cast<std::ptrdiff_t>(plans[l].outputs) * lanes;
    const std::ptrdiff_t below = l ? start - static_cast<std::ptrdiff_t>(plans[l - 1].outputs) * lanes : 0;
    const int first = gates.perceive_first(k, l);
    gate_layer_backward(plans[l], gates.coefficients(first), lanes, l ? rows + below : patch, drows + start,
                        l ? drows + below : dpatch, dc + 4 * static_cast<std::ptrdiff_t>(first));
    end = start;
  }
}

// Fills the rows of the update network's input: own channels, then what all kernels perceive.
void perceive_all(const SoftGates& gates, const Geometry& geometry, int block, const float* grid, CellScratch& s) {
  const AutomatonShape& shape = gates.automaton().shape();
  for (int first = 0; first < shape.channels; first += s.group_channels) {
    const int channels = std::min(s.group_channels, shape.channels - first);
    const Group group{first, channels, channels * L};
    load_patch(geometry, block, grid, group, s.patch.data());
    std::memcpy(&s.update[static_cast<std::size_t>(first) * L], &s.patch[4 * static_cast<std::size_t>(group.lanes)],
                sizeof(float) * group.lanes);
    for (int k = 0; k < shape.kernels; ++k) {
      const float* last = perceive_forward(gates, k, group.lanes, s.patch.data(), s.perceive.data());
      for (int o = 0; o < shape.perceive_outputs(); ++o)
        for (int c = 0; c < channels; ++c)
          std::memcpy(&s.update[static_cast<std::size_t>(shape.update_row(first + c, o, k)) * L],
                      last + o * group.lanes + c * L, sizeof(float) * L);
    }
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
  const auto rows = static_cast<std::size_t>(gates.automaton().perceive_gates());
  patch.resize(9 * lanes + kSpill);
  dpatch.resize(9 * lanes + kSpill);
  perceive.resize(rows * lanes);
  dperceive.resize(rows * lanes);
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

  const std::size_t last_rows = static_cast<std::size_t>(gates.automaton().perceive_gates() - shape.perceive_outputs());
  for (int first = 0; first < shape.channels; first += s.group_channels) {
    const int channels = std::min(s.group_channels, shape.channels - first);
    const Group group{first, channels, channels * L};
    load_patch(geometry, block, grid, group, s.patch.data());
    std::fill_n(s.dpatch.data(), 9 * group.lanes, 0.0f);
    // The cell's own channels feed the update directly; an unfired cell hands its gradient straight on.
    float* centre = s.dpatch.data() + 4 * group.lanes;
    for (int i = 0; i < group.lanes; ++i) {
      const int at = first * L + i;
      centre[i] = dinput[at] + (fire ? dout[at] * (1 - fire[i % L]) : 0.0f);
    }
    float* dlast = &s.dperceive[last_rows * group.lanes];
    for (int k = 0; k < shape.kernels; ++k) {
      perceive_forward(gates, k, group.lanes, s.patch.data(), s.perceive.data());
      for (int o = 0; o < shape.perceive_outputs(); ++o)
        for (int c = 0; c < channels; ++c)
          std::memcpy(dlast + o * group.lanes + c * L, dinput + shape.update_row(first + c, o, k) * L,
                      sizeof(float) * L);
      perceive_backward(gates, k, group.lanes, s.patch.data(), s.perceive.data(), s.dperceive.data(), s.dpatch.data(),
                        dc);
    }
    for (int o = 0; o < 9; ++o)
      for (int c = 0; c < channels; ++c)
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
