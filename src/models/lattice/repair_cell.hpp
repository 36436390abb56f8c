// A cell whose last step has wrong bits, put right by construction (synth/repair.hpp) without any change of the steps
// before. Where cells that should differ see the same, channels that nothing reads are filled with patterns first.
#pragma once

#include "espalier/random.hpp"
#include "models/lattice/rollout_score.hpp"
#include "synth/target_table.hpp"

namespace espalier {

// Of goals of a single step: every neighbourhood that occurs, once, and what the cell should become.
TargetTable neighbourhood_table(const RolloutShape& shape, const RolloutExamples& examples);

// On boards of several sizes at once; all have the same steps and channels.
Netlist repair_cell(std::span<const RolloutStage> stages, const Netlist& cell, const Random& random);

}  // namespace espalier
