// Weights by pairs of symbols, shared by networks of different shapes.
#include <fmt/format.h>

#include <cmath>

#include "base/arrays.hpp"
#include "espalier/dag_nn.hpp"
#include "espalier/error.hpp"
#include "espalier/safetensors.hpp"

namespace espalier {
namespace {

std::string shown(std::uint32_t symbol) { return fmt::format("U+{:04X}", symbol); }

// The edges between nodes with symbols, and the nodes that have both a symbol and a bias.
void for_shared(const DagNN& network, auto&& edge_action, auto&& node_action) {
  const DagTopology& topology = network.topology();
  for (const auto& [id, edge] : topology.edges()) {
    const std::uint32_t from = topology.node(edge.from).symbol, to = topology.node(edge.to).symbol;
    if (from != kNoSymbol && to != kNoSymbol) edge_action(id, edge, std::pair(from, to));
  }
  for (const auto& [id, node] : topology.nodes())
    if (node.symbol != kNoSymbol && node.kind != NodeKind::kInput) node_action(id, node.symbol);
}

}  // namespace

void SymbolWeights::tie(DagNN& network) {
  for_shared(
      network,
      [&](EdgeId id, const DagEdge&, auto pair) {
        network.set_weight(id, weights_.try_emplace(pair, Shared{network.weight(id)}).first->second.value);
      },
      [&](NodeId id, std::uint32_t symbol) {
        network.set_bias(id, biases_.try_emplace(symbol, Shared{network.bias(id)}).first->second.value);
      });
}

void SymbolWeights::add_gradients(const DagNN& network) {
  // All are looked up before the first is changed.
  for_shared(
      network,
      [&](EdgeId, const DagEdge&, auto pair) {
        if (!weights_.contains(pair))
          fail("symbol weights", fmt::format("an edge from {} to {}", shown(pair.first), shown(pair.second)),
               "a pair of a network that was tied");
      },
      [&](NodeId, std::uint32_t symbol) {
        if (!biases_.contains(symbol))
          fail("symbol weights", fmt::format("a bias of {}", shown(symbol)), "a symbol of a network that was tied");
      });
  for_shared(
      network,
      [&](EdgeId, const DagEdge& edge, auto pair) {
        weights_.at(pair).gradient += network.edge_grad(edge.from, edge.to).value_or(0.0f);
      },
      [&](NodeId id, std::uint32_t symbol) { biases_.at(symbol).gradient += network.bias_grad(id).value_or(0.0f); });
}

void SymbolWeights::zero_grad() {
  for (auto& [pair, shared] : weights_) shared.gradient = 0;
  for (auto& [symbol, shared] : biases_) shared.gradient = 0;
}

void SymbolWeights::step(float lr) {
  if (!std::isfinite(lr)) fail("symbol weights", fmt::format("a learning rate of {}", lr), "a finite number");
  for (auto& [pair, shared] : weights_) shared.value -= lr * shared.gradient;
  for (auto& [symbol, shared] : biases_) shared.value -= lr * shared.gradient;
}

std::optional<float> SymbolWeights::weight(std::uint32_t from, std::uint32_t to) const {
  const auto found = weights_.find({from, to});
  return found == weights_.end() ? std::nullopt : std::optional(found->second.value);
}

std::optional<float> SymbolWeights::bias(std::uint32_t symbol) const {
  const auto found = biases_.find(symbol);
  return found == biases_.end() ? std::nullopt : std::optional(found->second.value);
}

void SymbolWeights::save(SafetensorsFile& file) const {
  std::vector<std::int32_t> pairs, symbols;
  std::vector<float> weights, biases;
  for (const auto& [pair, shared] : weights_) {
    pairs.insert(pairs.end(), {static_cast<std::int32_t>(pair.first), static_cast<std::int32_t>(pair.second)});
    weights.push_back(shared.value);
  }
  for (const auto& [symbol, shared] : biases_) {
    symbols.push_back(static_cast<std::int32_t>(symbol));
    biases.push_back(shared.value);
  }
  file.add("symbols.pairs", {weights.size(), 2}, std::span<const std::int32_t>(pairs));
  file.add("symbols.weight", {weights.size()}, std::span<const float>(weights));
  file.add("symbols.symbols", {biases.size()}, std::span<const std::int32_t>(symbols));
  file.add("symbols.bias", {biases.size()}, std::span<const float>(biases));
}

SymbolWeights SymbolWeights::load(const SafetensorsFile& file) {
  const std::vector<std::int32_t> pairs = file.ints("symbols.pairs"), symbols = file.ints("symbols.symbols");
  const std::vector<float> weights = file.floats("symbols.weight"), biases = file.floats("symbols.bias");
  if (!all_finite(weights) || !all_finite(biases))
    fail("symbol weights", "a weight or bias that is not finite", "finite numbers");
  SymbolWeights result;
  for (std::size_t i = 0; i < weights.size() && 2 * i + 1 < pairs.size(); ++i)
    result.weights_[{static_cast<std::uint32_t>(pairs[2 * i]), static_cast<std::uint32_t>(pairs[2 * i + 1])}] = {
        weights[i]};
  for (std::size_t i = 0; i < biases.size() && i < symbols.size(); ++i)
    result.biases_[static_cast<std::uint32_t>(symbols[i])] = {biases[i]};
  if (pairs.size() != 2 * weights.size() || symbols.size() != biases.size() ||
      result.weights_.size() != weights.size() || result.biases_.size() != biases.size())
    fail("symbol weights", "tensors that do not fit each other", "every pair and symbol once, with one value each");
  return result;
}

}  // namespace espalier
