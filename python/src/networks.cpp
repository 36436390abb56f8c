// Networks on graphs: DagNN with its accumulator contract, GraphTransformNet, and the optimizers.
#include "networks.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "espalier/dag_nn.hpp"
#include "espalier/error.hpp"
#include "espalier/message_passing.hpp"
#include "espalier/optimizer.hpp"
#include "espalier/safetensors.hpp"
#include "runs/outputs.hpp"

namespace espalier::python {
namespace {

NodeKind node_kind(const std::string& name) {
  if (name == "input") return NodeKind::kInput;
  if (name == "hidden") return NodeKind::kHidden;
  if (name == "output") return NodeKind::kOutput;
  fail("node", name, "input, hidden or output");
}

const char* name_of_kind(NodeKind kind) {
  return kind == NodeKind::kInput ? "input" : kind == NodeKind::kOutput ? "output" : "hidden";
}

class PyDag : public Guarded {
 public:
  PyDag(DagNN network, int threads) : network_(std::move(network)), pool_(threads) {}
  // The network for the length of one expression, nobody else using it.
  struct Locked {
    std::unique_lock<std::recursive_mutex> guard;
    DagNN& network;
    DagNN* operator->() { return &network; }
  };
  Locked network() { return {lock(), network_}; }
  const ThreadPool& pool() const { return pool_; }

  // From now on the state of this optimizer moves with the parameters when the network grows or shrinks.
  std::shared_ptr<Optimizer> follow(const OptimizerOptions& options) {
    const auto guard = lock();
    settle();
    auto optimizer = std::make_shared<Optimizer>(options, network_.num_parameters());
    followers_.push_back(optimizer);
    return optimizer;
  }
  // Edits take effect, for the optimizers too. Whatever needs the flat arrays comes here first.
  void settle() {
    const auto guard = lock();
    std::erase_if(followers_, [](const auto& f) { return f.expired(); });
    std::vector<std::shared_ptr<Optimizer>> held;
    std::vector<Optimizer*> all;
    for (const auto& follower : followers_)
      if (auto optimizer = follower.lock()) {
        all.push_back(optimizer.get());
        held.push_back(std::move(optimizer));
      }
    network_.apply_edits(all);
  }

  nb::object forward(const InArray<float>& x, PyTape* tape) {
    std::optional<NewArray<float>> y;
    const ForwardPass pass = work([&] {
      if (x.ndim() != 2 || x.shape(1) != network_.num_inputs())
        fail("forward", "samples of shape " + shape_text(x),
             "[samples, " + std::to_string(network_.num_inputs()) + "], a column for each input");
      if (x.shape(0) == 0) fail("forward", "no rows", "at least one");
      check_finite(span_of(x), "forward");
      settle();
      y.emplace(std::vector<std::size_t>{x.shape(0), network_.num_outputs()});
      const DagOutputs outputs = network_.forward(span_of(x), x.shape(0), pool_);
      if (outputs.pass) forward_by_ = std::this_thread::get_id();
      std::ranges::copy(outputs, y->data);
      return outputs.pass;
    });
    if (tape) *tape = {pass, nullptr};
    return y->take();
  }
  void backward(const InArray<float>& dy, const PyTape* tape) {
    const ForwardPass pass = tape ? tape->dag : ForwardPass{};
    work([&] {
      if (dy.ndim() != 2 || dy.shape(1) != network_.num_outputs())
        fail("backward", "gradients of shape " + shape_text(dy),
             "[samples, " + std::to_string(network_.num_outputs()) + "], a column for each output");
      check_finite(span_of(dy), "backward");
      if (tape) {
        network_.backward_accumulate(pass, span_of(dy), pool_);
      } else {
        if (network_.is_training() && forward_by_ != std::thread::id()) check_thread("backward", forward_by_);
        network_.backward_accumulate(span_of(dy), pool_);
      }
      backward_by_ = std::this_thread::get_id();
    });
  }
  nb::object input_gradients() {
    std::size_t inputs = 1;
    const std::vector<float> g = work([&] {
      inputs = std::max(inputs, network_.num_inputs());
      std::vector<float> gradients = network_.input_gradients();
      if (backward_by_ != std::thread::id() && backward_by_ != std::this_thread::get_id())
        fail("input gradients", "a backward pass of another thread", "one of this thread",
             "copy() gives every thread a network of its own");
      return gradients;
    });
    return to_array<float>(g, {g.size() / inputs, inputs});
  }

 private:
  DagNN network_;
  ThreadPool pool_;
  std::vector<std::weak_ptr<Optimizer>> followers_;
  std::thread::id forward_by_, backward_by_;  // who did the last ones; nobody yet in a copy
};

PyDag* make_layered(const std::vector<std::size_t>& sizes, double density, const std::string& hidden,
                    const std::string& output, bool fan_in_scaling, std::uint64_t seed, int threads) {
  return new PyDag(DagNN::layered(sizes, {.density = density,
                                          .hidden = activation_named(hidden),
                                          .output = activation_named(output),
                                          .fan_in_scaling = fan_in_scaling,
                                          .seed = seed}),
                   threads);
}

class PyTransform : public Guarded {
 public:
  PyTransform(GraphTransformNet net, int threads) : net_(std::move(net)), pool_(threads) {}
  GraphTransformNet& net() { return net_; }
  Parameters& parameters() { return net_.parameters(); }
  const ThreadPool& pool() const { return pool_; }

  std::shared_ptr<TransformBatch> batch(const std::vector<const LabelledGraph*>& graphs) {
    if (graphs.empty()) fail("graphs", "none", "at least one");
    return work([&] {
      std::vector<LabelledGraph> copies;
      for (const LabelledGraph* g : graphs) copies.push_back(*g);
      return std::make_shared<TransformBatch>(net_.batch(copies));
    });
  }
  double loss(const TransformBatch& batch, const InArray<std::uint32_t>& edits, double scale, bool gradients) {
    if (edits.ndim() != 1) fail("loss", "targets of shape " + shape_text(edits), "one number per node");
    return work([&] {
      return gradients ? net_.loss_and_gradients(batch, span_of(edits), scale, state_, parameters().gradients(), pool_)
                       : net_.loss(batch, span_of(edits), scale, state_, pool_);
    });
  }
  nb::object predict(const TransformBatch& batch) {
    const std::vector<std::uint32_t> edits = work([&] { return net_.predict_edits(batch, state_, pool_); });
    return to_array<std::uint32_t>(edits, {edits.size()});
  }
  nb::object encode(const TransformBatch& batch) {
    NewArray<float> out({batch.symbols.size(), net_.options().features});
    work([&] { std::ranges::copy(net_.encode(batch, state_, pool_), out.data); });
    return out.take();
  }

 private:
  GraphTransformNet net_;
  ThreadPool pool_;
  TransformState state_;
};

void bind_dag(nb::module_& m) {
  nb::class_<PyDag> c(m, "Dag");
  c.def(nb::new_([](bool fan_in_scaling, int threads) {
     return new PyDag(DagNN({.fan_in_scaling = fan_in_scaling}), threads);
   }))
      .def_static("layered", &make_layered, nb::rv_policy::take_ownership)
      .def_static(
          "from_edges",
          [](std::size_t nodes, const InArray<std::int64_t>& edges, const InArray<float>& weights,
             const std::string& hidden, bool fan_in_scaling, int threads) {
            const std::vector<Edge> list = edges_of(edges, nodes, "DagNN");
            if (weights.ndim() != 1 || weights.size() != list.size())
              fail("DagNN", "weights of shape " + shape_text(weights),
                   "[" + std::to_string(list.size()) + "], one for each edge");
            std::vector<WeightedEdge> weighted;
            for (std::size_t e = 0; e < list.size(); ++e)
              weighted.push_back({list[e].from, list[e].to, weights.data()[e]});
            return new PyDag(
                DagNN::from_edges(nodes, weighted, activation_named(hidden), {.fan_in_scaling = fan_in_scaling}),
                threads);
          },
          nb::rv_policy::take_ownership)
      .def_static(
          "from_text", [](const std::string& text, int threads) { return new PyDag(DagNN::from_text(text), threads); },
          nb::rv_policy::take_ownership)
      .def_static(
          "load",
          [](const std::string& path, int threads) { return new PyDag(DagNN::load(read_safetensors(path)), threads); },
          nb::rv_policy::take_ownership)
      .def("save",
           [](PyDag& d, const std::string& path) {
             d.work([&] {
               SafetensorsFile file;
               d.network()->save(file);
               file.seal();
               check_named_output("save", path);
               write_safetensors(path, file);
             });
           })
      .def("to_bytes",
           [](PyDag& d) {
             SafetensorsFile file;
             d.network()->save(file);
             const std::vector<std::byte> bytes = file.serialize();
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def_static(
          "from_bytes",
          [](const nb::bytes& b, int threads) {
            const std::span bytes(reinterpret_cast<const std::byte*>(b.c_str()), b.size());
            return new PyDag(DagNN::load(SafetensorsFile::parse(bytes, "a pickled DagNN")), threads);
          },
          nb::rv_policy::take_ownership)
      .def(
          "copy", [](PyDag& d, int threads) { return new PyDag(*d.network().operator->(), threads); },
          nb::rv_policy::take_ownership)
      .def("add_node",
           [](PyDag& d, const std::string& kind, const std::string& activation, float bias) {
             return d.network()->add_node(node_kind(kind), activation_named(activation), bias);
           })
      .def("add_edge", [](PyDag& d, NodeId from, NodeId to, float w) { return d.network()->add_edge(from, to, w); })
      .def("remove_edge", [](PyDag& d, EdgeId e) { d.network()->remove_edge(e); })
      .def("remove_node", [](PyDag& d, NodeId n) { d.network()->remove_node(n); })
      .def("split_edge", [](PyDag& d, EdgeId e) { return d.network()->split_edge(e); })
      .def("add_shortcut", [](PyDag& d, NodeId from, NodeId to) { return d.network()->add_shortcut(from, to); })
      .def("prune_below", [](PyDag& d, float t) { return d.network()->prune_below(t); })
      .def("prune_percentile", [](PyDag& d, double p) { return d.network()->prune_percentile(p); })
      .def("remove_unseen", [](PyDag& d) { return d.network()->remove_unseen(); })
      .def("nodes",
           [](PyDag& d) {
             nb::list list;
             const auto guard = d.lock();
             for (const auto& [id, node] : d.network()->topology().nodes())
               list.append(nb::make_tuple(id, name_of_kind(node.kind), std::string(name_of(node.activation)),
                                          d.network()->bias(id)));
             return list;
           })
      .def("edges",
           [](PyDag& d) {
             nb::list list;
             const auto guard = d.lock();
             for (const auto& [id, edge] : d.network()->topology().edges())
               list.append(nb::make_tuple(id, edge.from, edge.to, d.network()->weight(id)));
             return list;
           })
      .def("find_edge", [](PyDag& d, NodeId from, NodeId to) { return d.network()->topology().find_edge(from, to); })
      .def("weight", [](PyDag& d, EdgeId e) { return d.network()->weight(e); })
      .def("set_weight", [](PyDag& d, EdgeId e, float v) { d.network()->set_weight(e, v); })
      .def("bias", [](PyDag& d, NodeId n) { return d.network()->bias(n); })
      .def("set_bias", [](PyDag& d, NodeId n, float v) { d.network()->set_bias(n, v); })
      .def("to_text", [](PyDag& d) { return d.network()->to_text(); })
      .def("forward", &PyDag::forward, nb::arg(), nb::arg().none())
      .def("backward_accumulate", &PyDag::backward, nb::arg(), nb::arg().none())
      .def("input_gradients", &PyDag::input_gradients)
      .def("zero_grad", [](PyDag& d) { d.work([&] { d.network()->zero_grad(d.pool()); }); })
      .def("sgd",
           [](PyDag& d, float lr) {
             d.work([&] {
               d.settle();
               d.network()->step(lr, d.pool());
             });
           })
      .def("step",
           [](PyDag& d, const PyOptimizer& o, float lr) {
             d.work([&] {
               d.settle();
               o.held->step(d.network()->parameters(), lr, d.pool());
             });
           })
      .def("gradient_norm", [](PyDag& d) { return d.work([&] { return d.network()->gradient_norm(d.pool()); }); })
      .def("clip_gradients",
           [](PyDag& d, double norm) { return d.work([&] { return d.network()->clip_gradients(norm, d.pool()); }); })
      .def("has_gradients", [](PyDag& d) { return d.network()->has_gradients(); })
      .def("edge_grad", [](PyDag& d, NodeId from, NodeId to) { return d.network()->edge_grad(from, to); })
      .def("bias_grad", [](PyDag& d, NodeId n) { return d.network()->bias_grad(n); })
      .def("train", [](PyDag& d, bool on) { d.network()->train(on); })
      .def_prop_ro("is_training", [](PyDag& d) { return d.network()->is_training(); })
      .def_prop_ro("num_parameters", [](PyDag& d) { return d.network()->num_parameters(); })
      .def_prop_ro("num_inputs", [](PyDag& d) { return d.network()->num_inputs(); })
      .def_prop_ro("num_outputs", [](PyDag& d) { return d.network()->num_outputs(); })
      .def("hash", [](PyDag& d) {
        const auto guard = d.lock();
        d.settle();
        return d.network()->parameters().hash();
      });
}

template <class Wanted>
const Wanted& as(const Model& model) {
  const auto* wanted = dynamic_cast<const Wanted*>(&model);
  if (!wanted) fail("model", "a " + model.kind(), std::string("a ") + Wanted::kKind);
  return *wanted;
}

// Outputs in their own unit: class probabilities [rows][classes], or numbers [rows].
nb::object predict_table(const Model& model, std::vector<std::string> header,
                         std::vector<std::vector<std::string>> rows, bool allow_unknown, int threads) {
  const auto& table = as<RowModel>(model);
  CsvTable csv{std::move(header), std::move(rows), {}};
  for (std::size_t r = 0; r < csv.rows.size(); ++r) {
    csv.lines.push_back(r + 1);
    if (csv.rows[r].size() != csv.header.size())
      fail("predict", "a row of " + std::to_string(csv.rows[r].size()) + " cells", std::to_string(csv.header.size()));
  }
  const std::vector<double> said =
      table.predict(csv, ThreadPool(threads), allow_unknown ? UnknownWords::kAllow : UnknownWords::kRefuse);
  std::vector<std::size_t> shape{csv.rows.size()};
  if (!table.classes().empty()) shape.push_back(table.classes().size());
  return to_array<double>(said, shape);
}

}  // namespace

void bind_networks(nb::module_& m) {
  nb::class_<PyOptimizer>(m, "Optimizer")
      .def(nb::new_([](const std::string& kind, nb::handle model, std::size_t parameters, float momentum, float beta1,
                       float beta2, float epsilon, float weight_decay, float clip_value, float clip_norm) {
        const OptimizerOptions options{.kind = kind == "sgd" ? OptimizerKind::kSgd : OptimizerKind::kAdamW,
                                       .momentum = momentum,
                                       .beta1 = beta1,
                                       .beta2 = beta2,
                                       .epsilon = epsilon,
                                       .weight_decay = weight_decay,
                                       .clip_value = clip_value,
                                       .clip_norm = clip_norm};
        if (PyDag* dag = nullptr; nb::try_cast(model, dag)) return new PyOptimizer{dag->follow(options)};
        return new PyOptimizer{std::make_shared<Optimizer>(options, parameters)};
      }))
      .def_prop_ro("steps", [](const PyOptimizer& o) { return o.held->steps(); });
  bind_message_passing(m);
  bind_dag(m);

  nb::class_<TransformBatch>(m, "TransformBatch")
      .def_prop_ro("num_nodes", [](const TransformBatch& b) { return b.symbols.size(); })
      .def_prop_ro("first_node", [](const TransformBatch& b) {
        return to_array<std::uint32_t>(b.first_node, {b.first_node.size()});
      });
  nb::class_<PyTransform> transform(m, "TransformNet");
  transform
      .def(nb::new_([](std::vector<std::string> nodes, std::vector<std::string> edges, std::size_t edits,
                       std::size_t features, std::size_t layers, const std::string& aggregation, bool layer_norm,
                       const std::string& activation, std::uint64_t seed, int threads) {
        return new PyTransform(GraphTransformNet(Vocabulary(std::move(nodes)), Vocabulary(std::move(edges)), edits,
                                                 {.features = features,
                                                  .layers = layers,
                                                  .aggregation = aggregation_named(aggregation),
                                                  .layer_norm = layer_norm,
                                                  .activation = activation_named(activation)},
                                                 seed),
                               threads);
      }))
      .def("batch", &PyTransform::batch)
      .def("loss", &PyTransform::loss)
      .def("predict", &PyTransform::predict)
      .def("encode", &PyTransform::encode);
  bind_parameters(transform);

  m.def("predict_table", &predict_table);
  m.def("table_classes", [](const Model& model) { return as<RowModel>(model).classes(); });
  m.def("table_columns", [](const Model& model) { return as<RowModel>(model).columns(); });
  m.def(
      "table_network",
      [](const Model& model, int threads) { return new PyDag(as<TableModel>(model).network(), threads); },
      nb::rv_policy::take_ownership);
  m.def("rewrite", [](const Model& model, const std::string& text, int passes) {
    const auto& rewriter = as<RewriteModel>(model);
    nb::gil_scoped_release release;
    return rewriter.rewrite(text, static_cast<std::size_t>(passes)).passes;
  });
}

}  // namespace espalier::python
