// The rooms of graphs: storage and edit distance, DagNN, message passing.
#include <cmath>
#include <limits>

#include "espalier/dag_nn.hpp"
#include "espalier/graph.hpp"
#include "espalier/message_passing.hpp"
#include "espalier/safetensors.hpp"
#include "fuzz/api.hpp"

namespace espalier::fuzz {
namespace {

LabelledGraph labelled(Choices& c, bool sane) {
  LabelledGraph g;
  g.directed = c.below(2);
  const std::size_t nodes = c.below(7);
  for (std::size_t i = 0; i < nodes; ++i) g.labels.emplace_back(1, static_cast<char>('a' + c.below(3)));
  const std::size_t edges = nodes ? c.below(9) : 0, most = sane ? nodes : nodes + 1;
  for (std::size_t i = 0; i < edges; ++i)
    g.edges.push_back({static_cast<std::uint32_t>(c.below(most)), static_cast<std::uint32_t>(c.below(most)),
                       std::string(1, static_cast<char>('x' + c.below(2)))});
  return g;
}

std::vector<Edge> edges_of(Choices& c, std::size_t nodes) {
  std::vector<Edge> edges(c.below(10));
  for (Edge& e : edges)
    e = {static_cast<std::uint32_t>(c.below(c.size(nodes))), static_cast<std::uint32_t>(c.below(c.size(nodes)))};
  return edges;
}

}  // namespace

void api_graph(std::span<const std::byte> bytes) {
  Choices c(bytes);
  while (c.more()) {
    switch (c.below(5)) {
      case 0:
        attempt([&] {
          const std::size_t nodes = c.below(8);
          const Graph g(nodes, edges_of(c, nodes), c.below(2) ? Repeats::kKeep : Repeats::kRefuse);
          const Graph* const both[] = {&g, c.rarely() ? nullptr : &g};
          batch_graphs(both);
          name_of(static_cast<Activation>(c.below(8)));
        });
        break;
      case 1:
        attempt([&] {
          LabelledGraph g = labelled(c, c.below(4) > 0);
          if (c.rarely()) g.labels.emplace_back("\xff");
          const LabelledGraph back = graph_from_json(graph_to_json(g), "ours");
          if (back.labels != g.labels || back.edges.size() != g.edges.size()) throw std::logic_error("a round trip");
        });
        break;
      case 2:
        attempt([&] { wl_similarity(labelled(c, true), labelled(c, true), static_cast<int>(c.below(5)) - 1); });
        break;
      default:
        attempt([&] {
          const LabelledGraph a = labelled(c, c.below(8) > 0), b = labelled(c, c.below(8) > 0);
          EditDistanceOptions o;
          o.max_nodes = c.below(60);
          if (c.below(3) == 0) o.costs.edge_substitute = static_cast<double>(c.number());
          if (c.below(3) == 0) o.costs.node_insert = static_cast<double>(c.number());
          if (c.rarely()) o.max_seconds = static_cast<double>(c.number());
          const EditDistanceReport r = edit_distance(a, b, o), bounds = edit_bounds(a, b, o.costs);
          double sum = 0;
          for (const GraphEdit& e : r.edits) sum += e.cost + 0 * static_cast<double>(to_text(e).size());
          if (!(r.lower <= r.upper && bounds.lower <= r.upper + 1e-6 * r.upper &&
                std::abs(sum - r.upper) <= 1e-6 * (1 + sum)))
            throw std::logic_error("bounds of an edit distance");
        });
    }
  }
}

void api_dag(std::span<const std::byte> bytes) {
  Choices c(bytes);
  DagNN net = c.below(2) ? DagNN::layered({2, 3, 2}) : DagNN(DagOptions{c.below(2) > 0});
  SymbolWeights shared;
  const auto id = [&] { return static_cast<std::uint32_t>(c.below(14)); };
  const auto forward = [&] {
    const std::size_t batch = c.below(5);
    const AlignedVector<float> x = c.floats(c.size(batch * net.num_inputs()));
    return net.forward(x, batch);
  };
  std::size_t steps = 0;
  while (c.more() && ++steps < 200) {
    switch (c.below(30)) {
      case 0:
        attempt(
            [&] { net.add_node(static_cast<NodeKind>(c.below(3)), static_cast<Activation>(c.below(5)), c.number()); });
        break;
      case 1:
      case 2: attempt([&] { net.add_edge(id(), id(), c.number()); }); break;
      case 3: attempt([&] { net.set_weight(id(), c.number()); }); break;
      case 4: attempt([&] { net.set_bias(id(), c.number()); }); break;
      case 5:
      case 6: attempt([&] { forward(); }); break;
      case 7:
      case 8: attempt([&] { net.backward_accumulate(c.floats(c.size(forward().size()))); }); break;
      case 9: attempt([&] { net.backward_accumulate(c.floats(c.below(9))); }); break;
      case 10: attempt([&] { net.step(c.number()); }); break;
      case 11: attempt([&] { net.clip_gradients(static_cast<double>(c.number())); }); break;
      case 12: attempt([&] { net.zero_grad(); }); break;
      case 13: attempt([&] { net.split_edge(id()); }); break;
      case 14: attempt([&] { net.add_shortcut(id(), id()); }); break;
      case 15:
        attempt(
            [&] { c.below(2) ? net.prune_below(c.number()) : net.prune_percentile(static_cast<double>(c.number())); });
        break;
      case 16: attempt([&] { c.below(2) ? net.remove_edge(id()) : net.remove_node(id()); }); break;
      case 17: attempt([&] { net.remove_unseen(); }); break;
      case 18:
        attempt([&] {
          net.edge_grad(id(), id());
          net.bias_grad(id());
          net.weight(id());
        });
        break;
      case 19:
        attempt([&] {
          net.accumulate_edge_grad(id(), id(), c.number());
          net.gradient_norm();
        });
        break;
      case 20: attempt([&] { net.input_gradients(); }); break;
      case 21:
        attempt([&] {
          SafetensorsFile file;
          net.save(file);
          net = DagNN::load(file);
        });
        break;
      case 22:
        attempt([&] {
          net.insert_edge(id(), id(), id(), c.number());
          net.reserve_ids(id(), c.rarely() ? 0xFFFFFFFF : id());
        });
        break;
      case 23:
        attempt([&] {
          net.insert_node(id(), static_cast<NodeKind>(c.below(3)), static_cast<Activation>(c.below(5)), c.number());
        });
        break;
      case 24:
        attempt([&] {
          Optimizer optimizer({}, c.size(net.parameters().num_parameters()));
          optimizer.step(net.parameters(), c.number());
          net.split_edge(id());
          net.apply_edits(&optimizer);
        });
        break;
      case 25:
        attempt([&] {
          const std::size_t place = c.below(2) ? net.weight_index(id()) : net.bias_index(id());
          if (place >= net.parameters().num_parameters()) throw std::logic_error("an index beyond the parameters");
        });
        break;
      case 26:
        attempt([&] {
          std::vector<WeightedEdge> edges(c.below(8));
          for (WeightedEdge& e : edges) e = {id(), id(), c.number()};
          net = DagNN::from_edges(c.below(14), edges, static_cast<Activation>(c.below(5)));
        });
        break;
      case 27:
        attempt([&] {
          const std::size_t sizes[] = {c.below(4), c.below(4), c.below(4)};
          LayeredOptions o;
          if (c.below(2)) o.density = static_cast<double>(c.number());
          o.fan_in_scaling = c.below(2);
          net = DagNN::layered(std::span(sizes, 1 + c.below(3)), o);
        });
        break;
      case 28:
        attempt([&] {  // what comes out goes in again
          const std::span<const float> y = forward();
          net.forward(y, net.num_inputs() ? y.size() / net.num_inputs() : 0);
        });
        break;
      default:
        attempt([&] {
          DagNN text = DagNN::from_text(std::string(c.below(4), static_cast<char>('a' + c.below(3))));
          if (c.below(4)) shared.tie(text);
          text.forward(c.floats(text.num_inputs()), 1);
          text.backward_accumulate(c.floats(text.num_outputs()));
          shared.add_gradients(text);
          shared.step(0.1f);
          net = text;
        });
    }
  }
}

void api_message(std::span<const std::byte> bytes) {
  Choices c(bytes);
  std::size_t rounds = 0;
  while (c.more() && ++rounds < 20) {
    attempt([&] {
      const std::size_t nodes = c.below(9), relations = c.below(3);
      std::vector<Graph> graphs;
      for (std::size_t r = 0; r < relations; ++r)
        graphs.emplace_back(c.rarely() ? nodes + 1 : nodes, edges_of(c, nodes), Repeats::kKeep);
      const MessageGraph graph(std::move(graphs));
      Parameters p;
      const std::size_t in = c.below(10), out = c.below(10);
      const MessagePassingLayer layer(p, "layer",
                                      {in, out, c.size(relations), static_cast<Aggregation>(c.below(3)), c.below(2) > 0,
                                       static_cast<Activation>(c.below(5))});
      layer.initialize(p, 1);
      MessageTape state;
      AlignedVector<float> h = c.floats(c.size(nodes * in));
      AlignedVector<float> y(c.size(nodes * out)), dh(c.below(2) ? c.size(nodes * in) : 0),
          gradients(c.size(p.num_parameters()));
      if (c.below(8)) layer.forward_batch(p, graph, h, y, state);
      if (c.rarely()) layer.forward_batch(p, graph, h, h, state);
      if (c.rarely()) layer.backward(p, graph, h, y, y, state, h, dh);
      layer.backward(p, graph, h, y, c.floats(c.size(nodes * out)), state, gradients, dh);
      AlignedVector<float> one(c.size(out));
      attempt([&] { layer.forward(p, graph, h, c.below(c.size(nodes)), one); });
      Parameters other;
      attempt([&] { layer.initialize(other, 1); });
      attempt([&] { layer.zero_grad(other); });
      layer.step(p, c.number());
      layer.backward(p, graph, h, y, y, state, gradients, dh);  // the weights have moved
    });
    attempt([&] {
      Parameters p;
      const std::size_t rows = c.below(5), features = c.below(5);
      const Embedding embedding(p, "rows", rows, features);
      std::vector<std::uint32_t> symbols(c.below(6));
      for (std::uint32_t& s : symbols) s = static_cast<std::uint32_t>(c.below(c.size(rows)));
      AlignedVector<float> x(c.size(symbols.size() * features)), gradients(c.size(p.num_parameters()));
      embedding.lookup(p, symbols, x);
      embedding.backward(p, symbols, x, gradients);
      Parameters other;
      if (c.below(2)) other.add("rows", {c.below(4), c.below(4)});
      attempt([&] { embedding.initialize(other, 1); });
      attempt([&] { embedding.zero_grad(other); });
      attempt([&] { embedding.freeze(other, true); });
      attempt([&] { embedding.backward(other, symbols, x, gradients); });
      attempt([&] { Embedding::row_of_code_point(static_cast<std::uint32_t>(c.below(256)), c.below(9)); });
    });
    attempt([&] {
      GraphTransformNet net(Vocabulary({"a", "b", "c"}), Vocabulary({"x", "y"}), c.below(4),
                            {.features = c.below(9), .layers = c.below(3), .layer_norm = c.below(2) > 0}, 1);
      const LabelledGraph graphs[] = {labelled(c, c.below(8) > 0), labelled(c, true)};
      const TransformBatch batch = net.batch(std::span(graphs, c.below(3)));
      TransformState state;
      std::vector<std::uint32_t> edits(c.size(batch.symbols.size()));
      for (std::uint32_t& e : edits) e = static_cast<std::uint32_t>(c.below(c.size(net.num_edits())));
      AlignedVector<float> gradients(c.size(net.parameters().num_parameters()));
      net.encode(batch, state);
      net.predict_edits(batch, state);
      attempt([&] { net.words().label(c.below(5)); });
      attempt([&] {
        const NumberedGraph numbered{
            {static_cast<std::uint32_t>(c.below(4))},
            {{static_cast<std::uint32_t>(c.below(2)), 0, static_cast<std::uint32_t>(c.below(3))}},
            c.rarely() ? 0 : net.labels()};
        const NumberedGraph* const both[] = {&numbered, c.rarely() ? nullptr : &numbered};
        net.predict_edits(net.batch(both), state);
      });
      attempt([&] { net.loss(batch, edits, static_cast<double>(c.number()), state); });
      net.loss_and_gradients(batch, edits, 0.5, state, gradients);
      net.step(c.number());
    });
  }
}

}  // namespace espalier::fuzz
