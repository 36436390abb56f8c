// A pool of boards that training goes on with from step to step, damaged now and then, so that a picture is not only
// grown from its start but also kept and mended (Mordvintsev and others, "Growing Neural Cellular Automata", 2020).
//
// Boards lie in the pool as bits, each value of a last state rounded. What is used in the end is hard: a soft state
// that were handed on as it is could carry what no bit can hold, a leak of a thousandth that the next steps amplify,
// and training would come to live on it. It also makes a board 32 times smaller, in memory and in checkpoints.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/logic_automaton.hpp"
#include "espalier/safetensors.hpp"

namespace espalier {

struct BoardPoolOptions {
  std::uint64_t boards = 0;   // 0: no pool, every board of a mini-batch is the task's start
  std::uint64_t damaged = 0;  // boards of a mini-batch, those with the fewest wrong bits, that are damaged
};
// Fails, with what is wrong, before anything is allocated.
void check_pool(const BoardPoolOptions& options, const RolloutOptions& rollout, int channels);

class BoardPool {
 public:
  // start: [C][H][W], what every board is at first.
  BoardPool(const BoardPoolOptions& options, const RolloutOptions& rollout, int channels, std::uint64_t seed,
            std::span<const float> start);

  // Which boards of the pool are in a mini-batch, by their places there.
  struct Drawn {
    std::vector<std::size_t> boards;   // [batch]
    std::size_t restarted = 0;         // the place whose board has most wrong bits: it begins with the task's start
    std::vector<std::size_t> damaged;  // the places whose boards have the fewest, fewest first
  };
  // The boards of mini-batch number `batch`. target: [batch][loss channels][H][W]; initial: [batch][C][H][W], the
  // task's starts, overwritten at all places but one. A pure function of (seed, pool, batch).
  Drawn draw(std::uint64_t batch, std::span<const float> target, std::span<float> initial) const;

  // What became of them, [batch][C][H][W] of 0 and 1. It is in the pool from commit() on, and a step that is begun
  // again forgets it: so a cancelled one leaves nothing behind.
  void keep(Drawn drawn, std::vector<std::uint8_t> last);
  void commit();
  void forget() { kept_.clear(); }

  bool bit(std::size_t board, std::size_t value) const;  // value: in [C][H][W]
  std::size_t bytes() const { return bits_.size(); }

  SafetensorsFile state() const;
  void restore(const SafetensorsFile& state);

 private:
  struct Kept {
    Drawn drawn;
    std::vector<std::uint8_t> last;
  };
  void damage(std::uint64_t batch, std::size_t place, std::span<float> board) const;
  void put(std::size_t board, std::size_t value, bool bit);

  BoardPoolOptions options_;
  RolloutOptions rollout_;
  std::size_t channels_, values_, stride_;  // values of a board, bytes of one
  std::uint64_t seed_;
  std::vector<std::uint8_t> bits_;  // [board][stride], eight values in a byte, the first in its lowest bit
  std::vector<Kept> kept_;
};

}  // namespace espalier
