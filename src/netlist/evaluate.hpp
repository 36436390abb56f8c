// The plain meaning of a netlist: every gate in order. Slow and obvious; the oracle of the fast simulator.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/netlist.hpp"

namespace espalier {

// 64 input patterns at once: words[net] for every net, given words of the inputs.
std::vector<std::uint64_t> evaluate_words(const Netlist& netlist, std::span<const std::uint64_t> inputs);

// One pattern; the values of the outputs.
std::vector<bool> evaluate(const Netlist& netlist, const std::vector<bool>& inputs);

// The word of input i when patterns 64 block .. 64 block + 63 count through all 2^n values: bit i of the
// pattern's number. Used by every exhaustive check.
std::uint64_t counting_word(std::size_t input, std::uint64_t block);

}  // namespace espalier
