// Message passing, the graphs that it goes over, and the tapes that forward passes leave behind.
#include <cmath>
#include <optional>
#include <utility>

#include "espalier/error.hpp"
#include "networks.hpp"

namespace espalier::python {

void check_finite(std::span<const float> values, const char* what) {
  for (const float v : values)
    if (!std::isfinite(v)) fail(what, "a value that is NaN or infinite", "finite numbers");
}

std::vector<Edge> edges_of(const InArray<std::int64_t>& edges, std::size_t nodes, const char* what) {
  if (edges.ndim() != 2 || edges.shape(1) != 2)
    fail(what, "edges of shape " + shape_text(edges), "[edges, 2], a row (from, to) for each");
  std::vector<Edge> list(edges.shape(0));
  for (std::size_t e = 0; e < list.size(); ++e) {
    const std::int64_t from = edges.data()[2 * e], to = edges.data()[2 * e + 1];
    if (from < 0 || to < 0 || static_cast<std::size_t>(from) >= nodes || static_cast<std::size_t>(to) >= nodes)
      fail(what, "an edge from " + std::to_string(from) + " to " + std::to_string(to),
           "nodes from 0 on, below " + std::to_string(nodes));
    list[e] = {static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to)};
  }
  return list;
}

constexpr const char* kHowToName = "give forward and backward the same Tape";

void check_thread(const char* what, std::thread::id by) {
  if (by != std::this_thread::get_id())
    fail(what, "a forward pass of another thread, and no tape", "the tape of the one that is meant", kHowToName);
}

namespace {

std::string rows_text(std::size_t rows, std::size_t columns) {
  return "[" + std::to_string(rows) + ", " + std::to_string(columns) + "]";
}

class PyMessagePassing : public Guarded {
 public:
  PyMessagePassing(std::size_t in, std::size_t out, std::size_t relations, const std::string& aggregation,
                   bool layer_norm, const std::string& activation, std::uint64_t seed, int threads)
      : layer_(parameters_, "layer",
               {.in = in,
                .out = out,
                .relations = relations,
                .aggregation = aggregation_named(aggregation),
                .layer_norm = layer_norm,
                .activation = activation_named(activation)}),
        pool_(threads) {
    layer_.initialize(parameters_, seed);
  }
  Parameters& parameters() { return parameters_; }
  const ThreadPool& pool() const { return pool_; }

  // A pass holds its graph, whose owner in Python needs the interpreter's lock to let go of it: what work() replaces
  // is kept until it has ended.
  nb::object forward(std::shared_ptr<MessageGraph> graph, const InArray<float>& h, PyTape* tape) {
    const std::size_t nodes = graph->num_nodes(), in = layer_.options().in, out = layer_.options().out;
    if (graph->num_relations() != layer_.options().relations)
      fail("message passing", "a graph of " + std::to_string(graph->num_relations()) + " relations",
           std::to_string(layer_.options().relations) + ", as the layer has");
    if (h.ndim() != 2 || h.shape(0) != nodes || h.shape(1) != in)
      fail("message passing", "features of shape " + shape_text(h),
           rows_text(nodes, in) + ", a row for each node and a column for each input");
    check_finite(span_of(h), "message passing");
    NewArray<float> y({nodes, out});
    std::shared_ptr<MessagePass> pass, before;
    work([&] {
      before = std::move(last_);
      pass = before && before.use_count() == 1 ? before : std::make_shared<MessagePass>();  // its memory again
      std::swap(pass->graph, graph);
      pass->h.assign(h.data(), h.data() + h.size());
      pass->y.resize(nodes * out);
      layer_.forward_batch(parameters_, *pass->graph, pass->h, pass->y, pass->tape, pool_);
      pass->layer = self_;
      pass->round = round_;
      pass->used = false;
      pass->by = std::this_thread::get_id();
      ++waiting_;
      last_ = pass;
      std::ranges::copy(pass->y, y.data);
    });
    if (tape) *tape = {{}, pass};
    return y.take();
  }
  nb::object backward(const InArray<float>& dy, const PyTape* tape) {
    std::optional<NewArray<float>> dh;
    std::shared_ptr<MessagePass> pass = tape ? tape->message : nullptr;
    work([&] {
      if (tape && (!pass || pass->layer != self_))
        fail("message passing", "a tape of another layer, or of no forward pass",
             "one that this layer's forward filled");
      if (!tape) pass = the_one_that_waits();
      if (dy.ndim() != 2 || dy.size() != pass->y.size() || dy.shape(1) != layer_.options().out)
        fail("message passing", "gradients of shape " + shape_text(dy),
             rows_text(pass->graph->num_nodes(), layer_.options().out) + ", that of the forward's result");
      check_finite(span_of(dy), "message passing");
      dh.emplace(std::vector<std::size_t>{pass->graph->num_nodes(), layer_.options().in});
      layer_.backward(parameters_, *pass->graph, pass->h, pass->y, span_of(dy), pass->tape, parameters_.gradients(),
                      {dh->data, pass->h.size()}, pool_);
      if (!pass->used && pass->round == round_) --waiting_;
      pass->used = true;
    });
    return dh->take();
  }

 private:
  // An Error unless it is clear which; after that none waits, and what they left stays with their tapes.
  std::shared_ptr<MessagePass> the_one_that_waits() {
    if (last_ && waiting_ == 1 && !last_->used) {
      check_thread("message passing", last_->by);
      return last_;
    }
    const std::size_t waiting = std::exchange(waiting_, 0);
    ++round_;
    if (last_) last_->used = true;
    if (waiting == 0)
      fail("message passing", "no forward pass since the last backward pass", "a forward pass first", kHowToName);
    fail("message passing",
         waiting == 1 ? "a forward pass that waits but has been followed by another, and no tape"
                      : std::to_string(waiting) + " forward passes without a backward pass, and no tape",
         "the tape of the one that is meant", kHowToName);
  }

  Parameters parameters_;
  MessagePassingLayer layer_;
  ThreadPool pool_;
  const ForwardPass self_ = ForwardPass::next();
  std::shared_ptr<MessagePass> last_;
  std::size_t waiting_ = 0;  // passes that no backward pass went through
  std::uint64_t round_ = 0;  // since the last Error about them
};

}  // namespace

void bind_message_passing(nb::module_& m) {
  nb::class_<PyTape>(m, "Tape").def(nb::init<>()).def_prop_ro("filled", [](const PyTape& t) {
    return t.dag || t.message;
  });
  nb::class_<MessageGraph>(m, "MessageGraph")
      .def("__init__",
           [](MessageGraph* self, std::size_t nodes, const std::vector<InArray<std::int64_t>>& relations,
              bool keep_repeats) {
             std::vector<Graph> graphs;
             for (const auto& edges : relations)
               graphs.emplace_back(nodes, edges_of(edges, nodes, "graph"),
                                   keep_repeats ? Repeats::kKeep : Repeats::kRefuse);
             new (self) MessageGraph(std::move(graphs));
           })
      .def_prop_ro("num_nodes", &MessageGraph::num_nodes)
      .def_prop_ro("num_edges", &MessageGraph::num_edges)
      .def_prop_ro("num_relations", &MessageGraph::num_relations);
  nb::class_<PyMessagePassing> layer(m, "MessagePassing");
  layer
      .def(nb::init<std::size_t, std::size_t, std::size_t, const std::string&, bool, const std::string&, std::uint64_t,
                    int>())
      .def("forward", &PyMessagePassing::forward, nb::arg(), nb::arg(), nb::arg().none())
      .def("backward", &PyMessagePassing::backward, nb::arg(), nb::arg().none());
  bind_parameters(layer);
}

}  // namespace espalier::python
