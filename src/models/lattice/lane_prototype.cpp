#include "models/lattice/lane_prototype.hpp"

#include <algorithm>

namespace espalier::reference {
namespace {

constexpr int kLanes = 64, kSums = 16;

struct Row {
  float lane[kLanes];
  float& operator[](int i) { return lane[i]; }
  operator float*() { return lane; }
  operator const float*() const { return lane; }
};

// The thread sanitizer's run time does not exist yet when the loader asks which clone to take.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define ESPALIER_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ESPALIER_CLONES
#endif

ESPALIER_CLONES void layer_forward(const Wiring& w, const float* c, const Row* in, Row* out) {
  for (int g = 0; g < w.outputs(); ++g, c += 4) {
    const float *a = in[w.a[g]], *b = in[w.b[g]];
    float* __restrict o = out[g].lane;
    for (int i = 0; i < kLanes; ++i) o[i] = c[0] + c[1] * a[i] + c[2] * b[i] + c[3] * a[i] * b[i];
  }
}

ESPALIER_CLONES void layer_backward(const Wiring& w, const float* c, const Row* in, const Row* dout, Row* din,
                                    float* dc) {
  for (int g = 0; g < w.outputs(); ++g, c += 4, dc += 4) {
    const float *a = in[w.a[g]], *b = in[w.b[g]], *d = dout[g];
    float *da = din[w.a[g]], *db = din[w.b[g]];
    float sums[4][kSums] = {};
    for (int at = 0; at < kLanes; at += kSums)
      for (int i = 0; i < kSums; ++i) {
        const float x = a[at + i], y = b[at + i], z = d[at + i];
        sums[0][i] += z;
        sums[1][i] += z * x;
        sums[2][i] += z * y;
        sums[3][i] += z * x * y;
      }
    for (int i = 0; i < kLanes; ++i) da[i] += d[i] * (c[1] + c[3] * b[i]);
    for (int i = 0; i < kLanes; ++i) db[i] += d[i] * (c[2] + c[3] * a[i]);
    for (int k = 0; k < 4; ++k)
      for (const float sum : sums[k]) dc[k] += sum;
  }
}

}  // namespace

struct LanePrototype::Block {
  int cells = 0;              // in use, at most 64
  std::vector<Row> patch;     // [C][9]
  std::vector<Row> perceive;  // [C][K][gates of a kernel]
  std::vector<Row> update;    // inputs, then all layers
  std::vector<Row> dpatch, dperceive, dupdate;
};

LanePrototype::LanePrototype(const Automaton& automaton, const RolloutOptions& options, std::vector<float> coefficients)
    : automaton_(automaton),
      options_(options),
      coefficients_(std::move(coefficients)),
      channels_(automaton.options().channels),
      cells_(options.batch * options.height * options.width),
      neighbour_(static_cast<std::size_t>(9) * cells_),
      grids_(static_cast<std::size_t>(options.steps + 1) * channels_ * cells_) {
  const int h = options.height, w = options.width;
  for (int o = 0; o < 9; ++o)
    for (int cell = 0; cell < cells_; ++cell) {
      int y = cell / w % h + o / 3 - 1, x = cell % w + o % 3 - 1;
      const bool outside = y < 0 || y >= h || x < 0 || x >= w;
      y = (y + h) % h, x = (x + w) % w;
      neighbour_[static_cast<std::size_t>(o) * cells_ + cell] =
          outside && automaton.options().boundary == Boundary::kZero ? -1 : (cell / (h * w) * h + y) * w + x;
    }
}

void LanePrototype::forward(const float* grid, int first, Block& block) const {
  const AutomatonOptions& s = automaton_.options();
  const int gates = automaton_.perceive().gates_per_copy();
  block.cells = std::min(kLanes, cells_ - first);
  for (int c = 0; c < channels_; ++c)
    for (int o = 0; o < 9; ++o)
      for (int i = 0; i < kLanes; ++i) {
        const int from = i < block.cells ? neighbour_[static_cast<std::size_t>(o) * cells_ + first + i] : -1;
        block.patch[c * 9 + o][i] = from < 0 ? 0 : grid[static_cast<std::size_t>(c) * cells_ + from];
      }
  for (int c = 0; c < channels_; ++c) {
    block.update[c] = block.patch[c * 9 + 4];
    for (int k = 0; k < s.kernels; ++k) {
      const Row* in = &block.patch[c * 9];
      Row* out = &block.perceive[(c * s.kernels + k) * gates];
      for (int l = 0; l < static_cast<int>(s.perceive.size()); ++l) {
        layer_forward(automaton_.perceive().layers()[l], &coefficients_[4 * automaton_.perceive().gate_number(k, l, 0)],
                      in, out);
        in = out;
        out += automaton_.perceive().layers()[l].outputs();
      }
      for (int o = 0; o < s.perceive_outputs(); ++o) block.update[s.update_row(c, o, k)] = in[o];
    }
  }
  Row* in = block.update.data();
  for (int l = 0; l < static_cast<int>(s.update.size()); ++l) {
    Row* out = in + automaton_.update().layers()[l].inputs;
    layer_forward(automaton_.update().layers()[l], &coefficients_[4 * automaton_.update_gate(l, 0)], in, out);
    in = out;
  }
}

void LanePrototype::backward(int first, const float* dnext, Block& block, float* dgrid, float* dc) const {
  const AutomatonOptions& s = automaton_.options();
  const int gates = automaton_.perceive().gates_per_copy();
  for (auto* rows : {&block.dpatch, &block.dperceive, &block.dupdate}) std::fill(rows->begin(), rows->end(), Row{});
  Row* dout = &block.dupdate[block.dupdate.size() - channels_];
  for (int c = 0; c < channels_; ++c)
    for (int i = 0; i < block.cells; ++i) dout[c][i] = dnext[static_cast<std::size_t>(c) * cells_ + first + i];
  for (int l = static_cast<int>(s.update.size()) - 1; l >= 0; --l) {
    const Wiring& w = automaton_.update().layers()[l];
    Row* din = dout - w.inputs;
    const int gate = automaton_.update_gate(l, 0);
    layer_backward(w, &coefficients_[4 * gate], &block.update[din - block.dupdate.data()], dout, din, dc + 4 * gate);
    dout = din;
  }
  for (int c = 0; c < channels_; ++c) {
    block.dpatch[c * 9 + 4] = block.dupdate[c];
    for (int k = 0; k < s.kernels; ++k) {
      Row* values = &block.perceive[(c * s.kernels + k) * gates];
      Row* dvalues = &block.dperceive[(c * s.kernels + k) * gates];
      int start = gates - s.perceive_outputs();
      for (int o = 0; o < s.perceive_outputs(); ++o) dvalues[start + o] = block.dupdate[s.update_row(c, o, k)];
      for (int l = static_cast<int>(s.perceive.size()) - 1; l >= 0; --l) {
        const Wiring& w = automaton_.perceive().layers()[l];
        const int below = l ? start - w.inputs : 0, gate = automaton_.perceive().gate_number(k, l, 0);
        layer_backward(w, &coefficients_[4 * gate], l ? values + below : &block.patch[c * 9], dvalues + start,
                       l ? dvalues + below : &block.dpatch[c * 9], dc + 4 * gate);
        start = below;
      }
    }
    for (int o = 0; o < 9; ++o)
      for (int i = 0; i < block.cells; ++i) {
        const int to = neighbour_[static_cast<std::size_t>(o) * cells_ + first + i];
        if (to >= 0) dgrid[static_cast<std::size_t>(c) * cells_ + to] += block.dpatch[c * 9 + o][i];
      }
  }
}

double LanePrototype::step(std::span<const float> initial, std::span<const float> target, int loss_channels,
                           std::vector<float>& dc) {
  const std::size_t size = static_cast<std::size_t>(channels_) * cells_;
  const int board = options_.height * options_.width;
  Block block;
  block.patch = std::vector<Row>(channels_ * 9);
  block.perceive = std::vector<Row>(static_cast<std::size_t>(channels_) * automaton_.options().kernels *
                                    automaton_.perceive().gates_per_copy());
  block.update = std::vector<Row>(automaton_.options().update_inputs() + automaton_.update().gates());
  block.dpatch = std::vector<Row>(block.patch.size());
  block.dperceive = std::vector<Row>(block.perceive.size());
  block.dupdate = std::vector<Row>(block.update.size());
  for (int n = 0; n < options_.batch; ++n)
    for (int c = 0; c < channels_; ++c)
      std::copy_n(&initial[static_cast<std::size_t>(n * channels_ + c) * board], board,
                  grid(0) + c * cells_ + n * board);
  for (int t = 0; t < options_.steps; ++t)
    for (int first = 0; first < cells_; first += kLanes) {
      forward(grid(t), first, block);
      for (int c = 0; c < channels_; ++c)
        std::copy_n(block.update[block.update.size() - channels_ + c].lane, block.cells,
                    grid(t + 1) + c * cells_ + first);
    }
  std::vector<float> dstate(size, 0.0f);
  double loss = 0;
  for (int n = 0; n < options_.batch; ++n)
    for (int c = 0; c < loss_channels; ++c)
      for (int i = 0; i < board; ++i) {
        const std::size_t at = static_cast<std::size_t>(c) * cells_ + n * board + i;
        const float error =
            grid(options_.steps)[at] - target[static_cast<std::size_t>(n * loss_channels + c) * board + i];
        dstate[at] = 2 * error;
        loss += static_cast<double>(error) * error;
      }
  for (int t = options_.steps - 1; t >= 0; --t) {
    std::vector<float> before(size, 0.0f);
    for (int first = 0; first < cells_; first += kLanes) {
      forward(grid(t), first, block);
      backward(first, dstate.data(), block, before.data(), dc.data());
    }
    dstate = std::move(before);
  }
  return loss;
}

}  // namespace espalier::reference
