// A logic automaton with its weights and what it was trained to do: the model that lattice tasks train. Loaded or
// trained, it runs boards, is put through its trials, hardens to the circuit of a cell, proves claims about whole
// boards, and is exported.
// Example:
//   const auto use = [](const LatticeModel& model) {  // of Run::best_model(), load_model() or an event's snapshot
//     const ThreadPool pool;
//     const auto [height, width, steps] = model.view();
//     const auto stepper = make_stepper(model, model.start(height, width, 1), run_options(model));
//     stepper->advance(steps, pool);
//     std::printf("cell 0: %g\n", static_cast<double>(stepper->state().at(0, 0, 0)));
//     for (const Trial& trial : run_trials(model, {}, pool)) std::printf("%s: %g\n", trial.name.c_str(), trial.score);
//     const ProvedCircuit circuit = prove_cell(model);
//     ExportOptions options = export_options(model, circuit);
//     options.file = "cell.v";
//     for (const ExportedFile& file : export_circuit(circuit, options)) std::printf("%s\n", file.path.c_str());
//     return prove(model, {.kind = ModelClaim::Kind::kConverges}).verdict == BoardProof::Verdict::kProved;
//   };
//   if (const auto model = load_model_as<LatticeModel>("runs/board")) use(*model);
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "espalier/circuit_model.hpp"
#include "espalier/logic_automaton.hpp"
#include "espalier/model.hpp"
#include "espalier/netlist.hpp"
#include "espalier/simulator.hpp"
#include "espalier/synth.hpp"

namespace espalier {

// One state of one board: [C][H][W], values in [0, 1].
struct BoardState {
  int channels = 0, height = 0, width = 0;
  std::vector<float> values;

  BoardState() = default;
  BoardState(int c, int h, int w) : channels(c), height(h), width(w), values(size_of(c, h, w)) {}
  std::size_t index(int c, int y, int x) const { return (static_cast<std::size_t>(c) * height + y) * width + x; }
  // Errors for cells and channels that are not there.
  float& at(int c, int y, int x) { return values[checked(c, y, x)]; }
  float at(int c, int y, int x) const { return values[checked(c, y, x)]; }

 private:
  static std::size_t size_of(int c, int h, int w);
  std::size_t checked(int c, int y, int x) const {
    const std::size_t i = index(c, y, x);
    if (c < 0 || y < 0 || x < 0 || c >= channels || y >= height || x >= width || i >= values.size()) [[unlikely]]
      refuse(c, y, x);
    return i;
  }
  [[noreturn]] void refuse(int c, int y, int x) const;
};
// Of bits and back; a value counts as 1 from one half on.
BoardState state_of(const Board& board);
Board board_of(const BoardState& state);

// `count` rows of a board from `first` on.
struct RowRange {
  int first, count;
};

// The board and the number of steps on which a model is best looked at.
struct BoardView {
  int height, width;
  std::uint64_t steps;
};

class LatticeGoal;  // what was learned, in src/models/lattice/lattice_goal.hpp

// Given starts [N][H][W][C] and what they are after T steps, [N][H][W][loss channels], as 0 and 1. Where a start has
// fewer channels than a cell, the others begin as 0.
struct BoardPairs {
  std::string name;
  int count = 0, height = 0, width = 0, start_channels = 0, target_channels = 0;
  std::vector<std::uint8_t> start, target;
};

class LatticeModel : public CircuitModel {
 public:
  static constexpr const char* kKind = "logic automaton";
  static constexpr int kLastFormat =
      5;  // 3 are refined, 4 have gates of four logits, 5 have learned wires, refined or not

  // `rollout` is that of the training. Weights: all logits, in the order of the automaton's parameters.
  LatticeModel(Automaton automaton, const RolloutOptions& rollout, std::shared_ptr<const LatticeGoal> goal,
               std::span<const float> weights, std::uint64_t seed);
  // Of an automaton that learned from examples; they are what it is judged by. They give the size of the boards.
  LatticeModel(Automaton automaton, const RolloutOptions& rollout, BoardPairs examples, std::span<const float> weights,
               std::uint64_t seed);
  static std::unique_ptr<LatticeModel> load(const SafetensorsFile& file, const std::string& name);

  std::string kind() const override { return kKind; }
  int format() const override {
    if (automaton_.options().candidates > 1) return 5;
    if (automaton_.options().parametrisation != Parametrisation::kGates) return 4;
    return is_refined() ? 3 : 2;
  }
  Parameters& parameters() override { return parameters_; }
  const Parameters& parameters() const override { return parameters_; }
  std::string hash() const override;
  void describe(SafetensorsFile& file) const override;
  Facts facts() const override;
  void set_task(const std::string& name) override { task_ = name; }
  LossWords loss_words() const override;
  std::vector<ModelPicture> pictures(
      const Provenance& made) const override;  // gates.svg, and growth.gif of a small board

  const Automaton& automaton() const { return automaton_; }
  const RolloutOptions& rollout() const { return rollout_; }
  const LatticeGoal& goal() const { return *goal_; }
  const std::shared_ptr<const LatticeGoal>& shared_goal() const { return goal_; }
  std::uint64_t seed() const { return seed_; }  // of the training: its validation boards are drawn from it
  bool periodic() const { return automaton_.options().boundary == Boundary::kPeriodic; }
  int channels() const;  // of a cell: those that were trained, or those of the refined one

  std::string learned() const;  // for people: "B3/S23", "checkerboard", "picture of 20 x 20"
  int loss_channels() const;    // the first ones: what is shown and judged
  BoardView view() const;
  // What the loss channels are to become on a board of that size; an Error where no one board is wanted.
  Board target(int height, int width) const;
  // Where a run starts, on a board of any size; some of its rows, when it is too large for one process.
  BoardState start(int height, int width, std::uint64_t seed) const { return start(height, width, seed, {0, height}); }
  BoardState start(int height, int width, std::uint64_t seed, RowRange rows) const;

  // This model with another circuit in its cells: what search made of the hardened one, perhaps of more channels. The
  // weights stay those that it was made from; they no longer compute what the cells do.
  std::unique_ptr<LatticeModel> refined(Netlist cell) const;
  // The model of the weights alone: what a refined one was made from.
  std::unique_ptr<LatticeModel> trained() const;
  bool is_refined() const override { return cell_.has_value(); }

  // The hardened cell, every gate as trained; or the refined one. Its name is that of the task, as two pictures of one
  // design must differ, or where the model's file has none, what was learned.
  Netlist raw_cell() const;
  Netlist raw_netlist() const override { return raw_cell(); }
  std::optional<CellBoard> board() const override;
  const std::string& task() const { return task_; }  // that trained it, if one did
  GateCounts count_gates() const;                    // of what was trained
  // Wires bypassed, constants folded, dead gates dropped: quick, for simulation.
  Netlist quick_cell() const;

 private:
  Automaton automaton_;
  RolloutOptions rollout_;
  std::shared_ptr<const LatticeGoal> goal_;
  Parameters parameters_;
  std::uint64_t seed_;
  std::string task_;
  std::optional<Netlist> cell_;  // of a refined model
};

// ---- Running

// Runs a model step by step: hard (the circuit) or soft (gates as trained), behind one interface. Damage and
// asynchronous updates follow the same masks in both.
class Stepper {
 public:
  virtual ~Stepper() = default;
  virtual void advance(std::uint64_t steps, const ThreadPool& pool) = 0;
  // The whole board. Over ranks: on rank 0, and of no cells on others, all of which must ask.
  virtual BoardState state() const = 0;
  // Of state(), but without one: a board may be too large for a number per cell, or for one process. As state() does.
  struct Figures {
    double alive = 0;  // sum of the first channel
    std::string hash;  // of all values as floats
  };
  virtual Figures figures() const = 0;
};
// With the boundary and the updates of the training.
SimulatorOptions run_options(const LatticeModel& model);
// A board to start from, some rows at a time: rows(first, count).
using StartRows = std::function<BoardState(RowRange rows)>;
// Hard circuits are run in bands of rows over options.ranks. An Error for a soft run of a refined model.
std::unique_ptr<Stepper> make_stepper(const LatticeModel& model, int height, int width, const StartRows& start,
                                      const SimulatorOptions& options, bool soft = false);
std::unique_ptr<Stepper> make_stepper(const LatticeModel& model, const BoardState& start,
                                      const SimulatorOptions& options, bool soft = false);

// ---- Evaluation

struct Trial {
  std::string name, description;
  double score = 0;    // fraction of loss-channel bits right
  bool exact = false;  // all of them
  double limit = 1;    // the fraction that a perfect rule could get right
};
struct TrialOptions {
  std::uint64_t seed = 1;
  std::uint64_t reset_steps = 4000;    // of the trial with a random reset at every step
  std::vector<std::string> only = {};  // names of trials to run; empty: all
};
// The validation, and then the trials of what was learned.
std::vector<Trial> run_trials(const LatticeModel& model, const TrialOptions& options = {},
                              const ThreadPool& pool = calling_thread());

// ---- Theorems about whole boards

struct ModelClaim {
  enum class Kind { kConverges, kFixed, kPeriod, kEquals, kHeals };
  Kind kind = Kind::kConverges;
  int height = 0, width = 0;  // 0: the size on which the model is looked at; kFixed and kPeriod: every size
  int steps = 0;              // 0: those of the training
  int period = 1;
  std::string rule = {};                    // as "B3/S23"; empty: the one that was learned
  int damage_height = 4, damage_width = 4;  // kHeals
  bool asynchronous = false;                // under every schedule, also if it was not trained so
  // Asynchronous: moments of a round in a search, in which every cell updates at least once. What a search proves is
  // claimed of rounds of at most so many.
  int round = 2;
};
BoardProof prove(const LatticeModel& model, const ModelClaim& claim, const BoardProofOptions& options = {});
// Whether what prove() finds depends on the steps of the claim.
bool counts_steps(const LatticeModel& model, const ModelClaim& claim, const BoardProofOptions& options = {});

// The whole board with latches, for other model checkers: a circuit in AIGER whose output 0 says that the target is not
// there in time.
struct BoardExport {
  std::string content, property;  // the file; what output 0 means
};
struct BoardExportOptions {
  int height = 0, width = 0;  // 0: as of a claim
  int steps = 0;              // 0: those of the training
  bool from_start = false;    // from the task's start, not from every one
  bool binary = false;
};
BoardExport export_board(const LatticeModel& model, const BoardExportOptions& options = {});

}  // namespace espalier
