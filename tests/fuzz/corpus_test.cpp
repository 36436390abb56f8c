// Replays every stored input through the functions that the fuzzers feed: what a fuzzer once found stays
// fixed, and no clang is needed to see it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/files.hpp"
#include "fuzz/entries.hpp"
#include "places.hpp"

namespace espalier {
namespace fuzz {
void PrintTo(const Entry& entry, std::ostream* out) { *out << entry.name; }
}  // namespace fuzz
namespace {

class Corpus : public testing::TestWithParam<fuzz::Entry> {};

TEST_P(Corpus, EveryInputIsReadOrRefusedInOneLine) {
  const std::string folder = test::source_dir() + "/tests/fuzz/corpus/" + GetParam().name;
  std::size_t inputs = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(file.path().filename().string());
    EXPECT_NO_THROW(GetParam().run(read_bytes(file.path().string())));
    ++inputs;
  }
  EXPECT_GE(inputs, 10u) << "the corpus of " << folder << " is missing";
}

TEST_P(Corpus, EveryCutAndEveryFlipOfASmallInputIsReadOrRefusedInOneLine) {
  const std::string folder = test::source_dir() + "/tests/fuzz/corpus/" + GetParam().name;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    std::vector<std::byte> bytes = read_bytes(file.path().string());
    if (bytes.size() > 600) continue;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      SCOPED_TRACE(file.path().filename().string() + " at byte " + std::to_string(i));
      ASSERT_NO_THROW(GetParam().run(std::span(bytes).first(i)));
      for (const std::byte flip : {std::byte{1}, std::byte{0x80}}) {
        bytes[i] ^= flip;
        ASSERT_NO_THROW(GetParam().run(bytes));
        bytes[i] ^= flip;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Corpus, testing::ValuesIn(fuzz::kEntries),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace espalier
