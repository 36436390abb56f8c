#include "tasks/graph_bench.hpp"

#include <algorithm>
#include <limits>

#include "espalier/core/clock.hpp"
#include "espalier/core/random.hpp"
#include "espalier/graph/dag_nn.hpp"
#include "espalier/graph/edit_distance.hpp"
#include "espalier/graph/message_passing.hpp"
#include "reference/dag_reference.hpp"
#include "tasks/machine_rates.hpp"
#include "tasks/simplify_objective.hpp"

namespace espalier {
namespace {

// Least of several runs: others may use the machine.
double best_seconds(int runs, auto&& work) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < runs; ++i) {
    const double start = seconds_now();
    work();
    best = std::min(best, seconds_now() - start);
  }
  return best;
}

// Every node hears 20 earlier ones at random; a tenth of the nodes are inputs.
DagNN bench_network(std::size_t nodes, std::size_t edges) {
  const Random random(1, Purpose::kWiring);
  const std::size_t inputs = nodes / 10, outputs = nodes / 100;
  DagNN network;
  for (std::size_t v = 0; v < nodes; ++v)
    network.add_node(v < inputs ? NodeKind::kInput : v < nodes - outputs ? NodeKind::kHidden : NodeKind::kOutput,
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

std::vector<float> numbers(std::size_t count, std::uint64_t seed) {
  const Random random(seed, Purpose::kData);
  std::vector<float> x(count);
  for (std::size_t i = 0; i < count; ++i) x[i] = random.uniform(i) - 0.5f;
  return x;
}

LabelledGraph bench_labelled(std::uint64_t seed, std::uint32_t nodes, double edges_a_node) {
  const Random random(seed, Purpose::kData);
  LabelledGraph g;
  std::uint64_t draw = 0;
  for (std::uint32_t i = 0; i < nodes; ++i) g.labels.push_back(std::string(1, static_cast<char>('A' + random.choice(draw++, 4))));
  const double density = 2 * edges_a_node / (nodes - 1.0);
  for (std::uint32_t i = 0; i < nodes; ++i)
    for (std::uint32_t j = i + 1; j < nodes; ++j)
      if (static_cast<double>(random.uniform(draw++)) < density) g.edges.push_back({i, j, random.coin(draw++) ? "s" : "d"});
  return g;
}

}  // namespace

Json bench_dag() {
  constexpr std::size_t kNodes = 10'000, kEdges = 200'000, kLanes = 256;
  DagNN network = bench_network(kNodes, kEdges);
  const std::vector<float> samples = numbers(kLanes * network.num_inputs(), 3);
  const std::vector<float> gradient = numbers(kLanes * network.num_outputs(), 4);
  const auto seconds = [&](const Pool& pool) {
    return best_seconds(7, [&] {
      network.forward(samples, kLanes, pool);
      network.backward_accumulate(gradient, pool);
    });
  };
  const double one = seconds(Pool(1)), two = seconds(Pool(2));
  const reference::Dag<float> plain(network);
  const double reference = best_seconds(2, [&] {
    std::vector<float> z, a, g, db(plain.nodes.size()), dw(plain.edges.size());
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      plain.forward(&samples[lane * network.num_inputs()], z, a);
      plain.backward(z, a, &gradient[lane * network.num_outputs()], g, db, dw);
    }
  });
  return {{"nodes", kNodes}, {"edges", network.topology().edges().size()}, {"lanes", kLanes}, {"ms_one_thread", one * 1e3},
          {"ms_two_threads", two * 1e3}, {"ms_reference", reference * 1e3}, {"times_reference", reference / one},
          {"speedup_two_threads", one / two}};
}

Json bench_message(bool hub) {
  constexpr std::size_t kNodes = 100'000, kEdges = 1'000'000, kFeatures = 64;
  const MessageGraph graph = bench_graph(kNodes, kEdges, hub);
  Parameters p;
  const MessagePassingLayer layer(p, "layer", {kFeatures, kFeatures, 1, Aggregation::kMean, false, Activation::kRelu});
  layer.initialize(p, 1);
  const std::vector<float> h = numbers(kNodes * kFeatures, 5), dy = numbers(kNodes * kFeatures, 6);
  std::vector<float> y(h.size()), dh(h.size());
  MessageState state;
  const auto seconds = [&](const Pool& pool) {
    return best_seconds(7, [&] {
      layer.forward_batch(p, graph, h, y, state, pool);
      layer.backward(p, graph, h, y, dy, state, p.gradients(), dh, pool);
    });
  };
  const double copy_rate = measured_copy_rate(), fma_rate = measured_fma_rate();
  const double one = seconds(Pool(1)), two = seconds(Pool(2));
  // Rows that must move: each edge is gathered once per side and pass; forward reads h and writes y; backward
  // reads y and dy, writes and reads dz, reads h, writes dh.
  const double row = 4.0 * kFeatures, edges = static_cast<double>(graph.num_edges()), nodes = kNodes;
  const double forward_bytes = row * (2 * edges + 2 * nodes), backward_bytes = row * (2 * edges + 6 * nodes);
  const double product = nodes * kFeatures * kFeatures;
  const double bound = std::max(forward_bytes / copy_rate, 3 * product / fma_rate) +
                       std::max(backward_bytes / copy_rate, 6 * product / fma_rate);
  return {{"nodes", kNodes}, {"edges", graph.num_edges()}, {"features", kFeatures}, {"ms_one_thread", one * 1e3},
          {"ms_two_threads", two * 1e3}, {"copy_gb_per_s", copy_rate * 1e-9}, {"gfma_per_s", fma_rate * 1e-9},
          {"ms_bound_one_thread", bound * 1e3}, {"fraction_of_bound", bound / one}, {"speedup_two_threads", one / two}};
}

Json bench_simplify() {
  SimplifyDataOptions data;
  data.train = 4000, data.validation = data.test = data.deep = 1;
  SimplifyObjective objective(data, {}, 128, 1);
  PhaseSeconds phases;
  const auto seconds = [&](const Pool& pool) {
    return best_seconds(5, [&] {
      for (std::uint64_t batch = 0; batch < 8; ++batch) objective.accumulate(batch, pool, phases);
    }) / 8;
  };
  const double one = seconds(Pool(1)), two = seconds(Pool(2));
  return {{"expressions", 128}, {"ms_one_thread", one * 1e3}, {"ms_two_threads", two * 1e3}, {"speedup_two_threads", one / two}};
}

Json bench_ged() {
  constexpr std::uint64_t kPairs = 200;
  std::uint64_t searched = 0;
  double worst = 0;
  const double start = seconds_now();
  for (std::uint64_t i = 0; i < kPairs; ++i) {
    const LabelledGraph a = bench_labelled(2 * i, 10, 1.5), b = bench_labelled(2 * i + 1, 10, 1.5);
    const double before = seconds_now();
    searched += edit_distance(a, b).searched;
    worst = std::max(worst, seconds_now() - before);
  }
  const double mean = (seconds_now() - start) / static_cast<double>(kPairs);
  const LabelledGraph a = bench_labelled(1, 1000, 3), b = bench_labelled(2, 1000, 3);
  const double bounds = best_seconds(3, [&] { edit_bounds(a, b); });
  return {{"pairs_of_10_nodes", kPairs}, {"ms_mean", mean * 1e3}, {"ms_worst", worst * 1e3},
          {"mean_search_nodes", static_cast<double>(searched) / kPairs}, {"ms_bounds_1000_nodes", bounds * 1e3}};
}

}  // namespace espalier
