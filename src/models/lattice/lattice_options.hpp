// The options of an automaton and its rollout as fields.
#pragma once

#include "espalier/automaton.hpp"
#include "espalier/fields.hpp"
#include "espalier/rollout.hpp"

namespace espalier {

Fields fields_of(AutomatonShape& shape);
Fields fields_of(RolloutShape& rollout);

}  // namespace espalier
