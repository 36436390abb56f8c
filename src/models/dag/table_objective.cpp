// Loss, growth and pruning of tables, and the linear model they are held against.
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

// --- Loss and score of tables, and the linear model they are held against.

double table_loss(bool classifies, std::span<const float> outputs, std::span<const float> targets,
                  std::vector<float>* gradient) {
  const std::size_t rows = targets.size(), width = rows ? outputs.size() / rows : 0;
  const auto scale = static_cast<float>(1.0 / static_cast<double>(std::max<std::size_t>(1, rows)));
  if (gradient) gradient->resize(outputs.size());
  double loss = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    const float* y = &outputs[r * width];
    if (!classifies) {
      const float error = y[0] - targets[r];
      loss += 0.5 * static_cast<double>(error) * static_cast<double>(error);
      if (gradient) (*gradient)[r] = error * scale;
      continue;
    }
    const auto right = static_cast<std::size_t>(targets[r]);
    const float most = *std::max_element(y, y + width);
    double sum = 0;
    for (std::size_t k = 0; k < width; ++k) sum += std::exp(static_cast<double>(y[k] - most));
    loss += std::log(sum) - static_cast<double>(y[right] - most);
    if (!gradient) continue;
    for (std::size_t k = 0; k < width; ++k)
      (*gradient)[r * width + k] =
          scale * (static_cast<float>(std::exp(static_cast<double>(y[k] - most)) / sum) - (k == right ? 1.0f : 0.0f));
  }
  return loss * static_cast<double>(scale);
}

double table_score(bool classifies, std::span<const float> outputs, std::span<const float> targets) {
  const std::size_t rows = targets.size();
  if (rows == 0) return 0;
  const std::size_t width = outputs.size() / rows;
  if (classifies) {
    std::size_t right = 0;
    for (std::size_t r = 0; r < rows; ++r) {
      const float* y = &outputs[r * width];
      right += static_cast<std::size_t>(std::max_element(y, y + width) - y) == static_cast<std::size_t>(targets[r]);
    }
    return static_cast<double>(right) / static_cast<double>(rows);
  }
  double mean = 0, total = 0, rest = 0;
  for (const float t : targets) mean += static_cast<double>(t) / static_cast<double>(rows);
  for (std::size_t r = 0; r < rows; ++r) {
    total += std::pow(static_cast<double>(targets[r]) - mean, 2);
    rest += std::pow(static_cast<double>(targets[r]) - static_cast<double>(outputs[r]), 2);
  }
  return total > 0 ? 1 - rest / total : 0;
}

namespace {

// (X^T X + small) w = X^T y with a column of ones, by Cholesky in double.
std::vector<double> least_squares(std::size_t inputs, std::span<const float> x, std::span<const float> y) {
  const std::size_t n = inputs + 1, rows = y.size();
  std::vector<double> a(n * n), b(n);
  const auto at = [&](std::size_t r, std::size_t i) {
    return i < inputs ? static_cast<double>(x[r * inputs + i]) : 1.0;
  };
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t i = 0; i < n; ++i) {
      b[i] += at(r, i) * static_cast<double>(y[r]);
      for (std::size_t j = 0; j <= i; ++j) a[i * n + j] += at(r, i) * at(r, j);
    }
  for (std::size_t i = 0; i < n; ++i)
    a[i * n + i] += 1e-6 * static_cast<double>(rows);  // one-hot columns add up to one
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
      a[i * n + j] = i == j ? std::sqrt(std::max(sum, 1e-300)) : sum / a[j * n + j];
    }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= a[i * n + k] * b[k];
    b[i] /= a[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[k * n + i] * b[k];
    b[i] /= a[i * n + i];
  }
  return b;
}

}  // namespace

std::vector<float> linear_predictions(bool classifies, std::size_t inputs, std::size_t outputs,
                                      std::span<const float> x, std::span<const float> y, std::span<const float> x_test,
                                      const ThreadPool& pool) {
  const std::size_t test_rows = x_test.size() / inputs;
  if (!classifies) {
    const std::vector<double> w = least_squares(inputs, x, y);
    std::vector<float> result(test_rows);
    for (std::size_t r = 0; r < test_rows; ++r) {
      double sum = w[inputs];
      for (std::size_t i = 0; i < inputs; ++i) sum += w[i] * static_cast<double>(x_test[r * inputs + i]);
      result[r] = static_cast<float>(sum);
    }
    return result;
  }
  // Softmax regression is a network of two layers; the problem is convex, so the whole set at once and a falling rate.
  DagNN model = DagNN::layered({inputs, outputs});
  Optimizer optimizer({}, model.num_parameters());
  constexpr int kSteps = 600;
  std::vector<float> gradient;
  for (int step = 0; step < kSteps; ++step) {
    model.zero_grad(pool);
    table_loss(true, model.forward(x, y.size(), pool), y, &gradient);
    model.backward_accumulate(gradient, pool);
    optimizer.step(model.parameters(), 0.1f * (1.0f - static_cast<float>(step) / kSteps), pool);
  }
  const auto result = model.forward(x_test, test_rows, pool);
  return {result.begin(), result.end()};
}

// --- The objective.

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
    : TableObjective(checked(options), seed, read_table(options)) {}

TableObjective::TableObjective(const TableOptions& options, std::uint64_t seed, const CsvTable& table)
    : options_(options),
      seed_(seed),
      split_(split_rows(table.rows.size(), options.test_fraction, options.validation_fraction, seed)),
      schema_(TableSchema::fit(table, split_.train, options.target, options.kind, options.impute)),
      network_(make_network(options, schema_, seed)),
      max_edges_(network_.topology().next_edge() + 2 * options.grow),
      max_nodes_(network_.topology().next_node() + options.grow) {
  parameters_.add("weight", {max_edges_});
  parameters_.add("bias", {max_nodes_});
  take_weights();
  const auto take = [&](const std::vector<std::size_t>& rows) {
    return Rows{schema_.inputs_of(table, rows), schema_.targets_of(table, rows)};
  };
  train_ = take(split_.train);
  validation_ = take(split_.validation);
  test_ = take(split_.test);
  order_.resize(split_.train.size());
  options_.batch_size = std::min(options_.batch_size, order_.size());
}

// --- The network within the parameters.

void TableObjective::find_places() {
  places_.clear();
  for (const auto& [id, edge] : network_.topology().edges()) places_.emplace_back(network_.weight_index(id), id);
  for (const auto& [id, node] : network_.topology().nodes())
    if (node.kind != NodeKind::kInput) places_.emplace_back(network_.bias_index(id), max_edges_ + id);
}

DagNN& TableObjective::network() {
  const std::span<float> values = network_.parameters().values();
  for (const auto& [there, here] : places_) values[there] = parameters_.values()[here];
  return network_;
}

void TableObjective::take_gradients() {
  const std::span<const float> gradients = network_.parameters().gradients();
  for (const auto& [there, here] : places_) parameters_.gradients()[here] += gradients[there];
}

void TableObjective::take_weights() {
  find_places();
  std::ranges::fill(parameters_.values(), 0.0f);
  const std::span<const float> values = network_.parameters().values();
  for (const auto& [there, here] : places_) parameters_.values()[here] = values[there];
}

SafetensorsFile TableObjective::state() const {
  SafetensorsFile file;
  network_.save_shape(file);
  const std::int32_t events[] = {static_cast<std::int32_t>(grown_), static_cast<std::int32_t>(pruned_)};
  file.add("table.events", {2}, std::span<const std::int32_t>(events));
  return file;
}

DagNN TableObjective::shape_from(const SafetensorsFile& state) const {
  DagNN network = DagNN::load_shape(state);
  if (network.topology().next_edge() > max_edges_ || network.topology().next_node() > max_nodes_ ||
      network.num_inputs() != schema_.num_inputs() || network.num_outputs() != schema_.num_outputs())
    fail("table state", "a network that does not fit this table", "the state of a run with the same options");
  return network;
}

void TableObjective::restore_state(const SafetensorsFile& state) {
  DagNN network = shape_from(state);
  const std::vector<std::int32_t> events = state.ints("table.events");
  if (events.size() != 2 || events[0] < 0 || events[1] < 0)
    fail("table state", "events that are no two counts", "how often it grew and was pruned");
  network_ = std::move(network);
  find_places();
  grown_ = static_cast<std::uint64_t>(events[0]);
  pruned_ = static_cast<std::uint64_t>(events[1]);
}

std::unique_ptr<Model> TableObjective::snapshot(std::span<const float> weights, const SafetensorsFile& state) const {
  if (weights.size() != parameters_.num_parameters())
    fail("table snapshot", fmt::format("{} weights", weights.size()), fmt::format("{}", parameters_.num_parameters()));
  DagNN network = shape_from(state);
  for (const auto& [id, edge] : network.topology().edges()) network.set_weight(id, weights[id]);
  for (const auto& [id, node] : network.topology().nodes())
    if (node.kind != NodeKind::kInput) network.set_bias(id, weights[max_edges_ + id]);
  network.train(false);
  return std::make_unique<TableModel>(schema_, std::move(network));
}

// --- Training.

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
  DagNN& network = this->network();
  const double loss = table_loss(schema_.classifies(), network.forward(x, size, pool), y, &gradient);
  const double middle = seconds_now();
  network.zero_grad(pool);
  network.backward_accumulate(gradient, pool);
  take_gradients();
  phases.forward += middle - start;
  phases.backward += seconds_now() - middle;
  return loss;
}

double TableObjective::accumulate_reference(std::span<const float> x, std::span<const float> y) {
  DagNN& network = this->network();
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
  take_gradients();
  return loss;
}

Evaluation TableObjective::evaluate(const ThreadPool& pool) {
  DagNN& network = this->network();
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

// Growth and pruning happen at the first step at or after fixed marks of `progress`. How many have happened is part of
// the state, so a step that is begun again, or a resumed run, does none of them twice.
void TableObjective::begin_step(std::uint64_t /*step*/, double progress, double /*last_loss*/) {
  const auto growth_mark = [&](std::uint64_t event) {
    return 0.5 * static_cast<double>(event + 1) / static_cast<double>(options_.grow + 1);
  };
  const auto prune_mark = [](std::uint64_t event) {
    return 0.5 + 0.3 * static_cast<double>(event) / static_cast<double>(kPruneSteps);
  };
  for (; grown_ < options_.grow && progress >= growth_mark(grown_); ++grown_) grow(grown_);
  for (; options_.prune > 0 && pruned_ < kPruneSteps && progress >= prune_mark(pruned_); ++pruned_) prune(pruned_);
}

// Splits the heaviest edge and ties the new node to some input it does not see yet: both keep the function.
void TableObjective::grow(std::uint64_t event) {
  DagNN& network = this->network();
  const DagTopology& topology = network.topology();
  if (topology.next_node() >= max_nodes_ || topology.next_edge() + 1 >= max_edges_ || topology.edges().empty()) return;
  EdgeId heaviest = topology.edges().begin()->first;
  for (const auto& [id, edge] : topology.edges())
    if (std::fabs(network.weight(id)) > std::fabs(network.weight(heaviest))) heaviest = id;
  const NodeId node = network.split_edge(heaviest);
  std::vector<NodeId> candidates;
  for (const auto& [id, other] : topology.nodes())
    if (other.kind == NodeKind::kInput && !topology.find_edge(id, node)) candidates.push_back(id);
  if (!candidates.empty())
    network.add_shortcut(candidates[Random(seed_, Purpose::kWiring, 1).choice(event, candidates.size())], node);
  take_weights();
}

void TableObjective::prune(std::uint64_t event) {
  DagNN& network = this->network();
  // Equal shares of the edges there were: of what is left the share is larger every time.
  const double share = options_.prune / static_cast<double>(kPruneSteps);
  const double left = 100 - share * static_cast<double>(event);
  network.prune_percentile(std::min(100.0, 100 * share / left));
  network.remove_unseen();
  take_weights();
}

Facts TableObjective::report(const Model& best, const ThreadPool& pool) const {
  const auto* model = dynamic_cast<const TableModel*>(&best);
  if (!model) fail("table report", fmt::format("a {}", best.kind()), "a snapshot of this objective");
  DagNN network = model->network();
  const bool classifies = schema_.classifies();
  const auto outputs = network.forward(test_.x, test_.y.size(), pool);
  const std::vector<float> linear =
      linear_predictions(classifies, schema_.num_inputs(), schema_.num_outputs(), train_.x, train_.y, test_.x, pool);
  const auto whole = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  Facts facts = model->facts();
  facts.insert(facts.end(), {{"train_rows", whole(train_.y.size())},
                             {"validation_rows", whole(validation_.y.size())},
                             {"test_rows", whole(test_.y.size())},
                             {classifies ? "test_accuracy" : "test_r2", table_score(classifies, outputs, test_.y)},
                             {classifies ? "linear_accuracy" : "linear_r2", table_score(classifies, linear, test_.y)}});
  return facts;
}

}  // namespace espalier
