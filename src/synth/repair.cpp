#include "synth/repair.hpp"

#include <algorithm>
#include <bit>

namespace espalier {
namespace {

using Words = std::vector<std::uint64_t>;

struct Literal {
  Net net;
  bool positive;
};

std::size_t count(const Words& words) {
  std::size_t n = 0;
  for (const std::uint64_t w : words) n += static_cast<std::size_t>(std::popcount(w));
  return n;
}

// Finds products of few literals that hold for some of the examples to be turned over and for none to be kept.
class CubeFinder {
 public:
  CubeFinder(const Netlist& circuit, const ExampleWords& inputs) : words_(inputs.empty() ? 0 : inputs[0].size()) {
    values_.assign(circuit.nets(), Words(words_));
    std::vector<std::uint64_t> in(circuit.inputs.size());
    for (std::size_t w = 0; w < words_; ++w) {
      for (std::size_t i = 0; i < in.size(); ++i) in[i] = inputs[i][w];
      const std::vector<std::uint64_t> all = evaluate_words(circuit, in);
      for (std::size_t n = 0; n < all.size(); ++n) values_[n][w] = all[n];
    }
  }

  // For the first example left in `turn`; what the product covers is taken out of it. Empty when nothing tells it from
  // one of `keep`: then that example alone is taken out.
  std::vector<Literal> next(Words& turn, const Words& keep) const {
    const auto first =
        static_cast<std::size_t>(std::ranges::find_if(turn, [](std::uint64_t w) { return w != 0; }) - turn.begin());
    const auto bit = static_cast<unsigned>(std::countr_zero(turn[first]));
    std::vector<Literal> cube;
    Words covered = turn, left = keep;
    for (std::size_t off = count(left); off > 0; off = count(left)) {
      const double on = static_cast<double>(count(covered));
      double best = 0;
      Literal choice{};
      for (Net n = 0; n < values_.size(); ++n) {
        const bool positive = values_[n][first] >> bit & 1;
        const std::uint64_t flip = positive ? 0 : ~std::uint64_t{0};
        std::size_t excluded = 0, kept = 0;
        for (std::size_t w = 0; w < words_; ++w) {
          const std::uint64_t holds = values_[n][w] ^ flip;
          excluded += static_cast<std::size_t>(std::popcount(left[w] & ~holds));
          kept += static_cast<std::size_t>(std::popcount(covered[w] & holds));
        }
        if (!excluded) continue;
        const double worth =
            static_cast<double>(excluded) / static_cast<double>(off) + kCompany * static_cast<double>(kept) / on;
        if (worth > best) best = worth, choice = {n, positive};
      }
      if (best == 0) {
        turn[first] &= ~(std::uint64_t{1} << bit);
        return {};
      }
      cube.push_back(choice);
      const std::uint64_t flip = choice.positive ? 0 : ~std::uint64_t{0};
      for (std::size_t w = 0; w < words_; ++w) {
        left[w] &= values_[choice.net][w] ^ flip;
        covered[w] &= values_[choice.net][w] ^ flip;
      }
    }
    for (std::size_t w = 0; w < words_; ++w) turn[w] &= ~covered[w];
    return cube;
  }

 private:
  static constexpr double kCompany = 0.5;  // what it is worth to keep all other examples to be turned over
  std::size_t words_;
  std::vector<Words> values_;  // [net]
};

}  // namespace

Netlist repair_outputs(const Netlist& circuit, const ExampleWords& inputs, std::span<const Correction> corrections,
                       RepairReport* report) {
  check_netlist(circuit, "repair");
  RepairReport told;
  Netlist result = circuit;
  // Most steps of a picture's growth are of no output's concern: only words with examples that are cost anything.
  std::vector<std::size_t> concerned;
  for (std::size_t w = 0; !inputs.empty() && w < inputs[0].size(); ++w)
    if (std::ranges::any_of(corrections, [w](const Correction& c) { return (c.turn[w] | c.keep[w]) != 0; }))
      concerned.push_back(w);
  const auto picked = [&](const Words& words) {
    Words few;
    for (const std::size_t w : concerned) few.push_back(words[w]);
    return few;
  };
  ExampleWords examples;
  for (const Words& input : inputs) examples.push_back(picked(input));
  const CubeFinder finder(circuit, examples);
  for (const Correction& c : corrections) {
    Words turn = picked(c.turn);
    const Words keep = picked(c.keep);
    if (count(turn) > 0 && count(keep) == 0) {  // an all-black picture
      told.fixed += count(turn);
      const Net net = result.outputs[c.output].net;
      result.outputs[c.output].net = result.add_gate(Gate::kNotA, net, net);
      continue;
    }
    Net flip = kNoNet;
    while (const std::size_t before = count(turn)) {
      const std::vector<Literal> cube = finder.next(turn, keep);
      if (cube.empty()) {
        ++told.left;
        continue;
      }
      told.fixed += before - count(turn);
      // A chain of ANDs; the polarity of the first literal goes into the gate that reads it.
      Net product = cube[0].net;
      bool positive = cube[0].positive;
      for (std::size_t i = 1; i < cube.size(); ++i) {
        Gate gate = Gate::kAnd;
        if (!positive) gate = invert_a(gate);
        if (!cube[i].positive) gate = invert_b(gate);
        product = result.add_gate(gate, product, cube[i].net);
        positive = true;
      }
      if (!positive) product = result.add_gate(Gate::kNotA, product, product);
      flip = flip == kNoNet ? product : result.add_gate(Gate::kOr, flip, product);
    }
    if (flip != kNoNet) result.outputs[c.output].net = result.add_gate(Gate::kXor, result.outputs[c.output].net, flip);
  }
  if (report) *report = told;
  return result;
}

}  // namespace espalier
