#include "models/lattice/lattice_options.hpp"

#include <fmt/format.h>

#include <charconv>

#include "espalier/error.hpp"

namespace espalier {
namespace {

constexpr std::size_t kMaxLayers = 1000;

int parse_width(std::string_view text, const std::string& whole) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1 || value > 1'000'000)
    fail("layers", fmt::format("\"{}\" in \"{}\"", text, whole),
         "whole numbers from 1 to 1000000, such as 256x10,128,64");
  return value;
}

// "256x10,128,64" -> ten layers of 256, then 128, then 64.
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

std::string format_layers(const std::vector<int>& layers) {
  std::string text;
  for (std::size_t i = 0; i < layers.size();) {
    std::size_t end = i;
    while (end < layers.size() && layers[end] == layers[i]) ++end;
    if (!text.empty()) text += ",";
    text += end - i == 1 ? fmt::format("{}", layers[i]) : fmt::format("{}x{}", layers[i], end - i);
    i = end;
  }
  return text;
}

Field::Access layers_access(std::vector<int>& layers) {
  return {[&layers] { return format_layers(layers); },
          [&layers](const std::string& text) { layers = parse_layers(text); }};
}

}  // namespace

Fields fields_of(AutomatonShape& s) {
  Fields f;
  f.add("channels", s.channels, "channels of a cell", 1, 4096);
  f.add("kernels", s.kernels, "perception kernels", 1, 4096);
  f.add("perceive", layers_access(s.perceive), "gates in the layers of a kernel, after its 9 inputs");
  f.add("update", layers_access(s.update), "gates in the update layers; 256x10 means ten layers of 256");
  f.add("wiring", s.wiring, "how update layers are wired", {"unique", "random"});
  f.add("boundary", s.boundary, "what lies outside the grid", {"periodic", "zero"});
  return f;
}

Fields fields_of(RolloutShape& r) {
  Fields f;
  f.add("height", r.height, "rows of the grid", 0, 1e5);
  f.add("width", r.width, "columns of the grid", 0, 1e5);
  f.add("steps", r.steps, "steps of a rollout", 1, 1e5);
  f.add("batch", r.batch, "boards of a mini-batch", 1, 1e6);
  f.add("fire-rate", r.fire_rate, "probability that a cell updates in a step; 1 = synchronous", 1e-6, 1);
  return f;
}

}  // namespace espalier
