// The simulator in cells and gates a second: machine code and interpreter, every word width, synchronous and not, and
// beside them the exported C of the same circuit, compiled here and now with cc -O3.
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "espalier/circuit/cell.hpp"
#include "espalier/circuit/export.hpp"
#include "espalier/circuit/simplify.hpp"
#include "espalier/circuit/simulator.hpp"
#include "espalier/io/files.hpp"

namespace espalier {
namespace {

void count(benchmark::State& state, std::size_t side, std::size_t gates) {
  const double cells = static_cast<double>(side * side) * static_cast<double>(state.iterations());
  state.counters["cells/s"] = benchmark::Counter(cells, benchmark::Counter::kIsRate);
  state.counters["gates/s"] = benchmark::Counter(cells * static_cast<double>(gates), benchmark::Counter::kIsRate);
}

void simulate(benchmark::State& state, std::size_t side, const SimulatorOptions& options, int threads) {
  const Netlist cell = life_cell();
  const Pool pool(threads);
  Board board(side, side, 1);
  board.randomize(1);
  Simulator simulator(cell, side, side, options);
  for (auto _ : state) simulator.run(board, 1, pool);
  benchmark::DoNotOptimize(board.row(0, 0)[0]);
  count(state, side, cell.gates.size());
}

void exported_c(benchmark::State& state, std::size_t side) {
  using Step = void (*)(const std::uint64_t*, std::uint64_t*, std::size_t, std::size_t, int);
  const Netlist cell = life_cell();
  std::string folder = (std::filesystem::temp_directory_path() / "espalier-bench-XXXXXX").string();
  if (!mkdtemp(folder.data())) throw std::runtime_error("no temporary folder");
  const CSource c = export_c(cell, "life.h");
  write_atomically(folder + "/life.c", std::string_view(c.source));
  write_atomically(folder + "/life.h", std::string_view(c.header));
  if (std::system(fmt::format("cc -O3 -shared -fPIC -o {0}/life.so {0}/life.c", folder).c_str()) != 0)
    throw std::runtime_error("cc failed");
  void* library = dlopen((folder + "/life.so").c_str(), RTLD_NOW);
  const Step step = reinterpret_cast<Step>(dlsym(library, "life_step"));
  std::vector<std::uint64_t> now(side * ((side + 63) / 64), 0x123456789abcdef), next(now.size());
  for (auto _ : state) {
    step(now.data(), next.data(), side, side, 1);
    std::swap(now, next);
  }
  benchmark::DoNotOptimize(now[0]);
  count(state, side, cell.gates.size());
  dlclose(library);
  std::filesystem::remove_all(folder);
}

void simplify_layers(benchmark::State& state) {
  const auto width = static_cast<int>(state.range(0));
  const Random random(1, Purpose::kData);
  Netlist n;
  std::vector<Net> layer;
  for (int i = 0; i < width; ++i) layer.push_back(n.add_input(fmt::format("i{}", i)));
  std::uint64_t draw = 0;
  for (int l = 0; l < 20; ++l) {
    std::vector<Net> next;
    for (int g = 0; g < width; ++g) {
      const Gate gate = static_cast<Gate>(random.choice(draw++, 16));
      const Net a = layer[random.choice(draw++, layer.size())], b = layer[random.choice(draw++, layer.size())];
      next.push_back(n.add_gate(gate, a, b));
    }
    layer = next;
  }
  for (std::size_t o = 0; o < layer.size(); ++o) n.add_output(fmt::format("o{}", o), layer[o]);
  std::size_t left = 0;
  for (auto _ : state) left = simplify(n).gates.size();
  state.counters["gates"] = static_cast<double>(n.gates.size());
  state.counters["left"] = static_cast<double>(left);
}

SimulatorOptions with(SimulatorOptions::Engine engine, int bits, double rate) {
  SimulatorOptions options;
  options.engine = engine;
  options.word_bits = bits;
  options.fire_rate = rate;
  return options;
}

[[maybe_unused]] const bool kRegistered = [] {
  using Engine = SimulatorOptions::Engine;
  const auto add = [](const std::string& name, auto body) {
    benchmark::RegisterBenchmark(name.c_str(), body)->Unit(benchmark::kMicrosecond)->UseRealTime();
  };
  add("life_512/exported_c", [](benchmark::State& s) { exported_c(s, 512); });
  add("life_512/native", [](benchmark::State& s) { simulate(s, 512, with(Engine::kAuto, 0, 1), 1); });
  add("life_512/native_async", [](benchmark::State& s) { simulate(s, 512, with(Engine::kAuto, 0, 0.6), 1); });
  for (int bits = 64; bits <= widest_word(); bits *= 2) {
    add(fmt::format("life_512/interpreted_{}", bits),
        [bits](benchmark::State& s) { simulate(s, 512, with(Engine::kInterpreter, bits, 1), 1); });
    add(fmt::format("life_512/interpreted_{}_async", bits),
        [bits](benchmark::State& s) { simulate(s, 512, with(Engine::kInterpreter, bits, 0.6), 1); });
  }
  for (const int threads : {1, 2})
    add(fmt::format("life_4096/threads_{}", threads),
        [threads](benchmark::State& s) { simulate(s, 4096, with(Engine::kAuto, 0, 1), threads); });
  benchmark::RegisterBenchmark("simplify/layers_of_20", simplify_layers)
      ->Arg(250)
      ->Arg(5000)
      ->Unit(benchmark::kMillisecond)
      ->Iterations(1);
  return true;
}();

}  // namespace
}  // namespace espalier
