// Benchmarks of the circuit room: Conway's rule on boards, as a trained model computes it (35 gates) and written by
// hand (26), the exported C of the same circuits beside them, a cell judged on a batch of boards, and simplification of
// large netlists, with and without the search for other gates.
#include <dlfcn.h>
#include <fmt/format.h>

#include "base/files.hpp"
#include "base/hash.hpp"
#include "bench/bench_case.hpp"
#include "espalier/error.hpp"
#include "espalier/netlist.hpp"
#include "espalier/random.hpp"
#include "espalier/simulator.hpp"
#include "espalier/synth.hpp"
#include "netlist/cell.hpp"
#include "synth/external_tool.hpp"
#include "synth/formats.hpp"

namespace espalier {
namespace {

// The circuit of a life model as `espalier train life` and `espalier export --to json` gave it: 439 active gates as
// trained, 35 simplified. Benchmarks must not train.
constexpr char kTrainedLife[] = R"({
"format": "espalier-netlist",
"version": 1,
"name": "life",
"inputs": ["p0c0", "p1c0", "p2c0", "p3c0", "p4c0", "p5c0", "p6c0", "p7c0", "p8c0"],
"gates": [[7, 1, 5], [7, 3, 8], [1, 9, 10], [1, 0, 6], [1, 1, 5], [7, 2, 7], [1, 2, 7], [7, 0, 6],
[7, 15, 16], [1, 3, 8], [7, 17, 18], [1, 14, 19], [7, 13, 20], [1, 12, 21], [7, 11, 22], [7, 9, 10],
[7, 14, 19], [1, 24, 25], [7, 12, 21], [7, 26, 27], [6, 23, 28], [1, 15, 16], [7, 13, 18], [1, 17, 31],
[7, 30, 32], [6, 29, 33], [1, 26, 27], [7, 10, 14], [1, 28, 36], [6, 35, 37], [4, 34, 38], [7, 4, 35],
[1, 34, 40], [4, 33, 41], [7, 39, 42]],
"outputs": [
{"name": "next0", "net": 43}
]
})";

// Layers of gates that need both of their inputs: the other types would fold most of it away.
Netlist layered(int inputs, int width, int layers, int outputs) {
  constexpr Gate kBoth[] = {Gate::kAnd, Gate::kAAndNotB, Gate::kNotAAndB, Gate::kXor,     Gate::kOr,
                            Gate::kNor, Gate::kXnor,     Gate::kAOrNotB,  Gate::kNotAOrB, Gate::kNand};
  const Random random(1, Purpose::kTrial);
  Netlist n;
  std::vector<Net> layer;
  for (int i = 0; i < inputs; ++i) layer.push_back(n.add_input(fmt::format("i{}", i)));
  std::uint64_t draw = 0;
  for (int l = 0; l < layers; ++l) {
    std::vector<Net> next;
    for (int g = 0; g < width; ++g) {
      const Gate gate = kBoth[random.choice(draw++, std::size(kBoth))];
      const Net a = layer[random.choice(draw++, layer.size())], b = layer[random.choice(draw++, layer.size())];
      next.push_back(n.add_gate(gate, a, b));
    }
    layer = std::move(next);
  }
  for (int o = 0; o < outputs; ++o) n.add_output(fmt::format("o{}", o), layer[static_cast<std::size_t>(o)]);
  return n;
}

struct Play {
  Play(const Netlist& cell, std::size_t side, const SimulatorOptions& options)
      : board(side, side, 1), simulator(cell, side, side, options) {
    board.randomize(1);
  }
  Board board;
  Simulator simulator;
};

// The oracle: every cell by itself, every gate in order.
BenchReference plain_life() {
  constexpr std::size_t kSide = 64;
  const auto board = std::make_shared<Board>(kSide, kSide, 1);
  board->randomize(1);
  return {kSide * kSide, [board, cell = life_cell()] {
            Board next(kSide, kSide, 1);
            std::vector<bool> patch(9);
            for (std::size_t y = 0; y < kSide; ++y)
              for (std::size_t x = 0; x < kSide; ++x) {
                for (std::size_t p = 0; p < 9; ++p)
                  patch[p] = board->get((y + p / 3 + kSide - 1) % kSide, (x + p % 3 + kSide - 1) % kSide, 0);
                next.set(y, x, 0, evaluate(cell, patch)[0]);
              }
            *board = next;
          }};
}

BenchCase play_case(const char* name, const char* unit, const Netlist& cell, std::size_t side, int steps,
                    double per_cell, const SimulatorOptions& options) {
  const double cells = static_cast<double>(side * side) * steps;
  // A plane is read and written every step.
  BenchCase c{name, unit, per_cell * cells, 0, cells / 4, [=] {
                const auto play = std::make_shared<Play>(cell, side, options);
                return BenchBody{[play, steps](const ThreadPool& pool) {
                                   play->simulator.run(play->board, static_cast<std::uint64_t>(steps), pool);
                                 },
                                 [=](const ThreadPool& pool) {
                                   Play fresh(cell, side, options);
                                   fresh.simulator.run(fresh.board, 5, pool);
                                   return fresh.board.hash();
                                 }};
              }};
  if (per_cell == 1) c.prepare_reference = plain_life;
  return c;
}

// A cell judged as training does it: made ready and run on 200 boards of 16 x 16 cells, 8 channels, 20 steps.
BenchCase judge_case(const char* name, int width) {
  constexpr std::size_t kBoards = 200, kSide = 16;
  constexpr int kChannels = 8, kSteps = 20;
  return {name, "cells/s", static_cast<double>(kBoards * kSide * kSide * kSteps), 0, 0, [=] {
            const auto cell = std::make_shared<Netlist>(clean(layered(9 * kChannels, width, 5, kChannels)));
            BoardBatch start(kBoards, kSide, kSide, kChannels);
            for (std::size_t b = 0; b < kBoards; ++b) {
              Board board(kSide, kSide, kChannels);
              board.randomize(b);
              start.set_board(b, board);
            }
            const auto judge = [cell, start](const ThreadPool& pool) {
              BoardBatch boards = start;
              BatchSimulator(*cell, {.periodic = false}).run(boards, kSteps, pool);
              return boards;
            };
            return same_work(judge, [](const BoardBatch& boards) { return boards.hash(); });
          }};
}

// The exported C, compiled with cc -O3 when the case is about to run.
class CompiledC {
 public:
  using Step = void (*)(const std::uint64_t*, std::uint64_t*, std::size_t, std::size_t, int);
  explicit CompiledC(Netlist cell) {
    cell.name = "life";
    const CSource c = export_c(cell, "life.h");
    write_atomically(folder_.file("life.c"), std::string_view(c.source));
    write_atomically(folder_.file("life.h"), std::string_view(c.header));
    const std::vector<std::string> command{
        find_program("cc"), "-O3", "-shared", "-fPIC", "-o", folder_.file("life.so"), folder_.file("life.c")};
    if (run_program(command, 60) != 0) fail("bench", "no answer from cc", "a compiled circuit");
    library_ = dlopen(folder_.file("life.so").c_str(), RTLD_NOW);
    if (library_) step_ = reinterpret_cast<Step>(dlsym(library_, "life_step"));
    if (!step_) fail("bench", "a circuit that does not load", "life_step in a shared library");
  }
  ~CompiledC() {
    if (library_) dlclose(library_);
  }
  CompiledC(const CompiledC&) = delete;
  CompiledC& operator=(const CompiledC&) = delete;
  // Rows without a rim, as the exported function has them.
  std::vector<std::uint64_t> play(std::vector<std::uint64_t> now, std::size_t side, int steps) const {
    std::vector<std::uint64_t> next(now.size());
    for (int s = 0; s < steps; ++s) {
      step_(now.data(), next.data(), side, side, 1);
      std::swap(now, next);
    }
    return now;
  }

 private:
  WorkFolder folder_;
  void* library_ = nullptr;
  Step step_ = nullptr;
};

BenchCase exported_c_case(const char* name, const Netlist& cell, std::size_t side, int steps) {
  const double cells = static_cast<double>(side * side) * steps;
  return {name, "cells/s", cells, 0, cells / 4, [=] {
            const auto c = std::make_shared<CompiledC>(cell);
            Board board(side, side, 1);
            board.randomize(1);
            const auto start = std::make_shared<std::vector<std::uint64_t>>(board.row(0, 0),
                                                                            board.row(0, 0) + side * board.row_words());
            return BenchBody{
                [=](const ThreadPool&) { *start = c->play(std::move(*start), side, steps); },
                [=](const ThreadPool&) {
                  Board fresh(side, side, 1);
                  fresh.randomize(1);
                  const auto after = c->play({fresh.row(0, 0), fresh.row(0, 0) + side * fresh.row_words()}, side, 5);
                  std::copy(after.begin(), after.end(), fresh.row(0, 0));
                  return fresh.hash();  // the same as the simulator's
                }};
          }};
}

BenchCase simplify_case(const char* name, int width, int layers, const SimplifyOptions& options) {
  return {name, "gates/s", static_cast<double>(width) * layers, 0, 0, [=] {
            const auto work = [n = layered(width, width, layers, width), options](const ThreadPool&) {
              return simplify(n, options);
            };
            return same_work(work, [](const Netlist& simple) { return Hasher().add(export_json(simple)).hex(); });
          }};
}

}  // namespace

void add_circuit_bench(BenchList& cases) {
  SimulatorOptions synchronous, asynchronous, interpreted;
  asynchronous.fire_rate = 0.6;
  interpreted.engine = SimulatorEngine::kInterpreter;
  const Netlist trained = import_json(kTrainedLife, "trained_life"), written = life_cell();
  const bool compiler = !find_program("cc").empty();
  cases.push_back(play_case("circuit/trained-512", "cells/s", trained, 512, 200, 1, synchronous));
  cases.push_back(play_case("circuit/trained-512-async", "cells/s", trained, 512, 100, 1, asynchronous));
  if (compiler) cases.push_back(exported_c_case("circuit/trained-512-exported-c", trained, 512, 50));
  cases.push_back(play_case("circuit/life-512", "cells/s", written, 512, 200, 1, synchronous));
  cases.push_back(play_case("circuit/life-512-async", "cells/s", written, 512, 100, 1, asynchronous));
  cases.push_back(play_case("circuit/life-512-interpreted", "cells/s", written, 512, 50, 1, interpreted));
  if (compiler) cases.push_back(exported_c_case("circuit/life-512-exported-c", written, 512, 50));
  cases.push_back(judge_case("circuit/batch-200", 40));
  const auto gates = static_cast<double>(trained.gates.size());
  // Fifty steps: fewer would measure how long a sleeping worker takes to wake.
  cases.push_back(play_case("circuit/trained-4096", "cells/s", trained, 4096, 50, 1, synchronous));
  cases.push_back(play_case("circuit/trained-4096-gates", "gates/s", trained, 4096, 50, gates, synchronous));
  cases.push_back(simplify_case("circuit/simplify-5000", 250, 20, {}));
  cases.push_back(simplify_case("circuit/simplify-100000", 5000, 20, {}));
  cases.push_back(simplify_case("circuit/sweep-5000", 250, 20, {.resubstitute = false}));
  cases.push_back(simplify_case("circuit/sweep-100000", 5000, 20, {.resubstitute = false}));
}

}  // namespace espalier
