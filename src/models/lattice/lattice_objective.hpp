// Training a logic automaton: rollouts of fresh boards, squared error at the last step, hard validation.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "espalier/logic_automaton.hpp"
#include "models/lattice/hard_rollout.hpp"
#include "espalier/objective.hpp"

namespace espalier {

// How soft gates are trained so that the hard ones work; see docs/experiments.md for what each does.
struct LatticeRecipe {
  float start_logit = 10;       // of gate A at the start
  float temperature = 1;        // of the softmax at the start ...
  float temperature_final = 1;  // ... and at the end (geometric course)
  float gumbel = 0;             // scale of Gumbel noise on the logits ...
  float gumbel_final = 0;       // ... and at the end ...
  float gumbel_from = 0;        // ... rising or falling linearly from this progress (0 to 1) on
  float straight_from = 1;      // progress from which the likeliest gates alone compute, straight through; 1 = never
  float freeze_from = 1;        // progress from which gates are hardened one after the other; 1 = never
  float freeze_to = 1;          // progress by which all are
  float freeze_loss = 1e30f;    // gates are hardened only while the loss is below this
};

// What a task supplies: boards to start from and what they should become.
struct LatticeData {
  // initial: [batch][C][H][W], target: [batch][loss_channels][H][W], both to be filled for mini-batch `batch`.
  std::function<void(std::uint64_t batch, std::span<float> initial, std::span<float> target)> draw;
  BitBoards validation;         // starts
  BitBoards validation_target;  // channels = loss channels
};

struct LatticeProblem {
  AutomatonOptions automaton;
  RolloutOptions rollout;
  int loss_channels = 1;
  LatticeRecipe recipe;
  bool use_reference = false;  // the plain sequential code instead of the fast one
  LatticeData data;
  std::string target;  // the pattern as text, for tasks that grow one
};

class LatticeObjective : public Objective {
 public:
  LatticeObjective(LatticeProblem problem, std::uint64_t seed);

  Parameters& parameters() override { return parameters_; }
  double accumulate(std::uint64_t batch, const ThreadPool& pool, PhaseSeconds& phases) override;
  Evaluation evaluate(const ThreadPool& pool) override;
  void describe(SafetensorsFile& file) const override;
  void begin_step(std::uint64_t step, double progress, double last_loss) override;
  void report(nlohmann::json& summary, std::span<const float> weights) const override;

  const Automaton& automaton() const { return automaton_; }
  const LatticeProblem& problem() const { return problem_; }

 private:
  double accumulate_reference(const ThreadPool& pool);

  LatticeProblem problem_;
  std::uint64_t seed_;
  Automaton automaton_;
  Parameters parameters_;
  Rollout rollout_;
  SoftChoice choice_;
  FireBits validation_fire_;
  std::uint64_t batch_ = 0;
  std::vector<float> initial_, target_;
};

// Fraction of target bits that the boards' first channels have right, and wrong bits per board.
struct BitScore {
  double fraction = 0, wrong_per_board = 0;
  bool all = false;
};
BitScore compare_boards(const BitBoards& got, const BitBoards& target);

}  // namespace espalier
