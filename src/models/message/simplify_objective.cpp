// The `simplify` task for the trainer, and the figures of its end: both test sets, the two baselines.
#include "models/message/simplify_objective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_set>

#include "base/clock.hpp"
#include "base/rank_bytes.hpp"
#include "base/text.hpp"
#include "espalier/error.hpp"
#include "espalier/graph.hpp"
#include "espalier/message_passing.hpp"
#include "models/message/transform_reference.hpp"

namespace espalier {
namespace {

// Chunks of one mini-batch: enough for many cores, few enough that their gradient arrays stay cheap to sum.
constexpr std::size_t kSlots = 16;
constexpr std::size_t kMaxPasses = 64;
constexpr double kNodeNs = 5000;  // one node, forward and backward

// Of one edit distance, in search nodes times pairs of graph nodes: results may not depend on the clock. A hundred
// search nodes for two graphs of 16 nodes, none for two of 160.
constexpr std::uint64_t kEditWork = 25'600;
constexpr std::size_t kMaxPairs = 200;  // in the figures of the end the first wrong answers stand for all of them

// Between what was found and what was expected, as trees: exact within a budget of search nodes, which is the smaller
// the larger the graphs; else an upper bound.
double sum_of_edit_distances(std::span<const std::pair<const Expression*, const Expression*>> pairs,
                             const ThreadPool& pool) {
  return pool.reduce(
      pairs.size(), 1, 1e5, 0.0,
      [&](Chunk c) {
        const auto& [found, expected] = pairs[c.index];
        if (to_text(*found) == to_text(*expected)) return 0.0;
        const LabelledGraph x = graph_of_expression(as_tree(*found)), y = graph_of_expression(as_tree(*expected));
        const std::size_t size = std::max<std::size_t>(1, x.labels.size() * y.labels.size());
        return edit_distance(x, y, {.max_nodes = kEditWork / size}).distance;
      },
      [](double& x, const double& y) { x += y; });
}

}  // namespace

Fields fields_of(SimplifyTaskOptions& o) {
  Fields f;
  f.add("batch-size", o.batch_size, "expressions in a mini-batch", 1, 1e6);
  f.add("train-examples", o.data.train, "expressions to learn from", 1, 1e7);
  f.add("validation-examples", o.data.validation, "expressions by which the best weights are chosen", 1, 1e7);
  f.add("test-examples", o.data.test, "expressions never seen in training", 0, 1e7);
  f.add("deep-examples", o.data.deep, "expressions of twice the depth", 0, 1e7);
  f.add("depth", o.data.depth, "depth of the deepest training expression", 1, 12);
  f.add("max-number", o.data.max_number, "numbers are 0 to this", 1, 99);
  f.add("share", o.data.share, "one node for equal subexpressions");
  f.add("data", o.data.file,
        "expressions from a file of JSON lines instead of generated ones; what validation and test leave is for "
        "training")
      .metavar("FILE");
  f.append(fields_of(o.net));
  f.add("reference", o.reference, "train with the plain sequential code (slow; for comparison)");
  return f;
}

SimplifyObjective::SimplifyObjective(const SimplifyTaskOptions& options, std::uint64_t seed)
    : options_(checked(options)),
      data_(make_simplify_data(options.data, seed)),
      net_(make_rewrite_net(data_.words, options.net, seed)),
      examples_(make_examples()),
      order_(examples_.size(), std::min(options.batch_size, data_.train.size()), seed),
      slots_(kSlots, net_.parameters().num_parameters()),
      states_([] { return std::make_unique<TransformState>(); }) {
  for (const Expression& e : data_.validation) validation_normal_.push_back(normal_form(e, data_.words));
}

std::vector<SimplifyObjective::Example> SimplifyObjective::make_examples() const {
  // A model that rewrites to the fixed point meets its own results, so it learns from every pass of every
  // training expression; but never from an expression that is an item of another set.
  std::unordered_set<std::string> held_out;
  for (const auto* part : {&data_.validation, &data_.test, &data_.deep})
    for (const Expression& e : *part) held_out.insert(to_text(e));
  std::vector<Example> examples;
  for (const Expression& e : data_.train) {
    Expression current = e;
    while (true) {
      const std::vector<std::uint32_t> edits = simplify_edits(current, data_.words);
      if (!held_out.contains(to_text(current))) examples.push_back({number_expression(current, net_), edits});
      if (std::ranges::all_of(edits, [](std::uint32_t edit) { return edit == kKeep; })) break;
      current = simplify_pass(current, data_.words);
      if (options_.data.share) current = share_subexpressions(current);
    }
  }
  return examples;
}

SimplifyObjective::Batch SimplifyObjective::batch_of(std::span<const std::uint32_t> members) const {
  std::vector<const NumberedGraph*> inputs;
  std::vector<std::uint32_t> edits;
  for (const std::size_t i : members) {
    inputs.push_back(&examples_[i].input);
    edits.insert(edits.end(), examples_[i].edits.begin(), examples_[i].edits.end());
  }
  return {net_.batch(inputs), std::move(edits)};
}

double SimplifyObjective::accumulate(std::uint64_t batch, const ThreadPool& pool, PhaseSeconds& phases) {
  PhaseClock book;
  const std::span<const std::uint32_t> members = order_.batch(batch);
  if (options_.reference) {
    book(phases.data);
    return accumulate_reference(members, phases);
  }
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

  const GradientSlots::Share own = slots_.share(pool);
  const std::size_t first = std::min(own.begin, chunks), last = std::min(own.end, chunks);
  slots_.zero(own, pool);
  std::vector<double> losses(kSlots);
  struct Times {
    double data = 0, forward = 0, backward = 0;
  };
  std::vector<Times> times(kSlots);
  const double scale = 1.0 / static_cast<double>(nodes);
  pool.for_chunks(last - first, 1, kNodeNs * static_cast<double>(nodes) / static_cast<double>(chunks), [&](Chunk c) {
    const std::size_t chunk = first + c.index;
    PhaseClock book_chunk;
    const Batch b = batch_of(members.subspan(starts[chunk], starts[chunk + 1] - starts[chunk]));
    const auto state = states_.borrow();
    book_chunk(times[chunk].data);
    losses[chunk] = net_.loss_and_gradients(b.graphs, b.edits, scale, *state, slots_.slot(chunk));
    times[chunk].forward = state->forward_seconds;
    times[chunk].backward = state->backward_seconds;
  });
  // The chunks ran side by side: what they took together is shared out as their sums are.
  Times sum;
  for (const Times& t : times) {
    sum.data += t.data;
    sum.forward += t.forward;
    sum.backward += t.backward;
  }
  double together = 0;
  book(together);
  together /= std::max(1e-12, sum.data + sum.forward + sum.backward);
  phases.data += together * sum.data;
  phases.forward += together * sum.forward;
  phases.backward += together * sum.backward;
  std::unique_ptr<Ranks::Gathering> arriving;
  if (own.shared)
    arriving = pool.ranks()->begin_gather(std::as_writable_bytes(std::span(losses)),
                                          share_starts(kSlots, 1, pool.ranks()->size(), sizeof(double)));
  slots_.add_shared(parameters().gradients(), own, pool);
  if (arriving) arriving->finish();
  book(phases.reduction);
  return std::accumulate(losses.begin(), losses.begin() + static_cast<std::ptrdiff_t>(chunks), 0.0);
}

double SimplifyObjective::accumulate_reference(std::span<const std::uint32_t> members, PhaseSeconds& phases) {
  PhaseClock book;
  const Batch b = batch_of(members);
  std::vector<float> gradients(parameters().num_parameters());
  book(phases.data);
  const double loss = reference::transform_loss_and_gradients(
      net_, b.graphs, b.edits, 1.0 / static_cast<double>(b.edits.size()), gradients, [&] { book(phases.forward); });
  for (std::size_t i = 0; i < gradients.size(); ++i) parameters().gradients()[i] += gradients[i];
  book(phases.backward);
  return loss;
}

Evaluation SimplifyObjective::evaluate(const ThreadPool& pool) {
  const auto rewritten = rewrite_all(net_, data_.validation, kMaxPasses, options_.data.share, pool);
  std::size_t right = 0, once = 0;
  for (std::size_t i = 0; i < rewritten.size(); ++i) {
    right += to_text(rewritten[i].last) == to_text(validation_normal_[i]);
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
        const double loss = net_.loss(batch_expressions(net_, inputs), edits, 1.0, state);
        return Sum{loss, static_cast<double>(edits.size())};
      },
      [](Sum& a, const Sum& b) {
        a.loss += b.loss;
        a.nodes += b.nodes;
      });
  const auto count = static_cast<double>(std::max<std::size_t>(1, rewritten.size()));
  Evaluation e;
  e.score = static_cast<double>(right) / count;
  e.passed = right == rewritten.size();
  e.loss = sum.nodes > 0 ? sum.loss / sum.nodes : 0;
  std::vector<std::pair<const Expression*, const Expression*>> pairs;
  for (std::size_t i = 0; i < rewritten.size(); ++i) pairs.emplace_back(&rewritten[i].last, &validation_normal_[i]);
  e.extra = {{"one_pass", static_cast<double>(once) / count},
             {"edit_distance", sum_of_edit_distances(pairs, pool) / count}};
  return e;
}

std::unique_ptr<Model> SimplifyObjective::snapshot(std::span<const float> weights, const SafetensorsFile&) const {
  GraphTransformNet net = net_;
  const std::span<float> values = net.parameters().values();
  if (weights.size() != values.size())
    fail("simplify snapshot", fmt::format("{} weights", weights.size()), fmt::format("{}", values.size()));
  std::copy(weights.begin(), weights.end(), values.begin());
  return std::make_unique<RewriteModel>(std::move(net), options_.data.share);
}

// --- Figures for the end.

namespace {

// How well predictions agree with the engine on one set.
struct SimplifyScore {
  double one_pass = 0, fixed_point = 0;  // fraction exactly right
  // Between the predicted and the expected last graph; of many wrong answers the first 200 stand for all.
  double mean_edit_distance = 0;
};

// Predictions are compared as trees.
SimplifyScore score_rewrites(std::span<const Expression> inputs, std::span<const Rewritten> outputs,
                             const Vocabulary& words, const ThreadPool& pool) {
  std::size_t once = 0, last = 0;
  std::vector<Expression> expected;
  for (const Expression& input : inputs) expected.push_back(normal_form(input, words));
  std::vector<std::pair<const Expression*, const Expression*>> pairs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    once += to_text(outputs[i].once) == to_text(simplify_pass(inputs[i], words));
    const bool right = to_text(outputs[i].last) == to_text(expected[i]);
    last += right;
    if (!right && pairs.size() < kMaxPairs) pairs.emplace_back(&outputs[i].last, &expected[i]);
  }
  const double distance = sum_of_edit_distances(pairs, pool);
  const auto wrong = static_cast<double>(inputs.size() - last);
  const auto count = static_cast<double>(std::max<std::size_t>(1, inputs.size()));
  return {static_cast<double>(once) / count, static_cast<double>(last) / count,
          pairs.empty() ? 0 : distance / static_cast<double>(pairs.size()) * wrong / count};
}

// Rewrites by one fixed edit per label: the best that any model without messages can learn.
std::vector<Rewritten> rewrite_by_label(std::span<const Expression> inputs,
                                        const std::map<std::string, std::uint32_t>& edit_of, const Vocabulary& words) {
  std::vector<Rewritten> results;
  for (const Expression& input : inputs) {
    Expression once, last = input;
    for (std::size_t pass = 0; pass < kMaxPasses && !last.nodes.empty(); ++pass) {
      std::vector<std::uint32_t> edits;
      for (const ExpressionNode& n : last.nodes) {
        const auto found = edit_of.find(n.label);
        edits.push_back(found == edit_of.end() ? static_cast<std::uint32_t>(kKeep) : found->second);
      }
      Expression next = apply_edits(last, edits, words);
      if (pass == 0) once = next;
      const bool changed = to_text(next) != to_text(last);
      last = std::move(next);
      if (!changed) break;
    }
    results.push_back({once, last});
  }
  return results;
}

// The most frequent edit of every label in the training set.
std::map<std::string, std::uint32_t> majority_edits(std::span<const Expression> train, const Vocabulary& words) {
  std::map<std::string, std::map<std::uint32_t, std::size_t>> counts;
  for (const Expression& e : train) {
    const std::vector<std::uint32_t> edits = simplify_edits(e, words);
    for (std::size_t i = 0; i < edits.size(); ++i) ++counts[e.nodes[i].label][edits[i]];
  }
  std::map<std::string, std::uint32_t> majority;
  for (const auto& [label, by_edit] : counts)
    majority[label] = std::max_element(by_edit.begin(), by_edit.end(), [](const auto& a, const auto& b) {
                        return a.second < b.second;
                      })->first;
  return majority;
}

}  // namespace

// Both sets: one like those that fitting and choosing saw, with no expression in common, and one of twice the depth.
Verdict SimplifyObjective::judge(const Model& best, const ThreadPool& pool) const {
  constexpr std::size_t kFewest = 20;  // expressions that are not in normal form already
  if (data_.test.empty()) return {};
  const GraphTransformNet& net = dynamic_cast<const RewriteModel&>(best).net();
  std::size_t changed = 0;
  const auto right = [&](const std::vector<Expression>& inputs) {
    const auto rewritten = rewrite_all(net, inputs, kMaxPasses, options_.data.share, pool);
    std::size_t count = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::string expected = to_text(normal_form(inputs[i], data_.words));
      count += to_text(rewritten[i].last) == expected;
      changed += to_text(inputs[i]) != expected;
    }
    return count;
  };
  const std::size_t test = right(data_.test);
  const bool enough = changed >= kFewest;
  const std::size_t deep = right(data_.deep);
  Verdict verdict{.score = static_cast<double>(test) / static_cast<double>(data_.test.size()),
                  .data = fmt::format("{} that neither fitting nor choosing has seen",
                                      counted(data_.test.size() + data_.deep.size(), "expression"))};
  verdict.loss = 1 - verdict.score;
  verdict.text = fmt::format("{} of {} right", test, counted(data_.test.size(), "expression"));
  if (!data_.deep.empty()) verdict.text += fmt::format(", and {} of {} of twice the depth", deep, data_.deep.size());
  const bool all = test == data_.test.size() && deep == data_.deep.size();
  verdict.solved = all && enough;
  if (all && !enough) verdict.text += "; too few of them are there to be simplified";
  return verdict;
}

Facts SimplifyObjective::report(const Model& best, const ThreadPool& pool) const {
  const GraphTransformNet& net = dynamic_cast<const RewriteModel&>(best).net();
  const auto majority = majority_edits(data_.train, data_.words);
  Facts facts;
  for (const auto& part :
       {std::pair<std::string, const std::vector<Expression>&>{"test", data_.test}, {"deep", data_.deep}}) {
    const std::vector<Expression>& inputs = part.second;
    facts.emplace_back(part.first + ".examples", static_cast<std::int64_t>(inputs.size()));
    const auto score = [&](const char* who, const std::vector<Rewritten>& outputs) {
      const SimplifyScore s = score_rewrites(inputs, outputs, data_.words, pool);
      const std::string prefix = part.first + "." + who + ".";
      facts.emplace_back(prefix + "one_pass", s.one_pass);
      facts.emplace_back(prefix + "fixed_point", s.fixed_point);
      facts.emplace_back(prefix + "mean_edit_distance", s.mean_edit_distance);
    };
    score("model", rewrite_all(net, inputs, kMaxPasses, options_.data.share, pool));
    score("baseline_keep", rewrite_by_label(inputs, {}, data_.words));
    score("baseline_label", rewrite_by_label(inputs, majority, data_.words));
  }
  return facts;
}

}  // namespace espalier
