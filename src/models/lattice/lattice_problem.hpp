// From a checked configuration to a lattice problem: shape, rollout, recipe and data of a named task.
#pragma once

#include "models/lattice/lattice_objective.hpp"
#include "tasks/task.hpp"

namespace espalier {

// `target` replaces the file that a pattern task names (a model carries its own).
LatticeProblem make_lattice_problem(const Json& config, std::uint64_t seed, const std::string& target = {});

}  // namespace espalier
