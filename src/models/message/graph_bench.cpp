// The bench cases of the graph room: DagNN, message passing, the simplify task.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/hash.hpp"
#include "bench/bench_case.hpp"
#include "espalier/dag_nn.hpp"
#include "espalier/graph.hpp"
#include "espalier/message_passing.hpp"
#include "espalier/random.hpp"
#include "espalier/run.hpp"
#include "espalier/thread_pool.hpp"
#include "models/dag/dag_reference.hpp"
#include "models/message/message_reference.hpp"

namespace espalier {
namespace {

// Every node hears 20 earlier ones at random; a tenth of the nodes are inputs.
DagNN bench_network(std::size_t nodes, std::size_t edges) {
  const Random random(1, Purpose::kWiring);
  const std::size_t inputs = nodes / 10, outputs = nodes / 100;
  DagNN network;
  for (std::size_t v = 0; v < nodes; ++v)
    network.add_node(v < inputs            ? NodeKind::kInput
                     : v < nodes - outputs ? NodeKind::kHidden
                                           : NodeKind::kOutput,
                     v < inputs ? Activation::kLinear : static_cast<Activation>(v % kNumActivations));
  std::size_t left = edges;
  std::uint64_t draw = 0;
  for (std::size_t v = inputs; v < nodes; ++v) {
    const std::size_t own = left / (nodes - v);
    for (std::size_t k = 0; k < own;) {
      const auto u = static_cast<NodeId>(random.choice(draw++, v));
      if (network.topology().find_edge(u, static_cast<NodeId>(v))) continue;
      network.add_edge(u, static_cast<NodeId>(v), 0.2f * random.normal(draw++));
      ++k;
    }
    left -= own;
  }
  return network;
}

MessageGraph bench_graph(std::uint32_t nodes, std::size_t edges, bool hub) {
  const Random random(2, Purpose::kWiring);
  std::vector<Edge> list;
  const std::size_t hub_edges = hub ? edges / 10 : 0, rest = edges - hub_edges;
  for (std::uint32_t v = 1; v <= hub_edges && v < nodes; ++v) list.push_back({v, 0});
  // Distinct ends: target v = k mod n, source a different random step away for each turn.
  for (std::size_t k = 0; k < rest; ++k) {
    const auto v = static_cast<std::uint32_t>(k % nodes), turn = static_cast<std::uint32_t>(k / nodes);
    if (hub && v == 0) continue;
    const std::uint32_t stripe = (nodes - 1) / 16;
    const auto u = (v + 1 + turn * stripe + static_cast<std::uint32_t>(random.choice(k, stripe))) % nodes;
    list.push_back({u, v});
  }
  std::vector<Graph> relations;
  relations.emplace_back(nodes, list);
  return MessageGraph(std::move(relations));
}

AlignedVector<float> numbers(std::size_t count, std::uint64_t seed) {
  const Random random(seed, Purpose::kData);
  AlignedVector<float> x(count);
  for (std::size_t i = 0; i < count; ++i) x[i] = random.uniform(i) - 0.5f;
  return x;
}

constexpr std::size_t kDagNodes = 10'000, kDagEdges = 200'000, kDagLanes = 256;

struct DagWork {
  DagNN network = bench_network(kDagNodes, kDagEdges);
  AlignedVector<float> samples = numbers(kDagLanes * network.num_inputs(), 3);
  AlignedVector<float> gradient = numbers(kDagLanes * network.num_outputs(), 4);
};

BenchBody prepare_dag() {
  auto w = std::make_shared<DagWork>();
  const auto run = [w](const ThreadPool& pool) {
    w->network.forward(w->samples, kDagLanes, pool);
    w->network.backward_accumulate(w->gradient, pool);
  };
  return {run, [w, run](const ThreadPool& pool) {
            w->network.zero_grad(pool);
            run(pool);
            return Hasher().add(std::span<const float>(w->network.parameters().gradients())).hex();
          }};
}

BenchReference prepare_dag_reference() {
  auto w = std::make_shared<DagWork>();
  constexpr std::size_t kLanes = kDagLanes / 8;
  const auto tables = std::make_shared<const reference::Dag<float>>(w->network);  // built once, not timed
  return {static_cast<double>(kDagEdges * kLanes), [w, tables] {
            const reference::Dag<float>& plain = *tables;
            std::vector<float> z, a, g, db(plain.nodes.size()), dw(plain.edges.size());
            for (std::size_t lane = 0; lane < kLanes; ++lane) {
              plain.forward(&w->samples[lane * plain.inputs.size()], z, a);
              plain.backward(z, a, &w->gradient[lane * plain.outputs.size()], g, db, dw);
            }
          }};
}

struct MessageSize {
  std::size_t nodes = 100'000, features = 64;
  bool hub = false;
  std::size_t edges() const { return 10 * nodes; }
  MessagePassingOptions layer() const { return {features, features, 1, Aggregation::kMean, false, Activation::kRelu}; }
  MessageGraph graph() const { return bench_graph(static_cast<std::uint32_t>(nodes), edges(), hub); }
};

BenchBody prepare_message(const MessageSize& size) {
  struct Work {
    MessageGraph graph;
    Parameters p;
    AlignedVector<float> h, dy, y, dh;  // as GraphTransformNet keeps its rows
    MessageTape state;
    std::unique_ptr<MessagePassingLayer> layer;
  };
  auto w = std::make_shared<Work>(Work{size.graph(), {}, {}, {}, {}, {}, {}, {}});
  w->h = numbers(size.nodes * size.features, 5);
  w->dy = numbers(size.nodes * size.features, 6);
  w->y.resize(size.nodes * size.features);
  w->dh.resize(size.nodes * size.features);
  w->layer = std::make_unique<MessagePassingLayer>(w->p, "layer", size.layer());
  w->layer->initialize(w->p, 1);
  const auto run = [w](const ThreadPool& pool) {
    w->layer->forward_batch(w->p, w->graph, w->h, w->y, w->state, pool);
    w->layer->backward(w->p, w->graph, w->h, w->y, w->dy, w->state, w->p.gradients(), w->dh, pool);
  };
  return {run, [w, run](const ThreadPool& pool) {
            w->p.zero_grad(pool);
            run(pool);
            return Hasher().add(std::span<const float>(w->p.gradients())).add(std::span<const float>(w->dh)).hex();
          }};
}

// The plain layer, on fewer nodes where all of them would take seconds.
BenchReference prepare_message_reference(MessageSize size) {
  size.nodes = std::min(size.nodes, std::max<std::size_t>(1000, 40'000'000 / (size.features * size.features)));
  struct Work {
    MessageGraph graph;
    reference::MessageLayer<float> layer;
    std::vector<float> h, dy, dweights;
  };
  auto w = std::make_shared<Work>(Work{size.graph(), {}, {}, {}, {}});
  Parameters p;
  MessagePassingLayer(p, "layer", size.layer()).initialize(p, 1);
  w->layer.options = size.layer();
  w->layer.graph = &w->graph;
  w->layer.weights.assign(p.values().begin(), p.values().end());
  const auto fill = [&](std::uint64_t seed) {
    const AlignedVector<float> x = numbers(size.nodes * size.features, seed);
    return std::vector<float>(x.begin(), x.end());
  };
  w->h = fill(5);
  w->dy = fill(6);
  w->dweights.resize(w->layer.weights.size());
  return {static_cast<double>(size.edges()), [w] {
            w->layer.forward(w->h);
            w->layer.backward(w->h, w->dy, w->dweights);
          }};
}

// Rows that must move: each edge is gathered once per side and pass; forward reads h and writes y; backward
// reads y and dy, writes and reads dz, reads h, writes dh. Nine products of N x F x F. Left out, so that the bound
// is rather too low than too high: lists of neighbours, weights, the additions of the gathers.
BenchCase message_case(const std::string& name, const MessageSize& size) {
  const auto nodes = static_cast<double>(size.nodes), features = static_cast<double>(size.features),
             edges = static_cast<double>(size.edges());
  return {name,
          "edges/s",
          edges,
          2.0 * 9.0 * nodes * features * features,
          4.0 * features * (4.0 * edges + 8.0 * nodes),
          [size] { return prepare_message(size); },
          [size] { return prepare_message_reference(size); }};
}

}  // namespace

void add_graph_bench(BenchList& cases) {
  // A multiply-add forward, two backward, for every edge and lane.
  const double dag_work = static_cast<double>(kDagEdges * kDagLanes);
  cases.push_back({"graph/dag", "edges/s", dag_work, 6 * dag_work, 0, prepare_dag, prepare_dag_reference});
  cases.push_back(message_case("graph/message", {}));
  cases.push_back(message_case("graph/message-hub", {.hub = true}));
  // A million nodes of 256 features would need 10 GB.
  for (const std::size_t nodes : {1'000u, 10'000u, 100'000u, 1'000'000u})
    for (const std::size_t features : {16u, 64u, 256u})
      if (nodes * features <= 64'000'000)
        cases.push_back(message_case(fmt::format("graph-scaling/message-{}x{}", nodes, features),
                                     {.nodes = nodes, .features = features}));
  const RunConfig simplify = configure(
      "simplify",
      {{"train-examples", "4000"}, {"validation-examples", "1"}, {"test-examples", "0"}, {"deep-examples", "0"}});
  cases.push_back({"graph/simplify", "expressions/s", 128, 0, 0, [simplify] { return training_body(simplify); }});
}

}  // namespace espalier
