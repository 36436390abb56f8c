#include "models/lattice/block_step.hpp"

#include <algorithm>
#include <cstring>

#include "logic/unsealed_gates.hpp"

namespace espalier {
namespace {

constexpr int L = kBlockCells;
constexpr int kGroupLanes = 256;              // nine patch rows of so many lanes, and their gradients, fit in L1
constexpr std::size_t kPadding = kCopyCells;  // after the last row that is filled in eights

std::size_t floats(int rows) { return static_cast<std::size_t>(rows) * L; }

// The update network's rows in BlockScratch::update.
struct UpdateRows {
  std::span<float> in, values, outputs;
  UpdateRows(const GateNetwork& update, BlockScratch& s)
      : in(std::span(s.update).first(floats(update.inputs()))),
        values(std::span(s.update).subspan(in.size())),
        outputs(values.last(floats(update.outputs()))) {}
};

}  // namespace

BlockScratch::BlockScratch(const Automaton& automaton) {
  const int channels = automaton.options().channels;
  const GateNetwork &perceive = automaton.perceive(), &network = automaton.update();
  group_channels = std::min(channels, kGroupLanes / L);
  patch.resize(floats(9 * channels) + kPadding);
  perceived.resize(floats(channels) * perceive.gates());
  dpatch.resize(floats(9 * group_channels));
  update.resize(floats(network.inputs() + network.gates()));
  dout.resize(floats(channels) + kPadding);
  work.resize(std::max(floats(network.scratch_rows()), floats(group_channels) * perceive_scratch_rows(perceive)));
}

// Some channels, and where their data stand among those of all.
struct BlockStep::Group {
  int first, channels, lanes;
  std::ptrdiff_t patch, perceived, row;

  Group(const Automaton& automaton, int first, int channels)
      : first(first),
        channels(channels),
        lanes(channels * L),
        patch(std::ptrdiff_t{9} * first * L),
        perceived(std::ptrdiff_t{automaton.perceive().gates()} * first * L),
        row(std::ptrdiff_t{automaton.options().update_row(first, 0, 0)} * L) {}
};

BlockStep::BlockStep(const Automaton& automaton, const Geometry& geometry)
    : automaton_(automaton), geometry_(geometry), perception_(automaton.perceive()) {}

template <class Visit>
void BlockStep::each_group(const BlockScratch& s, Visit visit) const {
  const int channels = automaton_.options().channels;
  for (int first = 0; first < channels; first += s.group_channels)
    visit(Group(automaton_, first, std::min(s.group_channels, channels - first)));
}

// Fills the input rows of the update network: own channels, then what perceive(channels, patch, values, rows) sees.
template <class Perceive>
void BlockStep::perceive(const Geometry::Block& cells, const float* grid, BlockScratch& s, Perceive perceive) const {
  each_group(s, [&](const Group& group) {
    float* patch = s.patch.data() + group.patch;
    for (int o = 0; o < 9; ++o) {
      const float* plane = grid + group.first * geometry_.plane();
      const std::int32_t shift = geometry_.shift(o);
      for (int c = 0; c < group.channels; ++c, plane += geometry_.plane())
        load_block(cells, plane, shift, patch + o * group.lanes + c * L);
    }
    std::memcpy(&s.update[floats(group.first)], patch + 4 * group.lanes, sizeof(float) * group.lanes);
    perceive(group.channels, patch, s.perceived.data() + group.perceived, s.update.data() + group.row);
  });
}

void BlockStep::forward(std::span<const float> coefficients, const Geometry::Block& cells, const float* grid,
                        BlockScratch& s, float* next) const {
  const auto perceive_size = 4 * static_cast<std::size_t>(automaton_.perceive().gates());
  perceive(cells, grid, s, [&](int channels, const float* patch, float* values, float* rows) {
    perception_.forward_rows(coefficients, channels, patch, values, rows);
  });
  const float* out =
      automaton_.update()
          .forward_outputs(coefficients.subspan(perceive_size), L, UpdateRows(automaton_.update(), s).in, s.work)
          .data();
  for (int c = 0; c < automaton_.options().channels; ++c) store_block(cells, out + c * L, next + c * geometry_.plane());
}

void BlockStep::forward_still(const Geometry::Block& cells, const float* grid, BlockScratch& s, float* next) const {
  for (int c = 0; c < automaton_.options().channels; ++c) {
    load_block(cells, grid + c * geometry_.plane(), 0, s.patch.data());
    store_block(cells, s.patch.data(), next + c * geometry_.plane());
  }
}

void BlockStep::backward(std::span<const float> coefficients, const Geometry::Block& cells, const float* grid,
                         const float* dout, BlockScratch& s, float* dpatch_planes, std::span<float> dc) const {
  const int channels = automaton_.options().channels;
  const auto perceive_size = 4 * static_cast<std::size_t>(automaton_.perceive().gates());
  perceive(cells, grid, s, [&](int group_channels, const float* patch, float* values, float* rows) {
    perception_.forward(coefficients, group_channels, patch, values, rows);
  });
  const UpdateRows update(automaton_.update(), s);
  const UnsealedGates gates{automaton_.update()};
  gates.forward(coefficients.subspan(perceive_size), L, update.in, update.values);
  std::copy_n(dout, channels * L, update.outputs.data());
  gates.backward(coefficients.subspan(perceive_size), L, update.in, update.values, s.work, dc.subspan(perceive_size));
  const float* dinput = update.in.data();

  each_group(s, [&](const Group& group) {
    std::fill_n(s.dpatch.data(), 9 * group.lanes, 0.0f);
    // The cell's own channels feed the update directly.
    std::copy_n(dinput + group.first * L, group.lanes, s.dpatch.data() + 4 * group.lanes);
    perception_.backward(coefficients, group.channels, s.patch.data() + group.patch,
                         s.perceived.data() + group.perceived, dinput + group.row, s.work.data(), s.dpatch.data(), dc);
    for (int o = 0; o < 9; ++o) {
      float* plane = dpatch_planes + (static_cast<std::size_t>(o) * channels + group.first) * geometry_.plane();
      for (int c = 0; c < group.channels; ++c, plane += geometry_.plane())
        store_block(cells, s.dpatch.data() + o * group.lanes + c * L, plane);
    }
  });
}

void BlockStep::backward_still(const Geometry::Block& cells, const float* dout, float* dpatch_planes) const {
  const int channels = automaton_.options().channels;
  constexpr float kNothing[L] = {};
  for (int o = 0; o < 9; ++o)
    for (int c = 0; c < channels; ++c)
      store_block(cells, o == 4 ? dout + c * L : kNothing,
                  dpatch_planes + (static_cast<std::size_t>(o) * channels + c) * geometry_.plane());
}

void BlockStep::gather(const Geometry::Block& cells, const float* dpatch, float* dstate) const {
  const int channels = automaton_.options().channels;
  const float* planes[9];
  for (int o = 0; o < 9; ++o) planes[o] = dpatch + o * channels * geometry_.plane() - geometry_.shift(o);
  for (int c = 0; c < channels; ++c) {
    gather_block(cells, planes, dstate + c * L);
    for (const float*& plane : planes) plane += geometry_.plane();
  }
}

}  // namespace espalier
