// The public functions of every room under random sizes and orders: a short run of what script/fuzz does for longer.
#include "fuzz/api.hpp"

#include <gtest/gtest.h>

#include "espalier/random.hpp"

namespace espalier {
namespace fuzz {
void PrintTo(const ApiEntry& entry, std::ostream* out) { *out << entry.name; }
}  // namespace fuzz
namespace {

class Api : public testing::TestWithParam<fuzz::ApiEntry> {};

TEST_P(Api, RandomSizesAndOrdersAreDoneOrRefusedInOneLine) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Random random(seed, Purpose::kData);
    std::vector<std::byte> bytes(20 + random.choice(0, 400));
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(random.choice(i + 1, 256));
    SCOPED_TRACE(seed);
    ASSERT_NO_THROW(GetParam().run(bytes));
  }
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Api, testing::ValuesIn(fuzz::kApiEntries),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace espalier
