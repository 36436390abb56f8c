// Runs a group of mutants over cells: every cell's word of lanes by itself, in machine code made for the group, or by
// the interpreter.
#pragma once

#include <memory>
#include <span>

#include "base/scratch.hpp"
#include "espalier/simulator.hpp"
#include "espalier/thread_pool.hpp"
#include "netlist/sim_engine.hpp"
#include "synth/mutants.hpp"

namespace espalier {

struct LaneOptions {
  SimulatorEngine engine = SimulatorEngine::kAuto;
  int word_bits = 0;  // as of SimulatorOptions
};

// Words of a cell that are computed at a time: a group of kLaneWords takes one pass, or two.
std::size_t lane_words(const LaneOptions& options);

class LaneEngine {
 public:
  // Lanes 64 first .. 64 (first + lane_words) - 1 of the group. `places` of the parent's inputs and outputs, in boards
  // whose cells are lane_words() words.
  LaneEngine(const Netlist& parent, const MutantGroup& group, std::size_t first, const SimPlaces& places,
             const LaneOptions& options);
  // `cells` in a row; `board` and `next` at the first.
  void run(const std::uint64_t* board, std::uint64_t* next, std::size_t cells);
  bool native() const { return engine_->native(); }

 private:
  std::size_t words_;
  std::unique_ptr<SimEngine> engine_;
  AlignedVector<std::uint64_t> memory_;  // masks, then the engine's own
};

// Wrong bits of each lane, counted in slices: bit i of a lane's number stands in word i.
class LaneCounter {
 public:
  explicit LaneCounter(std::size_t words) : words_(words) {}
  void add(const std::uint64_t* value, bool wanted);
  std::uint32_t count(std::size_t lane) const;

 private:
  std::size_t words_;
  std::vector<LaneMask> digits_;
};

}  // namespace espalier
