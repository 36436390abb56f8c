#include "espalier/gate_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/arrays.hpp"
#include "espalier/error.hpp"
#include "logic/gate_kernels.hpp"
#include "logic/harden.hpp"

namespace espalier {
namespace {

constexpr std::size_t kVectorBytes = kLaneGroup * sizeof(float);

void check_wiring(const std::string& name, const std::vector<Wiring>& layers, int copies) {
  if (layers.empty()) fail(name, "no layers", "at least one");
  if (copies < 1) fail(name, fmt::format("{} copies", copies), "at least one");
  std::size_t gates = 0;
  for (const Wiring& w : layers) gates += w.a.size();
  if (gates > static_cast<std::size_t>(kMaxNetworkGates) / static_cast<std::size_t>(copies))
    fail(name, fmt::format("{} copies of {} gates", copies, gates), fmt::format("at most {} gates", kMaxNetworkGates));
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const Wiring& w = layers[l];
    if (w.inputs < 1 || w.a.empty() || w.b.size() != w.a.size())
      fail(name, fmt::format("layer {} of {} inputs, {} and {} wires", l, w.inputs, w.a.size(), w.b.size()),
           "inputs, and two wires per gate");
    if (l > 0 && w.inputs != layers[l - 1].outputs())
      fail(name, fmt::format("layer {} of {} inputs", l, w.inputs),
           fmt::format("{}, the gates of the layer before", layers[l - 1].outputs()));
    for (const auto* wires : {&w.a, &w.b})
      for (const std::int32_t wire : *wires)
        if (wire < 0 || wire >= w.inputs)
          fail(name, fmt::format("a wire from {} in layer {}", wire, l), fmt::format("0 to {}", w.inputs - 1));
  }
}

[[noreturn, gnu::noinline, gnu::cold]] void refuse_rows(std::string_view op, const char* what, std::size_t size,
                                                        std::size_t count, std::size_t lanes) {
  if (size < count * lanes)
    fail(op, fmt::format("{} floats of {}", size, what), fmt::format("{} rows of {}", count, lanes));
  fail(op, fmt::format("{} that are not aligned", what), "rows as in an AlignedVector");
}

// Rows that a vector may load and store; checked for every block of lanes, so it must cost next to nothing.
inline void check_rows(std::string_view op, const char* what, std::span<const float> rows, std::size_t count,
                       std::size_t lanes) {
  if (rows.size() < count * lanes || reinterpret_cast<std::uintptr_t>(rows.data()) % kVectorBytes) [[unlikely]]
    refuse_rows(op, what, rows.size(), count, lanes);
}

// Coefficients and their gradients, four to a gate: a part of them may begin at any gate.
inline void check_fours(std::string_view op, const char* what, std::span<const float> fours, std::size_t gates) {
  constexpr std::size_t kBytes = 4 * sizeof(float);
  if (fours.size() < 4 * gates || reinterpret_cast<std::uintptr_t>(fours.data()) % kBytes) [[unlikely]]
    refuse_rows(op, what, fours.size(), gates, 4);
}

}  // namespace

GateNetwork::GateNetwork(std::string name, std::vector<Wiring> layers, Parametrisation parametrisation)
    : GateNetwork(std::move(name), std::move(layers), 1, true, parametrisation) {}

GateNetwork::GateNetwork(std::string name, std::vector<Wiring> layers, int copies, Parametrisation parametrisation)
    : GateNetwork(std::move(name), std::move(layers), copies, false, parametrisation) {}

GateNetwork::GateNetwork(std::string name, std::vector<Wiring> layers, int copies, bool single,
                         Parametrisation parametrisation)
    : name_(std::move(name)),
      layers_(std::move(layers)),
      copies_(copies),
      single_(single),
      parametrisation_(parametrisation) {
  check_wiring(name_, layers_, copies);
  std::vector<LayerPlan> plans;
  for (const Wiring& w : layers_) {
    plans.push_back(plan_layer(w));
    gates_per_copy_ += w.outputs();
    widest_ = std::max(widest_, w.outputs());
    scratch_rows_ = std::max(scratch_rows_, static_cast<int>(plans.back().shared_rows.size()));
  }
  scratch_rows_ = std::max(scratch_rows_, 2 * widest_);  // two layers by turns when only the outputs are wanted
  order_.reserve(static_cast<std::size_t>(copies) * gates_per_copy_);
  for (int k = 0; k < copies; ++k)
    for (std::size_t l = 0; l < plans.size(); ++l)
      for (const std::int32_t g : plans[l].gate) order_.push_back(gate_number(k, static_cast<int>(l), g));
  plans_ = std::make_shared<const std::vector<LayerPlan>>(std::move(plans));
}

void GateNetwork::add_parameters(Parameters& parameters, float start_logit) const {
  if (!std::isfinite(start_logit)) fail(name_, fmt::format("a start logit of {}", start_logit), "a finite number");
  const auto extent = [](int n) { return static_cast<std::size_t>(n); };
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    std::vector<std::size_t> shape{extent(layers_[l].outputs()), extent(logits_of(parametrisation_))};
    if (!single_) shape.insert(shape.begin(), extent(copies_));
    const std::size_t tensor = parameters.add(fmt::format("{}.{}", name_, l), std::move(shape));
    const std::span<float> logits = parameters.values(tensor);
    const std::size_t each = extent(logits_of(parametrisation_));
    for (std::size_t at = 0; at < logits.size(); at += each)
      set_gate(logits.subspan(at, each), Gate::kA, start_logit, parametrisation_);
  }
}

std::int32_t GateNetwork::gate_number(int copy, int layer, int gate) const {
  if (copy < 0 || copy >= copies_ || layer < 0 || static_cast<std::size_t>(layer) >= layers_.size() || gate < 0 ||
      gate >= layers_[layer].outputs())
    fail(name_, fmt::format("gate {} of layer {} of copy {}", gate, layer, copy), "a gate of the network");
  int before = 0;
  for (int l = 0; l < layer; ++l) before += layers_[l].outputs();
  return before * copies_ + copy * layers_[layer].outputs() + gate;
}

std::ptrdiff_t GateNetwork::first_of_copy(int copy, int lanes) const {
  if (copy < 0 || copy >= copies_) fail(name_, fmt::format("copy {}", copy), fmt::format("0 to {}", copies_ - 1));
  if (lanes < kLaneGroup || lanes % kLaneGroup)
    fail(name_, fmt::format("{} lanes", lanes), fmt::format("a multiple of {}", kLaneGroup));
  return std::ptrdiff_t{4} * copy * gates_per_copy_;
}

void GateNetwork::forward(std::span<const float> coefficients, int lanes, std::span<const float> in,
                          std::span<float> values, int copy) const {
  const std::ptrdiff_t first = first_of_copy(copy, lanes);
  check_fours(name_, "coefficients", coefficients, gates());
  check_rows(name_, "inputs", in, inputs(), lanes);
  check_rows(name_, "values", values, gates_per_copy_, lanes);
  refuse_overlap(name_, values, {coefficients, in});
  const float *c = coefficients.data() + first, *from = in.data();
  float* to = values.data();
  for (const LayerPlan& plan : *plans_) {
    gate_layer_forward(plan, c, lanes, from, to);
    c += std::ptrdiff_t{4} * plan.outputs;
    from = to;
    to += std::ptrdiff_t{plan.outputs} * lanes;
  }
}

std::span<const float> GateNetwork::forward_outputs(std::span<const float> coefficients, int lanes,
                                                    std::span<const float> in, std::span<float> scratch,
                                                    int copy) const {
  const std::ptrdiff_t first = first_of_copy(copy, lanes);
  check_fours(name_, "coefficients", coefficients, gates());
  check_rows(name_, "inputs", in, inputs(), lanes);
  check_rows(name_, "scratch", scratch, scratch_rows_, lanes);
  refuse_overlap(name_, scratch, {coefficients, in});
  const float *c = coefficients.data() + first, *from = in.data();
  float* places[2] = {scratch.data(), scratch.data() + std::ptrdiff_t{widest_} * lanes};
  for (std::size_t l = 0; l < plans_->size(); ++l) {
    const LayerPlan& plan = (*plans_)[l];
    gate_layer_forward(plan, c, lanes, from, places[l % 2]);
    c += std::ptrdiff_t{4} * plan.outputs;
    from = places[l % 2];
  }
  return {from, static_cast<std::size_t>(outputs()) * lanes};
}

void GateNetwork::backward(std::span<const float> coefficients, int lanes, std::span<float> in, std::span<float> values,
                           std::span<float> scratch, std::span<float> dc, int copy) const {
  check_rows(name_, "inputs", in, inputs(), lanes);
  refuse_overlap(name_, in, {coefficients, values, scratch, dc});
  const std::ptrdiff_t first = backward_to_first_layer(coefficients, lanes, values, scratch, dc, copy);
  gate_layer_backward(plans_->front(), coefficients.data() + first, lanes, in.data(), values.data(), scratch.data(),
                      dc.data() + first);
}

void GateNetwork::backward_adding(std::span<const float> coefficients, int lanes, std::span<const float> in,
                                  std::span<float> values, std::span<float> scratch, std::span<float> din,
                                  std::span<float> dc, int copy) const {
  check_rows(name_, "inputs", in, inputs(), lanes);
  check_rows(name_, "gradients of inputs", din, inputs(), lanes);
  refuse_overlap(name_, din, {coefficients, in, values, scratch, dc});
  refuse_overlap(name_, in, {values, scratch, dc});
  const std::ptrdiff_t first = backward_to_first_layer(coefficients, lanes, values, scratch, dc, copy);
  gate_layer_backward_adding(plans_->front(), coefficients.data() + first, lanes, in.data(), values.data(), din.data(),
                             dc.data() + first);
}

std::ptrdiff_t GateNetwork::backward_to_first_layer(std::span<const float> coefficients, int lanes,
                                                    std::span<float> values, std::span<float> scratch,
                                                    std::span<float> dc, int copy) const {
  const std::ptrdiff_t first = first_of_copy(copy, lanes);
  check_fours(name_, "coefficients", coefficients, gates());
  check_rows(name_, "values", values, gates_per_copy_, lanes);
  check_rows(name_, "scratch", scratch, scratch_rows_, lanes);
  check_fours(name_, "gradients of coefficients", dc, gates());
  refuse_overlap(name_, coefficients, {values, scratch, dc});
  refuse_overlap(name_, values, {scratch, dc});
  refuse_overlap(name_, scratch, {dc});
  std::ptrdiff_t gate = gates_per_copy_;
  for (std::size_t l = plans_->size(); l-- > 1;) {
    const LayerPlan& plan = (*plans_)[l];
    gate -= plan.outputs;
    gate_layer_backward(plan, coefficients.data() + first + 4 * gate, lanes,
                        values.data() + (gate - plan.inputs) * lanes, values.data() + gate * lanes, scratch.data(),
                        dc.data() + first + 4 * gate);
  }
  return first;
}

std::vector<Net> GateNetwork::harden(std::span<const float> logits, Netlist& netlist, std::span<const Net> inputs,
                                     int copy) const {
  check_logits(name_, logits, gates(), parametrisation_);
  if (!all_finite(logits)) fail(name_, "a logit that is not finite", "trained logits");
  if (copy < 0 || copy >= copies_) fail(name_, fmt::format("copy {}", copy), fmt::format("0 to {}", copies_ - 1));
  if (inputs.size() != static_cast<std::size_t>(this->inputs()))
    fail(name_, fmt::format("{} nets", inputs.size()), fmt::format("{}, one for each input", this->inputs()));
  for (const Net net : inputs)
    if (net >= netlist.nets()) fail(name_, fmt::format("net {}", net), fmt::format("a net below {}", netlist.nets()));
  return append_gates(*this, likeliest_gates(logits, parametrisation_), copy,
                      std::vector<Net>(inputs.begin(), inputs.end()),
                      [&](Gate gate, Net a, Net b) { return netlist.add_gate(gate, a, b); });
}

}  // namespace espalier
