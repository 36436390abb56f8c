// Cases of the signature that use the graph room as a library would, without a task and its trainer.
#include <fmt/format.h>

#include "bench/signature_hash.hpp"
#include "espalier/message_passing.hpp"
#include "espalier/safetensors.hpp"
#include "models/dag/table_objective.hpp"

namespace espalier {
namespace {

// A few steps towards random targets. The gradients of three batches, one of them of several blocks, add up for a step.
void train_dag(Hasher& hash, DagNN& network, const ThreadPool& pool,
               std::array<std::size_t, 3> batches = {1, 37, 150}) {
  for (std::uint32_t step = 0; step < 3; ++step) {
    network.zero_grad(pool);
    for (const std::size_t batch : batches) {
      const auto y = network.forward(numbers(batch * network.num_inputs(), step), batch, pool);
      hash_floats(hash, y);
      AlignedVector<float> dy = numbers(y.size(), step + 100);
      for (std::size_t i = 0; i < y.size(); ++i) dy[i] = (y[i] - dy[i]) / static_cast<float>(batch);
      network.backward_accumulate(dy, pool);
      hash_floats(hash, network.input_gradients());
    }
    for (const auto& [id, edge] : network.topology().edges())
      hash_floats(hash, std::array{network.edge_grad(edge.from, edge.to).value()});
    hash_number(hash, network.gradient_norm(pool));
    hash_number(hash, network.clip_gradients(2.0, pool));
    network.step(0.1f, pool);
  }
  hash_network(hash, network);
}

// A network that is trained, grown, cut, saved, loaded, and trained on after each.
void hash_dag(Hasher& hash, Activation activation, bool fan_in_scaling, const ThreadPool& pool) {
  const std::size_t sizes[] = {7, 19, 11, 4};
  const auto next = static_cast<Activation>((static_cast<int>(activation) + 1) % kNumActivations);
  DagNN network = DagNN::layered(sizes, {0.6, activation, next, fan_in_scaling, 5});
  train_dag(hash, network, pool);
  network.split_edge(3);
  network.add_shortcut(0, network.split_edge(17));
  network.add_shortcut(2, 7 + 19 + 11 + 1);
  train_dag(hash, network, pool);
  hash_ints(hash, network.prune_percentile(40));
  hash_ints(hash, network.remove_unseen());
  hash_ints(hash, network.prune_below(0.05f));
  train_dag(hash, network, pool);
  SafetensorsFile file;
  network.save(file);
  network = DagNN::load(file);
  network.split_edge(network.topology().edges().begin()->first);
  train_dag(hash, network, pool);
}

// Many levels, a hub that hears a third of all nodes, and every activation.
void hash_wild_dag(Hasher& hash, const ThreadPool& pool) {
  constexpr NodeId kNodes = 900, kInputs = 30, kOutputs = 8;
  const Random random(2, Purpose::kWiring);
  DagNN network(DagOptions{true});
  for (NodeId v = 0; v < kInputs; ++v) network.add_node(NodeKind::kInput);
  for (NodeId v = kInputs; v < kNodes; ++v)
    network.add_node(v < kNodes - kOutputs ? NodeKind::kHidden : NodeKind::kOutput,
                     static_cast<Activation>(v % kNumActivations), 0.01f);
  for (NodeId v = kInputs; v < kNodes; ++v)
    for (NodeId k = 0; k < (v == kNodes / 2 ? kNodes / 3 : 6); ++k) {
      const auto u = static_cast<NodeId>(random.choice(1000 * v + k, v));
      if (network.topology().node(u).kind != NodeKind::kOutput && !network.topology().find_edge(u, v))
        network.add_edge(u, v, random.normal(1000 * v + 500 + k));
    }
  train_dag(hash, network, pool);
}

// Four slots of gradients and more, which are summed in a tree.
void hash_large_batches(Hasher& hash, const ThreadPool& pool) {
  const std::size_t sizes[] = {7, 19, 11, 4};
  DagNN network = DagNN::layered(sizes, {0.6, Activation::kTanh, Activation::kLinear, false, 5});
  train_dag(hash, network, pool, {193, 300, 700});
}

void hash_embedding(Hasher& hash, const ThreadPool& pool) {
  constexpr std::size_t kRows = 50, kFeatures = 9, kSymbols = 700;
  Parameters p;
  Embedding embedding(p, "embedding", kRows, kFeatures);
  embedding.initialize(p, 3);
  std::vector<std::uint32_t> symbols;
  for (std::uint32_t i = 0; i < kSymbols; ++i) symbols.push_back(Embedding::row_of_code_point(i * i, kRows));
  std::vector<float> out(kSymbols * kFeatures);
  for (std::uint32_t step = 0; step < 3; ++step) {
    embedding.lookup(p, symbols, out, pool);
    hash_floats(hash, out);
    embedding.zero_grad(p, pool);
    embedding.backward(p, symbols, numbers(out.size(), step), p.gradients(), pool);
    embedding.step(p, 0.1f, pool);
  }
  hash_floats(hash, p.values());
}

// Two kinds of edges over random pairs; one node is joined to most others, in each kind another way.
MessageGraph hub_graph(std::uint32_t nodes, std::size_t relations) {
  std::vector<Graph> list;
  for (std::uint32_t r = 0; r < relations; ++r) {
    const Random random(4, Purpose::kWiring, r);
    std::vector<Edge> edges;
    for (std::uint32_t v = 1; v < nodes; ++v) {
      if (v % 16) edges.push_back(r ? Edge{0, v} : Edge{v, 0});
      const std::uint32_t third = nodes / 3;  // distinct sources
      for (std::uint32_t k = 0; k < v % 4; ++k)
        edges.push_back(
            {1 + (v + k * third / 2 + static_cast<std::uint32_t>(random.choice(4 * v + k, third / 2))) % (nodes - 1),
             v});
    }
    list.emplace_back(nodes, edges);
  }
  return MessageGraph(std::move(list));
}

void hash_message_passing(Hasher& hash, Aggregation aggregation, bool layer_norm, const ThreadPool& pool) {
  constexpr std::uint32_t kNodes = 1500;  // more than a piece of neighbours, many chunks
  for (const std::size_t relations : {1, 2})
    for (const Activation f : {Activation::kLinear, Activation::kRelu, Activation::kLeakyRelu, Activation::kTanh}) {
      const MessageGraph graph = hub_graph(kNodes, relations);
      Parameters p;
      const MessagePassingLayer layer(p, "layer", {13, 20, relations, aggregation, layer_norm, f});
      layer.initialize(p, 7);
      const AlignedVector<float> h = numbers(kNodes * 13, 1), dy = numbers(kNodes * 20, 2);
      AlignedVector<float> y(kNodes * 20), dh(kNodes * 13);
      std::array<float, 20> row;
      MessageTape state;
      for (int step = 0; step < 2; ++step) {
        layer.zero_grad(p, pool);
        layer.forward_batch(p, graph, h, y, state, pool);
        layer.backward(p, graph, h, y, dy, state, p.gradients(), dh, pool);
        for (const std::span<const float> part : {std::span<const float>(y), std::span<const float>(dh)})
          hash_floats(hash, part);
        hash_floats(hash, p.gradients());
        layer.step(p, 0.001f, pool);
      }
      hash_floats(hash, p.values());
      for (const std::size_t node : {0, 1, 700}) {
        layer.forward(p, graph, h, node, row);
        hash_floats(hash, row);
      }
    }
}

// The linear model that tables are compared with.
void hash_linear_models(Hasher& hash, const ThreadPool&) {
  const AlignedVector<float> x = numbers(80 * 5, 1), test = numbers(20 * 5, 2), targets = numbers(80, 3);
  std::vector<float> classes;
  for (const float t : targets) classes.push_back(t > 0.5f ? 2.0f : t > -0.5f ? 1.0f : 0.0f);
  hash_floats(hash, linear_predictions(true, 5, 3, x, classes, test));
  hash_floats(hash, linear_predictions(false, 5, 1, x, targets, test));
}

}  // namespace

std::vector<SignatureCase> graph_signature_cases() {
  std::vector<SignatureCase> cases;
  for (int f = 0; f < kNumActivations; ++f)
    for (const bool scaled : {false, true}) {
      const auto activation = static_cast<Activation>(f);
      cases.push_back({fmt::format("dag/{}{}", name_of(activation), scaled ? "-scaled" : ""),
                       [=](Hasher& hash, const ThreadPool& pool) { hash_dag(hash, activation, scaled, pool); }});
    }
  cases.push_back({"dag/wild", hash_wild_dag});
  cases.push_back({"dag/large-batches", hash_large_batches});
  cases.push_back({"graph/embedding", hash_embedding});
  for (const char* name : {"mean", "sum", "max"})
    for (const bool norm : {false, true})
      cases.push_back(
          {fmt::format("graph/message-{}{}", name, norm ? "-norm" : ""), [=](Hasher& hash, const ThreadPool& pool) {
             hash_message_passing(hash, aggregation_named(name), norm, pool);
           }});
  cases.push_back({"table/linear-model", hash_linear_models});
  return cases;
}

}  // namespace espalier
