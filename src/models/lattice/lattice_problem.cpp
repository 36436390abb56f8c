#include "models/lattice/lattice_problem.hpp"

#include <fmt/format.h>

#include <charconv>

#include "espalier/error.hpp"
#include "tasks/lattice_data.hpp"

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

LatticeRecipe recipe_from(const Json& c) {
  LatticeRecipe r;
  r.start_logit = c.at("start-logit");
  r.temperature = c.at("temperature");
  r.temperature_final = c.at("temperature-final");
  r.gumbel = c.at("gumbel");
  r.gumbel_final = c.at("gumbel-final");
  r.gumbel_from = c.at("gumbel-from");
  r.straight_from = c.at("straight-from");
  r.freeze_from = c.at("freeze-from");
  r.freeze_to = c.at("freeze-to");
  r.freeze_loss = c.at("freeze-loss");
  return r;
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

namespace {

Pattern target_pattern(const Json& config, const std::string& target) {
  const std::string task = config.at("task");
  if (!target.empty()) return parse_pattern(target, "the model's target");
  if (task == "lizard") return parse_pattern(lizard_target(), task);
  if (task == "letter") return parse_pattern(letter_target(), task);
  const std::string path = config.at("target");
  if (path.empty())
    fail("pattern", "no target", "--target FILE, a PNG or an ASCII pattern", "data/targets has examples");
  return read_pattern(path);
}

}  // namespace

LatticeProblem make_lattice_problem(const Json& c, std::uint64_t seed, const std::string& target) {
  const std::string task = c.at("task");
  LatticeProblem p;
  p.automaton = {c.at("channels"),
                 c.at("kernels"),
                 parse_layers(c.at("perceive").get<std::string>()),
                 parse_layers(c.at("update").get<std::string>()),
                 wiring_kind(c.at("wiring").get<std::string>()),
                 boundary_kind(c.at("boundary").get<std::string>())};
  p.rollout = {c.at("batch"), c.at("height"), c.at("width"), c.at("steps"), c.at("fire-rate")};
  if (task != "pattern") check_grid(p.rollout.batch, p.rollout.height, p.rollout.width);  // pattern: its target's size
  p.recipe = recipe_from(c);
  p.use_reference = c.at("reference");
  const auto check = [&] { check_rollout(p.rollout, p.automaton.channels); };  // data take time and memory too
  if (task != "pattern") check();
  if (task == "life") {
    p.data = life_data(p.rollout, seed);
  } else if (task.starts_with("checkerboard")) {
    p.data = checkerboard_data(p.rollout, p.automaton.channels, seed);
  } else {
    const Pattern pattern = target_pattern(c, target);
    // A pattern task takes its size from its target unless told otherwise.
    if (p.rollout.height == 0) p.rollout.height = pattern.height;
    if (p.rollout.width == 0) p.rollout.width = pattern.width;
    check();
    p.loss_channels = pattern.channels;
    p.target = format_pattern(pattern);
    p.data = pattern_data(p.rollout, p.automaton.channels, pattern, c.at("seed-row"), c.at("seed-column"));
  }
  return p;
}

}  // namespace espalier
