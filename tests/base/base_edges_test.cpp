// What random numbers, options, tensors and paths refuse.
#include <gtest/gtest.h>

#include "base/arrays.hpp"
#include "base/files.hpp"
#include "espalier/error.hpp"
#include "espalier/fields.hpp"
#include "espalier/random.hpp"
#include "espalier/safetensors.hpp"

namespace espalier {
namespace {

TEST(BaseEdges, NothingCannotBeChosenFrom) {
  const Random random(1, Purpose::kData);
  EXPECT_THROW(random.choice(0, 0), Error);
  EXPECT_EQ(random.choice(0, 1), 0u);
}

enum class Colour { kRed, kGreen };
struct Paint {
  Colour colour = Colour::kRed;
};
Fields fields_of(Paint& p) {
  Fields f;
  f.add("colour", p.colour, "of the paint", {"red", "green"});
  return f;
}

TEST(BaseEdges, AnEnumerationBeyondItsNamesIsRefused) {
  Paint paint;
  paint.colour = static_cast<Colour>(7);
  EXPECT_THROW(checked(paint), Error);
  Fields fields = fields_of(paint);
  EXPECT_THROW(fields.at("colour").text(), Error);
  fields.at("colour").set_text("green");
  EXPECT_EQ(checked(paint).colour, Colour::kGreen);
}

TEST(BaseEdges, TensorsOfAnotherTypeAreRefused) {
  SafetensorsFile file;
  file.add("a", {2}, std::span<const float>(std::vector<float>(2)));
  EXPECT_THROW(file.longs("a"), Error);
  EXPECT_THROW(file.octets("a"), Error);
  EXPECT_THROW(file.ints("a"), Error);
  EXPECT_THROW(file.longs("b"), Error);
  EXPECT_THROW(file.octets("b"), Error);
}

TEST(BaseEdges, PathsThatTheSystemRefusesAreNoFolders) {
  for (const std::string& path : {std::string(5000, 'a'), std::string(300, 'b'), std::string("/etc/passwd/x")}) {
    EXPECT_FALSE(is_folder(path));
    EXPECT_FALSE(file_exists(path));
    EXPECT_EQ(file_in(path, "model.safetensors"), path);
    EXPECT_THROW(read_text(path), Error);
    EXPECT_THROW(make_folder(path), Error);
  }
  EXPECT_EQ(file_in("/", "x"), "//x");
}

TEST(BaseEdges, OverlapIsSharedMemoryAndNotNeighbourhood) {
  std::vector<float> values(10);
  const std::span<float> all(values);
  EXPECT_TRUE(overlap(all, all));
  EXPECT_TRUE(overlap(all.first(6), all.subspan(5)));
  EXPECT_TRUE(overlap(all.subspan(2, 3), all));
  EXPECT_FALSE(overlap(all.first(5), all.subspan(5)));
  EXPECT_FALSE(overlap(all.first(0), all));
  EXPECT_THROW(refuse_overlap("test", all.first(2), {all.subspan(5), all.subspan(1)}), Error);
  refuse_overlap("test", all.first(2), {all.subspan(5), {}});
}

TEST(BaseEdges, AnOptionHasSomewhereToKeepItsValue) {
  EXPECT_THROW(Field("size", static_cast<int*>(nullptr), "help", 0, 1, {}), Error);
  EXPECT_THROW(Field("size", Field::Access{}, "help", 0, 1, {}), Error);
  EXPECT_THROW(Field("size", Field::Access{[] { return std::string(); }, {}}, "help", 0, 1, {}), Error);
}

}  // namespace
}  // namespace espalier
