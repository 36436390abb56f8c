// Benchmarks of the lattice: whole training steps of the tasks, and the hard rollout of the validation.
#include <fmt/format.h>

#include "base/hash.hpp"
#include "bench/bench_case.hpp"
#include "espalier/random.hpp"
#include "models/lattice/automaton_reference.hpp"
#include "models/lattice/lane_prototype.hpp"
#include "models/lattice/lattice_objective.hpp"

namespace espalier {
namespace {

constexpr double kFlopsPerGate = 27;  // of a gate and lane: 6 forward, 6 recomputed, 15 backward
// Of a candidate and lane: 2 forward, 2 recomputed, 4 backward; the means that are made once more there do not count.
constexpr double kFlopsPerWire = 8;

using Settings = std::vector<std::pair<std::string, std::string>>;

std::unique_ptr<LatticeObjective> objective_of(const RunConfig& config) {
  return std::unique_ptr<LatticeObjective>(dynamic_cast<LatticeObjective*>(config.make_objective().release()));
}

struct StepWork {
  double gates = 0, flops = 0, bytes = 0;
};

StepWork step_work(const RunConfig& config) {
  const auto objective = objective_of(config);
  const RolloutOptions& r = objective->options().rollout;
  const double cells = static_cast<double>(r.batch) * r.height * r.width;
  // The grids of all steps are written once and read once; each weight, moment and gradient likewise.
  const double states = cells * objective->options().automaton.channels * (r.steps + 1.0);
  const auto weights = static_cast<double>(objective->automaton().logits());
  // Cells that do not fire are only copied.
  const double fired = cells * r.fire_rate * r.steps;
  const double gates = fired * static_cast<double>(objective->automaton().gates_per_cell());
  return {gates, kFlopsPerGate * gates + kFlopsPerWire * fired * objective->automaton().update().wires(),
          8 * states + 32 * weights};
}

BenchCase step_case(const std::string& name, const std::string& task, const Settings& settings = {}) {
  const RunConfig config = configure(task, settings);
  const StepWork work = step_work(config);
  return {name, "gates/s", work.gates, work.flops, work.bytes, [config] { return training_body(config); }};
}

// The same automaton on a grid small enough for the plain code.
std::function<BenchReference()> step_reference(const std::string& task, Settings settings) {
  settings.emplace_back("reference", "true");
  return [task, settings] {
    const RunConfig config = configure(task, settings);
    const BenchBody body = training_body(config);
    return BenchReference{step_work(config).gates, [body, pool = std::make_shared<ThreadPool>(1)] { body.run(*pool); }};
  };
}

// The checkerboard's step as plain loops over lanes that the compiler makes vectors of: what our kernels have to beat.
BenchReference plain_lanes() {
  const RunConfig config = configure("checkerboard");
  const std::shared_ptr<LatticeObjective> objective = objective_of(config);
  const Automaton& automaton = objective->automaton();
  const RolloutOptions& r = objective->options().rollout;
  std::vector<float> coefficients;
  const std::span<const float> logits = objective->parameters().values();
  for (std::size_t at = 0; at < logits.size(); at += kGates) {
    const auto gate = reference::soften(&logits[at], 1.0f);
    coefficients.insert(coefficients.end(), gate.c, gate.c + 4);
  }
  const auto plain = std::make_shared<reference::LanePrototype>(automaton, r, coefficients);
  const std::size_t cells = static_cast<std::size_t>(r.batch) * r.height * r.width;
  std::vector<float> initial(cells * automaton.options().channels), target(cells);
  objective->data().draw(0, initial, target);
  return {step_work(config).gates, [=, size = coefficients.size()] {
            std::vector<float> dc(size, 0.0f);
            plain->step(initial, target, 1, dc);
          }};
}

// The hardened checkerboard on its 200 validation boards.
BenchCase hard_case() {
  const std::shared_ptr<LatticeObjective> objective = objective_of(configure("checkerboard"));
  const BoardBatch& v = objective->data().validation;
  const double cells = static_cast<double>(v.boards() * v.height() * v.width()) * objective->options().rollout.steps;
  return {"lattice/hard-rollout", "cells/s", cells, 0, 0, [objective] {
            std::vector<float> logits(objective->parameters().num_parameters());
            const Random random(1, Purpose::kTrial);
            for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = random.normal(i);
            const auto cell = std::make_shared<Netlist>(harden_folded(objective->automaton(), logits));
            const auto roll = [objective, cell](const ThreadPool& pool) {
              BoardBatch boards = objective->data().validation;
              BatchSimulator(*cell, {.periodic = objective->options().automaton.boundary == Boundary::kPeriodic})
                  .run(boards, static_cast<std::uint64_t>(objective->options().rollout.steps), pool);
              return boards.hash();
            };
            return BenchBody{[roll](const ThreadPool& pool) { roll(pool); }, roll};
          }};
}

}  // namespace

void add_lattice_bench(BenchList& cases) {
  struct Entry {
    const char* task;
    Settings reference;  // what makes it small enough for the plain code
  };
  const Entry entries[] = {
      {"checkerboard", {{"batch", "1"}, {"height", "8"}, {"width", "8"}, {"steps", "5"}}},
      {"checkerboard-small", {{"batch", "1"}}},
      {"checkerboard-async", {{"height", "8"}, {"width", "8"}, {"steps", "5"}}},
      {"life", {}},
      {"lizard", {{"by", "training"}, {"steps", "1"}}},
      {"letter", {{"by", "training"}, {"steps", "2"}}},
  };
  for (const auto& [task, reference] : entries) {
    BenchCase step = step_case(std::string("lattice/") + task, task);
    step.prepare_reference = step_reference(task, reference);
    cases.push_back(std::move(step));
  }
  BenchCase choosing = step_case("lattice/checkerboard-candidates", "checkerboard", {{"candidates", "4"}});
  Settings small = entries[0].reference;
  small.emplace_back("candidates", "4");
  choosing.prepare_reference = step_reference("checkerboard", small);
  cases.push_back(std::move(choosing));
  BenchCase over_plain = step_case("lattice/checkerboard-over-plain", "checkerboard");
  over_plain.prepare_reference = plain_lanes;
  cases.push_back(std::move(over_plain));
  cases.push_back(hard_case());
}

// Cells, steps and gates doubled, each alone: a throughput that stays the same shows a cost that is linear.
void add_lattice_scaling_bench(BenchList& cases) {
  const auto add = [&](const std::string& name, const std::string& option, const std::string& value) {
    Settings settings{
        {"batch", "1"}, {"height", "16"}, {"width", "16"}, {"steps", "8"}, {"update", "256x3,128,64,32,16,8,8"}};
    settings.emplace_back(option, value);
    cases.push_back(step_case("lattice-scaling/" + name, "checkerboard", settings));
  };
  for (const int factor : {1, 2, 4, 8, 16})
    add(fmt::format("cells-x{}", factor), "height", std::to_string(16 * factor));
  for (const int factor : {2, 4, 8, 16}) add(fmt::format("steps-x{}", factor), "steps", std::to_string(8 * factor));
  // 256 gates a layer, and 256 in the layers that narrow: 1024, 2048, 4096, ... update gates in all.
  for (const int factor : {2, 4, 8, 16})
    add(fmt::format("gates-x{}", factor), "update", fmt::format("256x{},128,64,32,16,8,8", 4 * factor - 1));
}

}  // namespace espalier
