// Where soft and hard part ways: both run side by side from the validation boards, compared after every step. A soft
// automaton may solve a task with values between 0 and 1 that no circuit has; here one sees at which step that begins.
#pragma once

#include <string>
#include <vector>

#include "espalier/lattice_model.hpp"

namespace espalier {

struct DivergenceRow {
  int step = 0;
  double difference = 0;     // mean of |soft - hard| over all channels ...
  double visible = 0;        // ... and over those that are judged
  double largest = 0;        // of all
  double other_bits = 0;     // fraction of bits that the soft values do not round to
  double soft_distance = 0;  // squared error to the target, per board
  double hard_distance = 0;  // wrong bits per board
};

// Over the first `boards` validation boards; rows 0 to the steps of the training. Of a refined model it is that of the
// weights it was made from: what a search finds has no soft gates.
std::vector<DivergenceRow> divergence(const LatticeModel& model, int boards, const ThreadPool& pool);

// Differences and distances over the steps, as SVG.
std::string divergence_picture(const std::vector<DivergenceRow>& rows, const std::string& title);

}  // namespace espalier
