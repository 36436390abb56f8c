// Training of tables: the start as a linear model, growth and pruning.
#include "models/dag/table_objective.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "base/clock.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "data/baselines.hpp"
#include "espalier/dag_nn.hpp"
#include "espalier/error.hpp"
#include "espalier/random.hpp"
#include "espalier/safetensors.hpp"
#include "models/dag/dag_reference.hpp"
#include "train/losses.hpp"

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

std::vector<std::string> words_from(const std::string& text) {
  std::vector<std::string> names;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');)
    if (const std::string_view name = trimmed(word); !name.empty()) names.emplace_back(name);
  return names;
}

std::vector<NodeId> nodes_of(const DagTopology& topology, NodeKind kind) {
  std::vector<NodeId> ids;
  for (const auto& [id, node] : topology.nodes())
    if (node.kind == kind) ids.push_back(id);
  return ids;
}

CsvTable read_table(const TableOptions& o) {
  if (o.csv.empty()) fail("table", "no CSV file", "one in the option \"csv\"");
  if (o.target.empty()) fail("table", "no target", "the column to predict in the option \"target\"");
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
  f.add("kind", text(o.kind),
        "auto: words are classes, and so are up to ten different whole numbers, if no more than the root of the rows; "
        "other numbers are regressed",
        {"auto", "classify", "regress"});
  f.add("words",
        {[&o] { return fmt::format("{}", fmt::join(o.words, ",")); },
         [&o](const std::string& value) { o.words = words_from(value); }},
        "columns to take as words though they look like numbers, e.g. postcode,year")
      .metavar("COLUMNS");
  f.add("impute", o.impute, "missing values become the mean or the most frequent word");
  f.add("hidden",
        {[&o] { return fmt::format("{}", fmt::join(o.hidden, ",")); },
         [&o](const std::string& value) { o.hidden = sizes_from(value); }},
        "hidden layers, e.g. 16,8; empty for none");
  f.add("density", o.network.density, "fraction of the edges between neighbouring layers", 1e-6, 1);
  f.add("activation", o.network.hidden, "activation of hidden nodes",
        {"linear", "relu", "leaky-relu", "sigmoid", "tanh"});
  f.add("no-skip", o.no_skip, "leave out the edges from inputs to outputs that put a linear model within reach");
  f.add("fan-in-scaling", o.network.fan_in_scaling, "scale the input of a node by 1/sqrt(number of its edges)");
  f.add("test-fraction", o.test_fraction, "fraction of the rows kept for the test", 0, 0.9);
  f.add("validation-fraction", o.validation_fraction, "fraction of the rest by which the best weights are chosen", 0,
        0.9);
  f.add("batch-size", o.batch_size, "rows in a mini-batch", 1, 1e6);
  f.add("grow", o.grow, "edges to split and connect to further inputs in the first half of training", 0, 10000);
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
  for (const NodeId output : nodes_of(network.topology(), NodeKind::kOutput))
    for (const NodeId input : nodes_of(network.topology(), NodeKind::kInput)) network.add_shortcut(input, output);
  return network;
}

TableObjective::TableObjective(const TableOptions& options, std::uint64_t seed)
    : TableObjective(options, seed, read_table(checked(options))) {}

TableObjective::TableObjective(const TableOptions& options, std::uint64_t seed, const CsvTable& table)
    : options_(checked(options)),
      seed_(seed),
      split_(split_rows(table.rows.size(), options.test_fraction, options.validation_fraction, seed)),
      order_(split_.train.size(), options.batch_size, seed),
      schema_(TableSchema::fit(table, split_.train, options.target, options.kind, options.impute, options.words)),
      network_(make_network(options, schema_, seed)),
      max_edges_(network_.topology().next_edge() + 2 * options.grow),
      max_nodes_(network_.topology().next_node() + options.grow) {
  parameters_.add("weight", {max_edges_});
  parameters_.add("bias", {max_nodes_});
  const auto take = [&](const std::vector<std::size_t>& rows) {
    return Rows{schema_.inputs_of(table, rows), schema_.targets_of(table, rows), {}};
  };
  train_ = take(split_.train);
  validation_ = take(split_.validation);
  test_ = take(split_.test);
  forget_known_test_rows();
  start_.assign(parameters_.num_parameters(), 0.0f);
  if (!schema_.classifies() && !options_.no_skip) start_from_linear();
  for (Rows* rows : {&validation_, &test_}) {
    if (rows->y.empty()) continue;
    const auto outputs = network_.forward(rows->x, rows->y.size());
    rows->at_start.assign(outputs.begin(), outputs.end());
  }
  take_weights();
}

void TableObjective::forget_known_test_rows() {
  const auto inputs = static_cast<std::ptrdiff_t>(schema_.num_inputs());
  const auto row = [&](const Rows& rows, std::size_t r) {
    const auto begin = rows.x.begin() + static_cast<std::ptrdiff_t>(r) * inputs;
    return std::vector<float>(begin, begin + inputs);
  };
  std::set<std::vector<float>> known;
  for (const Rows* rows : {&train_, &validation_})
    for (std::size_t r = 0; r < rows->y.size(); ++r) known.insert(row(*rows, r));
  Rows fresh;
  for (std::size_t r = 0; r < test_.y.size(); ++r) {
    const std::vector<float> x = row(test_, r);
    if (known.contains(x)) continue;
    fresh.x.insert(fresh.x.end(), x.begin(), x.end());
    fresh.y.push_back(test_.y[r]);
  }
  known_test_rows_ = test_.y.size() - fresh.y.size();
  test_ = std::move(fresh);
}

// A regression begins as the linear model on the edges from inputs to outputs, with hidden nodes that say nothing yet.
// Its weights are the offsets of parameters, so that weight decay pulls towards the linear model and not away from it.
void TableObjective::start_from_linear() {
  const DagTopology& topology = network_.topology();
  const NodeId output = nodes_of(topology, NodeKind::kOutput).back();
  const std::vector<NodeId> inputs = nodes_of(topology, NodeKind::kInput);
  const auto in_all = [&](NodeId input) { return topology.find_edge(input, output).has_value(); };
  if (!std::ranges::all_of(inputs, in_all)) return;  // a sparse layer: the linear model is not within reach
  const std::vector<double> linear = least_squares(inputs.size(), train_.x, train_.y);
  const std::size_t fan_in = topology.node(output).in.size();
  const double scale = network_.options().fan_in_scaling ? std::sqrt(static_cast<double>(fan_in)) : 1.0;
  for (const EdgeId edge : topology.node(output).in) network_.set_weight(edge, 0);
  const auto start = [&](std::size_t place, double value) { start_[place] = static_cast<float>(value); };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const EdgeId edge = *topology.find_edge(inputs[i], output);
    start(edge, scale * linear[i]);
    network_.set_weight(edge, start_[edge]);
  }
  start(max_edges_ + output, linear.back());
  network_.set_bias(output, start_[max_edges_ + output]);
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
  for (const auto& [there, here] : places_) values[there] = parameters_.values()[here] + start_[here];
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
  for (const auto& [there, here] : places_) parameters_.values()[here] = values[there] - start_[here];
}

SafetensorsFile TableObjective::state() const {
  SafetensorsFile file;
  network_.save_shape(file);
  const std::int32_t events[] = {static_cast<std::int32_t>(grown_), static_cast<std::int32_t>(pruned_)};
  file.add("table.events", {2}, std::span<const std::int32_t>(events));
  file.add("table.start", {start_.size()}, std::span<const float>(start_));
  return file;
}

DagNN TableObjective::shape_from(const SafetensorsFile& state) const {
  DagNN network = DagNN::load_shape(state);
  if (network.topology().next_edge() > max_edges_ || network.topology().next_node() > max_nodes_ ||
      network.num_inputs() != schema_.num_inputs() || network.num_outputs() != schema_.num_outputs())
    fail("table state", "a network that does not fit this table", "the state of a run with the same options");
  return network;
}

// Runs from before there were offsets have none.
std::vector<float> TableObjective::start_from(const SafetensorsFile& state) const {
  if (!state.tensors.contains("table.start")) return std::vector<float>(parameters_.num_parameters());
  std::vector<float> start = state.floats("table.start");
  if (start.size() != parameters_.num_parameters())
    fail("table state", fmt::format("{} offsets", start.size()), fmt::format("{}", parameters_.num_parameters()));
  return start;
}

void TableObjective::restore_state(const SafetensorsFile& state) {
  DagNN network = shape_from(state);
  std::vector<float> start = start_from(state);
  const std::vector<std::int32_t> events = state.ints("table.events");
  if (events.size() != 2 || events[0] < 0 || events[1] < 0)
    fail("table state", "events that are not two counts", "how often it grew and was pruned");
  network_ = std::move(network);
  start_ = std::move(start);
  find_places();
  grown_ = static_cast<std::uint64_t>(events[0]);
  pruned_ = static_cast<std::uint64_t>(events[1]);
}

std::unique_ptr<Model> TableObjective::snapshot(std::span<const float> weights, const SafetensorsFile& state) const {
  if (weights.size() != parameters_.num_parameters())
    fail("table snapshot", fmt::format("{} weights", weights.size()), fmt::format("{}", parameters_.num_parameters()));
  DagNN network = shape_from(state);
  const std::vector<float> start = start_from(state);
  for (const auto& [id, edge] : network.topology().edges()) network.set_weight(id, weights[id] + start[id]);
  for (const auto& [id, node] : network.topology().nodes())
    if (node.kind != NodeKind::kInput) network.set_bias(id, weights[max_edges_ + id] + start[max_edges_ + id]);
  network.train(false);
  return std::make_unique<TableModel>(schema_, std::move(network));
}

// --- Training.

double TableObjective::accumulate(std::uint64_t batch, const ThreadPool& pool, PhaseSeconds& phases) {
  PhaseClock book;
  const std::size_t inputs = schema_.num_inputs();
  std::vector<float> x, y, gradient;
  for (const std::size_t row : order_.batch(batch)) {
    x.insert(x.end(), train_.x.begin() + static_cast<std::ptrdiff_t>(row * inputs),
             train_.x.begin() + static_cast<std::ptrdiff_t>((row + 1) * inputs));
    y.push_back(train_.y[row]);
  }
  book(phases.data);
  if (options_.reference) return accumulate_reference(x, y, phases);
  DagNN& network = this->network();
  const DagOutputs outputs = network.forward(x, y.size(), pool);
  const double loss = mean_loss(schema_.classifies(), outputs, y, &gradient);
  book(phases.forward);
  network.zero_grad(pool);
  const double summed_before = network.reduction_seconds();
  network.backward_accumulate(outputs.pass, gradient, pool);
  take_gradients();
  book(phases.backward);
  const double summed = network.reduction_seconds() - summed_before;
  phases.backward -= summed;
  phases.reduction += summed;
  return loss;
}

double TableObjective::accumulate_reference(std::span<const float> x, std::span<const float> y, PhaseSeconds& phases) {
  PhaseClock book;
  DagNN& network = this->network();
  const reference::Dag<float> plain(network);
  const std::size_t inputs = plain.inputs.size(), outputs = plain.outputs.size();
  std::vector<std::vector<float>> z(y.size()), a(y.size());
  std::vector<float> out, gradient, g, db(plain.nodes.size()), dw(plain.edges.size());
  for (std::size_t r = 0; r < y.size(); ++r) {
    plain.forward(&x[r * inputs], z[r], a[r]);
    for (const std::size_t o : plain.outputs) out.push_back(a[r][o]);
  }
  const double loss = mean_loss(schema_.classifies(), out, y, &gradient);
  book(phases.forward);
  for (std::size_t r = 0; r < y.size(); ++r) plain.backward(z[r], a[r], &gradient[r * outputs], g, db, dw);
  network.zero_grad();
  for (std::size_t e = 0; e < dw.size(); ++e) {
    const DagEdge& edge = network.topology().edge(plain.edges[e].id);
    network.accumulate_edge_grad(edge.from, edge.to, dw[e]);
  }
  // Biases lie in the same order as the reference's nodes, which begin with the inputs.
  std::copy(db.begin() + static_cast<std::ptrdiff_t>(inputs), db.end(), network.parameters().gradients(0).begin());
  take_gradients();
  book(phases.backward);
  return loss;
}

namespace {

// Whether squared errors are smaller on the whole, by more than twice the standard error of their differences.
bool clearly_better(std::span<const float> outputs, std::span<const float> others, std::span<const float> targets) {
  double sum = 0, squares = 0;
  const auto rows = static_cast<double>(targets.size());
  for (std::size_t r = 0; r < targets.size(); ++r) {
    const auto error = [&](float y) { return std::pow(static_cast<double>(y) - static_cast<double>(targets[r]), 2); };
    const double gain = error(others[r]) - error(outputs[r]);
    sum += gain;
    squares += gain * gain;
  }
  const double mean = sum / rows, variance = std::max(0.0, squares / rows - mean * mean);
  return mean > 2 * std::sqrt(variance / rows);
}

}  // namespace

Evaluation TableObjective::evaluate(const ThreadPool& pool) {
  DagNN& network = this->network();
  const auto outputs = network.forward(validation_.x, validation_.y.size(), pool);
  Evaluation e = judge_outputs(schema_.classifies(), outputs, validation_.y);
  e.extra = {{"edges", static_cast<double>(network.topology().edges().size())}};
  if (!schema_.classifies()) {
    // A network that is better than the linear model it began as by chance alone would do worse on other rows. Until it
    // is better beyond doubt it is judged as that model, whose weights so stay the best.
    e.extra.emplace_back("network_r2", e.score);
    if (begins_linear() && !clearly_better(outputs, validation_.at_start, validation_.y)) {
      const auto extra = std::move(e.extra);
      e = judge_outputs(false, validation_.at_start, validation_.y);
      e.extra = extra;
    }
    return e;
  }
  // A few dozen rows make an accuracy of few values: weights are chosen by the geometric mean probability of the
  // right class instead, which has no ties.
  e.extra.emplace_back("accuracy", e.score);
  e.score = std::exp(-e.loss);
  return e;
}

std::string TableObjective::score_text(const Evaluation& evaluation) const {
  return schema_.classifies() ? fmt::format("mean probability of the right class {:.2f} %", 100 * evaluation.score)
                              : fmt::format("R² {:.4f}", evaluation.score);
}

// Growth and pruning happen at the first step at or after fixed marks of `progress`. How many have happened is part of
// the state, so a step that is begun again, or a resumed run, does none of them twice.
void TableObjective::begin_step(std::uint64_t /*step*/, double progress) {
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
  std::vector<NodeId> candidates = nodes_of(topology, NodeKind::kInput);
  std::erase_if(candidates, [&](NodeId input) { return topology.find_edge(input, node).has_value(); });
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

Verdict TableObjective::judge(const Model& best, const ThreadPool& pool) const {
  const auto* model = dynamic_cast<const TableModel*>(&best);
  if (!model) fail("table verdict", fmt::format("a {}", best.kind()), "a snapshot of this objective");
  const std::size_t rows = test_.y.size();
  if (rows == 0) return {};
  DagNN network = model->network();
  const bool classifies = schema_.classifies();
  const Evaluation e = judge_outputs(classifies, network.forward(test_.x, rows, pool), test_.y);
  Verdict verdict{.score = e.score,
                  .loss = e.loss,
                  .data = fmt::format("{} that neither fitting nor choosing has seen", counted(rows, "row"))};
  verdict.text = classifies ? fmt::format("{} of {} rows right ({:.2f} %)",
                                          std::llround(e.score * static_cast<double>(rows)), rows, 100 * e.score)
                            : fmt::format("R² {:.4f}", e.score);
  verdict.solved = e.passed && enough_rows(classifies, train_.y, rows);
  if (e.passed && !verdict.solved) verdict.text += ", but so few can be right by luck";
  return verdict;
}

std::vector<float> linear_predictions(bool classifies, std::size_t inputs, std::size_t outputs,
                                      std::span<const float> x, std::span<const float> y, std::span<const float> x_test,
                                      const ThreadPool& pool) {
  if (!classifies) return linear_outputs(least_squares(inputs, x, y), x_test);
  // Softmax regression is a network of two layers; the problem is convex, so the whole set at once and a falling rate.
  DagNN model = DagNN::layered({inputs, outputs});
  Optimizer optimizer({}, model.num_parameters());
  constexpr int kSteps = 600;
  std::vector<float> gradient;
  for (int step = 0; step < kSteps; ++step) {
    model.zero_grad(pool);
    mean_loss(true, model.forward(x, y.size(), pool), y, &gradient);
    model.backward_accumulate(gradient, pool);
    optimizer.step(model.parameters(), 0.1f * (1.0f - static_cast<float>(step) / kSteps), pool);
  }
  const auto result = model.forward(x_test, x_test.size() / inputs, pool);
  return {result.begin(), result.end()};
}

Facts TableObjective::report(const Model& best, const ThreadPool& pool) const {
  const auto* model = dynamic_cast<const TableModel*>(&best);
  if (!model) fail("table report", fmt::format("a {}", best.kind()), "a snapshot of this objective");
  const auto whole = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  Facts facts = model->facts();
  facts.insert(facts.end(), {{"train_rows", whole(train_.y.size())},
                             {"validation_rows", whole(validation_.y.size())},
                             {"test_rows", whole(test_.y.size())}});
  const bool classifies = schema_.classifies();
  if (classifies && options_.kind == "auto" && schema_.classes_are_numbers())
    facts.emplace_back("note.kind", fmt::format("the numbers {} are taken as classes, being few and whole; the option "
                                                "\"kind\" = \"regress\" takes them as numbers",
                                                fmt::join(schema_.target.words, ", ")));
  if (known_test_rows_ > 0)
    facts.emplace_back("note.known_rows", fmt::format("{} of the rows kept for the test have the inputs of others, and "
                                                      "were left out of it",
                                                      known_test_rows_));
  if (!enough_rows(classifies, train_.y, test_.y.size()))
    facts.emplace_back("note.test", fmt::format("{} are too few to tell learning from luck: nothing is called solved",
                                                counted(test_.y.size(), "test row")));
  if (test_.y.empty()) return facts;
  // A model that stayed the linear one is no worse than it in the last digit either.
  const std::vector<float> linear = begins_linear()
                                        ? test_.at_start
                                        : linear_predictions(classifies, schema_.num_inputs(), schema_.num_outputs(),
                                                             train_.x, train_.y, test_.x, pool);
  facts.insert(facts.end(), {{classifies ? "test_accuracy" : "test_r2", judge(best, pool).score},
                             {classifies ? "linear_accuracy" : "linear_r2", score_of(classifies, linear, test_.y)}});
  return facts;
}

}  // namespace espalier
