// Training a logic automaton: rollouts of fresh boards, squared error at the last steps, hard validation.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "espalier/lattice_model.hpp"
#include "models/lattice/board_pool.hpp"
#include "models/lattice/lattice_goal.hpp"

namespace espalier {

// How soft gates are trained so that the hard ones work; see docs/experiments.md for what each does.
struct LatticeRecipe {
  float start_logit = 10;                    // of gate A at the start
  float start_wire_logit = kStartWireLogit;  // of the first candidate of a wire
  float temperature = 1;                     // of the softmax at the start ...
  float temperature_final = 1;               // ... and at the end (geometric course)
  float gumbel = 0;                          // scale of Gumbel noise on the logits ...
  float gumbel_final = 0;                    // ... and at the end ...
  float gumbel_from = 0;                     // ... rising or falling linearly from this progress (0 to 1) on
  float straight_from = 1;  // progress from which the likeliest gates alone compute, straight through; 1 = never
};
Fields fields_of(LatticeRecipe& recipe);

// How a circuit may come about.
enum class MadeBy {
  kAny,           // built or identified where that can be done, else by training
  kGradients,     // soft gates alone
  kTraining,      // soft gates, and a search over circuits that goes on from them
  kSearch,        // mutants of the circuit that training would begin with
  kConstruction,  // built or identified alone
};

struct LatticeOptions {
  AutomatonOptions automaton;
  RolloutOptions rollout;
  LatticeRecipe recipe;
  BoardPoolOptions pool = {};
  std::uint64_t refine = 1'000'000;  // mutants of the best circuit that are tried when training has not solved the task
  std::uint64_t improve = 0;         // mutants for trials that are only better or worse, after all others are passed
  std::uint64_t refine_every = 0;    // steps between shorter searches while it trains; 0: none
  bool trials = true;                // solved means that the goal's trials are passed, too
  MadeBy by = MadeBy::kAny;
  bool reference = false;  // the plain sequential code instead of the fast one
};
Fields fields_of(LatticeOptions& options);

class LatticeObjective : public Objective {
 public:
  // `from`: a model whose gates and wires are the start, soft again where a search made its circuit, and how it came
  // about. The shape of the cell is then that model's.
  LatticeObjective(LatticeOptions options, std::shared_ptr<const LatticeGoal> goal, std::uint64_t seed,
                   const LatticeModel* from = nullptr, Provenance origin = {});

  Parameters& parameters() override { return parameters_; }
  double accumulate(std::uint64_t batch, const ThreadPool& pool, PhaseSeconds& phases) override;
  Evaluation evaluate(const ThreadPool& pool) override;
  void begin_step(std::uint64_t step, double progress) override;
  void end_step() override;
  bool diverged(double progress, const Evaluation& last, const Evaluation& best) const override;
  SafetensorsFile state() const override;
  void restore_state(const SafetensorsFile& state) override;
  std::unique_ptr<Model> snapshot(std::span<const float> weights, const SafetensorsFile& state) const override;
  std::unique_ptr<Refinement> refine(const Model& best, std::uint64_t round, const ThreadPool& pool) const override;
  std::uint64_t refine_every() const override { return mutants() ? options_.refine_every : 0; }
  std::uint64_t refine_work(std::uint64_t steps) const override;
  std::string score_text(const Evaluation& evaluation) const override;
  bool unfinished() const override { return !goal_->kept().empty() || improve() > 0; }
  std::unique_ptr<Refinement> build(const ThreadPool& pool) const override;
  bool by_gradients() const override {
    return options_.by == MadeBy::kAny || options_.by == MadeBy::kGradients || options_.by == MadeBy::kTraining;
  }
  Provenance origin() const override { return origin_; }
  void give_data(Model& read) const override;
  Verdict judge(const Model& best, const ThreadPool& pool) const override;
  Facts report(const Model& best, const ThreadPool& pool) const override;

  const Automaton& automaton() const { return automaton_; }
  // As given, but with the shape of the model that it began with.
  const LatticeOptions& options() const { return options_; }
  const LatticeData& data() const { return data_; }

 private:
  struct Start {
    LatticeOptions options;
    Automaton automaton;
    std::vector<float> logits;  // empty: wires
  };
  LatticeObjective(Start start, std::shared_ptr<const LatticeGoal> goal, std::uint64_t seed);
  static Start make_start(LatticeOptions options, const LatticeGoal& goal, std::uint64_t seed,
                          const LatticeModel* from);
  class Search;
  class Build;
  class NothingToBuild;
  class Identify;
  // That a search may try.
  std::uint64_t mutants() const {
    return options_.by == MadeBy::kGradients || options_.by == MadeBy::kConstruction ? 0 : options_.refine;
  }
  std::uint64_t improve() const {
    return mutants() && options_.trials && !goal_->graded().empty() ? options_.improve : 0;
  }
  Evaluation metrics_of(const SearchProgress& progress, std::uint64_t mutants) const;
  Evaluation validate(const Netlist& cell, const LatticeData& data, const ThreadPool& pool) const;
  Evaluation validate(const LatticeModel& model, const ThreadPool& pool) const;
  void judge_trials(Evaluation& evaluation, const LatticeModel& model, const ThreadPool& pool) const;
  double accumulate_reference(std::uint64_t batch, BoardPool::Drawn drawn, const ThreadPool& pool,
                              PhaseSeconds& phases);

  LatticeOptions options_;
  std::shared_ptr<const LatticeGoal> goal_;
  std::uint64_t seed_;
  bool begins_with_model_ = false;
  Provenance origin_;  // of that model, where its file tells
  LatticeData data_;
  Automaton automaton_;
  Parameters parameters_;
  Rollout rollout_;
  SoftChoice choice_;
  std::optional<BoardBatch> validation_fire_;  // none: every cell fires
  std::vector<float> initial_, target_;
  std::optional<BoardPool> boards_;  // none: every board begins with the task's start
};

}  // namespace espalier
