// Theorems about whole boards: what becomes of every start, under every schedule, after any damage. Each answer is a
// proof, a board that breaks the claim (checked by simulation), "undecided", or a proof of less than was claimed, which
// says so.
//
// Example:
//   const BoardProof proof = BoardProver({cell, false, 1}).converges(target, 20);
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/life_rule.hpp"
#include "espalier/synth.hpp"
#include "synth/unroll.hpp"

namespace espalier {

// An automaton as proofs see it.
struct BoardSystem {
  Netlist cell;           // every gate as trained: counter-examples are run on it
  bool periodic = false;  // or zeros outside the board
  int visible = 1;        // how many channels, the first, are shown
  // 0: all cells update in every step. Otherwise cells update at any time, a step of a claim is a round in which every
  // cell updates at least once, and search gives a round this many moments, at each of which any cells may update. What
  // search proves of rounds of that length is a weaker claim: a longer one may still break it.
  int round = 0;
};

// Bits in which the target's channels of a board are not the target's.
std::size_t count_wrong(const Board& board, const Board& target);

// A rule's visible channel on every patch, whatever the other channels are; weaker: while these are 0, and stay so.
BoardProof prove_equals(const Netlist& cell, const RuleTable& rule, const std::string& name);

// Targets are the visible channels of a board, and give its size.
class BoardProver {
 public:
  explicit BoardProver(BoardSystem system, BoardProofOptions options = {});

  // From every start the visible board is the target after `steps` steps, and ever after.
  BoardProof converges(const Board& target, int steps);

  // A board that shows the target shows it again every `period` steps, whatever the channels that are not shown;
  // weaker: a board that has shown it 2, 3, .. `in_a_row` times in a row (synchronous systems only).
  BoardProof repeats(const Board& target, int period, int in_a_row);
  // The same on every size; weaker, and all that is claimed where opposite edges touch: on all sizes that are multiples
  // of `tile`. `target` makes one for any size; it must repeat itself every `tile` cells in both directions.
  using MakeTarget = std::function<Board(int height, int width)>;
  BoardProof repeats_on_every_size(const MakeTarget& target, int tile, int period, int in_a_row);
  // From one start alone: the board is simulated until it comes back to where it was.
  BoardProof repeats_from(const Board& start, const Board& target, int steps, int period);

  // However a rectangle of `settled` (all channels) is changed, wherever it lies, the target is back after `steps`.
  BoardProof heals(const Board& settled, const Board& target, int height, int width, int steps);

  // The board as a circuit with latches, for other model checkers, in AIGER: output 0 is 1 when the visible board is
  // not the target after `steps` steps or later. Its inputs are the start, read in the first step; with `start` the
  // latches begin with it, and there are none.
  std::string export_aiger(const Board& target, int steps, const Board* start, bool binary);
  // An Error where that circuit would be too large to be written or used; quick.
  void check_export(int height, int width, bool from_start) const;

 private:
  struct Query;
  BoardProof answer(const Query& query);
  bool by_settling(const Query& query, BoardProof& proof);
  bool by_simulation(const Query& query, BoardProof& proof);
  void by_search(const Query& query, BoardProof& proof);
  void refute(const Query& query, Board start, std::vector<Board> fires, BoardProof& proof) const;
  Query from_every_start(const Board& target, int steps) const;
  Query shows(const Board& target, int steps, int in_a_row) const;
  BoardProof repeats_after(const Board& target, int period, int in_a_row);
  BoardProof repeats_somehow(const std::string& where, int period, int in_a_row,
                             const std::function<BoardProof(BoardProver&, int)>& ask);
  Query damaged_anywhere(const Board& settled, const Board& target, int height, int width, int steps) const;
  Query damaged_at(const Board& settled, const Board& target, DeadRectangle where, int steps) const;
  LiteralBoard free_board(const Board& target) const;
  bool out_of_time() const;
  const ThreadPool& pool() const { return options_.pool ? *options_.pool : calling_thread(); }
  void check_time() const;  // Cancelled when there is none left
  void report(std::uint64_t done, std::uint64_t total, const std::string& doing) const;

  BoardSystem system_;
  BoardProofOptions options_;
  Netlist cell_;  // simplified, and only the channels that are needed
  std::vector<int> channels_;
  double end_;
};

// A question of one kind: starts with some bits free, and what the visible board is to be after a number of steps.
struct BoardProver::Query {
  Board target;
  std::size_t bits = 0;                               // inputs 0 .. bits - 1 of the unrolled board
  std::function<LiteralBoard(Unroller&)> start = {};  // of the needed channels
  int steps = 0;
  bool any_step = false;  // every start is asked about, so what holds after fewer steps holds ever after
  // The visible board is taken to be the target until this step: then there is a proof or no answer, and nothing is
  // simulated.
  int assumed = 0;
};

}  // namespace espalier
