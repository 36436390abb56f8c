// A small least-squares problem for tests of the trainer: y = X w with a known w, cut into chunks of samples
// that add their gradients into slots of their own, as every real objective does.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "espalier/parameters.hpp"
#include "espalier/random.hpp"
#include "espalier/safetensors.hpp"
#include "espalier/trainer.hpp"

namespace espalier {

class ToyObjective : public Objective {
 public:
  static constexpr std::size_t kInputs = 24, kSamples = 64, kChunk = 4;

  explicit ToyObjective(std::uint64_t seed = 1) : seed_(seed), slots_(kSamples / kChunk, kInputs) {
    parameters_.add("w", {kInputs});
    const Random init(seed, Purpose::kInit);
    for (std::size_t i = 0; i < kInputs; ++i) parameters_.values()[i] = init.normal(i);
  }

  Parameters& parameters() override { return parameters_; }

  double accumulate(std::uint64_t batch, const ThreadPool& pool, PhaseSeconds&) override {
    slots_.zero(pool);
    std::vector<double> losses(slots_.count());
    const Random random(seed_, Purpose::kBatch, static_cast<std::uint32_t>(batch));
    pool.for_chunks(kSamples, kChunk, 1e6, [&](Chunk c) {
      for (std::size_t s = c.begin; s < c.end; ++s) losses[c.index] += sample(random, s, slots_.slot(c.index));
    });
    slots_.add_to(parameters_.gradients(), pool);
    double loss = 0;
    for (const double part : losses) loss += part;
    return batch >= poison_from ? std::numeric_limits<double>::quiet_NaN() : loss;
  }

  Evaluation evaluate(const ThreadPool&) override {
    double error = 0;
    for (std::size_t i = 0; i < kInputs; ++i) error += square(parameters_.values()[i] - truth(i));
    return {1 / (1 + error), error < 1e-2, loss_override ? *loss_override : error, {{"error", error}}};
  }

  void describe(SafetensorsFile& file) const override { file.metadata["kind"] = "toy"; }

  std::uint64_t poison_from = ~std::uint64_t{0};  // batches from here on have a loss that is not a number
  std::optional<double> loss_override;            // what evaluations report as loss

 private:
  static double square(double x) { return x * x; }
  static float truth(std::size_t i) { return i % 2 ? 1.0f : -0.5f; }

  double sample(const Random& random, std::size_t s, std::span<float> gradient) const {
    float x[kInputs], error = 0;
    for (std::size_t i = 0; i < kInputs; ++i) {
      x[i] = random.normal(s * kInputs + i);
      error += x[i] * (parameters_.values()[i] - truth(i));
    }
    for (std::size_t i = 0; i < kInputs; ++i) gradient[i] += 2 * error * x[i] / kSamples;
    return square(error) / kSamples;
  }

  std::uint64_t seed_;
  Parameters parameters_;
  GradientSlots slots_;
};

}  // namespace espalier
