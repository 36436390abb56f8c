// The automaton as the formulas say it: one cell after the other, one gate after the other, no vectors, no
// threads. Templated on the number type: float to compare with the fast code, double for finite differences.
#pragma once

#include <span>
#include <vector>

#include "espalier/logic_automaton.hpp"
#include "logic/gate_network_reference.hpp"
#include "models/lattice/geometry.hpp"

namespace espalier::reference {

template <class T>
class AutomatonReference {
 public:
  // logits: in the order of the parameters.
  AutomatonReference(const Automaton& automaton, std::span<const T> logits, T temperature = 1, bool straight = false)
      : automaton_(automaton),
        options_(automaton.options()),
        temperature_(temperature),
        gates_(soften_all(logits.first(automaton.gate_logits()), temperature, straight,
                          automaton.options().parametrisation)),
        wires_(soften_wires(automaton.update(), logits.subspan(automaton.gate_logits()), temperature, straight)),
        dc_(gates_.size() * 4, T{0}),
        dweights_(wires_.size(), T{0}) {}

  // The states after 0..T steps; each [batch][C][H][W].
  void forward(const RolloutOptions& r, std::span<const T> initial, std::uint64_t fire_seed = 0,
               std::uint32_t fire_step = 0) {
    rollout_ = r;
    fire_ = Random(fire_seed, Purpose::kFire, fire_step);
    states_.assign(1, std::vector<T>(initial.begin(), initial.end()));
    for (int t = 0; t < r.steps; ++t) {
      states_.push_back(states_.back());
      each_cell([&](int n, int y, int x) {
        if (!fires(t, n, y, x)) return;
        const Activations act = cell_forward(states_[t], n, y, x);
        for (int c = 0; c < options_.channels; ++c) states_[t + 1][index(n, c, y, x)] = act.update.back()[c];
      });
    }
  }

  T loss(std::span<const T> target, int loss_channels) {
    dlast_.assign(states_.back().size(), T{0});
    T sum = 0;
    for (int n = 0; n < rollout_.batch; ++n)
      for (int c = 0; c < loss_channels; ++c)
        for (int y = 0; y < rollout_.height; ++y)
          for (int x = 0; x < rollout_.width; ++x) {
            const std::size_t t =
                ((static_cast<std::size_t>(n) * loss_channels + c) * rollout_.height + y) * rollout_.width + x;
            const T error = states_.back()[index(n, c, y, x)] - target[t];
            sum += error * error;
            dlast_[index(n, c, y, x)] = 2 * error;
          }
    return sum;
  }

  // Gradients of the logits; the gradient of the initial state is left in dstate().
  std::vector<T> backward() {
    dstate_ = dlast_;
    for (int t = rollout_.steps - 1; t >= 0; --t) {
      std::vector<T> dprevious(dstate_.size(), T{0});
      each_cell([&](int n, int y, int x) {
        if (fires(t, n, y, x))
          cell_backward(states_[t], n, y, x, dprevious);
        else
          for (int c = 0; c < options_.channels; ++c) dprevious[index(n, c, y, x)] += dstate_[index(n, c, y, x)];
      });
      dstate_ = std::move(dprevious);
    }
    std::vector<T> dlogits = soften_all_backward<T>(gates_, dc_, temperature_, options_.parametrisation);
    const std::vector<T> dwires = soften_wires_backward<T>(automaton_.update(), wires_, dweights_, temperature_);
    dlogits.insert(dlogits.end(), dwires.begin(), dwires.end());
    return dlogits;
  }

  const std::vector<T>& state(int t) const { return states_[t]; }
  const std::vector<T>& dstate() const { return dstate_; }

 private:
  struct Activations {
    std::vector<Layers<T>> perceive;  // [channel * K + kernel]
    Layers<T> update;
  };

  template <class Visit>
  void each_cell(Visit visit) const {
    for (int n = 0; n < rollout_.batch; ++n)
      for (int y = 0; y < rollout_.height; ++y)
        for (int x = 0; x < rollout_.width; ++x) visit(n, y, x);
  }
  std::size_t index(int n, int c, int y, int x) const {
    return ((static_cast<std::size_t>(n) * options_.channels + c) * rollout_.height + y) * rollout_.width + x;
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
    if (options_.boundary == Boundary::kPeriodic) {
      y = (y + rollout_.height) % rollout_.height;
      x = (x + rollout_.width) % rollout_.width;
      return true;
    }
    return y >= 0 && y < rollout_.height && x >= 0 && x < rollout_.width;
  }

  std::span<const SoftGate<T>> perceive_gates() const {
    return std::span(gates_).first(static_cast<std::size_t>(automaton_.perceive().gates()));
  }
  std::span<const SoftGate<T>> update_gates() const { return std::span(gates_).subspan(perceive_gates().size()); }

  Activations cell_forward(const std::vector<T>& grid, int n, int y, int x) const {
    Activations act;
    std::vector<T> input(options_.update_inputs());
    for (int c = 0; c < options_.channels; ++c) {
      input[c] = grid[index(n, c, y, x)];
      std::vector<T> patch(9);
      for (int o = 0; o < 9; ++o) {
        int py = y, px = x;
        patch[o] = neighbour(o, py, px) ? grid[index(n, c, py, px)] : T{0};
      }
      for (int k = 0; k < options_.kernels; ++k) {
        act.perceive.push_back(network_forward(automaton_.perceive(), perceive_gates(), k, patch));
        for (int o = 0; o < options_.perceive_outputs(); ++o)
          input[options_.update_row(c, o, k)] = act.perceive.back().back()[o];
      }
    }
    act.update = network_forward<T>(automaton_.update(), update_gates(), 0, std::move(input), wires_);
    return act;
  }

  void cell_backward(const std::vector<T>& grid, int n, int y, int x, std::vector<T>& dgrid) {
    const Activations act = cell_forward(grid, n, y, x);
    const std::span<T> dc(dc_);
    std::vector<T> d(options_.channels);
    for (int c = 0; c < options_.channels; ++c) d[c] = dstate_[index(n, c, y, x)];
    d = network_backward<T>(automaton_.update(), update_gates(), 0, act.update, std::move(d),
                            dc.subspan(4 * perceive_gates().size()), wires_, dweights_);
    for (int c = 0; c < options_.channels; ++c) {
      dgrid[index(n, c, y, x)] += d[c];
      for (int k = 0; k < options_.kernels; ++k) {
        std::vector<T> dk(options_.perceive_outputs());
        for (int o = 0; o < options_.perceive_outputs(); ++o) dk[o] = d[options_.update_row(c, o, k)];
        dk = network_backward(automaton_.perceive(), perceive_gates(), k,
                              act.perceive[static_cast<std::size_t>(c) * options_.kernels + k], std::move(dk), dc);
        for (int o = 0; o < 9; ++o) {
          int py = y, px = x;
          if (neighbour(o, py, px)) dgrid[index(n, c, py, px)] += dk[o];
        }
      }
    }
  }

  Automaton automaton_;
  AutomatonOptions options_;
  T temperature_;
  RolloutOptions rollout_;
  Random fire_{0, Purpose::kFire};
  std::vector<SoftGate<T>> gates_;
  std::vector<SoftWire<T>> wires_;  // of the update network
  std::vector<T> dc_, dweights_, dlast_, dstate_;
  std::vector<std::vector<T>> states_;  // [T+1]
};

}  // namespace espalier::reference
