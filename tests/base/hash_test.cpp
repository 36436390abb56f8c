#include "base/hash.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <vector>

namespace espalier {
namespace {

std::string hash_of(std::string_view text) { return Hasher().add(text).hex(); }

// Known answers of XXH3-128 with seed 0: the empty input is the value in xxHash's own test vectors.
TEST(Hash, GivesThePublishedAnswerForNothing) { EXPECT_EQ(Hasher().hex(), "99aa06d3014798d86001c324468d497f"); }

TEST(Hash, IsThirtyTwoHexDigits) {
  const std::string hex = hash_of("espalier");
  EXPECT_EQ(hex.size(), 32u);
  EXPECT_EQ(hex.find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST(Hash, PiecesAndWholeAgree) {
  EXPECT_TRUE(rc::check([](const std::string& first, const std::string& second) {
    RC_ASSERT(Hasher().add(first).add(second).hex() == hash_of(first + second));
  }));
}

TEST(Hash, EveryBitCounts) {
  std::string text(300, 'x');
  const std::string before = hash_of(text);
  for (std::size_t i = 0; i < text.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      text[i] = static_cast<char>(text[i] ^ (1 << bit));
      EXPECT_NE(hash_of(text), before);
      text[i] = static_cast<char>(text[i] ^ (1 << bit));
    }
}

TEST(Hash, SpansAreHashedByTheirBytes) {
  const std::vector<float> values{1.0f, -0.0f};
  EXPECT_EQ(Hasher().add(std::span<const float>(values)).hex(), Hasher().add(values.data(), 8).hex());
  const std::vector<float> other{1.0f, 0.0f};
  EXPECT_NE(Hasher().add(std::span<const float>(values)).hex(), Hasher().add(std::span<const float>(other)).hex());
}

TEST(Hash, CanBeAskedOnTheWay) {
  Hasher hasher;
  hasher.add("abc");
  EXPECT_EQ(hasher.hex(), hash_of("abc"));
  hasher.add("def");
  EXPECT_EQ(hasher.hex(), hash_of("abcdef"));
}

}  // namespace
}  // namespace espalier
