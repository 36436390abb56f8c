// Benchmarks of the lattice: whole training epochs of the tasks, and the hard rollout of the validation.
#include <fmt/format.h>

#include "base/hash.hpp"
#include "runs/config.hpp"
#include "models/lattice/lattice_problem.hpp"
#include "models/lattice/automaton_reference.hpp"
#include "models/lattice/lane_prototype.hpp"
#include "bench/bench_makers.hpp"

namespace espalier {
namespace {

constexpr double kFlopsPerGate = 27;  // of a gate and lane: 6 forward, 6 recomputed, 15 backward

Json with(const Json& defaults, const Json& changes) {
  Json config = defaults;
  config.update(changes);
  return config;
}

struct EpochWork {
  double gates = 0, bytes = 0;
};

EpochWork epoch_work(const Json& config) {
  const LatticeProblem problem = make_lattice_problem(config, 1);
  const RolloutOptions& r = problem.rollout;
  const Automaton automaton(problem.automaton, 1);
  const double cells = static_cast<double>(r.batch) * r.height * r.width;
  // The grids of all steps are written once and read once; each weight, moment and gradient likewise.
  const double states = cells * problem.automaton.channels * (r.steps + 1.0);
  const double weights = 16.0 * automaton.gates();
  return {cells * r.steps * static_cast<double>(automaton.gates_per_cell()), 8 * states + 32 * weights};
}

BenchCase epoch_case(const std::string& name, const Json& changes) {
  const std::string task = changes.at("task");
  const Json config = with(default_config(find_task(task)), changes);
  const EpochWork work = epoch_work(config);
  return {
      name, "gates/s", work.gates, kFlopsPerGate * work.gates, work.bytes, [config] { return training_body(config); }};
}

// The same automaton on a grid small enough for the plain code.
std::function<BenchReference()> epoch_reference(const Json& changes) {
  return [changes] {
    const Json config = with(with(default_config(find_task(changes.at("task"))), changes), {{"reference", true}});
    const BenchBody body = training_body(config);
    return BenchReference{epoch_work(config).gates,
                          [body, pool = std::make_shared<ThreadPool>(1)] { body.run(*pool); }};
  };
}

// The checkerboard's epoch as plain loops over lanes that the compiler makes vectors of: what our kernels have to beat.
BenchReference plain_lanes() {
  const Json config = default_config(find_task("checkerboard"));
  const LatticeProblem p = make_lattice_problem(config, 1);
  const auto automaton = std::make_shared<const Automaton>(p.automaton, 1);
  Parameters parameters;
  automaton->add_parameters(parameters, p.recipe.start_logit);
  std::vector<float> coefficients;
  for (std::size_t at = 0; at < parameters.num_parameters(); at += kGates) {
    const auto gate = reference::soften(&parameters.values()[at], 1.0f);
    coefficients.insert(coefficients.end(), gate.c, gate.c + 4);
  }
  const auto plain = std::make_shared<reference::LanePrototype>(*automaton, p.rollout, coefficients);
  const std::size_t cells = static_cast<std::size_t>(p.rollout.batch) * p.rollout.height * p.rollout.width;
  std::vector<float> initial(cells * p.automaton.channels), target(cells * p.loss_channels);
  p.data.draw(0, initial, target);
  return {epoch_work(config).gates, [=, loss_channels = p.loss_channels, size = coefficients.size()] {
            std::vector<float> dc(size, 0.0f);
            plain->epoch(initial, target, loss_channels, dc);
            (void)automaton;  // the prototype refers to it
          }};
}

// The hardened checkerboard on its 200 validation boards.
BenchCase hard_case() {
  const Json config = default_config(find_task("checkerboard"));
  const LatticeProblem p = make_lattice_problem(config, 1);
  const BitBoards& v = p.data.validation;
  const double cells = static_cast<double>(v.samples) * v.height * v.width * p.rollout.steps;
  return {"lattice/hard-rollout", "cells/s", cells, 0, 0, [p] {
            const Automaton automaton(p.automaton, 1);
            Parameters parameters;
            automaton.add_parameters(parameters, 0);
            const Random random(1, Purpose::kTrial);
            for (std::size_t i = 0; i < parameters.num_parameters(); ++i) parameters.values()[i] = random.normal(i);
            const auto cell = std::make_shared<Netlist>(harden_folded(automaton, parameters.values()));
            const auto roll = [p, cell](const ThreadPool& pool) {
              return hard_rollout(*cell, p.automaton.boundary, p.data.validation, p.rollout.steps, {}, pool);
            };
            return BenchBody{[roll](const ThreadPool& pool) { roll(pool); },
                             [roll](const ThreadPool& pool) {
                               return Hasher().add(std::span<const std::uint64_t>(roll(pool).bits)).hex();
                             }};
          }};
}

}  // namespace

void add_lattice_bench(BenchList& cases) {
  struct Entry {
    const char* task;
    Json reference;  // what makes it small enough for the plain code
  };
  const Entry entries[] = {
      {"checkerboard", {{"batch", 1}, {"height", 8}, {"width", 8}, {"steps", 5}}},
      {"checkerboard-small", {{"batch", 1}}},
      {"checkerboard-async", {{"height", 8}, {"width", 8}, {"steps", 5}}},
      {"life", Json::object()},
      {"lizard", {{"steps", 1}}},
      {"letter", {{"steps", 2}}},
  };
  for (const auto& [task, reference] : entries) {
    const Json own = {{"task", task}};
    BenchCase epoch = epoch_case(std::string("lattice/") + task, own);
    epoch.prepare_reference = epoch_reference(with(own, reference));
    cases.push_back(std::move(epoch));
  }
  BenchCase over_plain = epoch_case("lattice/checkerboard-over-plain", {{"task", "checkerboard"}});
  over_plain.prepare_reference = plain_lanes;
  cases.push_back(std::move(over_plain));
  cases.push_back(hard_case());
}

// Cells, steps and gates doubled, each alone: a throughput that stays the same shows a cost that is linear.
void add_lattice_scaling_bench(BenchList& cases) {
  const Json base = {{"task", "checkerboard"},
                     {"batch", 1},
                     {"height", 16},
                     {"width", 16},
                     {"steps", 8},
                     {"update", "256x3,128,64,32,16,8,8"}};
  const auto add = [&](const std::string& name, const Json& changes) {
    cases.push_back(epoch_case("lattice-scaling/" + name, with(base, changes)));
  };
  for (const int factor : {1, 2, 4, 8, 16}) add(fmt::format("cells-x{}", factor), {{"height", 16 * factor}});
  for (const int factor : {2, 4, 8, 16}) add(fmt::format("steps-x{}", factor), {{"steps", 8 * factor}});
  // 256 gates a layer, and 256 in the layers that narrow: 1024, 2048, 4096, ... update gates in all.
  for (const int factor : {2, 4, 8, 16})
    add(fmt::format("gates-x{}", factor), {{"update", fmt::format("256x{},128,64,32,16,8,8", 4 * factor - 1)}});
}

}  // namespace espalier
