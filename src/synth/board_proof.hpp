// Theorems about whole boards: what becomes of every start, under every schedule, after any damage. Each answer is a
// proof, a board that breaks the claim (checked by simulation), or "undecided".
//
// Example:
//   const BoardProof proof = BoardProver({cell, false, 1}, target).converges(20);
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "espalier/simulator.hpp"
#include "synth/unroll.hpp"

namespace espalier {

// An automaton as proofs see it.
struct BoardSystem {
  Netlist cell;           // every gate as trained: counter-examples are run on it
  bool periodic = false;  // or zeros outside the board
  int visible = 1;        // how many channels, the first, are shown
  // 0: all cells update in every step. Otherwise cells update at any time, a step of a claim is a round in which every
  // cell updates at least once, and search gives a round this many moments, at each of which any cells may update.
  int round = 0;
};

struct BoardCounterExample {
  Board start, end;
  std::vector<Board> fires = {};  // asynchronous: who updates at each moment, one channel
  int wrong = 0;                  // visible bits of `end` that are not the target's
};

struct BoardProof {
  enum class Verdict { kProved, kRefuted, kUndecided };
  Verdict verdict = Verdict::kUndecided;
  std::string claim = {}, how = {};
  int needed_channels = 0;       // those that the visible ones ever depend on
  std::size_t unknown_bits = 0;  // of the start: the claim is about 2 to this many
  std::size_t gates = 0;         // of the unrolled board, after folding
  std::optional<BoardCounterExample> counter_example = {};
};

struct BoardProofOptions {
  double seconds = 0;      // 0: as long as it takes
  std::uint64_t seed = 1;  // of the boards that are simulated before anything is searched for
  // Where to write a proof in DRAT, and FILE.cnf that it refutes. The board is then unrolled gate by gate, so that a
  // checker takes nothing on trust but the unrolling.
  std::string proof_file = {};
  std::function<void(std::uint64_t done, std::uint64_t total, const std::string& doing)> progress = {};
  std::function<bool()> stop = {};
};

class BoardProver {
 public:
  // `target`: the visible channels of a board, which also gives the size.
  BoardProver(BoardSystem system, Board target, BoardProofOptions options = {});

  // From every start the visible board is the target after `steps` steps, and ever after.
  BoardProof converges(int steps);

 private:
  struct Query;
  BoardProof answer(const Query& query);
  bool by_settling(const Query& query, BoardProof& proof);
  bool by_simulation(const Query& query, BoardProof& proof);
  void by_search(const Query& query, BoardProof& proof);
  void refute(const Query& query, Board start, std::vector<Board> fires, BoardProof& proof) const;
  LiteralBoard free_board() const;
  bool out_of_time() const;
  void report(std::uint64_t done, std::uint64_t total, const std::string& doing) const;

  BoardSystem system_;
  Board target_;
  BoardProofOptions options_;
  Netlist cell_;  // simplified, and only the channels that are needed
  std::vector<int> channels_;
  double end_;
};

}  // namespace espalier
