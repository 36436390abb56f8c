#include "models/lattice/lattice_problem.hpp"

#include <fmt/format.h>

#include "espalier/error.hpp"
#include "tasks/lattice_data.hpp"

namespace espalier {
namespace {

// The options of a struct out of a configuration with the same names.
void read_fields(Fields fields, const Json& c) {
  for (Field& field : fields.list()) {
    const Json& value = c.at(field.name());
    field.set_text(value.is_string() ? value.get<std::string>() : value.dump());
  }
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
  read_fields(fields_of(p.automaton), c);
  read_fields(fields_of(p.rollout), c);
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
