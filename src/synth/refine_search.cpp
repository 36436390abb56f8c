#include "synth/refine_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "espalier/error.hpp"
#include "espalier/random.hpp"
#include "espalier/synth.hpp"

namespace espalier {

Fields fields_of(SearchOptions& o) {
  Fields f;
  f.add("evaluations", o.evaluations, "mutants to try while bits are wrong or trials fail", 1, 1e15);
  f.add("improve", o.improve,
        "mutants to try for trials that can only be improved, not passed, once all others are passed", 0, 1e15);
  f.add("shrink", o.shrink, "mutants to try for fewer gates once no bit is wrong", 0, 1e15);
  f.add("seed", o.seed, "seed of the search", 0, 1.8446744073709552e19);
  f.add("patience", o.patience, "mutants between attempts to correct bits by construction", 1, 1e15);
  f.add("groups", o.groups, "groups of 511 mutants in a generation", 1, 1024);
  f.add("moves", o.moves, "distinct changes in a group", 1, 511);
  f.add("company", o.company, "good mutants of a generation that are tried together", 0, 200);
  f.add("slack", o.slack, "temperature: how many more wrong bits are accepted now and then", 0, 1e6);
  f.add("room", o.room, "how many more gates than the best a shrinking circuit may have", 0, 1e6);
  f.add("gates-first", o.gates_first, "prefer fewer gates even while bits are wrong");
  return f;
}

namespace {

constexpr std::array kPairGates{Gate::kAnd, Gate::kAAndNotB, Gate::kNotAAndB, Gate::kXor,     Gate::kOr,
                                Gate::kNor, Gate::kXnor,     Gate::kAOrNotB,  Gate::kNotAOrB, Gate::kNand};

// Numbers of one group of one generation, drawn one after the other.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t generation, std::size_t group)
      : random_(seed, Purpose::kRefine, static_cast<std::uint32_t>(generation)),
        next_((static_cast<std::uint64_t>(group) << 32) + (generation >> 32 << 48)) {}
  std::uint32_t bits() {
    if (used_ == block_.size()) {
      block_ = random_.block(next_++);
      used_ = 0;
    }
    return block_[used_++];
  }
  // In [0, n), for small n.
  std::uint32_t below(std::size_t n) { return static_cast<std::uint32_t>(bits() * std::uint64_t{n} >> 32); }
  bool chance(double p) { return bits() < p * 0x1p32; }
  float gumbel() { return random_.gumbel(next_++); }

 private:
  Random random_;
  std::uint64_t next_;
  PhiloxBlock block_{};
  std::size_t used_ = block_.size();
};

// How often a change is of which kind.
struct Habits {
  double function = 0.25, replace = 0.1, insert = 0.35, input = 0.4, extra = 0.45;
};
constexpr Habits kRepairing{}, kShrinking{.function = 0.3, .replace = 0.3, .insert = 0.05, .input = 0.3, .extra = 0.35};

class MoveDrawer {
 public:
  MoveDrawer(const Netlist& parent, const CircuitKind& kind, const Habits& habits, Draws& draws)
      : parent_(parent), habits_(habits), draws_(draws) {
    for (std::uint32_t g = 0; g < parent.gates.size(); ++g)
      if (!is_constant(parent.gates[g].gate)) gates_.push_back(g);
    std::vector<bool> read(kind.channels);
    if (kind.channels)
      for (const std::uint32_t g : gates_)
        for (const Net net : {parent.gates[g].a, parent.gates[g].b})
          if (parent.is_input(net)) read[net % kind.channels] = true;
    for (std::uint32_t o = 0; o < parent.outputs.size(); ++o)
      if (o < kind.judged || (kind.channels && read[o])) outputs_.push_back(o);
  }

  // One change, or two that belong together.
  void draw(std::vector<Move>& moves) {
    const std::uint32_t place = draws_.below(2 * gates_.size() + outputs_.size());
    if (place >= 2 * gates_.size()) {
      const std::uint32_t output = outputs_[place - 2 * gates_.size()];
      return moves.push_back(pin(Move::At::kOutput, output, parent_.nets()));
    }
    const std::uint32_t gate = gates_[place / 2];
    const Move::At at = place % 2 ? Move::At::kPinB : Move::At::kPinA;
    const std::size_t before = parent_.net_of_gate(gate);
    const double kind = draws_.bits() * 0x1p-32;
    if (kind < habits_.function) {
      const auto other = static_cast<unsigned>(1 + draws_.below(kGates - 1));
      moves.push_back({Move::At::kFunction, gate, gate_of_bits(gate_bits(parent_.gates[gate].gate) ^ other), 0});
    } else if (kind < habits_.function + habits_.replace) {  // the gate gives way to another net
      moves.push_back({Move::At::kPinA, gate, Gate::kB, net(before)});
      moves.push_back({Move::At::kFunction, gate, draws_.chance(0.5) ? Gate::kA : Gate::kNotA, 0});
    } else {
      moves.push_back(pin(at, gate, before));
    }
  }

 private:
  Net net(std::size_t before) {
    const std::size_t inputs = parent_.inputs.size();
    if (before <= inputs || draws_.chance(habits_.input)) return draws_.below(std::min(before, inputs));
    return static_cast<Net>(inputs + draws_.below(before - inputs));
  }
  Move pin(Move::At at, std::uint32_t place, std::size_t before) {
    const bool insert = draws_.chance(habits_.insert);
    const Gate gate = insert ? kPairGates[draws_.below(kPairGates.size())] : Gate::kB;
    return {at, place, gate, net(before)};
  }

  const Netlist& parent_;
  const Habits& habits_;
  Draws& draws_;
  std::vector<std::uint32_t> gates_, outputs_;
};

}  // namespace

// A mutant that may become the parent. The lower key is the better one.
struct CircuitSearch::Choice {
  double key = std::numeric_limits<double>::infinity();
  std::uint32_t wrong = 0;
  CircuitSize size;
  std::vector<Move> moves;
};

// What came of a group: its best mutant, and those that are better than their parent.
struct CircuitSearch::Judged {
  std::uint32_t parent_wrong = 0;
  std::optional<Choice> best;
  std::vector<Choice> good;
};

CircuitSearch::CircuitSearch(const Netlist& start, LaneScore& score, const SearchOptions& options,
                             const ThreadPool& pool)
    : score_(score), options_(options), kind_(score.kind()) {
  check_netlist(start, "refine");
  if (start.outputs.size() < kind_.judged || (kind_.channels && start.outputs.size() != kind_.channels))
    fail("refine", fmt::format("a circuit of {} outputs", start.outputs.size()), "those that are judged");
  Compactor compactor(kind_);
  const CircuitSize size = compactor.measure(start);
  state_.parent = state_.best = compactor.build();
  state_.best_score = {score_.judge(state_.best, pool), 0, 0, size};
  if (!state_.best_score.wrong) state_.best_score.flaws = score_.flaws(state_.best, pool);
  if (solved()) state_.best_score.grade = score_.grade(state_.best, pool);
  state_.parent_wrong = state_.best_score.wrong;
}

Netlist search_start(const Netlist& circuit, const SearchOptions& options) {
  return simplify(circuit, options.shrink ? SimplifyOptions{} : SimplifyOptions::brief());
}

CircuitSearch::CircuitSearch(SearchState state, LaneScore& score, const SearchOptions& options, const ThreadPool&)
    : score_(score), options_(options), kind_(score.kind()), state_(std::move(state)) {}

bool CircuitSearch::ended() const {
  const bool spent = state_.evaluations >= options_.evaluations;
  if (state_.best_score.wrong == 0 && (state_.best_score.flaws == 0 || spent))
    return state_.evaluations >= state_.improved_at + (solved() ? improve() : 0) + options_.shrink;
  return spent;
}

SearchAim CircuitSearch::aim() const {
  if (solved()) return score_.graded() ? SearchAim::kGrade : SearchAim::kBits;
  return state_.best_score.wrong ? SearchAim::kBits : SearchAim::kFlaws;
}

MutantGroup CircuitSearch::draw(const Netlist& parent, std::uint64_t generation, std::size_t number) const {
  Draws draws(options_.seed, generation, number + 1);
  const Habits& habits = shrinking() ? kShrinking : kRepairing;
  MoveDrawer drawer(parent, kind_, habits, draws);
  MutantGroup group;
  std::vector<std::size_t> clusters{0};  // where each begins in the list
  while (group.moves.size() < options_.moves) {
    drawer.draw(group.moves);
    clusters.push_back(group.moves.size());
  }
  group.lanes.resize(group.moves.size());
  const std::size_t count = clusters.size() - 1;
  std::vector<std::size_t> given;  // to the lane
  const auto give = [&](std::size_t lane, std::size_t cluster) {
    for (std::size_t m = clusters[cluster]; m < clusters[cluster + 1]; ++m) {
      const auto same = [&](std::size_t other) { return group.moves[other].same_place(group.moves[m]); };
      if (std::ranges::any_of(given, same)) continue;
      given.push_back(m);
      group.give(m, lane);
    }
  };
  for (std::size_t lane = 1; lane < kLanes; ++lane) {
    given.clear();
    give(lane, (lane - 1) % count);
    if (lane > count) give(lane, draws.below(count));
    while (draws.chance(habits.extra)) give(lane, draws.below(count));
  }
  return group;
}

// Good mutants of one parent, some of them together in each lane.
MutantGroup CircuitSearch::unite(const std::vector<Judged>& judged, std::uint64_t generation) const {
  std::vector<const Choice*> good;
  for (const Judged& j : judged)
    for (const Choice& c : j.good) good.push_back(&c);
  std::ranges::stable_sort(good, {}, &Choice::key);
  if (good.size() > options_.company) good.resize(options_.company);
  MutantGroup group;
  if (good.size() < 2) return group;
  std::vector<std::vector<std::size_t>> members;
  for (const Choice* c : good) {
    members.emplace_back();
    for (const Move& move : c->moves) {
      const auto known = std::ranges::find(group.moves, move);
      members.back().push_back(static_cast<std::size_t>(known - group.moves.begin()));
      if (known == group.moves.end()) group.moves.push_back(move);
    }
  }
  group.lanes.resize(group.moves.size());
  Draws draws(options_.seed, generation, options_.groups + 1);
  for (std::size_t lane = 1; lane < kLanes; ++lane) {
    // The best ones first, then chance: a share of them that differs from lane to lane.
    const double share = (1 + draws.below(8)) / 8.0;
    std::vector<std::size_t> given;
    for (std::size_t m = 0; m < members.size(); ++m) {
      if (lane < members.size() ? m > lane : !draws.chance(share)) continue;
      const auto free = [&](std::size_t move) {
        return std::ranges::none_of(
            given, [&](std::size_t g) { return g != move && group.moves[g].same_place(group.moves[move]); });
      };
      if (!std::ranges::all_of(members[m], free)) continue;
      for (const std::size_t move : members[m]) group.give(move, lane), given.push_back(move);
    }
  }
  return group;
}

CircuitSearch::Judged CircuitSearch::judge_group(const Netlist& parent, MutantGroup group, std::uint64_t generation,
                                                 std::size_t number) const {
  std::array<std::uint32_t, kLanes> wrong;
  const bool solved = shrinking();
  const auto slack = static_cast<std::uint32_t>(solved ? 0 : 8 * options_.slack);
  score_.score(parent, group, wrong);
  Judged judged;
  judged.parent_wrong = wrong[0];
  Draws draws(options_.seed, generation, (std::size_t{1} << 31) + number);
  // While it shrinks, now and then chance decides among those that are not too large.
  const bool by_size = solved ? !options_.room || draws.chance(0.5) : options_.gates_first;
  Compactor compactor(kind_);
  const std::size_t gates = compactor.measure(parent).gates, best = state_.best_score.size.gates;
  const std::size_t most = solved ? best + options_.room : 2 * best + 100;
  struct Candidate {
    double key;
    std::size_t lane;
  };
  std::vector<Candidate> candidates;
  for (std::size_t lane = 1; lane < kLanes; ++lane) {
    const double noise = draws.bits() * 0x1p-33;  // under a half: it decides between equals
    const double heat = slack ? options_.slack * draws.gumbel() : 0;
    if (wrong[lane] <= wrong[0] + slack) candidates.push_back({wrong[lane] - heat + noise, lane});
  }
  std::ranges::sort(candidates, {}, &Candidate::key);
  const std::uint32_t lowest = candidates.empty() ? 0 : wrong[candidates[0].lane];
  for (const Candidate& c : candidates) {
    const bool better = !solved && wrong[c.lane] < wrong[0] && judged.good.size() < options_.company;
    if (judged.best && !better && !solved && (!by_size || wrong[c.lane] > lowest)) break;
    Choice choice{c.key, wrong[c.lane], {}, group.of(c.lane)};
    choice.size = compactor.measure(parent, choice.moves);
    if (choice.size.gates > most) continue;
    if (by_size || solved)
      choice.key = 1e4 * wrong[c.lane] + static_cast<double>(choice.size.gates) + (c.key - wrong[c.lane]);
    if (better || (solved && choice.size.gates < gates)) judged.good.push_back(choice);
    if (solved && !by_size) choice.key = c.key;
    if (!judged.best || choice.key < judged.best->key) judged.best = std::move(choice);
  }
  return judged;
}

void CircuitSearch::step(const ThreadPool& pool) {
  const std::uint64_t generation = state_.generation, wrong_before = state_.best_score.wrong;
  const std::size_t flaws_before = state_.best_score.flaws;
  const SearchScore before = state_.best_score;
  const bool shrank = shrinking(), improved = improving();
  score_.draw_sample(generation, aim(), state_.parent);
  const Netlist parent =
      shuffled(state_.parent, Random(options_.seed, Purpose::kRefine, static_cast<std::uint32_t>(generation)));
  std::vector<Judged> judged(options_.groups);
  pool.for_chunks(options_.groups, 1, 1e6, [&](Chunk c) {
    judged[c.index] = judge_group(parent, draw(parent, generation, c.index), generation, c.index);
  });
  std::size_t groups = options_.groups;
  if (MutantGroup together = unite(judged, generation); !together.moves.empty()) {
    judged.push_back(judge_group(parent, std::move(together), generation, groups));
    ++groups;
  }
  const Choice* best = nullptr;
  for (const Judged& j : judged)
    if (j.best && (!best || j.best->key < best->key)) best = &*j.best;
  // What is smallest or has fewest wrong bits is looked at even when chance made another one the parent.
  const Choice* finest = best;
  for (const Judged& j : judged)
    for (const Choice& c : j.good)
      if (SearchScore{c.wrong, 0, 0, c.size} < SearchScore{finest->wrong, 0, 0, finest->size}) finest = &c;
  state_.parent_wrong = judged[0].parent_wrong;
  if (best) {
    Compactor compactor(kind_);
    if (finest != best && !improved && SearchScore{finest->wrong, 0, 0, finest->size} < state_.best_score) {
      compactor.measure(parent, finest->moves);
      take_best(compactor.build(), finest->wrong, pool);
    }
    compactor.measure(parent, best->moves);
    state_.parent = compactor.build();
    state_.parent_wrong = best->wrong;
    if (!improved && (score_.sampled() || SearchScore{best->wrong, 0, 0, best->size} < state_.best_score))
      take_best(state_.parent, best->wrong, pool);
  }
  ++state_.generation;
  state_.evaluations += groups * kLanes;
  const auto turn = [&](std::uint64_t evaluations) {
    return evaluations / std::max<std::uint64_t>(1, options_.patience);
  };
  note(false, groups * kLanes, before);
  const bool due = !improved && turn(state_.evaluations) > turn(state_.evaluations - groups * kLanes);
  const bool wrong = state_.best_score.wrong > 0;
  if (due && wrong && options_.construct) construct(pool);
  const SearchScore built = state_.best_score;
  if (improved) confirm(pool);
  if (due && !wrong) polish(SimplifyOptions::brief(), pool);
  // The first circuit without a fault is worth the whole effort of simplify(), once.
  if (options_.shrink && !shrank && shrinking()) {
    state_.parent = state_.best;
    state_.parent_wrong = 0;
    polish({}, pool);
  }
  note(false, 0, built);
  if (state_.best_score.wrong < wrong_before || state_.best_score.flaws < flaws_before)
    state_.improved_at = state_.evaluations;
  // Shrinking goes from the best: a parent with more gates than there is room for has no mutants that may follow it.
  if (shrinking() && (!shrank || !best ||
                      Compactor(kind_).measure(state_.parent).gates > state_.best_score.size.gates + options_.room)) {
    state_.parent = state_.best;
    state_.parent_wrong = 0;
  }
}

// Mutants that led to nothing better count for the stage after them.
void CircuitSearch::note(bool constructed, std::uint64_t count, const SearchScore& before) {
  if (!constructed) state_.drifted += count;
  if (state_.best_score == before) return;
  if (!constructed) count = std::exchange(state_.drifted, 0);
  if (state_.history.empty() || state_.history.back().constructed != constructed)
    state_.history.push_back({constructed, 0, before.wrong, before.wrong, before.size.gates, before.size.gates});
  SearchStage& stage = state_.history.back();
  stage.count += count;
  stage.wrong_after = state_.best_score.wrong;
  stage.gates_after = state_.best_score.size.gates;
}

void CircuitSearch::construct(const ThreadPool& pool) {
  constexpr std::uint64_t kRounds = 8;
  Compactor compactor(kind_);
  for (std::uint64_t round = 0; round < kRounds && state_.best_score.wrong; ++round) {
    const Netlist from = round ? state_.best : state_.parent;
    std::optional<Netlist> built = score_.repair(from, options_.seed + kRounds * state_.generation + round);
    if (!built) return;
    built = simplify(*built, SimplifyOptions::brief());
    compactor.measure(*built);
    const Netlist circuit = compactor.build();
    const std::uint64_t wrong = score_.judge(circuit, pool);
    if (wrong >= state_.best_score.wrong) return;
    const SearchScore before = state_.best_score;
    state_.parent = circuit;
    state_.parent_wrong = wrong;
    take_best(circuit, wrong, pool);
    note(true, 1, before);
  }
}

// Drift has led to another place: what the passes of simplify() make of it from there may be smaller than the best.
void CircuitSearch::polish(const SimplifyOptions& options, const ThreadPool& pool) {
  Compactor compactor(kind_);
  const Netlist smaller = simplify(state_.parent, options);
  compactor.measure(smaller);
  const Netlist circuit = compactor.build();
  if (compactor.measure(circuit).gates > compactor.measure(state_.parent).gates) return;
  state_.parent = circuit;
  take_best(circuit, state_.parent_wrong, pool);
}

// Grades take longer still, and what a sample shows of them is half chance: the parent is judged now and then, and what
// has strayed from the best for long goes back to it.
void CircuitSearch::confirm(const ThreadPool& pool) {
  constexpr std::uint64_t kEvery = 4, kReturn = 32;
  if (state_.generation % kEvery) return;
  const SearchScore before = state_.best_score;
  take_best(state_.parent, state_.parent_wrong, pool);
  if (state_.best_score == before && state_.generation % kReturn == 0) state_.parent = state_.best;
}

void CircuitSearch::take_best(const Netlist& circuit, std::uint64_t wrong, const ThreadPool& pool) {
  Compactor compactor(kind_);
  const CircuitSize size = compactor.measure(circuit);
  // Trials take longer than samples: what a sample shows to be wrong is not put through them.
  if (score_.sampled() && wrong && !state_.best_score.wrong && aim() != SearchAim::kGrade) return;
  if (shrinking() && !(size < state_.best_score.size)) return;
  if (score_.sampled()) wrong = score_.judge(circuit, pool);
  SearchScore score{wrong, 0, 0, size};
  if (!(score < state_.best_score)) return;
  if (!wrong) score.flaws = score_.flaws(circuit, pool);
  if (!(score < state_.best_score)) return;
  if (!wrong && !score.flaws) score.grade = score_.grade(circuit, pool);
  if (!(score < state_.best_score)) return;
  state_.best = circuit;
  state_.best_score = score;
}

}  // namespace espalier
