// Branch and bound over node mappings, depth first.
#pragma once

#include "graph/edit_problem.hpp"

namespace espalier {

struct EditSearchResult {
  std::vector<std::int32_t> mapping;  // the best known
  double upper = 0;                   // its cost
  double lower = 0;                   // nothing is cheaper than this
  std::uint64_t searched = 0;
};

// Graphs of at most this many nodes are searched; larger ones keep the bounds they come with.
inline constexpr std::size_t kMaxSearchNodes = 128;

// Starts from a known mapping and a lower bound; ends with lower == upper unless the budget ran out.
EditSearchResult edit_search(const EditProblem& problem, std::vector<std::int32_t> mapping, double upper, double lower,
                             const EditDistanceOptions& options);

}  // namespace espalier
