// LatticeModel: its circuit and its file. Options are metadata of their own, one entry per field.
#include "espalier/lattice_model.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.hpp"
#include "espalier/error.hpp"
#include "espalier/netlist.hpp"
#include "espalier/synth.hpp"
#include "models/lattice/lattice_goal.hpp"
#include "models/lattice/lattice_view.hpp"
#include "netlist/cell.hpp"

namespace espalier {
namespace {

constexpr const char* kOption = "option.";
constexpr const char* kCandidates = ".candidates";

std::vector<Wiring> read_wiring(const SafetensorsFile& file, const char* part, std::size_t layers, int inputs) {
  std::vector<Wiring> wirings;
  for (std::size_t l = 0; l < layers; ++l) {
    const std::string name = fmt::format("wiring.{}.{}", part, l);
    wirings.push_back({inputs, file.ints(name + ".a"), file.ints(name + ".b")});
    if (file.tensors.contains(name + kCandidates)) wirings.back().candidates = file.ints(name + kCandidates);
    inputs = wirings.back().outputs();
  }
  return wirings;
}

Fields stored_fields(AutomatonOptions& automaton, RolloutOptions& rollout) {
  Fields fields = fields_of(automaton);
  fields.append(fields_of(rollout));
  return fields;
}

struct Stored {
  AutomatonOptions automaton;
  RolloutOptions rollout;
  std::shared_ptr<const LatticeGoal> goal;
  std::uint64_t seed = 1;
};

Stored read_options(const SafetensorsFile& file) {
  Stored stored;
  Fields fields = stored_fields(stored.automaton, stored.rollout);
  for (Field& field : fields.list()) field.set_text(file.meta(kOption + field.name()));
  stored.seed = std::strtoull(file.meta("seed").c_str(), nullptr, 10);
  stored.goal = LatticeGoal::load(file);
  return stored;
}

// The task that trained a model: as its file says, or the configuration of its run. Others have none.
std::string task_of(const SafetensorsFile& file) {
  if (const auto named = file.metadata.find("task"); named != file.metadata.end()) return named->second;
  const auto config = file.metadata.find("config");
  if (config == file.metadata.end()) return "";
  const auto j = nlohmann::json::parse(config->second, nullptr, false);
  const auto found = j.is_object() ? j.find("task") : j.end();
  return found != j.end() && found->is_string() ? found->get<std::string>() : "";
}

// A refined cell: [gates][3], type and what it reads; and the net of each output.
constexpr const char *kCellGates = "cell.gates", *kCellOutputs = "cell.outputs";

Netlist read_cell(const SafetensorsFile& file, int trained) {
  constexpr std::size_t kMaxChannels = 1 << 14;
  const std::vector<std::int32_t> gates = file.ints(kCellGates), outputs = file.ints(kCellOutputs);
  if (gates.size() % 3 || outputs.size() < static_cast<std::size_t>(trained) || outputs.size() > kMaxChannels)
    fail("load model", fmt::format("a cell of {} numbers and {} outputs", gates.size(), outputs.size()),
         fmt::format("three numbers for each gate and at least {} outputs", trained));
  Netlist cell = empty_cell(static_cast<int>(outputs.size()));
  for (std::size_t i = 0; i < gates.size(); i += 3) {
    if (gates[i] < 0 || gates[i] >= kGates) fail("load model", fmt::format("a gate of type {}", gates[i]), "0 to 15");
    cell.gates.push_back({static_cast<Gate>(gates[i]), static_cast<Net>(gates[i + 1]), static_cast<Net>(gates[i + 2])});
  }
  for (std::size_t c = 0; c < outputs.size(); ++c)
    cell.outputs.push_back({fmt::format("next{}", c), static_cast<Net>(outputs[c])});
  check_netlist(cell, "load model");
  return cell;
}

void add_cell(SafetensorsFile& file, const Netlist& cell) {
  std::vector<std::int32_t> gates, outputs;
  for (const NetlistGate& g : cell.gates)
    gates.insert(gates.end(),
                 {static_cast<std::int32_t>(g.gate), static_cast<std::int32_t>(g.a), static_cast<std::int32_t>(g.b)});
  for (const NetlistOutput& output : cell.outputs) outputs.push_back(static_cast<std::int32_t>(output.net));
  file.add(kCellGates, {cell.gates.size(), 3}, std::span<const std::int32_t>(gates));
  file.add(kCellOutputs, {outputs.size()}, std::span<const std::int32_t>(outputs));
}

// Boards of the examples' size, as their goal wants them.
RolloutOptions fitted(RolloutOptions rollout, const LatticeGoal& goal, int channels, bool periodic) {
  check_rollout(rollout, channels);
  goal.fit(rollout, channels, periodic);
  return rollout;
}

}  // namespace

LatticeModel::LatticeModel(Automaton automaton, const RolloutOptions& rollout, std::shared_ptr<const LatticeGoal> goal,
                           std::span<const float> weights, std::uint64_t seed)
    : automaton_(std::move(automaton)), rollout_(rollout), goal_(std::move(goal)), seed_(seed) {
  if (!goal_) fail("lattice model", "no goal", "what it was trained to do");
  automaton_.add_parameters(parameters_, 0);
  if (weights.size() != parameters_.num_parameters())
    fail("lattice model", fmt::format("{} weights", weights.size()),
         fmt::format("{}, those of its {} gates", parameters_.num_parameters(), automaton_.gates()));
  std::copy(weights.begin(), weights.end(), parameters_.values().begin());
}

LatticeModel::LatticeModel(Automaton automaton, const RolloutOptions& rollout, BoardPairs examples,
                           std::span<const float> weights, std::uint64_t seed)
    : LatticeModel(std::move(automaton), rollout, boards_goal(std::move(examples), BoardFractions{0, 0}), weights,
                   seed) {
  rollout_ = fitted(rollout_, *goal_, channels(), periodic());
}

std::unique_ptr<LatticeModel> LatticeModel::load(const SafetensorsFile& file, const std::string& /*name*/) {
  Stored stored = read_options(file);
  const AutomatonOptions& shape = stored.automaton;
  check_rollout(stored.rollout, stored.automaton.channels);
  Automaton automaton(shape, read_wiring(file, "perceive", shape.perceive.size(), 9),
                      read_wiring(file, "update", shape.update.size(), shape.update_inputs()));
  Parameters parameters;
  automaton.add_parameters(parameters, 0);
  load_parameters(parameters, file);
  auto model = std::make_unique<LatticeModel>(std::move(automaton), stored.rollout, stored.goal, parameters.values(),
                                              stored.seed);
  model->task_ = task_of(file);
  if (!file.tensors.contains(kCellGates)) return model;
  return model->refined(read_cell(file, shape.channels));
}

void LatticeModel::describe(SafetensorsFile& file) const {
  AutomatonOptions automaton = automaton_.options();
  RolloutOptions rollout = rollout_;
  const Fields fields = stored_fields(automaton, rollout);
  for (const Field& field : fields.list()) file.metadata[kOption + field.name()] = field.text();
  file.metadata["seed"] = std::to_string(seed_);
  file.metadata["goal"] = goal_->kind();
  if (!task_.empty()) file.metadata["task"] = task_;
  goal_->save(file, seed_);
  const auto add = [&](const std::string& name, const Wiring& w) {
    const std::vector<std::size_t> shape{static_cast<std::size_t>(w.outputs())};
    file.add(name + ".a", shape, std::span<const std::int32_t>(w.a));
    file.add(name + ".b", shape, std::span<const std::int32_t>(w.b));
    if (!w.candidates.empty())
      file.add(name + kCandidates, {shape[0], 2, static_cast<std::size_t>(w.choices())},
               std::span<const std::int32_t>(w.candidates));
  };
  for (std::size_t l = 0; l < automaton_.perceive().layers().size(); ++l)
    add(fmt::format("wiring.perceive.{}", l), automaton_.perceive().layers()[l]);
  for (std::size_t l = 0; l < automaton_.update().layers().size(); ++l)
    add(fmt::format("wiring.update.{}", l), automaton_.update().layers()[l]);
  if (cell_) add_cell(file, *cell_);
}

std::string LatticeModel::hash() const {
  if (!cell_) return parameters_.hash();
  SafetensorsFile file;
  add_cell(file, *cell_);
  return file.tensors_hash();
}

std::unique_ptr<LatticeModel> LatticeModel::trained() const {
  auto model = std::make_unique<LatticeModel>(automaton_, rollout_, goal_, parameters_.values(), seed_);
  model->task_ = task_;
  return model;
}

std::unique_ptr<LatticeModel> LatticeModel::refined(Netlist cell) const {
  const int trained = automaton_.options().channels;
  check_netlist(cell, "refined model");
  if (cell_channels(cell) < trained)
    fail("refined model", fmt::format("a cell of {} channels", cell_channels(cell)),
         fmt::format("at least {}", trained));
  auto model = this->trained();
  model->cell_ = std::move(cell);
  return model;
}

std::string LatticeModel::learned() const { return goal_->name(); }
int LatticeModel::loss_channels() const { return goal_->loss_channels(); }
BoardView LatticeModel::view() const { return goal_->view(rollout_); }
Board LatticeModel::target(int height, int width) const { return goal_->target(rollout_, height, width); }
BoardState LatticeModel::start(int height, int width, std::uint64_t seed, RowRange rows) const {
  if (height < 1 || width < 1 || rows.first < 0 || rows.count < 0 || rows.first > height ||
      rows.count > height - rows.first)
    fail("start",
         fmt::format("rows {} to {} of a board of {} x {}", rows.first, rows.first + std::int64_t{rows.count}, height,
                     width),
         "rows that it has");
  return goal_->start(rollout_, channels(), height, width, seed, rows);
}

GateCounts LatticeModel::count_gates() const {
  return espalier::count_gates(parameters_.values().first(automaton_.gate_logits()),
                               automaton_.options().parametrisation);
}

int LatticeModel::channels() const { return cell_ ? cell_channels(*cell_) : automaton_.options().channels; }

Facts LatticeModel::facts() const {
  const GateCounts counts = count_gates();
  const auto whole = [](auto n) { return static_cast<std::int64_t>(n); };
  if (cell_) {
    const NetlistCounts cell = count_netlist(*cell_);
    return {{"goal", goal_->name()},
            {"channels", whole(channels())},
            {"gates", whole(cell.gates())},
            {"active_gates", whole(cell.active)},
            {"live_gates", whole(live_gates(*cell_))},
            {"refined", true}};
  }
  return {{"goal", goal_->name()},
          {"channels", whole(channels())},
          {"gates", whole(counts.raw - counts.constants)},
          {"active_gates", whole(counts.active)},
          {"live_gates", whole(live_gates(harden_folded(automaton_, parameters_.values())))}};
}

Netlist LatticeModel::raw_cell() const {
  Netlist cell = cell_ ? *cell_ : harden(automaton_, parameters_.values());
  cell.name = task_.empty() ? goal_->kind() : task_;
  return cell;
}

Netlist LatticeModel::quick_cell() const {
  SimplifyOptions options;
  options.sweep = options.resubstitute = false;
  return simplify(raw_cell(), options);
}

}  // namespace espalier
