// Wrong outputs put right by construction: where the nets of a circuit tell the examples that came out wrong from all
// others, a few gates that find those examples turn the output over there and nowhere else.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/netlist.hpp"

namespace espalier {

// Examples are bits of words: [input][word].
using ExampleWords = std::vector<std::vector<std::uint64_t>>;

struct Correction {
  std::size_t output = 0;
  std::vector<std::uint64_t> turn, keep;  // examples to turn over, and to leave alone; the others do not matter
};

struct RepairReport {
  std::size_t fixed = 0, left = 0;  // examples turned over; those that no net tells from one to be kept
};

Netlist repair_outputs(const Netlist& circuit, const ExampleWords& inputs, std::span<const Correction> corrections,
                       RepairReport* report = nullptr);

}  // namespace espalier
