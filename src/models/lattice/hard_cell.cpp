#include "models/lattice/hard_cell.hpp"

#include <algorithm>

namespace espalier {
namespace {

class Builder {
 public:
  explicit Builder(int channels) { cell_.channels = channels; }

  std::int32_t add(Gate gate, std::int32_t a, std::int32_t b) {
    const auto f = [&](int va, int vb) -> int { return gate_value(gate, va, vb); };
    const auto known = [](std::int32_t v) { return v < HardCell::kFirstInput; };  // then the value is its own bit
    if (known(a) && known(b)) return f(a, b);
    if (known(a)) return unary(f(a, 0), f(a, 1), b);
    if (known(b)) return unary(f(0, b), f(1, b), a);
    if (a == b) return unary(f(0, 0), f(1, 1), a);
    if (f(0, 0) == f(0, 1) && f(1, 0) == f(1, 1)) return unary(f(0, 0), f(1, 0), a);
    if (f(0, 0) == f(1, 0) && f(0, 1) == f(1, 1)) return unary(f(0, 0), f(0, 1), b);
    return push({gate, a, b});
  }

  HardCell finish(const std::vector<std::int32_t>& outputs) {
    // Keep what an output can see, in the same order.
    const std::int32_t first = cell_.first_op();
    std::vector<std::int32_t> moved(first + cell_.ops.size(), -1);
    std::vector<char> live(moved.size(), 0);
    for (const std::int32_t v : outputs) live[v] = 1;
    for (std::size_t i = cell_.ops.size(); i-- > 0;)
      if (live[first + i]) live[cell_.ops[i].a] = live[cell_.ops[i].b] = 1;
    for (std::int32_t v = 0; v < first; ++v) moved[v] = v;
    HardCell result;
    result.channels = cell_.channels;
    for (std::size_t i = 0; i < cell_.ops.size(); ++i) {
      if (!live[first + i]) continue;
      moved[first + i] = first + static_cast<std::int32_t>(result.ops.size());
      result.ops.push_back({cell_.ops[i].gate, moved[cell_.ops[i].a], moved[cell_.ops[i].b]});
    }
    for (const std::int32_t v : outputs) result.outputs.push_back(moved[v]);
    return result;
  }

  const HardCell& cell() const { return cell_; }

 private:
  // The function of one value: for0 when it is 0, for1 when it is 1.
  std::int32_t unary(int for0, int for1, std::int32_t v) {
    if (for0 == for1) return for0;
    return for1 ? v : push({Gate::kNotA, v, v});
  }
  std::int32_t push(HardCell::Op op) {
    cell_.ops.push_back(op);
    return cell_.first_op() + static_cast<std::int32_t>(cell_.ops.size()) - 1;
  }

  HardCell cell_;
};

std::vector<std::int32_t> add_layer(Builder& builder, const Wiring& w, const std::vector<std::int32_t>& in,
                                    const auto& gate) {
  std::vector<std::int32_t> out;
  for (int g = 0; g < w.outputs(); ++g) out.push_back(builder.add(gate(g), in[w.a[g]], in[w.b[g]]));
  return out;
}

}  // namespace

Gate hard_choice(const float* logits) { return static_cast<Gate>(std::max_element(logits, logits + kGates) - logits); }

HardCell harden(const Automaton& automaton, std::span<const float> logits) {
  const AutomatonShape& shape = automaton.shape();
  Builder builder(shape.channels);
  const auto choice = [&](std::int32_t gate) { return hard_choice(&logits[static_cast<std::size_t>(gate) * kGates]); };
  std::vector<std::int32_t> input(shape.update_inputs());
  for (int c = 0; c < shape.channels; ++c) {
    input[c] = builder.cell().input(4, c);
    for (int k = 0; k < shape.kernels; ++k) {
      std::vector<std::int32_t> rows;
      for (int o = 0; o < 9; ++o) rows.push_back(builder.cell().input(o, c));
      for (int l = 0; l < static_cast<int>(automaton.perceive().size()); ++l)
        rows = add_layer(builder, automaton.perceive()[l], rows,
                         [&](int g) { return choice(automaton.perceive_gate(k, l, g)); });
      for (int o = 0; o < shape.perceive_outputs(); ++o) input[shape.update_row(c, o, k)] = rows[o];
    }
  }
  for (int l = 0; l < static_cast<int>(automaton.update().size()); ++l)
    input =
        add_layer(builder, automaton.update()[l], input, [&](int g) { return choice(automaton.update_gate(l, g)); });
  return builder.finish(input);
}

GateCounts count_gates(std::span<const float> logits) {
  GateCounts counts;
  for (std::size_t at = 0; at < logits.size(); at += kGates) {
    const Gate gate = hard_choice(&logits[at]);
    ++counts.raw;
    counts.active += !is_wire(gate);
    ++counts.histogram[static_cast<int>(gate)];
  }
  return counts;
}

}  // namespace espalier
