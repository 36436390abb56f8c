// A logic automaton with its weights and what it was trained to do: the model that lattice tasks train.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/image.hpp"
#include "espalier/logic_automaton.hpp"
#include "espalier/model.hpp"
#include "espalier/netlist.hpp"
#include "espalier/simulator.hpp"
#include "models/lattice/lattice_goal.hpp"

namespace espalier {

class LatticeModel : public Model {
 public:
  static constexpr const char* kKind = "logic automaton";

  // `rollout` is that of the training. Weights: all logits, in the order of the automaton's parameters.
  LatticeModel(Automaton automaton, const RolloutOptions& rollout, std::shared_ptr<const LatticeGoal> goal,
               std::span<const float> weights, std::uint64_t seed);
  static std::unique_ptr<LatticeModel> load(const SafetensorsFile& file, const std::string& name);

  std::string kind() const override { return kKind; }
  Parameters& parameters() override { return parameters_; }
  const Parameters& parameters() const override { return parameters_; }
  void describe(SafetensorsFile& file) const override;
  Facts facts() const override;

  const Automaton& automaton() const { return automaton_; }
  const RolloutOptions& rollout() const { return rollout_; }
  const LatticeGoal& goal() const { return *goal_; }
  const std::shared_ptr<const LatticeGoal>& shared_goal() const { return goal_; }
  std::uint64_t seed() const { return seed_; }  // of the training: its validation boards are drawn from it
  bool periodic() const { return automaton_.options().boundary == Boundary::kPeriodic; }
  int channels() const;  // of a cell: those that were trained, or those of the refined one

  // This model with another circuit in its cells: what search made of the hardened one, perhaps of more channels. The
  // weights stay those that it
  // was made from; they no longer compute what the cells do.
  std::unique_ptr<LatticeModel> refined(Netlist cell) const;
  bool is_refined() const { return cell_.has_value(); }

  // The hardened cell, every gate as trained; or the refined one.
  Netlist raw_cell() const;
  // Wires bypassed, constants folded, dead gates dropped: quick, for simulation.
  Netlist quick_cell() const;
  BoardState start(int height, int width, std::uint64_t seed) const { return start(height, width, seed, {0, height}); }
  BoardState start(int height, int width, std::uint64_t seed, RowRange rows) const {
    return goal_->start(rollout_, channels(), height, width, seed, rows);
  }

 private:
  Automaton automaton_;
  RolloutOptions rollout_;
  std::shared_ptr<const LatticeGoal> goal_;
  Parameters parameters_;
  std::uint64_t seed_;
  std::optional<Netlist> cell_;  // of a refined model
};

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
// A board to start from, some rows at a time: rows(first, count).
using StartRows = std::function<BoardState(RowRange rows)>;
// Hard circuits are run in bands of rows over options.ranks.
std::unique_ptr<Stepper> make_stepper(const LatticeModel& model, int height, int width, const StartRows& start,
                                      const SimulatorOptions& options, bool soft);
std::unique_ptr<Stepper> make_stepper(const LatticeModel& model, const BoardState& start,
                                      const SimulatorOptions& options, bool soft);

// Of a folded cell, without the constants that outputs read.
long live_gates(const Netlist& cell);

// The loss channels: one as black and white, three as red, green and blue.
Image view_board(const LatticeModel& model, const BoardState& state);
// Every channel as a small picture, in rows.
Image view_channels(const BoardState& state);

}  // namespace espalier
