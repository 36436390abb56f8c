// Benchmarks of the training room: the fused optimizer pass and the reduction of gradient slots, on arrays
// that do not fit in a cache.
#include "base/hash.hpp"
#include "bench/bench_case.hpp"
#include "espalier/optimizer.hpp"
#include "espalier/parameters.hpp"
#include "espalier/random.hpp"

namespace espalier {
namespace {

constexpr std::size_t kParameters = std::size_t{1} << 24;
constexpr std::size_t kSlots = 32, kSlotFloats = std::size_t{1} << 20;
constexpr std::size_t kReferenceParameters = std::size_t{1} << 16;

struct OptimizerState {
  OptimizerState(const OptimizerOptions& options, std::size_t size) : optimizer(options, size) {
    parameters.add("weights", {size});
    const Random random(1, Purpose::kTrial);
    for (std::size_t i = 0; i < size; ++i) parameters.gradients()[i] = random.uniform(i) - 0.5f;
  }
  Parameters parameters;
  Optimizer optimizer;
};

BenchCase optimizer_case(const char* name, const OptimizerOptions& options, double flops, double bytes) {
  BenchCase c{name, "weights/s", kParameters, flops * kParameters, bytes * kParameters, [options] {
                const auto state = std::make_shared<OptimizerState>(options, kParameters);
                return BenchBody{
                    [state](const ThreadPool& pool) { state->optimizer.step(state->parameters, 0.001f, pool); },
                    [options](const ThreadPool& pool) {
                      OptimizerState fresh(options, kParameters);
                      for (int i = 0; i < 3; ++i) fresh.optimizer.step(fresh.parameters, 0.001f, pool);
                      return fresh.parameters.hash();
                    }};
              }};
  c.prepare_reference = [options] {
    const auto state = std::make_shared<OptimizerState>(options, kReferenceParameters);
    const auto step = std::make_shared<std::uint64_t>(0);
    return BenchReference{kReferenceParameters, [options, state, step] {
                            Parameters& p = state->parameters;
                            reference_step(options, ++*step, 0.001f, p.values(), p.gradients(),
                                           state->optimizer.first_moment(), state->optimizer.second_moment());
                          }};
  };
  return c;
}

struct SlotState {
  SlotState() : slots(kSlots, kSlotFloats), total(kSlotFloats) {}
  void fill() {
    const Random random(1, Purpose::kTrial);
    for (std::size_t s = 0; s < kSlots; ++s)
      for (std::size_t i = 0; i < kSlotFloats; ++i) slots.slot(s)[i] = random.uniform(s * kSlotFloats + i) - 0.5f;
  }
  GradientSlots slots;
  std::vector<float> total;
};

BenchCase slots_case() {
  constexpr double floats = static_cast<double>(kSlots) * kSlotFloats;
  // Every slot is zeroed (one write) and read; the total is read and written.
  return {"train/gradient-slots", "values/s", floats, floats, 8 * floats + 8.0 * kSlotFloats, [] {
            const auto state = std::make_shared<SlotState>();
            return BenchBody{[state](const ThreadPool& pool) {
                               state->slots.zero(pool);
                               state->slots.add_to(state->total, pool);
                             },
                             [](const ThreadPool& pool) {
                               SlotState fresh;
                               fresh.fill();
                               fresh.slots.add_to(fresh.total, pool);
                               return Hasher().add(std::span<const float>(fresh.total)).hex();
                             }};
          }};
}

}  // namespace

void add_train_bench(BenchList& cases) {
  OptimizerOptions adamw, sgd;
  adamw.weight_decay = 0.01f;
  adamw.clip_value = 1;
  sgd.kind = OptimizerKind::kSgd;
  sgd.momentum = 0.9f;
  sgd.clip_value = 1;
  // AdamW reads four arrays and writes three of them, SGD reads three and writes two; four bytes a value.
  cases.push_back(optimizer_case("train/adamw", adamw, 17, 28));
  cases.push_back(optimizer_case("train/sgd", sgd, 8, 20));
  cases.push_back(slots_case());
}

}  // namespace espalier
