// The automaton's options, its two gate networks, and the circuit that they harden to.
#include "espalier/logic_automaton.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/arrays.hpp"
#include "espalier/error.hpp"
#include "logic/harden.hpp"
#include "netlist/cell.hpp"

namespace espalier {
namespace {

// Wiring streams: perceive layers from 0, update layers from here; soften_cell.cpp has some from 2000.
constexpr std::uint32_t kUpdateStep = 1000, kCandidateStep = 4000;
constexpr int kMaxChannels = 4096, kMaxKernels = 4096, kMaxWidth = 1'000'000;
constexpr std::size_t kMaxLayers = 1000;
constexpr std::int64_t kMaxGates = 1 << 26;

int parse_width(std::string_view text, const std::string& whole) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1 || value > kMaxWidth)
    fail("layers", fmt::format("\"{}\" in \"{}\"", text, whole),
         "whole numbers from 1 to 1000000, such as 256x10,128,64");
  return value;
}

const AutomatonOptions& checked(const AutomatonOptions& o) {
  if (o.channels < 1 || o.channels > kMaxChannels)
    fail("automaton", fmt::format("{} channels", o.channels), fmt::format("1 to {}", kMaxChannels));
  if (o.kernels < 1 || o.kernels > kMaxKernels)
    fail("automaton", fmt::format("{} kernels", o.kernels), fmt::format("1 to {}", kMaxKernels));
  if (o.perceive.empty() || o.perceive[0] != 8)
    fail("automaton", fmt::format("perceive layers [{}]", fmt::join(o.perceive, ",")),
         "a first layer of 8 gates, one for each neighbour", "for example 8,4,2");
  if (o.update.empty() || o.update.back() != o.channels)
    fail("automaton", fmt::format("update layers [{}]", fmt::join(o.update, ",")),
         fmt::format("a last layer of {} gates, one for each channel", o.channels));
  if (o.candidates < 1 || o.candidates > kMaxCandidates)
    fail("automaton", fmt::format("{} candidates", o.candidates), fmt::format("1 to {}", kMaxCandidates));
  for (const auto* layers : {&o.perceive, &o.update}) {
    if (layers->size() > kMaxLayers)
      fail("automaton", fmt::format("{} layers", layers->size()), fmt::format("at most {}", kMaxLayers));
    std::int64_t gates = std::int64_t{o.channels} * o.kernels * o.perceive_outputs();  // a row for each of these
    for (const int width : *layers) {
      if (width < 1 || width > kMaxWidth)
        fail("automaton", fmt::format("a layer of {} gates", width), fmt::format("1 to {}", kMaxWidth));
      gates += std::int64_t{width} * (layers == &o.perceive ? o.kernels : 1);
    }
    if (gates > kMaxGates)
      fail("automaton", fmt::format("{} gates and rows", gates), fmt::format("at most {}", kMaxGates));
  }
  std::int64_t pins = 0, most = o.update_inputs();  // that a layer can choose from
  for (const int width : o.update) pins += 2 * std::int64_t{width};
  for (std::size_t l = 0; l + 1 < o.update.size(); ++l) most = std::max(most, std::int64_t{o.update[l]});
  if (o.candidates > most)
    fail("automaton", fmt::format("{} candidates", o.candidates),
         fmt::format("at most {}, the inputs of its widest layer", most));
  if (o.candidates > 1 && pins * o.candidates > kMaxNetworkWires)
    fail("automaton", fmt::format("{} candidates for each of {} inputs of gates", o.candidates, pins),
         fmt::format("at most {} in all", kMaxNetworkWires));
  return o;
}

void check_widths(const char* part, const std::vector<Wiring>& layers, int inputs, const std::vector<int>& widths) {
  if (layers.size() != widths.size())
    fail("automaton", fmt::format("{} {} layers", layers.size(), part), fmt::format("{}", widths.size()));
  for (std::size_t l = 0; l < layers.size(); ++l) {
    if (layers[l].inputs != inputs || layers[l].outputs() != widths[l])
      fail("automaton", fmt::format("{} layer {} wired {} -> {}", part, l, layers[l].inputs, layers[l].outputs()),
           fmt::format("{} -> {}", inputs, widths[l]));
    inputs = widths[l];
  }
}

// As the options say, but no layer has more candidates than inputs.
int candidates_of(const AutomatonOptions& o, int inputs) { return std::min(o.candidates, inputs); }

void check_candidates(const AutomatonOptions& o, const std::vector<Wiring>& perceive,
                      const std::vector<Wiring>& update) {
  for (const Wiring& w : perceive)
    if (!w.candidates.empty()) fail("automaton", "candidates in a perceive layer", "fixed wires there");
  for (std::size_t l = 0; l < update.size(); ++l)
    if (update[l].choices() != candidates_of(o, update[l].inputs))
      fail("automaton", fmt::format("{} candidates in update layer {}", update[l].choices(), l),
           fmt::format("{}", candidates_of(o, update[l].inputs)));
}

// The kernels count on it: a leaf for each neighbour, its other input the centre.
void check_leaves(const Wiring& w) {
  std::vector<std::int32_t> rows = w.a;
  std::sort(rows.begin(), rows.end());
  if (rows != std::vector<std::int32_t>{0, 1, 2, 3, 5, 6, 7, 8} || std::ranges::count(w.b, 4) != w.outputs())
    fail("automaton", "another first perceive layer", "each of the eight neighbours paired with the centre");
}

std::vector<Wiring> draw_perceive(const AutomatonOptions& o, std::uint64_t seed) {
  std::vector<Wiring> layers{moore_wiring(Random(seed, Purpose::kWiring, 0))};
  for (std::size_t l = 1; l < o.perceive.size(); ++l)
    layers.push_back(
        unique_wiring(o.perceive[l - 1], o.perceive[l], Random(seed, Purpose::kWiring, static_cast<std::uint32_t>(l))));
  return layers;
}

std::vector<Wiring> draw_update(const AutomatonOptions& o, std::uint64_t seed) {
  std::vector<Wiring> layers;
  int inputs = o.update_inputs();
  for (std::size_t l = 0; l < o.update.size(); ++l) {
    layers.push_back(make_wiring(o.wiring, inputs, o.update[l],
                                 Random(seed, Purpose::kWiring, kUpdateStep + static_cast<std::uint32_t>(l))));
    inputs = o.update[l];
  }
  return layers;
}

std::vector<Wiring> draw_candidates(const AutomatonOptions& o, std::vector<Wiring> layers, std::uint64_t seed) {
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const int count = candidates_of(o, layers[l].inputs);
    layers[l] = with_candidates(std::move(layers[l]), count,
                                Random(seed, Purpose::kWiring, kCandidateStep + static_cast<std::uint32_t>(l)));
  }
  return layers;
}

// All gates of a cell in order, as values that add(gate, a, b) makes of input(position, channel); returns the outputs'.
template <class Value, class Input, class Add>
std::vector<Value> append_cell(const Automaton& automaton, std::span<const float> logits, Input input, Add add) {
  const AutomatonOptions& o = automaton.options();
  const std::size_t expected = automaton.logits();
  if (logits.size() != expected)
    fail("harden", fmt::format("{} logits", logits.size()), fmt::format("{}, those of the automaton", expected));
  if (!all_finite(logits)) fail("harden", "a logit that is not finite", "trained logits");
  const std::vector<Gate> all = likeliest_gates(logits.first(automaton.gate_logits()), o.parametrisation);
  const std::vector<Wiring> wires = likeliest_wiring(automaton.update(), logits.subspan(automaton.gate_logits()));
  const std::span<const Gate> perceive = std::span(all).first(static_cast<std::size_t>(automaton.perceive().gates()));
  const std::span<const Gate> update = std::span(all).subspan(perceive.size());
  std::vector<Value> features(static_cast<std::size_t>(o.update_inputs()));
  for (int c = 0; c < o.channels; ++c) {
    std::vector<Value> patch;
    for (int p = 0; p < kPatch; ++p) patch.push_back(input(p, c));
    features[c] = patch[4];
    for (int k = 0; k < o.kernels; ++k) {
      const std::vector<Value> seen =
          append_gates(automaton.perceive(), perceive, std::span(automaton.perceive().layers()), k, patch, add);
      for (int out = 0; out < o.perceive_outputs(); ++out) features[o.update_row(c, out, k)] = seen[out];
    }
  }
  return append_gates(automaton.update(), update, std::span(wires), 0, std::move(features), add);
}

}  // namespace

std::vector<int> parse_layers(const std::string& text) {
  std::vector<int> layers;
  std::size_t start = 0;
  while (start <= text.size()) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    const std::string_view part = std::string_view(text).substr(start, comma - start);
    const std::size_t times = part.find('x');
    const int width = parse_width(part.substr(0, times), text);
    const int count = times == std::string_view::npos ? 1 : parse_width(part.substr(times + 1), text);
    if (layers.size() + count > kMaxLayers) fail("layers", fmt::format("\"{}\"", text), "at most 1000 layers");
    layers.insert(layers.end(), count, width);
    start = comma + 1;
  }
  return layers;
}

std::string format_layers(std::span<const int> layers) {
  constexpr std::ptrdiff_t kFewest = 3;  // equal layers that are written as WIDTHxCOUNT
  std::vector<std::string> parts;
  for (auto at = layers.begin(); at != layers.end();) {
    const auto end = std::find_if(at, layers.end(), [&](int width) { return width != *at; });
    if (end - at >= kFewest)
      parts.push_back(fmt::format("{}x{}", *at, end - at));
    else
      parts.insert(parts.end(), static_cast<std::size_t>(end - at), fmt::format("{}", *at));
    at = end;
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

Fields fields_of(AutomatonOptions& o) {
  const auto layers = [](std::vector<int>& widths) {
    return Field::Access{[&widths] { return format_layers(widths); },
                         [&widths](const std::string& text) { widths = parse_layers(text); }};
  };
  Fields f;
  f.add("channels", o.channels, "channels of a cell", 1, kMaxChannels);
  f.add("kernels", o.kernels, "perception kernels", 1, kMaxKernels);
  f.add("perceive", layers(o.perceive), "gates in the layers of a kernel, after its 9 inputs");
  f.add("update", layers(o.update), "gates in the update layers; 256x10 means ten layers of 256");
  f.add("wiring", o.wiring, "how update layers are wired", {"unique", "random"});
  f.add("boundary", o.boundary, "what lies outside the grid", {"periodic", "zero"});
  f.add("parametrisation", o.parametrisation,
        "how a gate is parametrised: a softmax over all gates, or four numbers for its truth table",
        {"gates", "entries", "walsh"});
  f.add("candidates", o.candidates, "inputs from which each wire of an update gate is chosen; 1 = fixed wires", 1,
        kMaxCandidates);
  return f;
}

Wiring moore_wiring(const Random& random) {
  Wiring w{kPatch, {0, 1, 2, 3, 5, 6, 7, 8}, std::vector<std::int32_t>(8, 4)};
  random.shuffle(std::span(w.a));
  return w;
}

Automaton::Automaton(const AutomatonOptions& options, std::uint64_t seed)
    : options_(checked(options)),
      perceive_("perceive", draw_perceive(options, seed), options.kernels, options.parametrisation),
      update_("update", draw_candidates(options, draw_update(options, seed), seed), options.parametrisation) {}

Automaton::Automaton(const AutomatonOptions& options, std::vector<Wiring> perceive, std::vector<Wiring> update)
    : options_(checked(options)),
      perceive_("perceive", std::move(perceive), options.kernels, options.parametrisation),
      update_("update", std::move(update), options.parametrisation) {
  check_widths("perceive", perceive_.layers(), kPatch, options.perceive);
  check_leaves(perceive_.layers().front());
  check_widths("update", update_.layers(), options.update_inputs(), options.update);
  check_candidates(options, perceive_.layers(), update_.layers());
}

std::vector<Wiring> Automaton::with_candidates(const AutomatonOptions& options, std::vector<Wiring> update,
                                               std::uint64_t seed) {
  return draw_candidates(options, std::move(update), seed);
}

void Automaton::add_parameters(Parameters& parameters, float start_logit, float start_wire_logit) const {
  perceive_.add_parameters(parameters, start_logit);
  update_.add_parameters(parameters, start_logit, start_wire_logit);
}

Netlist harden(const Automaton& automaton, std::span<const float> logits) {
  const int channels = automaton.options().channels;
  Netlist netlist = empty_cell(channels);
  const std::vector<Net> next = append_cell<Net>(
      automaton, logits, [&](int position, int channel) { return patch_net(position, channel, channels); },
      [&](Gate gate, Net a, Net b) { return netlist.add_gate(gate, a, b); });
  for (int c = 0; c < channels; ++c) netlist.add_output(fmt::format("next{}", c), next[static_cast<std::size_t>(c)]);
  return netlist;
}

Netlist harden_folded(const Automaton& automaton, std::span<const float> logits) {
  const int channels = automaton.options().channels;
  Netlist shape = empty_cell(channels);
  CleanBuilder builder(shape.inputs.size());
  const std::vector<Net> next = append_cell<Net>(
      automaton, logits, [&](int position, int channel) { return patch_net(position, channel, channels); },
      [&](Gate gate, Net a, Net b) { return builder.add(gate, a, b); });
  for (int c = 0; c < channels; ++c)
    shape.outputs.push_back({fmt::format("next{}", c), next[static_cast<std::size_t>(c)]});
  return builder.finish(std::move(shape));
}

}  // namespace espalier
