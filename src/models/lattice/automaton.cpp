#include "espalier/automaton.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "espalier/error.hpp"
#include "espalier/gates.hpp"

namespace espalier {
namespace {

constexpr std::uint32_t kUpdateStep = 1000;  // wiring streams: perceive layers from 0, update layers from here
constexpr int kMaxChannels = 4096, kMaxKernels = 4096, kMaxWidth = 1 << 20, kMaxLayers = 1000;

void check(const AutomatonShape& s) {
  if (s.channels < 1 || s.channels > kMaxChannels)
    fail("automaton", fmt::format("{} channels", s.channels), fmt::format("1 to {}", kMaxChannels));
  if (s.kernels < 1 || s.kernels > kMaxKernels)
    fail("automaton", fmt::format("{} kernels", s.kernels), fmt::format("1 to {}", kMaxKernels));
  if (s.perceive.empty() || s.perceive[0] != 8)
    fail("automaton", fmt::format("perceive layers [{}]", fmt::join(s.perceive, ",")),
         "a first layer of 8 gates, one for each neighbour", "for example 8,4,2");
  if (s.update.empty() || s.update.back() != s.channels)
    fail("automaton", fmt::format("update layers [{}]", fmt::join(s.update, ",")),
         fmt::format("a last layer of {} gates, one for each channel", s.channels));
  for (const auto* layers : {&s.perceive, &s.update}) {
    if (layers->size() > kMaxLayers) fail("automaton", fmt::format("{} layers", layers->size()), "at most 1000");
    for (const int width : *layers)
      if (width < 1 || width > kMaxWidth)
        fail("automaton", fmt::format("a layer of {} gates", width), fmt::format("1 to {}", kMaxWidth));
  }
}

void check_wiring(const char* part, const std::vector<Wiring>& layers, int inputs, const std::vector<int>& widths) {
  if (layers.size() != widths.size())
    fail("automaton", fmt::format("{} {} layers", layers.size(), part), fmt::format("{}", widths.size()));
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const Wiring& w = layers[l];
    if (w.inputs != inputs || w.outputs() != widths[l] || w.b.size() != w.a.size())
      fail("automaton", fmt::format("{} layer {} wired {} -> {}", part, l, w.inputs, w.outputs()),
           fmt::format("{} -> {}", inputs, widths[l]));
    for (const auto* wires : {&w.a, &w.b})
      for (const std::int32_t wire : *wires)
        if (wire < 0 || wire >= inputs)
          fail("automaton", fmt::format("a wire from {} in {} layer {}", wire, part, l),
               fmt::format("0 to {}", inputs - 1));
    inputs = widths[l];
  }
}

// The kernels count on it: a leaf for each neighbour, its other input the centre.
void check_leaves(const Wiring& w) {
  std::vector<std::int32_t> rows = w.a;
  std::sort(rows.begin(), rows.end());
  if (rows != std::vector<std::int32_t>{0, 1, 2, 3, 5, 6, 7, 8} || std::ranges::count(w.b, 4) != w.outputs())
    fail("automaton", "another first perceive layer", "each of the eight neighbours paired with the centre");
}

int count_gates(const std::vector<Wiring>& layers) {
  int total = 0;
  for (const Wiring& w : layers) total += w.outputs();
  return total;
}

}  // namespace

Boundary boundary_kind(std::string_view name) {
  if (name == "periodic") return Boundary::kPeriodic;
  if (name == "zero") return Boundary::kZero;
  fail("boundary", fmt::format("\"{}\"", name), "periodic or zero");
}

std::string_view boundary_name(Boundary boundary) { return boundary == Boundary::kPeriodic ? "periodic" : "zero"; }

Automaton::Automaton(const AutomatonShape& shape, std::uint64_t seed) : shape_(shape) {
  check(shape);
  perceive_.push_back(moore_wiring(Random(seed, Purpose::kWiring, 0)));
  for (std::size_t l = 1; l < shape.perceive.size(); ++l)
    perceive_.push_back(unique_wiring(shape.perceive[l - 1], shape.perceive[l],
                                      Random(seed, Purpose::kWiring, static_cast<std::uint32_t>(l))));
  int inputs = shape.update_inputs();
  for (std::size_t l = 0; l < shape.update.size(); ++l) {
    update_.push_back(make_wiring(shape.wiring, inputs, shape.update[l],
                                  Random(seed, Purpose::kWiring, kUpdateStep + static_cast<std::uint32_t>(l))));
    inputs = shape.update[l];
  }
}

Automaton::Automaton(const AutomatonShape& shape, std::vector<Wiring> perceive, std::vector<Wiring> update)
    : shape_(shape), perceive_(std::move(perceive)), update_(std::move(update)) {
  check(shape);
  check_wiring("perceive", perceive_, 9, shape.perceive);
  check_leaves(perceive_.front());
  check_wiring("update", update_, shape.update_inputs(), shape.update);
}

int Automaton::perceive_gates() const { return count_gates(perceive_); }
int Automaton::update_gates() const { return count_gates(update_); }

long Automaton::gates_per_cell() const {
  return static_cast<long>(shape_.channels) * shape_.kernels * perceive_gates() + update_gates();
}

void Automaton::add_parameters(Parameters& parameters, float start_logit) const {
  const auto fill = [&](std::size_t tensor) {
    const std::span<float> logits = parameters.values(tensor);
    for (std::size_t i = static_cast<std::size_t>(Gate::kA); i < logits.size(); i += kGates) logits[i] = start_logit;
  };
  const auto extent = [](int n) { return static_cast<std::size_t>(n); };
  for (std::size_t l = 0; l < perceive_.size(); ++l)
    fill(parameters.add(fmt::format("perceive.{}", l),
                        {extent(shape_.kernels), extent(perceive_[l].outputs()), extent(kGates)}));
  for (std::size_t l = 0; l < update_.size(); ++l)
    fill(parameters.add(fmt::format("update.{}", l), {extent(update_[l].outputs()), extent(kGates)}));
}

std::int32_t Automaton::perceive_gate(int kernel, int layer, int gate) const {
  int before = 0;
  for (int l = 0; l < layer; ++l) before += perceive_[l].outputs();
  return before * shape_.kernels + kernel * perceive_[layer].outputs() + gate;
}

std::int32_t Automaton::update_gate(int layer, int gate) const {
  int before = shape_.kernels * perceive_gates();
  for (int l = 0; l < layer; ++l) before += update_[l].outputs();
  return before + gate;
}

}  // namespace espalier
