#include "models/lattice/lattice_objective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "espalier/safetensors.hpp"
#include "models/lattice/automaton_reference.hpp"
#include "models/lattice/freeze_gates.hpp"
#include "netlist/gate_algebra.hpp"

namespace espalier {
namespace {

// Of a folded cell, without the constants that outputs read.
long live_gates(const Netlist& cell) {
  return std::ranges::count_if(cell.gates, [](const NetlistGate& g) { return !is_constant(g.gate); });
}

}  // namespace

LatticeObjective::LatticeObjective(LatticeProblem problem, std::uint64_t seed)
    : problem_(std::move(problem)),
      seed_(seed),
      automaton_(problem_.automaton, seed),
      rollout_(automaton_, problem_.rollout) {
  automaton_.add_parameters(parameters_, problem_.recipe.start_logit);
  const RolloutOptions& r = problem_.rollout;
  const std::size_t cells = static_cast<std::size_t>(r.batch) * r.height * r.width;
  initial_.resize(cells * problem_.automaton.channels);
  target_.resize(cells * problem_.loss_channels);
  validation_fire_ = draw_fire_bits(problem_.data.validation, r.steps, r.fire_rate, seed, kValidationFireStep);
}

void LatticeObjective::begin_step(std::uint64_t step, double progress, double last_loss) {
  const LatticeRecipe& r = problem_.recipe;
  if (progress >= r.freeze_from && last_loss < r.freeze_loss) {
    const double share = std::min(1.0, (progress - r.freeze_from) / std::max(1e-9f, r.freeze_to - r.freeze_from));
    freeze_gates(parameters_.values(), static_cast<std::size_t>(share * automaton_.gates()));
  }
  choice_.temperature = r.temperature * std::pow(r.temperature_final / r.temperature, static_cast<float>(progress));
  const double noise_course = std::max(0.0, (progress - r.gumbel_from) / std::max(1e-9, 1.0 - r.gumbel_from));
  choice_.gumbel_scale = r.gumbel + (r.gumbel_final - r.gumbel) * static_cast<float>(noise_course);
  choice_.straight = progress >= r.straight_from;
  choice_.seed = seed_;
  choice_.step = static_cast<std::uint32_t>(step);
}

double LatticeObjective::accumulate(std::uint64_t batch, const ThreadPool& pool, PhaseSeconds& phases) {
  batch_ = batch;
  problem_.data.draw(batch, initial_, target_);
  if (problem_.use_reference) return accumulate_reference(pool);
  const double start = seconds_now();
  rollout_.soften(parameters_.values(), choice_, pool);
  rollout_.forward(initial_, seed_, static_cast<std::uint32_t>(batch), pool);
  const double loss = rollout_.loss(target_, problem_.loss_channels, pool);
  const double middle = seconds_now();
  rollout_.backward(pool);
  const double reduced = seconds_now();
  rollout_.add_gradients(parameters_.gradients(), pool);
  phases.forward += middle - start;
  phases.backward += reduced - middle;
  phases.reduction += seconds_now() - reduced;
  return loss;
}

double LatticeObjective::accumulate_reference(const ThreadPool& pool) {
  std::span<const float> logits = parameters_.values();
  AlignedVector<float> noisy;
  if (choice_.gumbel_scale > 0) {
    add_gumbel_noise(logits, choice_, pool, noisy);
    logits = {noisy.data(), logits.size()};
  }
  reference::AutomatonReference<float> r(automaton_, logits, choice_.temperature, choice_.straight);
  r.forward(problem_.rollout, initial_, seed_, static_cast<std::uint32_t>(batch_));
  const double loss = r.loss(target_, problem_.loss_channels);
  const std::vector<float> gradients = r.backward();
  for (std::size_t i = 0; i < gradients.size(); ++i) parameters_.gradients()[i] += gradients[i];
  return loss;
}

BitScore compare_boards(const BitBoards& got, const BitBoards& target) {
  long wrong = 0;
  for (int y = 0; y < got.height; ++y)
    for (int x = 0; x < got.width; ++x)
      for (int c = 0; c < target.channels; ++c)
        for (int w = 0; w < got.words(); ++w) {
          const int valid = std::min(64, got.samples - 64 * w);
          const std::uint64_t mask = valid == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << valid) - 1;
          wrong += std::popcount((got.bits[got.at(y, x, c) + w] ^ target.bits[target.at(y, x, c) + w]) & mask);
        }
  const double total = static_cast<double>(got.samples) * got.height * got.width * target.channels;
  return {1 - static_cast<double>(wrong) / total, static_cast<double>(wrong) / got.samples, wrong == 0};
}

Evaluation LatticeObjective::evaluate(const ThreadPool& pool) {
  const Netlist cell = harden_folded(automaton_, parameters_.values());
  const BitBoards out = hard_rollout(cell, problem_.automaton.boundary, problem_.data.validation,
                                     problem_.rollout.steps, validation_fire_, pool);
  const BitScore score = compare_boards(out, problem_.data.validation_target);
  const GateCounts counts = count_gates(parameters_.values());
  return {
      score.fraction,
      score.all,
      score.wrong_per_board,
      {{"active_gates", static_cast<double>(counts.active)}, {"live_gates", static_cast<double>(live_gates(cell))}}};
}

void LatticeObjective::describe(SafetensorsFile& file) const {
  file.metadata["kind"] = "logic automaton";
  if (!problem_.target.empty()) file.metadata["target"] = problem_.target;
  const auto add = [&](const std::string& name, const Wiring& w) {
    const std::vector<std::size_t> shape{static_cast<std::size_t>(w.outputs())};
    file.add(name + ".a", shape, std::span<const std::int32_t>(w.a));
    file.add(name + ".b", shape, std::span<const std::int32_t>(w.b));
  };
  for (std::size_t l = 0; l < automaton_.perceive().layers().size(); ++l)
    add(fmt::format("wiring.perceive.{}", l), automaton_.perceive().layers()[l]);
  for (std::size_t l = 0; l < automaton_.update().layers().size(); ++l)
    add(fmt::format("wiring.update.{}", l), automaton_.update().layers()[l]);
}

void LatticeObjective::report(nlohmann::json& summary, std::span<const float> weights) const {
  summary["hard_loss"] = summary.at("validation_loss");
  const GateCounts counts = count_gates(weights);
  summary["gates"] = counts.raw;
  summary["active_gates"] = counts.active;
  summary["live_gates"] = live_gates(harden_folded(automaton_, weights));
}

}  // namespace espalier
