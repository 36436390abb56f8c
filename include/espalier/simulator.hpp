// Runs a cell's circuit on a board, many cells a machine word. The same bits for every word width, engine and number of
// threads, and the same as evaluating every cell by itself.
//   Simulator simulator(simplify(cell), 512, 512, {.periodic = true});
//   simulator.run(board, 1000, pool);
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "espalier/board.hpp"
#include "espalier/netlist.hpp"
#include "espalier/thread_pool.hpp"

namespace espalier {

// Widest vector of this machine, in bits.
int widest_word();

// A rectangle that is held at 0 while step is in [from, to): cleared after every such step.
struct DeadRectangle {
  std::size_t top = 0, left = 0, height = 0, width = 0;
  std::uint64_t from = 0, to = 0;
};

struct SimulatorOptions {
  enum class Engine { kAuto, kNative, kInterpreter };
  bool periodic = true;    // or zeros outside the board
  double fire_rate = 1;    // below 1: asynchronous, see core/fire_mask.hpp
  std::uint64_t seed = 1;  // of fire mask and random damage
  std::vector<DeadRectangle> dead;
  std::size_t random_reset = 0;  // side of a square set to 0 at a random place after every step
  Engine engine = Engine::kAuto;
  int word_bits = 0;  // of the interpreter: 64, 128, 256, 512; 0: the widest this machine has
};

class Simulator {
 public:
  // An Error when the netlist is no cell of 9 C inputs and C outputs.
  Simulator(const Netlist& cell, std::size_t height, std::size_t width, const SimulatorOptions& options = {});
  ~Simulator();

  // The number of the next step: it keys fire mask and damage, so a run can be cut in pieces.
  std::uint64_t step() const { return step_; }
  void set_step(std::uint64_t step) { step_ = step; }
  // `board` must have the simulator's size and the cell's channels.
  void run(Board& board, std::uint64_t steps, const ThreadPool& pool);

  bool native() const;  // machine code rather than the interpreter
  int word_bits() const;
  std::size_t operations() const;  // of one step and word, those of the mask included

  // Where the random square of a step lies.
  static DeadRectangle random_square(std::uint64_t seed, std::uint64_t step, std::size_t side, std::size_t height,
                                     std::size_t width);

 private:
  struct Plan;
  void one_step(const Board& now, Board& next, const ThreadPool& pool);
  SimulatorOptions options_;
  std::uint64_t step_ = 0;
  std::unique_ptr<Plan> plan_;
};

}  // namespace espalier
