#include "models/message/simplify_objective.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "base/clock.hpp"
#include "espalier/random.hpp"
#include "espalier/safetensors.hpp"
#include "models/message/rewrite_model.hpp"
#include "models/message/transform_reference.hpp"

namespace espalier {
namespace {

// Chunks of one mini-batch: enough for many cores, few enough that their gradient arrays stay cheap to sum.
constexpr std::size_t kSlots = 16;
constexpr std::size_t kMaxPasses = 64;
constexpr double kNodeNs = 5000;  // one node, forward and backward

const ThreadPool& one_thread() {
  static const ThreadPool pool(1);
  return pool;
}

}  // namespace

Fields fields_of(SimplifyTaskOptions& o) {
  Fields f;
  f.add("batch-size", o.batch_size, "expressions in a mini-batch", 1, 1e6);
  f.add("train-examples", o.data.train, "expressions to learn from", 1, 1e7);
  f.add("validation-examples", o.data.validation, "expressions that choose the best weights", 1, 1e7);
  f.add("test-examples", o.data.test, "expressions never seen in training", 0, 1e7);
  f.add("deep-examples", o.data.deep, "expressions of twice the depth", 0, 1e7);
  f.add("depth", o.data.depth, "depth of the deepest training expression", 1, 12);
  f.add("most-number", o.data.max_number, "numbers are 0 to this one", 1, 99);
  f.add("share", o.data.share, "one node for equal subexpressions");
  f.add("data", o.data.file, "expressions from a file of JSON lines, not generated; the rest of it is to learn from")
      .metavar("FILE");
  f.add("features", o.net.features, "width of the hidden layers", 1, 4096);
  f.add("layers", o.net.layers, "message-passing layers: how far a node sees", 0, 64);
  f.add("aggregation", o.net.aggregation, "how messages are put together", {"mean", "sum", "max"});
  f.add("norm",
        {[&o] { return o.net.layer_norm ? "layer" : "none"; },
         [&o](const std::string& value) { o.net.layer_norm = value == "layer"; }},
        "normalisation", {"layer", "none"});
  f.add("activation",
        {[&o] { return std::string(name_of(o.net.activation)); },
         [&o](const std::string& value) { o.net.activation = activation_named(value); }},
        "activation", {"linear", "relu", "leaky-relu", "tanh"});
  f.add("reference", o.reference, "train with the plain sequential code (slow; for comparison)");
  return f;
}

SimplifyObjective::SimplifyObjective(const SimplifyTaskOptions& options, std::uint64_t seed)
    : data_options_(options.data),
      net_options_(options.net),
      data_([&] {
        data_options_.seed = seed;
        return make_simplify_data(data_options_);
      }()),
      net_(data_.words, options.net, seed),
      batch_size_(std::min(options.batch_size, data_.train.size())),
      seed_(seed),
      use_reference_(options.reference),
      slots_(kSlots, net_.parameters().num_parameters()),
      states_([] { return std::make_unique<TransformState>(); }) {
  // A model that rewrites to the fixed point meets its own results, so it learns from every pass of every
  // training expression; but never from an expression that is an item of another set.
  std::unordered_set<std::string> held_out;
  for (const auto* part : {&data_.validation, &data_.test, &data_.deep})
    for (const Expression& e : *part) held_out.insert(to_text(e));
  for (const Expression& e : data_.train) {
    Expression current = e;
    while (true) {
      const std::vector<std::uint32_t> edits = simplify_edits(current, data_.words);
      if (!held_out.contains(to_text(current))) examples_.push_back({encode_expression(current, data_.words), edits});
      if (std::ranges::all_of(edits, [](std::uint32_t edit) { return edit == kKeep; })) break;
      current = simplify_pass(current, data_.words);
      if (data_options_.share) current = shared(current);
    }
  }
  order_.resize(examples_.size());
  for (const Expression& e : data_.validation) validation_normal_.push_back(to_text(normal_form(e, data_.words)));
}

// Every epoch over the data is a new shuffle; batch numbers run on across epochs.
std::vector<std::size_t> SimplifyObjective::batch_members(std::uint64_t batch) {
  const std::uint64_t per_epoch = examples_.size() / batch_size_, epoch = batch / per_epoch;
  if (epoch != shuffled_epoch_) {
    std::iota(order_.begin(), order_.end(), 0u);
    Random(seed_, Purpose::kBatch, static_cast<std::uint32_t>(epoch)).shuffle(std::span(order_));
    shuffled_epoch_ = epoch;
  }
  const auto first = order_.begin() + static_cast<std::ptrdiff_t>(batch % per_epoch * batch_size_);
  return {first, first + static_cast<std::ptrdiff_t>(batch_size_)};
}

double SimplifyObjective::accumulate(std::uint64_t batch, const ThreadPool& pool, PhaseSeconds& phases) {
  const std::vector<std::size_t> members = batch_members(batch);
  if (use_reference_) return accumulate_reference(members);
  // Chunks of about equal numbers of nodes.
  std::vector<std::size_t> starts{0};
  std::size_t nodes = 0, seen = 0;
  for (const std::size_t i : members) nodes += examples_[i].edits.size();
  for (std::size_t k = 0; k < members.size(); ++k) {
    seen += examples_[members[k]].edits.size();
    if (seen * kSlots >= nodes * starts.size() && k + 1 < members.size() && starts.size() < kSlots)
      starts.push_back(k + 1);
  }
  starts.push_back(members.size());
  const std::size_t chunks = starts.size() - 1;

  const double start = seconds_now();
  slots_.zero(pool);
  std::vector<double> losses(chunks);
  const double scale = 1.0 / static_cast<double>(nodes);
  pool.for_chunks(chunks, 1, kNodeNs * static_cast<double>(nodes) / static_cast<double>(chunks), [&](Chunk c) {
    std::vector<const EncodedExpression*> inputs;
    std::vector<std::uint32_t> edits;
    for (std::size_t k = starts[c.index]; k < starts[c.index + 1]; ++k) {
      const Example& example = examples_[members[k]];
      inputs.push_back(&example.input);
      edits.insert(edits.end(), example.edits.begin(), example.edits.end());
    }
    const auto state = states_.borrow();
    losses[c.index] =
        net_.loss_and_gradients(make_batch(inputs), edits, scale, *state, slots_.slot(c.index), one_thread());
  });
  const double middle = seconds_now();
  slots_.add_to(parameters().gradients(), pool);
  phases.backward += middle - start;
  phases.reduction += seconds_now() - middle;
  return std::accumulate(losses.begin(), losses.end(), 0.0);
}

double SimplifyObjective::accumulate_reference(std::span<const std::size_t> members) {
  std::vector<const EncodedExpression*> inputs;
  std::vector<std::uint32_t> edits;
  for (const std::size_t i : members) {
    inputs.push_back(&examples_[i].input);
    edits.insert(edits.end(), examples_[i].edits.begin(), examples_[i].edits.end());
  }
  std::vector<float> gradients(parameters().num_parameters());
  const double loss = reference::transform_loss_and_gradients(net_, make_batch(inputs), edits,
                                                              1.0 / static_cast<double>(edits.size()), gradients);
  for (std::size_t i = 0; i < gradients.size(); ++i) parameters().gradients()[i] += gradients[i];
  return loss;
}

Evaluation SimplifyObjective::evaluate(const ThreadPool& pool) {
  const auto rewritten = net_.rewrite_all(data_.validation, kMaxPasses, data_options_.share, pool);
  std::size_t right = 0, once = 0;
  for (std::size_t i = 0; i < rewritten.size(); ++i) {
    right += to_text(rewritten[i].last) == validation_normal_[i];
    once += to_text(rewritten[i].once) == to_text(simplify_pass(data_.validation[i], data_.words));
  }
  struct Sum {
    double loss = 0, nodes = 0;
  };
  const Sum sum = pool.reduce(
      data_.validation.size(), 32, 1e5, Sum{},
      [&](Chunk c) {
        std::vector<const Expression*> inputs;
        std::vector<std::uint32_t> edits;
        for (std::size_t i = c.begin; i < c.end; ++i) {
          inputs.push_back(&data_.validation[i]);
          for (const std::uint32_t e : simplify_edits(data_.validation[i], data_.words)) edits.push_back(e);
        }
        TransformState state;
        const double loss = net_.loss(make_batch(inputs, data_.words), edits, 1.0, state, one_thread());
        return Sum{loss, static_cast<double>(edits.size())};
      },
      [](Sum& a, const Sum& b) {
        a.loss += b.loss;
        a.nodes += b.nodes;
      });
  const auto count = static_cast<double>(std::max<std::size_t>(1, rewritten.size()));
  Evaluation e;
  e.score = static_cast<double>(right) / count;
  e.solved = right == rewritten.size();
  e.loss = sum.nodes > 0 ? sum.loss / sum.nodes : 0;
  e.extra = {{"one_pass", static_cast<double>(once) / count}};
  return e;
}

std::unique_ptr<Model> SimplifyObjective::snapshot(std::span<const float> weights, const SafetensorsFile&) const {
  GraphTransformNet net(data_.words, net_options_, seed_);
  std::copy(weights.begin(), weights.end(), net.parameters().values().begin());
  return std::make_unique<RewriteModel>(std::move(net), data_options_.share);
}

}  // namespace espalier
