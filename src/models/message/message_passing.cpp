// MessagePassingLayer: its tensors, the one-node reference, and the passes over all nodes, forward and backward. What
// nodes hear is in message_gather.cpp, the arithmetic in message_kernels.cpp.
#include "espalier/message_passing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/arrays.hpp"
#include "base/hash.hpp"
#include "espalier/error.hpp"
#include "espalier/optimizer.hpp"
#include "espalier/random.hpp"
#include "graph/activation.hpp"
#include "models/message/message_gather.hpp"
#include "models/message/message_kernels.hpp"

namespace espalier {

Aggregation aggregation_named(std::string_view name) {
  if (name == "mean") return Aggregation::kMean;
  if (name == "sum") return Aggregation::kSum;
  if (name == "max") return Aggregation::kMax;
  fail("aggregation", fmt::format("\"{}\"", name), "mean, sum or max");
}

MessagePassingLayer::MessagePassingLayer(Parameters& p, const std::string& name, const MessagePassingOptions& o)
    : options_(o) {
  constexpr std::size_t kMaxFeatures = 1u << 16, kMaxRelations = 1u << 10;
  if (o.in == 0 || o.out == 0 || o.in > kMaxFeatures || o.out > kMaxFeatures)
    fail("message passing", fmt::format("{} -> {} features", o.in, o.out), "1 to 65536");
  if (o.relations == 0 || o.relations > kMaxRelations)
    fail("message passing", fmt::format("{} relations", o.relations), "1 to 1024");
  if (o.activation == Activation::kSigmoid) fail("message passing", "sigmoid", "linear, relu, leaky-relu or tanh");
  (void)name_of(o.activation);  // an Error when there is no such activation
  if (o.aggregation != Aggregation::kMean && o.aggregation != Aggregation::kSum && o.aggregation != Aggregation::kMax)
    fail("message passing", fmt::format("aggregation {}", static_cast<int>(o.aggregation)), "mean, sum or max");
  first_offset_ = p.num_parameters();
  const auto add = [&](const char* part, std::vector<std::size_t> shape) {
    return p.tensors()[p.add(name + "." + part, std::move(shape))].offset;
  };
  self_ = add("self", {o.in, o.out});
  in_ = add("in", {o.relations, o.in, o.out});
  out_ = add("out", {o.relations, o.in, o.out});
  bias_ = add("bias", {o.out});
  if (o.layer_norm) {
    gain_ = add("gain", {o.out});
    shift_ = add("shift", {o.out});
  }
  size_ = p.num_parameters() - first_offset_;
}

void MessagePassingLayer::initialize(Parameters& p, std::uint64_t seed) const {
  check_own(p);
  const Random random(seed, Purpose::kInit);
  const double gain =
      options_.activation == Activation::kRelu || options_.activation == Activation::kLeakyRelu ? 2.0 : 1.0;
  const auto scale =
      static_cast<float>(std::sqrt(gain / static_cast<double>(options_.in * (1 + 2 * options_.relations))));
  for (std::size_t i = self_; i < bias_; ++i) p.values()[i] = scale * random.normal(i);
  std::fill_n(&p.values()[bias_], options_.out, 0.0f);
  if (!options_.layer_norm) return;
  std::fill_n(&p.values()[gain_], options_.out, 1.0f);
  std::fill_n(&p.values()[shift_], options_.out, 0.0f);
}

const float* MessagePassingLayer::panel(const Parameters& p, std::size_t index) const {
  const float* values = p.values().data();
  if (index == 0) return values + self_;
  const std::size_t side = index - 1;
  return values + (side % 2 == 0 ? in_ : out_) + side / 2 * options_.in * options_.out;
}

void MessagePassingLayer::check_own(const Parameters& p) const {
  if (p.num_parameters() < first_offset_ + size_)
    fail("message passing", fmt::format("{} parameters", p.num_parameters()), "the Parameters the layer was made in");
}

void MessagePassingLayer::check(const Parameters& p, const MessageGraph& graph, std::span<const float> h,
                                std::size_t y_size) const {
  check_own(p);
  if (graph.num_relations() != options_.relations)
    fail("message passing", fmt::format("a graph of {} relations", graph.num_relations()),
         fmt::format("{}", options_.relations));
  if (h.size() != graph.num_nodes() * options_.in || y_size != graph.num_nodes() * options_.out)
    fail("message passing", fmt::format("{} and {} numbers", h.size(), y_size),
         fmt::format("{} nodes x {} and x {} features", graph.num_nodes(), options_.in, options_.out));
}

void MessagePassingLayer::forward(const Parameters& p, const MessageGraph& graph, std::span<const float> h,
                                  std::size_t node, std::span<float> out) const {
  const std::size_t in = options_.in;
  check(p, graph, h, graph.num_nodes() * options_.out);
  if (node >= graph.num_nodes() || out.size() != options_.out)
    fail("message passing", fmt::format("node {} and {} outputs", node, out.size()),
         fmt::format("a node below {} and {} outputs", graph.num_nodes(), options_.out));
  refuse_overlap("message passing", out, {h, p.values()});
  const auto add_product = [&](std::span<const float> x, const float* w) {
    for (std::size_t o = 0; o < options_.out; ++o)
      for (std::size_t i = 0; i < in; ++i) out[o] += x[i] * w[i * options_.out + o];
  };
  for (std::size_t o = 0; o < options_.out; ++o) out[o] = p.values()[bias_ + o];
  add_product(h.subspan(node * in, in), panel(p, 0));
  for (std::size_t s = 0; s < graph.sides().size(); ++s) {
    const MessageGraph::Side& side = graph.sides()[s];
    const auto neighbours = side.list.subspan(side.offsets[node], side.offsets[node + 1] - side.offsets[node]);
    std::vector<float> message(in);
    for (std::size_t k = 0; k < neighbours.size(); ++k)
      for (std::size_t i = 0; i < in; ++i) {
        const float x = h[neighbours[k] * in + i];
        if (options_.aggregation != Aggregation::kMax)
          message[i] += x;
        else if (k == 0 || x > message[i])
          message[i] = x;
      }
    if (options_.aggregation == Aggregation::kMean)
      for (float& m : message) m *= side.inverse_degree[node];
    add_product(message, panel(p, 1 + s));
  }
  if (options_.layer_norm) {
    float mean = 0, variance = 0;
    for (const float z : out) mean += z / static_cast<float>(out.size());
    for (const float z : out) variance += (z - mean) * (z - mean) / static_cast<float>(out.size());
    for (std::size_t o = 0; o < out.size(); ++o)
      out[o] =
          p.values()[gain_ + o] * (out[o] - mean) / std::sqrt(variance + kLayerNormEpsilon) + p.values()[shift_ + o];
  }
  for (float& z : out) z = reference::activate(options_.activation, z);
}

double MessagePassingLayer::chunk_ns(const MessageGraph& graph) const {
  const auto panels = static_cast<double>(1 + 2 * options_.relations);
  const auto chunks = static_cast<double>(std::max<std::size_t>(1, graph.num_chunks()));
  const double rows = static_cast<double>(graph.num_nodes()) / chunks;
  const double edges = 2.0 * static_cast<double>(graph.num_edges()) / chunks;
  const auto in = static_cast<double>(options_.in), out = static_cast<double>(options_.out);
  return 0.03 * rows * panels * in * out + 0.2 * edges * in;
}

void MessagePassingLayer::zero_grad(Parameters& p, const ThreadPool& pool) const {
  check_own(p);
  const std::span<float> g = p.gradients().subspan(first_offset_, size_);
  pool.for_chunks(size_, kFlatChunk, 0.1,
                  [&](Chunk c) { std::fill(&g[c.begin], &g[c.begin] + (c.end - c.begin), 0.0f); });
}

void MessagePassingLayer::step(Parameters& p, float lr, const ThreadPool& pool) const {
  sgd_step(p, first_offset_, first_offset_ + size_, lr, pool);
}

// --- The passes as they are called: a tape is sealed with what forward had and compared with what backward is given.

namespace {

// Of h and y, chunk by chunk.
std::vector<std::uint64_t> seals_of_rows(const MessageGraph& graph, std::span<const float> h, std::span<const float> y,
                                         const ThreadPool& pool) {
  std::vector<std::uint64_t> seals(graph.num_chunks());
  if (graph.num_nodes() == 0) return seals;
  const std::size_t in = h.size() / graph.num_nodes(), out = y.size() / graph.num_nodes();
  pool.for_chunks(graph.num_chunks(), 1, 0.1 * static_cast<double>(MessageGraph::kRows * (in + out)), [&](Chunk c) {
    const std::size_t begin = graph.chunk_starts()[c.index], rows = graph.chunk_starts()[c.index + 1] - begin;
    seals[c.index] = seal_of(y.subspan(begin * out, rows * out), seal_of(h.subspan(begin * in, rows * in)));
  });
  return seals;
}

}  // namespace

void MessagePassingLayer::forward_batch(const Parameters& p, const MessageGraph& graph, std::span<const float> h,
                                        std::span<float> y, MessageTape& tape, const ThreadPool& pool) const {
  check(p, graph, h, y.size());
  refuse_overlap("message passing", y, {h, p.values()});
  tape.options = {};  // a pass that is cancelled leaves nothing for backward
  run_forward(p, graph, h, y, tape, pool);
  tape.offset = first_offset_;
  tape.graph = graph.seal();
  tape.weights = seal_of(p.values().subspan(first_offset_, size_));
  tape.rows = seals_of_rows(graph, h, y, pool);
  tape.options = options_;
}

void MessagePassingLayer::backward(const Parameters& p, const MessageGraph& graph, std::span<const float> h,
                                   std::span<const float> y, std::span<const float> dy, MessageTape& tape,
                                   std::span<float> gradients, std::span<float> dh, const ThreadPool& pool) const {
  check(p, graph, h, y.size());
  const std::size_t heard = graph.sides().size() * graph.num_nodes() * options_.in;
  const bool kept =
      (!options_.layer_norm || (tape.normed.size() == graph.num_nodes() * options_.out &&
                                tape.inverse_deviation.size() == graph.num_nodes())) &&
      (options_.aggregation != Aggregation::kMax || (tape.maxima.size() == heard && tape.winners.size() == heard));
  if (tape.options != options_ || tape.offset != first_offset_ || tape.graph != graph.seal() || !kept)
    fail("message passing", "a tape of another graph or layer, or of no forward pass",
         "the tape that the forward pass of this layer over this graph filled");
  if (dy.size() != y.size() || gradients.size() < first_offset_ + size_ || (!dh.empty() && dh.size() != h.size()))
    fail(
        "message passing",
        fmt::format("{} numbers of dy, {} gradients, {} numbers of dh", dy.size(), gradients.size(), dh.size()),
        fmt::format("{} as y has, {} as there are parameters, and {} or none", y.size(), p.num_parameters(), h.size()));
  refuse_overlap("message passing", dh, {h, y, dy, gradients, p.values()});
  refuse_overlap("message passing", gradients, {h, y, dy, p.values()});
  if (tape.weights != seal_of(p.values().subspan(first_offset_, size_)))
    fail("message passing", "weights that have changed since the forward pass", "a new forward pass");
  if (tape.rows != seals_of_rows(graph, h, y, pool))
    fail("message passing", "other features or results than those of the tape's forward pass",
         "h and y as that pass read and wrote them", "a pass that is gone back through later needs a tape of its own");
  run_backward(p, graph, h, y, dy, tape, gradients, dh, pool);
}

// --- Forward: for every chunk of rows, gather what the neighbours say, multiply, finish. One pass over memory: the
// gathered sums of a chunk stay in cache and are not kept (the backward pass does not need them).
void MessagePassingLayer::run_forward(const Parameters& p, const MessageGraph& graph, std::span<const float> h,
                                      std::span<float> y, MessageTape& tape, const ThreadPool& pool) const {
  const std::size_t in = options_.in, out = options_.out, nodes = graph.num_nodes();
  const std::size_t sides = graph.sides().size(), panels = 1 + sides, panel_size = packed_size(in, out);
  const bool max = options_.aggregation == Aggregation::kMax;
  tape.packed.resize(panels * panel_size);
  for (std::size_t i = 0; i < panels; ++i) pack_columns(panel(p, i), in, out, out, 1, &tape.packed[i * panel_size]);
  if (options_.layer_norm) {
    tape.normed.resize(nodes * out);
    tape.inverse_deviation.resize(nodes);
  }
  if (max) {
    tape.maxima.resize(sides * nodes * in);
    tape.winners.resize(sides * nodes * in);
  }
  const std::vector<SideGather> gathers = forward_gathers(graph, options_.aggregation);
  if (max)
    max_heavy(graph, h.data(), in, tape, pool);
  else
    gather_heavy(gathers, h.data(), in, tape, pool);
  const float* values = p.values().data();
  const RowArgs row_args{out, options_.activation, values + bias_, options_.layer_norm ? values + gain_ : nullptr,
                         values + shift_};
  pool.for_chunks(graph.num_chunks(), 1, chunk_ns(graph), [&](Chunk c) {
    const std::size_t begin = graph.chunk_starts()[c.index], end = graph.chunk_starts()[c.index + 1];
    const std::size_t rows = end - begin;
    static thread_local AlignedVector<float> gathered;  // [sides][rows][in]
    gathered.resize(std::max(gathered.size(), sides * rows * in));
    std::vector<Panel> factors{{h.data() + begin * in, in, tape.packed.data()}};
    for (std::size_t s = 0; s < sides; ++s) {
      float* sums = &gathered[s * rows * in];
      if (max) {
        max_chunk(graph, s, h.data(), in, begin, end, tape);
        sums = &tape.maxima[(s * nodes + begin) * in];
      } else {
        gather_chunk(gathers, s, h.data(), in, tape, begin, end, sums);
      }
      factors.push_back({sums, in, &tape.packed[(1 + s) * panel_size]});
    }
    float* z = y.data() + begin * out;
    dense_rows(factors.data(), panels, in, rows, out, z, out);
    finish_rows(row_args, rows, z, options_.layer_norm ? &tape.normed[begin * out] : nullptr,
                options_.layer_norm ? &tape.inverse_deviation[begin] : nullptr);
  });
}

// --- Backward, exactly. For mean and sum the messages are linear, so
//   dW_s = sum_v (agg_s h)_v^T dz_v = sum_u h_u^T G_s,u   and   dh_u = dz_u W_self^T + sum_s G_s,u W_s^T
// with G_s,u = sum over v that heard u on side s of c_s(v) dz_v. One gather of dz gives both, chunk by chunk, and
// the forward pass need not keep its sums. Max is not linear: what a node's message got goes to the winners.
static_assert(MessageGraph::kRows <= kOuterRows);

void MessagePassingLayer::run_backward(const Parameters& p, const MessageGraph& graph, std::span<const float> h,
                                       std::span<const float> y, std::span<const float> dy, MessageTape& tape,
                                       std::span<float> gradients, std::span<float> dh, const ThreadPool& pool) const {
  const std::size_t in = options_.in, out = options_.out, nodes = graph.num_nodes();
  const std::size_t sides = graph.sides().size(), panels = 1 + sides, panel_size = packed_size(out, in);
  if (nodes == 0) return;
  const bool max = options_.aggregation == Aggregation::kMax, norm = options_.layer_norm;
  tape.packed.resize(panels * panel_size);
  for (std::size_t i = 0; i < panels; ++i) pack_columns(panel(p, i), out, in, 1, out, &tape.packed[i * panel_size]);
  tape.dz.resize(nodes * out);
  if (max) tape.routed.resize(sides * nodes * in);

  const std::size_t slots = graph.num_slots(), per_slot = graph.chunks_per_slot();
  if (slots > 1) {
    if (!tape.slots || tape.slots->count() != slots || tape.slots->slot(0).size() != size_)
      tape.slots.emplace(slots, size_);
    tape.slots->zero(pool);
  }
  // Where slot i adds tensor values that start at `offset`.
  const auto into = [&](std::size_t slot, std::size_t offset) {
    return slots > 1 ? tape.slots->slot(slot).data() + (offset - first_offset_) : gradients.data() + offset;
  };
  const auto side_offset = [&](std::size_t s) { return (s % 2 == 0 ? in_ : out_) + s / 2 * in * out; };
  const double slot_ns = chunk_ns(graph) * static_cast<double>(per_slot);
  const auto for_slots = [&](double item_ns, auto&& body) {
    pool.for_chunks(graph.num_chunks(), per_slot, item_ns / static_cast<double>(per_slot), [&](Chunk c) {
      for (std::size_t i = c.begin; i < c.end; ++i) body(c.index, graph.chunk_starts()[i], graph.chunk_starts()[i + 1]);
    });
  };

  const float* values = p.values().data();
  const RowArgs row_args{out, options_.activation, values + bias_, norm ? values + gain_ : nullptr, values + shift_};
  for_slots(slot_ns / 10, [&](std::size_t slot, std::size_t begin, std::size_t end) {
    const std::size_t at = begin * out;
    unfinish_rows(row_args, end - begin, y.data() + at, dy.data() + at, norm ? &tape.normed[at] : nullptr,
                  norm ? &tape.inverse_deviation[begin] : nullptr, &tape.dz[at], into(slot, bias_),
                  norm ? into(slot, gain_) : nullptr, norm ? into(slot, shift_) : nullptr);
  });

  const float* dz = tape.dz.data();
  const std::vector<SideGather> gathers = backward_gathers(graph, options_.aggregation);
  if (!max) gather_heavy(gathers, dz, out, tape, pool);
  for_slots(2 * slot_ns, [&](std::size_t slot, std::size_t begin, std::size_t end) {
    const std::size_t rows = end - begin;
    const float* h_rows = h.data() + begin * in;
    const float* dz_rows = dz + begin * out;
    outer_add(h_rows, in, in, dz_rows, out, out, rows, into(slot, self_));
    std::vector<Panel> factors{{dz_rows, out, tape.packed.data()}};
    static thread_local AlignedVector<float> gathered;  // [sides][rows][out]
    gathered.resize(std::max(gathered.size(), sides * rows * out));
    for (std::size_t s = 0; s < sides; ++s) {
      const float* packed = &tape.packed[(1 + s) * panel_size];
      if (max) {
        outer_add(&tape.maxima[(s * nodes + begin) * in], in, in, dz_rows, out, out, rows, into(slot, side_offset(s)));
        const Panel factor{dz_rows, out, packed};
        dense_rows(&factor, 1, out, rows, in, &tape.routed[(s * nodes + begin) * in], in);
        continue;
      }
      float* sums = &gathered[s * rows * out];
      gather_chunk(gathers, s, dz, out, tape, begin, end, sums);
      outer_add(h_rows, in, in, sums, out, out, rows, into(slot, side_offset(s)));
      factors.push_back({sums, out, packed});
    }
    if (!dh.empty()) dense_rows(factors.data(), factors.size(), out, rows, in, dh.data() + begin * in, in);
  });
  if (max && !dh.empty()) {
    for_slots(slot_ns, [&](std::size_t, std::size_t begin, std::size_t end) {
      route_chunk(graph, tape, in, begin, end, dh.data());
    });
    route_heavy(graph, tape, in, dh.data(), pool);
  }
  if (slots > 1) tape.slots->add_to(gradients.subspan(first_offset_, size_), pool);
}

}  // namespace espalier
