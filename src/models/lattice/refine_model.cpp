#include "models/lattice/refine_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "base/hash.hpp"
#include "espalier/error.hpp"
#include "espalier/synth.hpp"
#include "models/lattice/lattice_view.hpp"
#include "models/lattice/repair_cell.hpp"
#include "models/lattice/trials.hpp"

namespace espalier {
namespace {

constexpr int kSpareChannels = 10;
constexpr const char* kFormat = "espalier refine 3";

void add_circuit(SafetensorsFile& file, const std::string& name, const Netlist& circuit) {
  std::vector<std::int32_t> numbers;
  for (const NetlistGate& g : circuit.gates)
    for (const std::uint32_t n : {static_cast<std::uint32_t>(g.gate), g.a, g.b})
      numbers.push_back(static_cast<std::int32_t>(n));
  for (const NetlistOutput& output : circuit.outputs) numbers.push_back(static_cast<std::int32_t>(output.net));
  file.add(name, {numbers.size()}, std::span<const std::int32_t>(numbers));
}

Netlist read_circuit(const SafetensorsFile& file, const std::string& name, const Netlist& shape) {
  const std::vector<std::int32_t> numbers = file.ints(name);
  Netlist circuit = without_gates(shape);
  const std::size_t outputs = circuit.outputs.size();
  if (numbers.size() < outputs || (numbers.size() - outputs) % 3)
    fail("resume", fmt::format("{} numbers for a circuit of {} outputs", numbers.size(), outputs), "three for a gate");
  const auto net = [&](std::size_t i) { return static_cast<Net>(numbers[i]); };
  std::size_t i = 0;
  for (; i < numbers.size() - outputs; i += 3) {
    if (numbers[i] < 0 || numbers[i] >= kGates) fail("resume", fmt::format("gate {}", numbers[i]), "0 to 15");
    circuit.gates.push_back({static_cast<Gate>(numbers[i]), net(i + 1), net(i + 2)});
  }
  for (NetlistOutput& output : circuit.outputs) output.net = net(i++);
  check_netlist(circuit, "resume");
  return circuit;
}

std::uint64_t number(const SafetensorsFile& file, const std::string& key) {
  return std::strtoull(file.meta(key).c_str(), nullptr, 10);
}

// Whatever a search's bits depend on; more mutants may be given to one that goes on.
std::string way_of(const SearchOptions& o) {
  return fmt::format("seed {}, {} groups, {} moves, slack {}, patience {}, room {}, company {}{}", o.seed, o.groups,
                     o.moves, o.slack, o.patience, o.room, o.company, o.gates_first ? ", gates first" : "");
}

std::string history_text(const std::vector<SearchStage>& history) {
  std::string text;
  for (const SearchStage& s : history)
    text += fmt::format("{:d} {} {} {} {} {}\n", s.constructed, s.count, s.wrong_before, s.wrong_after, s.gates_before,
                        s.gates_after);
  return text;
}

std::vector<SearchStage> history_from(const std::string& text) {
  std::vector<SearchStage> history;
  std::istringstream words(text);
  for (SearchStage s;
       words >> s.constructed >> s.count >> s.wrong_before >> s.wrong_after >> s.gates_before >> s.gates_after;)
    history.push_back(s);
  return history;
}

// Of the weights, and of the circuit when a search made it.
std::string fingerprint(const LatticeModel& model) {
  SafetensorsFile file;
  model.describe(file);
  return model.parameters().hash() + file.tensors_hash();
}

}  // namespace

ModelRefiner::ModelRefiner(const LatticeModel& model, const SearchOptions& options, const ThreadPool& pool,
                           const LaneOptions& lanes, bool demands)
    : model_(model), options_(options) {
  const Netlist cell = model.quick_cell();
  channels_ = needed_channels(cell, model.goal().loss_channels(), kSpareChannels);
  auto rollout = std::make_unique<RolloutScore>(model.goal(), model.rollout(), model.channels(), model.periodic(),
                                                model.seed(), channels_, lanes, demands);
  if (model.rollout().steps == 1 && !rollout->sampled()) {
    TargetTable table = neighbourhood_table(rollout->shape(), rollout->examples());
    boards_ = static_cast<double>(table.count) / static_cast<double>(rollout->shape().cells());
    score_ = std::make_unique<TableScore>(std::move(table), lanes);
  } else {
    boards_ = rollout->boards();
    const std::vector<std::string> names = demands ? model.goal().demands() : std::vector<std::string>();
    if (!names.empty() || model.goal().draws_boards())
      rollout->set_flaws([this, names](const Netlist& circuit, const ThreadPool& p) {
        return failed_trials(*model_.refined(widen_cell(circuit, channels_, model_.channels())), names, kChoosingDraw,
                             p)
            .size();
      });
    if (demands && !model.goal().graded().empty())
      rollout->set_grade([this](const Netlist& circuit, const ThreadPool& p) {
        return trial_losses(*model_.refined(widen_cell(circuit, channels_, model_.channels())), model_.goal().graded(),
                            p);
      });
    score_ = std::move(rollout);
  }
  search_ =
      std::make_unique<CircuitSearch>(search_start(narrow_cell(cell, channels_), options), *score_, options, pool);
  before_ = search_->state().best_score;
}

std::unique_ptr<LatticeModel> ModelRefiner::best(const ThreadPool& pool) const {
  auto model = model_.refined(widen_cell(search_->state().best, channels_, model_.channels()));
  if (!unfinished(*model, pool)) return model;
  return model->refined(model_.goal().finished(model->raw_cell(), model_.rollout(), model_.channels()));
}

bool ModelRefiner::unfinished(const LatticeModel& model, const ThreadPool& pool) const {
  return !search_->state().best_score.wrong && !model_.goal().kept().empty() &&
         !failed_trials(model, model_.goal().kept(), kChoosingDraw, pool).empty();
}

Provenance ModelRefiner::provenance(const ThreadPool& pool) const {
  Provenance provenance;
  for (const SearchStage& s : search_->state().history)
    provenance.push_back({s.constructed ? "construction" : "mutation", s.count,
                          static_cast<double>(s.wrong_before) / boards_, static_cast<double>(s.wrong_after) / boards_,
                          s.gates_before, s.gates_after});
  const auto found = model_.refined(widen_cell(search_->state().best, channels_, model_.channels()));
  if (unfinished(*found, pool))  // what keeps the picture is built around it
    provenance.push_back({"construction", 1, 0, 0, search_->state().best_score.size.gates,
                          static_cast<std::uint64_t>(live_gates(best(pool)->raw_cell()))});
  return provenance;
}

SafetensorsFile ModelRefiner::checkpoint() const {
  const SearchState& s = search_->state();
  SafetensorsFile file;
  file.metadata = {{"format", kFormat},
                   {"model", fingerprint(model_)},
                   {"options", way_of(options_)},
                   {"generation", std::to_string(s.generation)},
                   {"evaluations", std::to_string(s.evaluations)},
                   {"improved_at", std::to_string(s.improved_at)},
                   {"parent_wrong", std::to_string(s.parent_wrong)},
                   {"best_wrong", std::to_string(s.best_score.wrong)},
                   {"best_flaws", std::to_string(s.best_score.flaws)},
                   {"drifted", std::to_string(s.drifted)},
                   {"history", history_text(s.history)}};
  add_circuit(file, "parent", s.parent);
  add_circuit(file, "best", s.best);
  file.seal();
  return file;
}

void ModelRefiner::restore(const SafetensorsFile& file, const ThreadPool& pool) {
  if (file.meta("format") != kFormat)
    fail("resume", fmt::format("a file of format \"{}\"", file.meta("format")), kFormat);
  if (!file.is_sealed())
    fail("resume", "a search that does not match its own seal", "an unchanged one", "the file is damaged");
  if (file.meta("model") != fingerprint(model_))
    fail("resume", "the search of another model", "one of this model", "name the model that it began with");
  if (file.meta("options") != way_of(options_))
    fail("resume", fmt::format("a search with {}", file.meta("options")), way_of(options_),
         "give the options that it began with");
  const Netlist& shape = search_->state().parent;
  SearchState state;
  state.parent = read_circuit(file, "parent", shape);
  state.best = read_circuit(file, "best", shape);
  state.generation = number(file, "generation");
  state.evaluations = number(file, "evaluations");
  state.improved_at = number(file, "improved_at");
  state.parent_wrong = number(file, "parent_wrong");
  state.drifted = number(file, "drifted");
  state.history = history_from(file.meta("history"));
  Compactor compactor(score_->kind());
  state.best_score = {number(file, "best_wrong"), number(file, "best_flaws"), 0, compactor.measure(state.best)};
  if (!state.best_score.wrong && !state.best_score.flaws) state.best_score.grade = score_->grade(state.best, pool);
  search_ = std::make_unique<CircuitSearch>(std::move(state), *score_, options_, pool);
}

}  // namespace espalier
