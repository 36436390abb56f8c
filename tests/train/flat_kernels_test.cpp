// The promise of src/train/flat_kernels.hpp: the instruction set never changes a bit.
#include "train/flat_kernels.hpp"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <limits>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "espalier/random.hpp"

namespace espalier {
namespace {

std::string hash_of_everything() {
  constexpr std::size_t kCount = 1003, kSlots = 21;
  const Random random(1, Purpose::kData);
  std::vector<float> w(kCount), g(kCount), m(kCount), v(kCount), slots(kSlots * kCount);
  for (std::size_t i = 0; i < kCount; ++i) w[i] = random.normal(i), g[i] = 10 * random.normal(i + kCount);
  for (std::size_t i = 0; i < slots.size(); ++i) slots[i] = random.normal(i + 2 * kCount);
  const Update update{0.01f, 0.999f, 0.7f, 8.0f, 0.9f, 0.9f, 0.999f, 1e-8f, 10.0f, 1000.0f};
  Hasher hasher;
  const auto add = [&](const std::vector<float>& values) { hasher.add(std::span<const float>(values)); };
  for (int step = 0; step < 3; ++step) adamw_kernel(update, kCount, w.data(), g.data(), m.data(), v.data());
  add(w), add(m), add(v);
  for (int step = 0; step < 3; ++step) sgd_kernel(update, kCount, w.data(), g.data(), m.data());
  add(w), add(m);
  add_tree_kernel(kSlots, kCount, kCount, slots.data(), w.data());
  add_tree_kernel(5, kCount, kCount, slots.data(), w.data());
  add(w);
  const double squares = sum_of_squares_kernel(kCount, g.data());
  return hasher.add(&squares, sizeof squares).hex();
}

TEST(FlatKernelsDeterminism, EveryInstructionSetGivesTheSameBits) {
  const std::string best = hash_of_everything();
  int tried = 0;
  for (std::int64_t targets = hwy::SupportedTargets(); targets != 0; targets &= targets - 1) {
    const std::int64_t target = targets & -targets;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().DeInit();
    EXPECT_EQ(hash_of_everything(), best) << hwy::TargetName(target);
    ++tried;
    hwy::SetSupportedTargetsForTest(0);
  }
  hwy::GetChosenTarget().DeInit();
  EXPECT_GE(tried, 2) << "a machine with one instruction set proves nothing";
}

}  // namespace
}  // namespace espalier
