// How good the mutants of a cell's circuit are: each lane runs the whole rollout on the same boards, and its wrong bits
// are counted at the end.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "espalier/simulator.hpp"
#include "models/lattice/lattice_goal.hpp"
#include "synth/lane_engine.hpp"
#include "synth/refine_search.hpp"

namespace espalier {

// A square of a board.
struct BoardSquare {
  std::size_t top = 0, left = 0, height = 0, width = 0;
  bool holds(std::size_t y, std::size_t x) const { return y - top < height && x - left < width; }
};

// Boards to start from and what they should become, as 0 and 1, in the channels of a RolloutShape.
struct RolloutExamples {
  std::size_t count = 0;
  std::vector<std::uint8_t> start;   // [board][channel][y][x]
  std::vector<std::uint8_t> target;  // [board][judged channel][y][x]
  std::vector<std::uint8_t> fire;    // [board][step][y][x], which cells take their new state; empty: all
  // Cells that are 0 before step `until`, and how long the board runs; empty: none, and as long as the shape says.
  struct Damage {
    BoardSquare square = {};
    std::size_t until = 0, steps = 0;
  };
  std::vector<Damage> damage;  // [board]
  // Cells that are set to 0 after a step. Boards with resets are judged several times in the second half of their
  // steps.
  std::vector<BoardSquare> resets;  // [board][step]; empty: none
};

struct RolloutShape {
  std::size_t height = 0, width = 0, steps = 0, channels = 0, judged = 0;
  bool periodic = true;
  std::size_t cells() const { return height * width; }
};

// Boards of one size.
struct RolloutStage {
  RolloutShape shape;
  RolloutExamples examples;
};

// Wrong bits of each lane over all boards of a stage.
void score_lanes(const RolloutStage& stage, const Netlist& parent, const MutantGroup& group, const LaneOptions& options,
                 std::span<std::uint32_t, kLanes> wrong);

// Channels of a cell that are judged, or that a judged one depends on in any later step; and `spare` others.
std::vector<int> needed_channels(const Netlist& cell, int judged, int spare);
// The cell with these channels alone, in their order ...
Netlist narrow_cell(const Netlist& cell, const std::vector<int>& channels);
// ... and back: all other channels become 0.
Netlist widen_cell(const Netlist& cell, const std::vector<int>& channels, int all);

// The score of a model's goal. Tasks with one start are judged by it, and on larger boards where the goal demands that,
// and rules by all their cases. Where starts or updates are drawn at random, or only some of the given boards may be
// fitted, each generation has a few boards of its own, and the validation boards decide.
class RolloutScore : public LaneScore {
 public:
  // `channels`: those of the narrowed cell. `demands`: what the goal demands beyond its validation counts, too.
  RolloutScore(const LatticeGoal& goal, const RolloutOptions& rollout, int all_channels, bool periodic,
               std::uint64_t seed, std::vector<int> channels, const LaneOptions& options = {}, bool demands = false);
  CircuitKind kind() const override { return {shape().judged, shape().channels}; }
  bool sampled() const override { return sampled_; }
  void draw_sample(std::uint64_t generation, SearchAim aim, const Netlist& parent) override;
  void score(const Netlist& parent, const MutantGroup& group, std::span<std::uint32_t, kLanes> wrong) const override;
  std::optional<Netlist> repair(const Netlist& circuit, std::uint64_t seed) const override;
  std::uint64_t judge(const Netlist& circuit, const ThreadPool& pool) const override;

  // How many of the goal's trials a cell fails; none are asked for by default.
  using Flaws = std::function<std::size_t(const Netlist& cell, const ThreadPool& pool)>;
  void set_flaws(Flaws flaws) { flaws_ = std::move(flaws); }
  std::size_t flaws(const Netlist& circuit, const ThreadPool& pool) const override {
    return flaws_ ? flaws_(circuit, pool) : 0;
  }
  // How much a cell lacks of the goal's trials that are only better or worse; nothing is asked for by default.
  using Grade = std::function<std::uint64_t(const Netlist& cell, const ThreadPool& pool)>;
  void set_grade(Grade grade) { grade_ = std::move(grade); }
  bool graded() const override { return grade_ && reset_target_; }
  std::uint64_t grade(const Netlist& circuit, const ThreadPool& pool) const override {
    return graded() ? grade_(circuit, pool) : 0;
  }
  // The boards that decide, larger ones counted by their cells.
  double boards() const;
  const RolloutShape& shape() const { return stages_[0].shape; }
  const RolloutExamples& examples() const { return stages_[0].examples; }

 private:
  struct Validation {
    BoardBatch start, target;
  };
  BoardBatch narrowed(const BoardBatch& boards) const;  // to the channels of the narrowed cell
  RolloutStage stage_of(const Validation& validation, bool periodic) const;
  void draw_damage(std::uint64_t generation);
  void draw_failures(std::uint64_t generation, const Netlist& parent);
  void draw_resets(std::uint64_t generation, const Netlist& parent);

  const LatticeGoal& goal_;
  RolloutOptions rollout_;
  int all_channels_;
  std::uint64_t seed_;
  std::vector<int> channels_;
  LaneOptions options_;
  LatticeData data_;
  bool sampled_, damaged_;  // damaged: trials of damage are among the flaws
  Flaws flaws_;
  Grade grade_;
  std::vector<Validation> validation_;  // the goal's, in the channels of the narrowed cell, then larger boards
  std::vector<RolloutStage> stages_;    // the boards of a generation; where none are drawn, those of the validation
  RolloutStage resets_;                 // boards of a generation that is to be better under resets, or none
  std::optional<Board> reset_target_;   // of these; none where resets are not graded
  std::unique_ptr<BoardBatch> fire_;    // of the validation, where cells update at random
};

}  // namespace espalier
