#include "espalier/gate_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/arrays.hpp"
#include "base/hash.hpp"
#include "espalier/error.hpp"
#include "logic/gate_kernels.hpp"
#include "logic/harden.hpp"
#include "logic/wire_kernels.hpp"

namespace espalier {
namespace {

constexpr std::size_t kVectorBytes = kLaneGroup * sizeof(float);

void check_wires(const std::string& name, std::size_t l, const Wiring& w, std::span<const std::int32_t> wires) {
  for (const std::int32_t wire : wires)
    if (wire < 0 || wire >= w.inputs)
      fail(name, fmt::format("a wire from {} in layer {}", wire, l), fmt::format("0 to {}", w.inputs - 1));
}

void check_candidates(const std::string& name, std::size_t l, const Wiring& w) {
  if (w.candidates.empty()) return;
  const int count = w.choices();
  if (count < 2 || count > kMaxCandidates || w.candidates.size() != 2 * w.a.size() * static_cast<std::size_t>(count))
    fail(name, fmt::format("{} candidates in layer {}", w.candidates.size(), l),
         fmt::format("as many for each of its {} inputs of gates, 2 to {}, or none", w.pins(), kMaxCandidates));
  check_wires(name, l, w, w.candidates);
  for (std::size_t pin = 0; pin < 2 * w.a.size(); ++pin)
    if (w.candidates[pin * static_cast<std::size_t>(count)] != (pin % 2 ? w.b : w.a)[pin / 2])
      fail(name, fmt::format("another first candidate than the wire of gate {} in layer {}", pin / 2, l),
           "candidates that begin with it");
}

void check_wiring(const std::string& name, const std::vector<Wiring>& layers, int copies) {
  if (layers.empty()) fail(name, "no layers", "at least one");
  if (copies < 1) fail(name, fmt::format("{} copies", copies), "at least one");
  std::size_t gates = 0;
  std::size_t wires = 0;
  for (const Wiring& w : layers) {
    gates += w.a.size();
    wires += w.candidates.size();
  }
  if (wires && copies > 1) fail(name, fmt::format("candidates in {} copies", copies), "fixed wires, or one copy");
  if (wires > static_cast<std::size_t>(kMaxNetworkWires))
    fail(name, fmt::format("{} candidates", wires), fmt::format("at most {}", kMaxNetworkWires));
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
    check_wires(name, l, w, w.a);
    check_wires(name, l, w, w.b);
    check_candidates(name, l, w);
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

// Coefficients and their gradients, fours of them: a part may begin at any gate.
inline void check_fours(std::string_view op, const char* what, std::span<const float> fours, std::size_t count) {
  constexpr std::size_t kBytes = 4 * sizeof(float);
  if (fours.size() < count || reinterpret_cast<std::uintptr_t>(fours.data()) % kBytes) [[unlikely]]
    refuse_rows(op, what, fours.size(), count / 4, 4);
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
    plans.back().wires.logit_offset = static_cast<std::size_t>(wires_);
    plans.back().wires.weight_offset = weights_;
    wires_ += static_cast<int>(w.candidates.size());
    weights_ += plans.back().wires.weights;
    gates_per_copy_ += w.outputs();
    widest_ = std::max(widest_, w.outputs());
    scratch_rows_ = std::max(scratch_rows_, static_cast<int>(plans.back().shared_rows.size()));
  }
  // Two layers by turns when only the outputs are wanted; or the pins of a layer that chooses.
  scratch_rows_ = std::max(scratch_rows_, 2 * widest_);
  order_.reserve(static_cast<std::size_t>(copies) * gates_per_copy_);
  for (int k = 0; k < copies; ++k)
    for (std::size_t l = 0; l < plans.size(); ++l)
      for (const std::int32_t g : plans[l].gate) order_.push_back(gate_number(k, static_cast<int>(l), g));
  plans_ = std::make_shared<const std::vector<LayerPlan>>(std::move(plans));
}

void GateNetwork::add_parameters(Parameters& parameters, float start_logit, float start_wire_logit) const {
  for (const float start : {start_logit, start_wire_logit})
    if (!std::isfinite(start)) fail(name_, fmt::format("a start logit of {}", start), "a finite number");
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
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    if (layers_[l].candidates.empty()) continue;
    const std::size_t each = extent(layers_[l].choices());
    const std::size_t tensor =
        parameters.add(fmt::format("{}.{}.wires", name_, l), {extent(layers_[l].outputs()), 2, each});
    const std::span<float> logits = parameters.values(tensor);
    for (std::size_t at = 0; at < logits.size(); at += each) logits[at] = start_wire_logit;
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

std::int32_t GateNetwork::wire_number(int layer, int pin) const {
  if (layer < 0 || static_cast<std::size_t>(layer) >= layers_.size() || pin < 0 || pin >= layers_[layer].pins() ||
      layers_[layer].candidates.empty())
    fail(name_, fmt::format("pin {} of layer {}", pin, layer), "a pin that chooses among candidates");
  return static_cast<std::int32_t>((*plans_)[layer].wires.logit_offset) + pin * layers_[layer].choices();
}

std::ptrdiff_t GateNetwork::first_of_copy(int copy, int lanes) const {
  if (copy < 0 || copy >= copies_) fail(name_, fmt::format("copy {}", copy), fmt::format("0 to {}", copies_ - 1));
  if (lanes < kLaneGroup || lanes % kLaneGroup)
    fail(name_, fmt::format("{} lanes", lanes), fmt::format("a multiple of {}", kLaneGroup));
  return std::ptrdiff_t{4} * copy * gates_per_copy_;
}

void GateNetwork::layer_forward(const LayerPlan& plan, std::span<const float> coefficients, std::ptrdiff_t first,
                                int lanes, const float* in, float* out) const {
  const float* c = coefficients.data() + first;
  if (plan.wires.choose())
    wire_layer_forward(plan, c, coefficients.data() + first_weight(plan), lanes, in, out);
  else
    gate_layer_forward(plan, c, lanes, in, out);
}

void GateNetwork::layer_backward(const LayerPlan& plan, std::span<const float> coefficients, std::ptrdiff_t first,
                                 int lanes, float* values, const float* dout, std::span<float> scratch,
                                 std::span<float> dc) const {
  const float* c = coefficients.data() + first;
  if (plan.wires.choose())
    wire_layer_backward(plan, c, coefficients.data() + first_weight(plan), lanes, values, dout, scratch.data(), values,
                        false, dc.data() + first, dc.data() + first_weight(plan));
  else
    gate_layer_backward(plan, c, lanes, values, dout, scratch.data(), dc.data() + first);
}

std::size_t GateNetwork::first_weight(const LayerPlan& plan) const {
  return 4 * static_cast<std::size_t>(gates()) + plan.wires.weight_offset;
}

void GateNetwork::run_forward(std::span<const float> coefficients, int lanes, std::span<const float> in,
                              std::span<float> values, int copy) const {
  std::ptrdiff_t first = first_of_copy(copy, lanes);
  check_fours(name_, "coefficients", coefficients, this->coefficients());
  check_rows(name_, "inputs", in, inputs(), lanes);
  check_rows(name_, "values", values, gates_per_copy_, lanes);
  refuse_overlap(name_, values, {coefficients, in});
  const float* from = in.data();
  float* to = values.data();
  for (const LayerPlan& plan : *plans_) {
    layer_forward(plan, coefficients, first, lanes, from, to);
    first += std::ptrdiff_t{4} * plan.outputs;
    from = to;
    to += std::ptrdiff_t{plan.outputs} * lanes;
  }
}

std::span<const float> GateNetwork::forward_outputs(std::span<const float> coefficients, int lanes,
                                                    std::span<const float> in, std::span<float> scratch,
                                                    int copy) const {
  std::ptrdiff_t first = first_of_copy(copy, lanes);
  check_fours(name_, "coefficients", coefficients, this->coefficients());
  check_rows(name_, "inputs", in, inputs(), lanes);
  check_rows(name_, "scratch", scratch, scratch_rows_, lanes);
  refuse_overlap(name_, scratch, {coefficients, in});
  const float* from = in.data();
  float* places[2] = {scratch.data(), scratch.data() + std::ptrdiff_t{widest_} * lanes};
  for (std::size_t l = 0; l < plans_->size(); ++l) {
    const LayerPlan& plan = (*plans_)[l];
    layer_forward(plan, coefficients, first, lanes, from, places[l % 2]);
    first += std::ptrdiff_t{4} * plan.outputs;
    from = places[l % 2];
  }
  return {from, static_cast<std::size_t>(outputs()) * lanes};
}

void GateNetwork::run_backward(std::span<const float> coefficients, int lanes, std::span<float> in,
                               std::span<float> values, std::span<float> scratch, std::span<float> dc, int copy) const {
  check_rows(name_, "inputs", in, inputs(), lanes);
  refuse_overlap(name_, in, {coefficients, values, scratch, dc});
  const std::ptrdiff_t first = backward_to_first_layer(coefficients, lanes, values, scratch, dc, copy);
  layer_backward(plans_->front(), coefficients, first, lanes, in.data(), values.data(), scratch, dc);
}

void GateNetwork::run_backward_adding(std::span<const float> coefficients, int lanes, std::span<const float> in,
                                      std::span<float> values, std::span<float> scratch, std::span<float> din,
                                      std::span<float> dc, int copy) const {
  check_rows(name_, "inputs", in, inputs(), lanes);
  check_rows(name_, "gradients of inputs", din, inputs(), lanes);
  refuse_overlap(name_, din, {coefficients, in, values, scratch, dc});
  refuse_overlap(name_, in, {values, scratch, dc});
  const std::ptrdiff_t first = backward_to_first_layer(coefficients, lanes, values, scratch, dc, copy);
  const LayerPlan& plan = plans_->front();
  if (plan.wires.choose())
    wire_layer_backward(plan, coefficients.data() + first, coefficients.data() + first_weight(plan), lanes, in.data(),
                        values.data(), scratch.data(), din.data(), true, dc.data() + first,
                        dc.data() + first_weight(plan));
  else
    gate_layer_backward_adding(plan, coefficients.data() + first, lanes, in.data(), values.data(), din.data(),
                               dc.data() + first);
}

std::ptrdiff_t GateNetwork::backward_to_first_layer(std::span<const float> coefficients, int lanes,
                                                    std::span<float> values, std::span<float> scratch,
                                                    std::span<float> dc, int copy) const {
  const std::ptrdiff_t first = first_of_copy(copy, lanes);
  check_fours(name_, "coefficients", coefficients, this->coefficients());
  check_rows(name_, "values", values, gates_per_copy_, lanes);
  check_rows(name_, "scratch", scratch, scratch_rows_, lanes);
  check_fours(name_, "gradients of coefficients", dc, this->coefficients());
  refuse_overlap(name_, coefficients, {values, scratch, dc});
  refuse_overlap(name_, values, {scratch, dc});
  refuse_overlap(name_, scratch, {dc});
  std::ptrdiff_t gate = gates_per_copy_;
  for (std::size_t l = plans_->size(); l-- > 1;) {
    const LayerPlan& plan = (*plans_)[l];
    gate -= plan.outputs;
    layer_backward(plan, coefficients, first + 4 * gate, lanes, values.data() + (gate - plan.inputs) * lanes,
                   values.data() + gate * lanes, scratch, dc);
  }
  return first;
}

// --- With a tape. Sizes are checked before anything is read: by the pass itself forward, and backward here.

std::uint64_t GateNetwork::seal(std::span<const float> coefficients, std::span<const float> in,
                                std::span<const float> values, int lanes) const {
  const std::size_t kept = static_cast<std::size_t>(gates_per_copy_ - outputs()) * lanes;
  return seal_of(values.first(kept),
                 seal_of(in.first(static_cast<std::size_t>(inputs()) * lanes), seal_of(coefficients)));
}

void GateNetwork::check_tape(const GateTape& tape, std::span<const float> coefficients, std::span<const float> in,
                             std::span<const float> values, int lanes, int copy) const {
  check_rows(name_, "inputs", in, inputs(), lanes);
  check_rows(name_, "values", values, gates_per_copy_, lanes);
  if (tape.plans != plans_ || tape.lanes != lanes || tape.copy != copy)
    fail(name_, "a tape of another network, copy or number of lanes, or of no forward pass",
         "the tape that this forward pass filled");
  if (tape.seal != seal(coefficients, in, values, lanes))
    fail(name_, "other coefficients, inputs or values than those of the tape's forward pass",
         "the arrays as that pass left them, but for the outputs",
         "a backward pass turns them into gradients: a second one needs a new forward pass");
}

void GateNetwork::forward(std::span<const float> coefficients, int lanes, std::span<const float> in,
                          std::span<float> values, GateTape& tape, int copy) const {
  tape.plans = nullptr;
  run_forward(coefficients, lanes, in, values, copy);
  tape = {plans_, lanes, copy, seal(coefficients, in, values, lanes)};
}

void GateNetwork::backward(std::span<const float> coefficients, int lanes, std::span<float> in, std::span<float> values,
                           std::span<float> scratch, std::span<float> dc, const GateTape& tape, int copy) const {
  check_tape(tape, coefficients, in, values, lanes, copy);
  run_backward(coefficients, lanes, in, values, scratch, dc, copy);
}

void GateNetwork::backward_adding(std::span<const float> coefficients, int lanes, std::span<const float> in,
                                  std::span<float> values, std::span<float> scratch, std::span<float> din,
                                  std::span<float> dc, const GateTape& tape, int copy) const {
  check_tape(tape, coefficients, in, values, lanes, copy);
  run_backward_adding(coefficients, lanes, in, values, scratch, din, dc, copy);
}

std::vector<Net> GateNetwork::harden(std::span<const float> logits, Netlist& netlist, std::span<const Net> inputs,
                                     int copy) const {
  check_logits(name_, logits, gates(), parametrisation_, wires());
  if (!all_finite(logits)) fail(name_, "a logit that is not finite", "trained logits");
  if (copy < 0 || copy >= copies_) fail(name_, fmt::format("copy {}", copy), fmt::format("0 to {}", copies_ - 1));
  if (inputs.size() != static_cast<std::size_t>(this->inputs()))
    fail(name_, fmt::format("{} nets", inputs.size()), fmt::format("{}, one for each input", this->inputs()));
  for (const Net net : inputs)
    if (net >= netlist.nets()) fail(name_, fmt::format("net {}", net), fmt::format("a net below {}", netlist.nets()));
  return append_gates(*this, likeliest_gates(logits.first(gate_logits()), parametrisation_),
                      likeliest_wiring(*this, logits.subspan(gate_logits())), copy,
                      std::vector<Net>(inputs.begin(), inputs.end()),
                      [&](Gate gate, Net a, Net b) { return netlist.add_gate(gate, a, b); });
}

}  // namespace espalier
