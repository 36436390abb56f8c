#include "models/dag/table_objective.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "base/clock.hpp"
#include "base/files.hpp"
#include "espalier/error.hpp"
#include "espalier/random.hpp"
#include "espalier/safetensors.hpp"
#include "models/dag/dag_reference.hpp"
#include "models/dag/table_model.hpp"

namespace espalier {
namespace {

constexpr std::uint64_t kPruneSteps = 5;

std::vector<std::size_t> sizes_from(const std::string& text) {
  std::vector<std::size_t> sizes;
  std::istringstream words(text);
  std::string word;
  while (std::getline(words, word, ',')) {
    if (word.empty() || word.size() > 6 || word.find_first_not_of("0123456789") != std::string::npos ||
        std::stoul(word) == 0)
      fail("hidden", fmt::format("\"{}\"", text), "sizes such as 16 or 16,8; empty for none");
    sizes.push_back(std::stoul(word));
  }
  return sizes;
}

CsvTable read_table(const TableOptions& o) {
  if (o.csv.empty()) fail("table", "no CSV file", "the option csv");
  if (o.target.empty()) fail("table", "no target", "the name of the column to predict");
  return parse_csv(read_text(o.csv), o.csv);
}

}  // namespace

Fields fields_of(TableOptions& o) {
  Fields f;
  f.add("csv", o.csv, "the table: a first line of names, then rows").metavar("FILE");
  f.add("target", o.target, "the column to predict");
  const auto text = [](std::string& member) {
    return Field::Access{[&member] { return member; }, [&member](const std::string& value) { member = value; }};
  };
  f.add("kind", text(o.kind), "auto: words are classes, numbers are regressed", {"auto", "classify", "regress"});
  f.add("impute", o.impute, "missing values become the mean or the most frequent word");
  f.add("hidden",
        {[&o] { return fmt::format("{}", fmt::join(o.hidden, ",")); },
         [&o](const std::string& value) { o.hidden = sizes_from(value); }},
        "hidden layers, e.g. 16,8; empty for none");
  f.add("density", o.network.density, "fraction of the edges between neighbouring layers", 1e-6, 1);
  f.add("activation", o.network.hidden, "activation of hidden nodes",
        {"linear", "relu", "leaky-relu", "sigmoid", "tanh"});
  f.add("no-skip", o.no_skip, "leave out the edges from inputs to outputs that put a linear model within reach");
  f.add("fan-in-scaling", o.network.fan_in_scaling, "scale what a node hears by 1/sqrt(number of its edges)");
  f.add("test-fraction", o.test_fraction, "rows kept for the test", 0, 0.9);
  f.add("validation-fraction", o.validation_fraction, "of the rest, rows that choose the best weights", 0, 0.9);
  f.add("batch-size", o.batch_size, "rows in a mini-batch", 1, 1e6);
  f.add("grow", o.grow, "edges to split and tie to further inputs in the first half of training", 0, 10000);
  f.add("prune", o.prune, "per cent of the edges to cut in the second half", 0, 100);
  f.add("reference", o.reference, "train with the plain sequential code (slow; for comparison)");
  return f;
}

DagNN TableObjective::make_network(const TableOptions& options, const TableSchema& schema, std::uint64_t seed) {
  std::vector<std::size_t> sizes{schema.num_inputs()};
  sizes.insert(sizes.end(), options.hidden.begin(), options.hidden.end());
  sizes.push_back(schema.num_outputs());
  LayeredOptions layered = options.network;
  layered.seed = seed;
  DagNN network = DagNN::layered(sizes, layered);
  if (options.no_skip || options.hidden.empty()) return network;
  std::vector<NodeId> inputs, outputs;
  for (const auto& [id, node] : network.topology().nodes()) {
    if (node.kind == NodeKind::kInput) inputs.push_back(id);
    if (node.kind == NodeKind::kOutput) outputs.push_back(id);
  }
  for (const NodeId output : outputs)
    for (const NodeId input : inputs) network.add_shortcut(input, output);
  return network;
}

TableObjective::TableObjective(const TableOptions& options, std::uint64_t seed)
    : TableObjective(options, seed, read_table(options)) {}

TableObjective::TableObjective(const TableOptions& options, std::uint64_t seed, const CsvTable& table)
    : options_(options),
      seed_(seed),
      split_(split_rows(table.rows.size(), options.test_fraction, options.validation_fraction, seed)),
      schema_(TableSchema::fit(table, split_.train, options.target, options.kind, options.impute)),
      shape_(make_network(options, schema_, seed), options.grow) {
  const auto take = [&](const std::vector<std::size_t>& rows) {
    return Rows{schema_.inputs_of(table, rows), schema_.targets_of(table, rows)};
  };
  train_ = take(split_.train);
  validation_ = take(split_.validation);
  test_ = take(split_.test);
  order_.resize(split_.train.size());
  options_.batch_size = std::min(options_.batch_size, order_.size());
}

double TableObjective::accumulate(std::uint64_t batch, const ThreadPool& pool, PhaseSeconds& phases) {
  const std::size_t size = options_.batch_size, inputs = schema_.num_inputs();
  const std::uint64_t per_epoch = order_.size() / size, epoch = batch / per_epoch;
  if (epoch != shuffled_epoch_) {
    std::iota(order_.begin(), order_.end(), 0u);
    Random(seed_, Purpose::kBatch, static_cast<std::uint32_t>(epoch)).shuffle(std::span(order_));
    shuffled_epoch_ = epoch;
  }
  std::vector<float> x, y, gradient;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t row = order_[batch % per_epoch * size + i];
    x.insert(x.end(), train_.x.begin() + static_cast<std::ptrdiff_t>(row * inputs),
             train_.x.begin() + static_cast<std::ptrdiff_t>((row + 1) * inputs));
    y.push_back(train_.y[row]);
  }
  if (options_.reference) return accumulate_reference(x, y);
  const double start = seconds_now();
  DagNN& network = shape_.network();
  const double loss = table_loss(schema_.classifies(), network.forward(x, size, pool), y, &gradient);
  const double middle = seconds_now();
  network.zero_grad(pool);
  network.backward_accumulate(gradient, pool);
  shape_.take_gradients();
  phases.forward += middle - start;
  phases.backward += seconds_now() - middle;
  return loss;
}

double TableObjective::accumulate_reference(std::span<const float> x, std::span<const float> y) {
  DagNN& network = shape_.network();
  const reference::Dag<float> plain(network);
  const std::size_t inputs = plain.inputs.size(), outputs = plain.outputs.size();
  std::vector<std::vector<float>> z(y.size()), a(y.size());
  std::vector<float> out, gradient, g, db(plain.nodes.size()), dw(plain.edges.size());
  for (std::size_t r = 0; r < y.size(); ++r) {
    plain.forward(&x[r * inputs], z[r], a[r]);
    for (const std::size_t o : plain.outputs) out.push_back(a[r][o]);
  }
  const double loss = table_loss(schema_.classifies(), out, y, &gradient);
  for (std::size_t r = 0; r < y.size(); ++r) plain.backward(z[r], a[r], &gradient[r * outputs], g, db, dw);
  network.zero_grad();
  for (std::size_t e = 0; e < dw.size(); ++e) {
    const DagEdge& edge = network.topology().edge(plain.edges[e].id);
    network.accumulate_edge_grad(edge.from, edge.to, dw[e]);
  }
  // Biases lie in the same order as the reference's nodes, which begin with the inputs.
  std::copy(db.begin() + static_cast<std::ptrdiff_t>(inputs), db.end(), network.parameters().gradients(0).begin());
  shape_.take_gradients();
  return loss;
}

Evaluation TableObjective::evaluate(const ThreadPool& pool) {
  DagNN& network = shape_.network();
  shape_.write_shape();  // exact, whatever a weight decay did to it: the best weights are copied from here
  const auto outputs = network.forward(validation_.x, validation_.y.size(), pool);
  Evaluation e;
  e.score = table_score(schema_.classifies(), outputs, validation_.y);
  e.solved = e.score >= (schema_.classifies() ? 1.0 : 0.9999);
  e.loss = table_loss(schema_.classifies(), outputs, validation_.y, nullptr);
  e.extra = {{"edges", static_cast<double>(network.topology().edges().size())}};
  if (!schema_.classifies()) return e;
  // A few dozen rows make an accuracy of few values: weights are chosen by the geometric mean probability of the
  // right class instead, which has no ties.
  e.extra.emplace_back("accuracy", e.score);
  e.score = std::exp(-e.loss);
  return e;
}

// Growth and pruning happen when `progress` passes fixed marks, so a resumed run does what an unbroken one does.
void TableObjective::begin_step(std::uint64_t step, double progress, double /*last_loss*/) {
  if (step == 0) return;
  const double before = progress * static_cast<double>(step - 1) / static_cast<double>(step);
  const auto passed = [&](double mark) { return before < mark && progress >= mark; };
  for (std::size_t i = 0; i < options_.grow; ++i)
    if (passed(0.5 * static_cast<double>(i + 1) / static_cast<double>(options_.grow + 1))) grow(i);
  for (std::uint64_t i = 0; options_.prune > 0 && i < kPruneSteps; ++i)
    if (passed(0.5 + 0.3 * static_cast<double>(i) / static_cast<double>(kPruneSteps))) prune(i);
}

// Splits the heaviest edge and ties the new node to some input it does not see yet: both keep the function.
void TableObjective::grow(std::uint64_t event) {
  DagNN& network = shape_.network();
  if (!shape_.room_to_grow() || network.topology().edges().empty()) return;
  EdgeId heaviest = network.topology().edges().begin()->first;
  for (const auto& [id, edge] : network.topology().edges())
    if (std::fabs(network.weight(id)) > std::fabs(network.weight(heaviest))) heaviest = id;
  const NodeId node = network.split_edge(heaviest);
  std::vector<NodeId> candidates;
  for (const auto& [id, other] : network.topology().nodes())
    if (other.kind == NodeKind::kInput && !network.topology().find_edge(id, node)) candidates.push_back(id);
  if (!candidates.empty())
    network.add_shortcut(candidates[Random(seed_, Purpose::kWiring, 1).choice(event, candidates.size())], node);
  shape_.write_shape();
}

void TableObjective::prune(std::uint64_t event) {
  DagNN& network = shape_.network();
  // Equal shares of the edges there were: of what is left the share is larger every time.
  const double share = options_.prune / static_cast<double>(kPruneSteps);
  const double left = 100 - share * static_cast<double>(event);
  network.prune_percentile(std::min(100.0, 100 * share / left));
  network.remove_unseen();
  shape_.write_shape();
}

std::unique_ptr<Model> TableObjective::snapshot(std::span<const float> weights, const SafetensorsFile&) const {
  Parameters stored = shape_.parameters();
  std::copy(weights.begin(), weights.end(), stored.values().begin());
  DagNN network = TableShape::decode(stored, weights, options_.network.fan_in_scaling);
  return std::make_unique<TableModel>(schema_, std::move(network), std::move(stored));
}

Facts TableObjective::report(const Model& best, const ThreadPool& pool) const {
  const auto& model = dynamic_cast<const TableModel&>(best);
  DagNN network = TableShape::decode(model.parameters(), model.parameters().values(), options_.network.fan_in_scaling);
  const auto outputs = network.forward(test_.x, test_.y.size(), pool);
  const std::vector<float> linear = linear_predictions(schema_.classifies(), schema_.num_inputs(),
                                                       schema_.num_outputs(), train_.x, train_.y, test_.x);
  const auto whole = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  Facts facts = model.facts();
  facts.insert(
      facts.end(),
      {{"train_rows", whole(train_.y.size())},
       {"validation_rows", whole(validation_.y.size())},
       {"test_rows", whole(test_.y.size())},
       {schema_.classifies() ? "test_accuracy" : "test_r2", table_score(schema_.classifies(), outputs, test_.y)},
       {schema_.classifies() ? "linear_accuracy" : "linear_r2", table_score(schema_.classifies(), linear, test_.y)}});
  return facts;
}

}  // namespace espalier
