// Search over circuits: mutants of one parent, the best of them the next parent, equals accepted (neutral drift, as in
// Cartesian genetic programming: Miller and Thomson, 2000). What comes first is the number of wrong bits, then flaws,
// then the grade, then gates, then depth. Everything is a function of (start, score, options, generation): any number
// of threads, any vector width and any interruption give the same bits.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "espalier/fields.hpp"
#include "espalier/synth.hpp"
#include "espalier/thread_pool.hpp"
#include "synth/mutants.hpp"

namespace espalier {

// What the mutants of a generation are to be better in.
enum class SearchAim : std::uint8_t {
  kBits,   // bits of the best are wrong
  kFlaws,  // nothing is wrong with it but its flaws
  kGrade,  // neither, and what is left can only be better or worse
};

// What a circuit is good for.
class LaneScore {
 public:
  virtual ~LaneScore() = default;
  virtual CircuitKind kind() const = 0;
  // Whether every generation is judged by examples of its own, and not by all there are.
  virtual bool sampled() const { return false; }
  virtual void draw_sample(std::uint64_t /*generation*/, SearchAim /*aim*/, const Netlist& /*parent*/) {}
  // Wrong bits of each lane of a group.
  virtual void score(const Netlist& parent, const MutantGroup& group, std::span<std::uint32_t, kLanes> wrong) const = 0;
  // The circuit with wrong bits put right by construction, as many as can be; nothing where that cannot be done.
  virtual std::optional<Netlist> repair(const Netlist& /*circuit*/, std::uint64_t /*seed*/) const {
    return std::nullopt;
  }
  // Wrong bits over all examples that decide.
  virtual std::uint64_t judge(const Netlist& circuit, const ThreadPool& pool) const = 0;
  // Of a circuit without wrong bits: how much it still lacks beyond the examples, such as trials that it fails.
  virtual std::size_t flaws(const Netlist& /*circuit*/, const ThreadPool& /*pool*/) const { return 0; }
  // Whether there is more to be had of circuits without wrong bits and flaws, and how much one lacks of it.
  virtual bool graded() const { return false; }
  virtual std::uint64_t grade(const Netlist& /*circuit*/, const ThreadPool& /*pool*/) const { return 0; }
};

struct SearchOptions {
  std::uint64_t seed = 1;
  std::uint64_t evaluations = 1'000'000;  // while bits are wrong or flaws are left; rounded up to whole generations
  std::uint64_t improve = 0;              // evaluations after the last flaw is gone, for a better grade
  std::uint64_t shrink = 0;               // evaluations after these, for fewer gates
  std::size_t groups = 2;                 // of kLanes mutants, in a generation
  std::size_t moves = 192;                // distinct changes per group
  double slack = 0;                       // temperature: wrong bits more that are taken with probability 1/e
  std::uint64_t patience = 50'000;        // evaluations between attempts by force: bits put right, passes of simplify()
  std::size_t room = 2;                   // gates more than the best that the parent may have while it shrinks
  std::size_t company = 24;               // good mutants of a generation that are tried together; 0: none
  bool gates_first = false;               // fewer gates count while bits are wrong, too
  bool construct = true;                  // bits may also be put right by construction
};

Fields fields_of(SearchOptions& options);

// The circuit that a search begins from: simplified, with all effort when fewer gates are what is wanted.
Netlist search_start(const Netlist& circuit, const SearchOptions& options);

struct SearchScore {
  std::uint64_t wrong = std::numeric_limits<std::uint64_t>::max();
  std::size_t flaws = 0;    // known of the best alone, as is
  std::uint64_t grade = 0;  // this
  CircuitSize size = {};
  auto operator<=>(const SearchScore&) const = default;
};

// How the best circuit came about: what one way of changing circuits did to it before another one took its turn.
struct SearchStage {
  bool constructed = false;  // or found among mutants
  std::uint64_t count = 0;   // rounds of construction, or mutants
  std::uint64_t wrong_before = 0, wrong_after = 0;
  std::size_t gates_before = 0, gates_after = 0;
  bool operator==(const SearchStage&) const = default;
};

// All that changes: what is needed to go on.
struct SearchState {
  Netlist parent, best;
  SearchScore best_score;
  std::uint64_t parent_wrong = 0;  // by the sample of the last generation
  std::uint64_t generation = 0, evaluations = 0;
  std::uint64_t improved_at = 0;  // evaluations when bits were last put right
  std::vector<SearchStage> history = {};
  std::uint64_t drifted = 0;  // mutants since the best was last changed by one; for the history alone
};

class CircuitSearch {
 public:
  CircuitSearch(const Netlist& start, LaneScore& score, const SearchOptions& options, const ThreadPool& pool);
  CircuitSearch(SearchState state, LaneScore& score, const SearchOptions& options, const ThreadPool& pool);

  const SearchState& state() const { return state_; }
  bool ended() const;
  // One generation, whole or not at all: a Cancelled of the pool leaves the state as it was.
  void step(const ThreadPool& pool);
  // What the search does not reach by small changes is built, in several rounds while that helps.
  void construct(const ThreadPool& pool);

 private:
  struct Choice;
  struct Judged;
  bool solved() const { return state_.best_score.wrong == 0 && state_.best_score.flaws == 0; }
  std::uint64_t improve() const { return score_.graded() ? options_.improve : 0; }
  bool improving() const { return solved() && state_.evaluations < state_.improved_at + improve(); }
  bool shrinking() const { return solved() && !improving(); }
  SearchAim aim() const;
  MutantGroup draw(const Netlist& parent, std::uint64_t generation, std::size_t group) const;
  MutantGroup unite(const std::vector<Judged>& judged, std::uint64_t generation) const;
  Judged judge_group(const Netlist& parent, MutantGroup group, std::uint64_t generation, std::size_t number) const;
  void note(bool constructed, std::uint64_t count, const SearchScore& before);
  void polish(const SimplifyOptions& options, const ThreadPool& pool);
  void confirm(const ThreadPool& pool);
  void take_best(const Netlist& circuit, std::uint64_t wrong, const ThreadPool& pool);

  LaneScore& score_;
  SearchOptions options_;
  CircuitKind kind_;
  SearchState state_;
};

}  // namespace espalier
