// Search over circuits: whole rollouts of mutants of a cell of 300 gates, and the same one mutant at a time.
#include <fmt/format.h>

#include <algorithm>

#include "base/hash.hpp"
#include "bench/bench_case.hpp"
#include "models/lattice/rollout_score.hpp"
#include "netlist/cell.hpp"

namespace espalier {
namespace {

constexpr int kSide = 16, kSteps = 15, kChannels = 12;
constexpr std::size_t kGatesOfCell = 300;

// Random gates, every one of them needed by the judged channel sooner or later.
Netlist cell_of(std::size_t gates) {
  for (std::uint32_t attempt = 0;; ++attempt) {
    const Random random(7, Purpose::kData, attempt);
    std::uint64_t draw = 0;
    Netlist cell = empty_cell(kChannels);
    for (std::size_t g = 0; g < 2 * gates; ++g) {
      const auto type = gate_of_bits(static_cast<unsigned>(random.choice(draw++, kGates)));
      const auto a = static_cast<Net>(random.choice(draw++, cell.nets()));
      const auto b = static_cast<Net>(random.choice(draw++, cell.nets()));
      cell.add_gate(type, a, b);
    }
    for (int c = 0; c < kChannels; ++c)
      cell.add_output(fmt::format("next{}", c), static_cast<Net>(cell.nets() - 1 - random.choice(draw++, gates)));
    Compactor compactor({1, kChannels});
    // Gates are handed out to the outputs until there are enough.
    for (std::size_t size = compactor.measure(cell).gates; size < gates;) {
      const std::size_t output = random.choice(draw++, kChannels);
      const auto more = static_cast<Net>(cell.nets() - 1 - random.choice(draw++, gates));
      cell.outputs[output].net = cell.add_gate(Gate::kXor, cell.outputs[output].net, more);
      const std::size_t now = compactor.measure(cell).gates;
      if (now > gates + 2) break;
      size = now;
    }
    if (const std::size_t size = compactor.measure(cell).gates; size >= gates && size <= gates + 2)
      return compactor.build();
  }
}

struct Problem {
  Problem()
      : goal(picture_goal(Pattern{kSide, kSide, 1, std::vector<std::uint8_t>(kSide * kSide)}, kSide / 2, kSide / 2)),
        rollout({1, kSide, kSide, kSteps, 1}),
        score(*goal, rollout, kChannels, false, 1, [] {
          std::vector<int> all(kChannels);
          for (int c = 0; c < kChannels; ++c) all[static_cast<std::size_t>(c)] = c;
          return all;
        }()) {
    options.patience = options.evaluations = std::uint64_t{1} << 60;
    options.company = 0;
    options.groups = 4;
    start.parent = start.best = cell_of(kGatesOfCell);
    start.best_score.wrong = start.parent_wrong = score.judge(start.best, calling_thread());
    Compactor compactor(score.kind());
    start.best_score.size = compactor.measure(start.best);
  }
  std::shared_ptr<const LatticeGoal> goal;
  RolloutOptions rollout;
  RolloutScore score;
  SearchOptions options;
  SearchState start;
};

}  // namespace

void add_refine_bench(BenchList& cases) {
  constexpr std::size_t kMutants = 4 * kLanes;
  BenchCase generation{"refine/rollouts-300", "evaluations/s", kMutants, 0, 0, [] {
                         const auto problem = std::make_shared<Problem>();
                         const auto run = [problem](const ThreadPool& pool) {
                           CircuitSearch search(problem->start, problem->score, problem->options, pool);
                           search.step(pool);
                           return search.state();
                         };
                         return BenchBody{[run](const ThreadPool& pool) { run(pool); },
                                          [run](const ThreadPool& pool) {
                                            const SearchState state = run(pool);
                                            Hasher hasher;
                                            for (const NetlistGate& g : state.parent.gates)
                                              hasher.add(fmt::format("{} {} {} ", static_cast<int>(g.gate), g.a, g.b));
                                            return hasher.add(std::to_string(state.parent_wrong)).hex();
                                          }};
                       }};
  generation.prepare_reference = [] {
    constexpr std::size_t kAlone = 32;
    const auto problem = std::make_shared<Problem>();
    return BenchReference{kAlone, [problem] {
                            for (std::uint32_t i = 0; i < kAlone; ++i) {
                              const Move move{Move::At::kFunction, 7 * i, Gate::kXor, 0};
                              problem->score.judge(mutated(problem->start.parent, std::span(&move, 1)),
                                                   calling_thread());
                            }
                          }};
  };
  cases.push_back(std::move(generation));
}

}  // namespace espalier
