// The automaton as the formulas say it: one cell after the other, one gate after the other, no vectors, no
// threads. Templated on the number type: float to compare with the fast code, double for finite differences.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "espalier/gates.hpp"
#include "espalier/random.hpp"
#include "espalier/rollout.hpp"

namespace espalier::reference {

template <class T>
struct SoftGate {
  T p[kGates], c[4];
};

// p = softmax(logits / temperature), c = M^T p.
template <class T>
SoftGate<T> soften(const T* logits, T temperature) {
  SoftGate<T> gate{};
  const T top = *std::max_element(logits, logits + kGates);
  // Sums in double: a rounding error in a coefficient is the same in every layer and step, and adds up.
  double total = 0, c[4] = {};
  for (int i = 0; i < kGates; ++i) total += gate.p[i] = std::exp((logits[i] - top) / temperature);
  for (int i = 0; i < kGates; ++i) {
    gate.p[i] = static_cast<T>(gate.p[i] / total);
    for (int k = 0; k < 4; ++k) c[k] += gate.p[i] * static_cast<double>(kGateCoefficients[i][k]);
  }
  for (int k = 0; k < 4; ++k) gate.c[k] = static_cast<T>(c[k]);
  return gate;
}

// dl_i = p_i (dp_i - sum_j p_j dp_j) / temperature, dp = M dc; dp counts from that of the likeliest gate, or little
// would be left of the difference where one gate has nearly all of p.
template <class T>
void soften_backward(const SoftGate<T>& gate, const T* dc, T temperature, T* dlogits) {
  T dp[kGates] = {}, mean = 0;
  const auto& base = kGateCoefficients[std::max_element(gate.p, gate.p + kGates) - gate.p];
  for (int i = 0; i < kGates; ++i) {
    for (int k = 0; k < 4; ++k) dp[i] += (kGateCoefficients[i][k] - base[k]) * dc[k];
    mean += gate.p[i] * dp[i];
  }
  for (int i = 0; i < kGates; ++i) dlogits[i] += gate.p[i] * (dp[i] - mean) / temperature;
}

template <class T>
class AutomatonReference {
 public:
  // logits: [gates][16] in the order of the parameters.
  // straight: the likeliest gate alone computes, the gradient is that of the soft choice.
  AutomatonReference(const Automaton& automaton, std::span<const T> logits, T temperature = 1, bool straight = false)
      : automaton_(automaton), shape_(automaton.shape()), temperature_(temperature) {
    for (std::size_t g = 0; g < logits.size() / kGates; ++g) {
      gates_.push_back(soften(&logits[g * kGates], temperature));
      SoftGate<T>& gate = gates_.back();
      if (straight) std::ranges::copy(kGateCoefficients[std::max_element(gate.p, gate.p + kGates) - gate.p], gate.c);
    }
    dc_.assign(gates_.size() * 4, T{0});
  }

  // The states after 0..T steps; each [batch][C][H][W].
  void forward(const RolloutShape& r, std::span<const T> initial, std::uint64_t fire_seed = 0,
               std::uint32_t fire_step = 0) {
    rollout_ = r;
    fire_ = Random(fire_seed, Purpose::kFire, fire_step);
    states_.assign(1, std::vector<T>(initial.begin(), initial.end()));
    for (int t = 0; t < r.steps; ++t) {
      states_.push_back(states_.back());
      each_cell([&](int n, int y, int x) {
        if (!fires(t, n, y, x)) return;
        const Activations act = cell_forward(states_[t], n, y, x);
        for (int c = 0; c < shape_.channels; ++c) states_[t + 1][index(n, c, y, x)] = act.update.back()[c];
      });
    }
  }

  T loss(std::span<const T> target, int loss_channels) {
    dstate_.assign(states_.back().size(), T{0});
    T sum = 0;
    for (int n = 0; n < rollout_.batch; ++n)
      for (int c = 0; c < loss_channels; ++c)
        for (int y = 0; y < rollout_.height; ++y)
          for (int x = 0; x < rollout_.width; ++x) {
            const std::size_t t =
                ((static_cast<std::size_t>(n) * loss_channels + c) * rollout_.height + y) * rollout_.width + x;
            const T error = states_.back()[index(n, c, y, x)] - target[t];
            sum += error * error;
            dstate_[index(n, c, y, x)] = 2 * error;
          }
    return sum;
  }

  // Gradients of the logits, [gates][16]; the gradient of the initial state is left in dstate().
  std::vector<T> backward() {
    for (int t = rollout_.steps - 1; t >= 0; --t) {
      std::vector<T> dprevious(dstate_.size(), T{0});
      each_cell([&](int n, int y, int x) {
        if (fires(t, n, y, x))
          cell_backward(states_[t], n, y, x, dprevious);
        else
          for (int c = 0; c < shape_.channels; ++c) dprevious[index(n, c, y, x)] += dstate_[index(n, c, y, x)];
      });
      dstate_ = std::move(dprevious);
    }
    std::vector<T> dlogits(gates_.size() * kGates, T{0});
    for (std::size_t g = 0; g < gates_.size(); ++g)
      soften_backward(gates_[g], &dc_[g * 4], temperature_, &dlogits[g * kGates]);
    return dlogits;
  }

  const std::vector<T>& state(int t) const { return states_[t]; }
  const std::vector<T>& dstate() const { return dstate_; }

 private:
  using Rows = std::vector<std::vector<T>>;  // one vector a layer
  struct Activations {
    std::vector<Rows> perceive;  // [channel * K + kernel] -> patch, then every layer
    Rows update;                 // input, then every layer
  };

  template <class Visit>
  void each_cell(Visit visit) const {
    for (int n = 0; n < rollout_.batch; ++n)
      for (int y = 0; y < rollout_.height; ++y)
        for (int x = 0; x < rollout_.width; ++x) visit(n, y, x);
  }
  std::size_t index(int n, int c, int y, int x) const {
    return ((static_cast<std::size_t>(n) * shape_.channels + c) * rollout_.height + y) * rollout_.width + x;
  }
  bool fires(int t, int n, int y, int x) const {
    if (rollout_.fire_rate >= 1) return true;
    const std::uint64_t cell = (static_cast<std::uint64_t>(n) * rollout_.height + y) * rollout_.width + x;
    const std::uint64_t cells = static_cast<std::uint64_t>(rollout_.batch) * rollout_.height * rollout_.width;
    const std::uint64_t padded = (cells + kBlockCells - 1) / kBlockCells * kBlockCells;
    return fire_.uniform(t * padded + cell) < rollout_.fire_rate;
  }
  // Place o of the patch of (y, x); false when it lies outside a zero boundary.
  bool neighbour(int o, int& y, int& x) const {
    y += o / 3 - 1;
    x += o % 3 - 1;
    if (shape_.boundary == Boundary::kPeriodic) {
      y = (y + rollout_.height) % rollout_.height;
      x = (x + rollout_.width) % rollout_.width;
      return true;
    }
    return y >= 0 && y < rollout_.height && x >= 0 && x < rollout_.width;
  }

  static std::vector<T> layer_forward(const Wiring& w, const std::vector<T>& in,
                                      const std::function<const SoftGate<T>&(int)>& gate) {
    std::vector<T> out(w.outputs());
    for (int g = 0; g < w.outputs(); ++g) {
      const T a = in[w.a[g]], b = in[w.b[g]];
      const T* c = gate(g).c;
      out[g] = c[0] + c[1] * a + c[2] * b + c[3] * a * b;
    }
    return out;
  }
  std::vector<T> layer_backward(const Wiring& w, const std::vector<T>& in, const std::vector<T>& dout,
                                const std::function<std::int32_t(int)>& number) {
    std::vector<T> din(in.size(), T{0});
    for (int g = 0; g < w.outputs(); ++g) {
      const T a = in[w.a[g]], b = in[w.b[g]], d = dout[g];
      const T* c = gates_[number(g)].c;
      T* dc = &dc_[static_cast<std::size_t>(number(g)) * 4];
      din[w.a[g]] += d * (c[1] + c[3] * b);
      din[w.b[g]] += d * (c[2] + c[3] * a);
      dc[0] += d;
      dc[1] += d * a;
      dc[2] += d * b;
      dc[3] += d * a * b;
    }
    return din;
  }

  Activations cell_forward(const std::vector<T>& grid, int n, int y, int x) const {
    Activations act;
    std::vector<T> input(shape_.update_inputs());
    for (int c = 0; c < shape_.channels; ++c) {
      input[c] = grid[index(n, c, y, x)];
      std::vector<T> patch(9);
      for (int o = 0; o < 9; ++o) {
        int py = y, px = x;
        patch[o] = neighbour(o, py, px) ? grid[index(n, c, py, px)] : T{0};
      }
      for (int k = 0; k < shape_.kernels; ++k) {
        Rows rows{patch};
        for (int l = 0; l < static_cast<int>(automaton_.perceive().size()); ++l)
          rows.push_back(layer_forward(automaton_.perceive()[l], rows.back(), [&](int g) -> const SoftGate<T>& {
            return gates_[automaton_.perceive_gate(k, l, g)];
          }));
        for (int o = 0; o < shape_.perceive_outputs(); ++o) input[shape_.update_row(c, o, k)] = rows.back()[o];
        act.perceive.push_back(std::move(rows));
      }
    }
    act.update.push_back(std::move(input));
    for (int l = 0; l < static_cast<int>(automaton_.update().size()); ++l)
      act.update.push_back(layer_forward(automaton_.update()[l], act.update.back(), [&](int g) -> const SoftGate<T>& {
        return gates_[automaton_.update_gate(l, g)];
      }));
    return act;
  }

  void cell_backward(const std::vector<T>& grid, int n, int y, int x, std::vector<T>& dgrid) {
    const Activations act = cell_forward(grid, n, y, x);
    std::vector<T> d(shape_.channels);
    for (int c = 0; c < shape_.channels; ++c) d[c] = dstate_[index(n, c, y, x)];
    for (int l = static_cast<int>(automaton_.update().size()) - 1; l >= 0; --l)
      d = layer_backward(automaton_.update()[l], act.update[l], d, [&](int g) { return automaton_.update_gate(l, g); });
    for (int c = 0; c < shape_.channels; ++c) {
      dgrid[index(n, c, y, x)] += d[c];
      for (int k = 0; k < shape_.kernels; ++k) {
        const Rows& rows = act.perceive[static_cast<std::size_t>(c) * shape_.kernels + k];
        std::vector<T> dk(shape_.perceive_outputs());
        for (int o = 0; o < shape_.perceive_outputs(); ++o) dk[o] = d[shape_.update_row(c, o, k)];
        for (int l = static_cast<int>(automaton_.perceive().size()) - 1; l >= 0; --l)
          dk = layer_backward(automaton_.perceive()[l], rows[l], dk,
                              [&](int g) { return automaton_.perceive_gate(k, l, g); });
        for (int o = 0; o < 9; ++o) {
          int py = y, px = x;
          if (neighbour(o, py, px)) dgrid[index(n, c, py, px)] += dk[o];
        }
      }
    }
  }

  const Automaton& automaton_;
  const AutomatonShape& shape_;
  T temperature_;
  RolloutShape rollout_;
  Random fire_{0, Purpose::kFire};
  std::vector<SoftGate<T>> gates_;
  std::vector<T> dc_, dstate_;
  std::vector<std::vector<T>> states_;
};

}  // namespace espalier::reference
