#include "netlist/evaluate.hpp"

#include <fmt/format.h>

#include "espalier/error.hpp"

namespace espalier {

std::vector<std::uint64_t> evaluate_words(const Netlist& netlist, std::span<const std::uint64_t> inputs) {
  if (inputs.size() != netlist.inputs.size())
    fail("evaluate", fmt::format("{} inputs", inputs.size()), fmt::format("{}", netlist.inputs.size()));
  std::vector<std::uint64_t> words(netlist.nets() + 1);  // one spare word: constants may name net 0 of none
  std::copy(inputs.begin(), inputs.end(), words.begin());
  std::size_t net = inputs.size();
  for (const NetlistGate& g : netlist.gates) words[net++] = apply_gate(g.gate, words[g.a], words[g.b]);
  words.resize(netlist.nets());
  return words;
}

std::vector<bool> evaluate(const Netlist& netlist, const std::vector<bool>& inputs) {
  std::vector<std::uint64_t> words(inputs.begin(), inputs.end());
  const std::vector<std::uint64_t> nets = evaluate_words(netlist, words);
  std::vector<bool> outputs;
  for (const NetlistOutput& output : netlist.outputs) outputs.push_back(nets[output.net] & 1);
  return outputs;
}

std::uint64_t counting_word(std::size_t input, std::uint64_t block) {
  constexpr std::uint64_t kLow[6] = {0xAAAAAAAAAAAAAAAA, 0xCCCCCCCCCCCCCCCC, 0xF0F0F0F0F0F0F0F0,
                                     0xFF00FF00FF00FF00, 0xFFFF0000FFFF0000, 0xFFFFFFFF00000000};
  if (input < 6) return kLow[input];
  return input - 6 < 64 && (block >> (input - 6) & 1) ? ~std::uint64_t{0} : 0;
}

}  // namespace espalier
