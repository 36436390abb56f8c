// What must be the same on all ranks for the same bits, and who has something else.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bit_traits.hpp"
#include "espalier/ranks.hpp"

namespace espalier::app {

// Of this program as it runs: its bytes and its options, and all that bits depend on, with the kind of vector
// instructions among `targets`, a set of hwy::SupportedTargets().
std::vector<Trait> program_traits(std::span<char* const> options, std::int64_t targets);

// On every rank one line about the first trait and the lowest rank that has another value than rank 0; empty when all
// are alike. All ranks must call it.
std::string trait_difference(Ranks& ranks, std::span<const Trait> mine);

// Where this program may run: a name that its machine alone has, and a letter for each of its cores, x for those that
// are allowed.
struct Place {
  std::string machine, cores;
};
Place program_place();
// Threads for this rank: a core that several ranks of a machine may use is divided between them. All ranks must call
// it.
int fair_threads(Ranks& ranks, const Place& mine);

}  // namespace espalier::app
