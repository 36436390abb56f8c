#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "espalier/random.hpp"
#include "logic/each_target.hpp"
#include "logic/gumbel_kernel.hpp"

namespace espalier {
namespace {

TEST(Gumbel, KernelEqualsPhiloxAndTheFormulaOnEveryVectorWidth) {
  constexpr int kGroups = 40;
  const Random random(0x123456789abcdef, Purpose::kGumbel, 77);
  for_each_target([&] {
    std::vector<float> noise(32 * kGroups);
    gumbel_noise(0x123456789abcdef, 77, 5, kGroups, noise.data());
    for (int i = 0; i < 32 * kGroups; ++i) {
      const PhiloxBlock block = random.block(8 * (5 + i / 32) + i % 8);
      const double u = ((block[i % 32 / 8] >> 8) + 0.5) * 0x1p-24;
      ASSERT_NEAR(noise[i], -std::log(-std::log(u)), 1e-4) << i;
    }
  });
}

TEST(Gumbel, PiecesEqualTheWhole) {
  std::vector<float> whole(32 * 10), pieces(32 * 10);
  gumbel_noise(1, 2, 0, 10, whole.data());
  gumbel_noise(1, 2, 0, 3, pieces.data());
  gumbel_noise(1, 2, 3, 7, &pieces[32 * 3]);
  EXPECT_EQ(whole, pieces);
}

}  // namespace
}  // namespace espalier
