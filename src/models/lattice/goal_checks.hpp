// What goals refuse alike.
#pragma once

#include <fmt/format.h>

#include "espalier/error.hpp"
#include "models/lattice/lattice_goal.hpp"

namespace espalier {

inline void check_size(const char* goal, const RolloutOptions& r, int height, int width) {
  if (height != r.height || width != r.width)
    fail(goal, fmt::format("a target of {} x {}", height, width),
         fmt::format("{} x {}, the size of the grid", r.height, r.width),
         "give the grid the target's height and width");
}

inline void check_channels(const char* goal, int channels, int needed) {
  if (channels < needed)
    fail(goal, fmt::format("{} channels", channels), fmt::format("at least {}, those of the target", needed));
}

// Of the kinds of goals that have a file of their own.
std::shared_ptr<const LatticeGoal> load_picture(const SafetensorsFile& file);

}  // namespace espalier
