// Circuits and comparisons that tests of netlists share.
#pragma once

#include <fmt/format.h>

#include <numeric>

#include "espalier/netlist.hpp"
#include "espalier/random.hpp"
#include "netlist/cell.hpp"

namespace espalier::test {

// Gates of all sixteen types over recent nets, so that most matter to some output.
inline Netlist random_netlist(std::uint64_t seed, int inputs, int gates, int outputs, int reach = 30) {
  const Random random(seed, Purpose::kData, 77);
  Netlist n;
  n.name = fmt::format("random{}", seed);
  for (int i = 0; i < inputs; ++i) n.add_input(fmt::format("i{}", i));
  std::uint64_t draw = 0;
  const auto pick = [&] {
    const std::uint64_t nets = n.nets(), span = std::min<std::uint64_t>(nets, static_cast<std::uint64_t>(reach));
    return static_cast<Net>(nets - 1 - random.choice(draw++, span));
  };
  for (int g = 0; g < gates; ++g) {
    const Gate gate = inputs ? static_cast<Gate>(random.choice(draw++, 16)) : Gate::kTrue;
    if (inputs) {
      const Net a = pick(), b = pick();
      n.add_gate(gate, a, b);
    } else {
      n.add_gate(gate, 0, 0);
    }
  }
  for (int o = 0; o < outputs; ++o) n.add_output(fmt::format("o{}", o), pick());
  return n;
}

// Layers of equal width, each gate reading two random nets of the layer before: as a trained network looks.
inline Netlist layered_netlist(std::uint64_t seed, int inputs, int width, int layers, int outputs) {
  const Random random(seed, Purpose::kData, 78);
  Netlist n;
  std::vector<Net> previous;
  for (int i = 0; i < inputs; ++i) previous.push_back(n.add_input(fmt::format("i{}", i)));
  std::uint64_t draw = 0;
  for (int layer = 0; layer < layers; ++layer) {
    std::vector<Net> next;
    for (int g = 0; g < width; ++g) {
      const Gate gate = static_cast<Gate>(random.choice(draw++, 16));
      const Net a = previous[random.choice(draw++, previous.size())],
                b = previous[random.choice(draw++, previous.size())];
      next.push_back(n.add_gate(gate, a, b));
    }
    previous = next;
  }
  for (int o = 0; o < outputs; ++o) n.add_output(fmt::format("o{}", o), previous[static_cast<std::size_t>(o)]);
  return n;
}

// A cell that lives on two or three living neighbours of those given and is born of three, as a naive program would
// write it: for every count, every way to reach it.
inline Netlist clumsy_rule(const std::vector<Net>& neighbours) {
  Netlist n = empty_cell(1);
  // exactly[k]: of the neighbours seen so far, k are alive (k up to 4, more do not matter).
  std::vector<Net> exactly(5);
  exactly[0] = n.add_constant(true);
  for (int k = 1; k < 5; ++k) exactly[static_cast<std::size_t>(k)] = n.add_constant(false);
  for (const Net neighbour : neighbours) {
    std::vector<Net> next(5);
    for (std::size_t k = 0; k < 5; ++k) {
      const Net stay = n.add_gate(Gate::kAAndNotB, exactly[k], neighbour);
      const Net rise = k ? n.add_gate(Gate::kAnd, exactly[k - 1], neighbour) : stay;
      const Net rise_again = n.add_gate(Gate::kNand, rise, rise);
      next[k] = k ? n.add_gate(Gate::kAOrNotB, stay, rise_again) : n.add_gate(Gate::kA, stay, stay);
    }
    exactly = next;
  }
  const Net survives = n.add_gate(Gate::kAnd, exactly[2], 4);
  n.add_output("next0", n.add_gate(Gate::kOr, survives, exactly[3]));
  return n;
}

// Conway's own: 159 gates. The small one looks at four neighbours, and is simplified in no time.
inline Netlist clumsy_life() { return clumsy_rule({0, 1, 2, 3, 5, 6, 7, 8}); }
inline Netlist clumsy_small() { return clumsy_rule({1, 3, 5, 7}); }

inline bool conway(const std::vector<bool>& patch) {
  int alive = 0;
  for (std::size_t p = 0; p < 9; ++p) alive += p != 4 && patch[p];
  return alive == 3 || (alive == 2 && patch[4]);
}

// Outputs of every pattern of up to 16 inputs (all of them), or of `blocks` x 64 random ones.
inline std::vector<std::uint64_t> signature(const Netlist& n, std::uint64_t blocks = 16) {
  std::vector<std::uint64_t> result;
  const std::size_t I = n.inputs.size();
  const bool all = I <= 16;
  if (all) blocks = I > 6 ? std::uint64_t{1} << (I - 6) : 1;
  const Random random(5, Purpose::kData, 79);
  for (std::uint64_t block = 0; block < blocks; ++block) {
    std::vector<std::uint64_t> words(I);
    for (std::size_t i = 0; i < I; ++i) words[i] = all ? counting_word(i, block) : random.bits64(block * I + i);
    const auto nets = evaluate_words(n, words);
    for (const NetlistOutput& output : n.outputs) result.push_back(nets[output.net]);
  }
  return result;
}

// Every channel XNOR of one neighbour of its own and one of the next channel.
inline Netlist parity_cell(int channels) {
  Netlist n = empty_cell(channels);
  n.name = "parity";
  std::vector<Net> next;
  for (int c = 0; c < channels; ++c)
    next.push_back(n.add_gate(Gate::kXnor, patch_net(c % kPatch, c, channels),
                              patch_net((c + 3) % kPatch, (c + 1) % channels, channels)));
  for (int c = 0; c < channels; ++c) n.add_output(fmt::format("next{}", c), next[static_cast<std::size_t>(c)]);
  return n;
}

}  // namespace espalier::test
