// What may be said of a finished automaton: whether it does what it was made for, on boards that nothing has seen or on
// all cases there are, and when that is enough to call it solved.
#pragma once

#include <string>
#include <vector>

#include "espalier/lattice_model.hpp"
#include "models/lattice/identify.hpp"

namespace espalier {

// Names of the trials that a model has to pass beside its boards; of what is built in the end, only once it is.
std::vector<std::string> demanded_trials(const LatticeModel& model);

// `draw`: which boards and trials, where these are drawn; those of kJudgingDraw are seen by nothing else.
Verdict judge_model(const LatticeModel& model, std::uint64_t draw, bool trials, const ThreadPool& pool);

// The rule behind given boards, one step apart.
Identification identify_pairs(const BoardPairs& pairs, int channels, bool periodic, const ThreadPool& pool);

// Cases that the judged channels of a cell tell apart, in every step of boards that were there to be fitted or chosen
// by: of the 2^k patterns of the k bits that they depend on, those that occur.
struct SeenCases {
  std::size_t bits = 0;  // k
  double seen = 0, all = 0;
  bool complete() const { return seen == all; }
};
SeenCases seen_cases(const Netlist& cell, int judged, std::vector<Board> starts, int steps, bool periodic);

}  // namespace espalier
