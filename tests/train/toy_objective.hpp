// A small least-squares problem for tests of the trainer: y = X w with a known w, cut into chunks of samples
// that add their gradients into slots of their own, as every real objective does. GrowingToy also has a state that
// changes in training without being trained.
#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "espalier/model.hpp"
#include "espalier/parameters.hpp"
#include "espalier/random.hpp"
#include "espalier/safetensors.hpp"
#include "espalier/trainer.hpp"

namespace espalier {

class ToyModel : public Model {
 public:
  explicit ToyModel(std::span<const float> weights, SafetensorsFile state = {}) : state_(std::move(state)) {
    parameters_.add("w", {weights.size()});
    std::copy(weights.begin(), weights.end(), parameters_.values().begin());
  }
  std::string kind() const override { return "toy"; }
  Parameters& parameters() override { return parameters_; }
  const Parameters& parameters() const override { return parameters_; }
  void describe(SafetensorsFile& file) const override {
    for (const auto& [name, tensor] : state_.tensors) file.tensors["state." + name] = tensor;
  }
  Facts facts() const override { return {{"weights", static_cast<std::int64_t>(parameters_.num_parameters())}}; }
  const SafetensorsFile& state() const { return state_; }

 private:
  Parameters parameters_;
  SafetensorsFile state_;
};

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
      count_chunk();
      for (std::size_t s = c.begin; s < c.end; ++s) losses[c.index] += sample(random, s, slots_.slot(c.index));
    });
    slots_.add_to(parameters_.gradients(), pool);
    double loss = 0;
    for (const double part : losses) loss += part;
    return batch >= poison_from ? std::numeric_limits<double>::quiet_NaN() : loss;
  }

  Evaluation evaluate(const ThreadPool& pool) override {
    const double error = pool.reduce(
        kInputs, 4, 1e6, 0.0,
        [&](Chunk c) {
          count_chunk();
          double part = 0;
          for (std::size_t i = c.begin; i < c.end; ++i) part += square(parameters_.values()[i] - truth(i));
          return part;
        },
        [](double& a, double b) { a += b; });
    return {1 / (1 + error), error < 1e-2, loss_override ? *loss_override : error, {{"error", error}}};
  }

  std::unique_ptr<Model> snapshot(std::span<const float> weights, const SafetensorsFile& state) const override {
    return std::make_unique<ToyModel>(weights, state);
  }

  std::uint64_t poison_from = ~std::uint64_t{0};  // batches from here on have a loss that is not a number
  std::optional<double> loss_override;            // what evaluations report as loss
  std::function<void(std::uint64_t)> on_chunk;    // called with the number of every chunk of work, from 1
  std::uint64_t chunks() const { return chunks_; }

 protected:
  std::uint64_t seed() const { return seed_; }

 private:
  void count_chunk() {
    const std::uint64_t number = ++chunks_;
    if (on_chunk) on_chunk(number);
  }
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
  std::atomic<std::uint64_t> chunks_{0};
};

// Every third step a further entry joins its state, and nudges the weights: what a growing topology does.
class GrowingToy : public ToyObjective {
 public:
  using ToyObjective::ToyObjective;

  void begin_step(std::uint64_t step, double) override {
    if (step % 3 != 0 || grown_.size() > step / 3) return;  // once per step number, however often it is begun
    grown_.push_back(static_cast<std::int64_t>(step * seed()));
    parameters().values()[step % kInputs] += 0.125f;
  }
  SafetensorsFile state() const override {
    SafetensorsFile state;
    state.add("grown", {grown_.size()}, std::span<const std::int64_t>(grown_));
    state.metadata["last"] = grown_.empty() ? "none" : std::to_string(grown_.back());
    return state;
  }
  void restore_state(const SafetensorsFile& state) override { grown_ = state.longs("grown"); }

  const std::vector<std::int64_t>& grown() const { return grown_; }

 private:
  std::vector<std::int64_t> grown_;
};

}  // namespace espalier
