#include "espalier/safetensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstring>
#include <fstream>
#include <limits>

#include "base/files.hpp"
#include "espalier/error.hpp"
#include "temp_folder.hpp"

namespace espalier {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::vector<std::byte> file_of(std::string_view header, std::string_view data) {
  std::vector<std::byte> bytes(8);
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(header.size() >> (8 * i));
  for (const char c : std::string(header) + std::string(data)) bytes.push_back(static_cast<std::byte>(c));
  return bytes;
}

SafetensorsFile sample() {
  SafetensorsFile file;
  file.metadata = {{"task", "life"}, {"note", "tab\t \"quote\" é 日本"}};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  file.add("weights", {2, 2}, std::vector<float>{1, -0.0f, nan, 1e-45f});
  file.add("wiring", {3}, std::vector<std::int32_t>{1, -2, 3});
  file.add("steps", {}, std::vector<std::int64_t>{1ll << 40});
  file.add("board", {1, 3}, std::vector<std::uint8_t>{0, 255, 7});
  file.add("empty", {0, 4}, std::span<const float>());
  return file;
}

TEST(Safetensors, EveryTypeComesBackToTheBit) {
  const TempFolder folder;
  const SafetensorsFile file = sample();
  write_safetensors(folder / "m.safetensors", file);
  const SafetensorsFile back = read_safetensors(folder / "m.safetensors");
  EXPECT_EQ(back.metadata, file.metadata);
  ASSERT_EQ(back.tensors.size(), file.tensors.size());
  for (const auto& [name, tensor] : file.tensors) {
    EXPECT_EQ(back.tensor(name).type, tensor.type) << name;
    EXPECT_EQ(back.tensor(name).shape, tensor.shape) << name;
    EXPECT_EQ(back.tensor(name).bytes, tensor.bytes) << name;
  }
  EXPECT_EQ(back.ints("wiring"), (std::vector<std::int32_t>{1, -2, 3}));
  EXPECT_EQ(back.longs("steps"), (std::vector<std::int64_t>{1ll << 40}));
  EXPECT_EQ(back.octets("board"), (std::vector<std::uint8_t>{0, 255, 7}));
  EXPECT_EQ(back.floats("weights")[0], 1.0f);
  EXPECT_TRUE(back.floats("empty").empty());
}

TEST(Safetensors, TheSameContentGivesTheSameBytes) {
  const auto bytes = sample().serialize();
  EXPECT_EQ(bytes, sample().serialize());
  EXPECT_EQ(bytes, SafetensorsFile::parse(bytes, "test").serialize());
}

TEST(Safetensors, TheLayoutIsTheOneOfTheFormat) {
  SafetensorsFile file;
  file.metadata["k"] = "v";
  file.add("b", {2}, std::vector<std::uint8_t>{'x', 'y'});
  file.add("c", {1}, std::vector<std::int32_t>{0x64636261});
  const std::string header = R"({"__metadata__":{"k":"v"},"c":{"dtype":"I32","shape":[1],"data_offsets":[0,4]},)"
                             R"("b":{"dtype":"U8","shape":[2],"data_offsets":[4,6]}})";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  EXPECT_EQ(file.serialize(), file_of(padded, "abcdxy"));
}

TEST(Safetensors, DataIsAlignedToEightBytes) {
  for (int length = 0; length < 10; ++length) {
    SafetensorsFile file;
    file.add("n" + std::string(static_cast<std::size_t>(length), 'x'), {1}, std::vector<float>{1});
    EXPECT_EQ((file.serialize().size() - 4) % 8, 0u);
  }
}

TEST(Safetensors, AnyContentSurvivesTheRoundTrip) {
  EXPECT_TRUE(rc::check([](const std::map<std::uint32_t, std::vector<float>>& content, const std::string& raw) {
    SafetensorsFile file;
    std::string ascii;
    for (const char c : raw) ascii += static_cast<char>(c & 0x7f);
    file.metadata[ascii] = ascii;
    for (const auto& [key, values] : content) file.add(std::to_string(key) + ascii, {values.size()}, values);
    const SafetensorsFile back = SafetensorsFile::parse(file.serialize(), "test");
    RC_ASSERT(back.metadata == file.metadata);
    for (const auto& [name, tensor] : file.tensors) RC_ASSERT(back.tensor(name).bytes == tensor.bytes);
  }));
}

TEST(Safetensors, EveryTruncationIsAnError) {
  const auto bytes = sample().serialize();
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_THROW(SafetensorsFile::parse(std::span(bytes).first(length), "cut"), Error) << length;
}

TEST(Safetensors, ADamagedByteIsAnErrorOrAnotherFileButNeverACrash) {
  const auto bytes = sample().serialize();
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (const int flip : {0x01, 0x10, 0x80, 0xff}) {
      auto damaged = bytes;
      damaged[i] ^= static_cast<std::byte>(flip);
      try {
        EXPECT_NE(SafetensorsFile::parse(damaged, "damaged").serialize(), bytes);
      } catch (const Error&) {
      }
    }
}

struct Malformed {
  const char *header, *data, *says;
};

TEST(Safetensors, MalformedHeadersAreOneLineErrors) {
  const Malformed cases[] = {
      {"", "", "does not start with {"},
      {"[]", "", "does not start with {"},
      {"{", "", "not JSON"},
      {"{}{}", "", "not JSON"},
      {R"({"a":1})", "", "a number"},
      {R"({"a":[[[[]]]]})", "", "an array"},
      {R"({"a":null})", "", "null"},
      {R"({"a":{"dtype":"F32","shape":[1]}})", "1234", "a field missing"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", "1234", "a field missing"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,5]}})", "1234", "more than two"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":"y"}})", "1234", "a string"},
      {R"({"a":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}})", "12", "known: F32"},
      {R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "1234", "negative"},
      {R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", "1234", "fraction"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "1234", "does not fit"},
      {R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", "", "does not fit"},
      {R"({"a":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]}})", "1", "16 dim"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", "12345678", "byte 0 is due"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", "1234", "byte 0 is due"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "12345", "4 as its header says"},
      {R"({"a":{"dtype":"F32","shape":[1000000000000],"data_offsets":[0,4000000000000]}})", "1", "as its header"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{}})", "1", "same name twice"},
      {R"({"__metadata__":{"k":1}})", "", "a number"},
      {R"({"__metadata__":{"k":"1","k":"2"}})", "", "same metadata key twice"},
      {R"({"__metadata__":"text"})", "", "a string"},
  };
  for (const Malformed& c : cases)
    EXPECT_THAT(message_of<Error>([&] { SafetensorsFile::parse(file_of(c.header, c.data), "\"x\""); }),
                AllOf(HasSubstr("[safetensors]"), HasSubstr("\"x\""), HasSubstr(c.says)))
        << c.header;
}

TEST(Safetensors, AnAnnouncedLengthIsNotBelieved) {
  const TempFolder folder;
  std::vector<std::byte> bytes(8, std::byte{0xff});
  EXPECT_THAT(message_of<Error>([&] { SafetensorsFile::parse(bytes, "x"); }), HasSubstr("expected a safetensors file"));
  bytes = file_of("{}", "");
  bytes[2] = std::byte{5};
  EXPECT_THAT(message_of<Error>([&] { SafetensorsFile::parse(bytes, "x"); }), HasSubstr("cut short"));
  // Eight terabytes of zeros on disk: the header is refused before anything is allocated.
  const std::string path = folder / "sparse.safetensors";
  std::ofstream(path) << '{';
  std::filesystem::resize_file(path, std::uintmax_t{1} << 43);
  EXPECT_THAT(message_of<Error>([&] { read_safetensors(path); }), HasSubstr(path));
}

TEST(Safetensors, WrongUseIsAnErrorThatNamesWhatThereIs) {
  SafetensorsFile file = sample();
  const std::vector<float> two{1, 2};
  EXPECT_THAT(message_of<Error>([&] { file.tensor("absent"); }), AllOf(HasSubstr("absent"), HasSubstr("wiring")));
  EXPECT_THAT(message_of<Error>([&] { file.meta("absent"); }), AllOf(HasSubstr("absent"), HasSubstr("task")));
  EXPECT_THAT(message_of<Error>([&] { file.ints("weights"); }), AllOf(HasSubstr("F32"), HasSubstr("I32")));
  EXPECT_THAT(message_of<Error>([&] { file.add("new", {3}, two); }), HasSubstr("shape [3]"));
  EXPECT_THAT(message_of<Error>([&] { file.add("weights", {2}, two); }), HasSubstr("twice"));
  EXPECT_THAT(message_of<Error>([&] { file.add("__metadata__", {2}, two); }), HasSubstr("reserved"));
  file.metadata["bad"] = "\xff\xfe";
  EXPECT_THAT(message_of<Error>([&] { file.serialize(); }), HasSubstr("UTF-8"));
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{7}, std::size_t{1000}}) {
    SafetensorsFile cut = sample();
    for (auto& [name, tensor] : cut.tensors) tensor.bytes.resize(bytes);
    EXPECT_THROW(cut.floats("weights"), Error) << bytes;
    EXPECT_THROW(cut.ints("wiring"), Error) << bytes;
    EXPECT_THROW(cut.serialize(), Error) << bytes;
  }
  EXPECT_THROW(dtype_size(static_cast<DType>(9)), Error);
  EXPECT_THROW(dtype_name(static_cast<DType>(9)), Error);
  EXPECT_THAT(message_of<Error>([] { read_safetensors("/nonexistent/m"); }), HasSubstr("[read model]"));
}

TEST(Safetensors, ASealCoversTensorsShapesAndMetadata) {
  const TempFolder folder;
  const std::string path = folder / "file";
  SafetensorsFile file;
  file.metadata = {{"option.width", "8"}, {"solved", "false"}};
  const std::vector<float> values(6);
  file.add("weights", {2, 3}, std::span<const float>(values));
  const SafetensorsFile open = file;
  file.seal();
  EXPECT_TRUE(file.is_sealed());
  EXPECT_FALSE(open.is_sealed());
  const std::vector<std::byte> good = file.serialize();
  write_safetensors(path, file);
  EXPECT_EQ(read_safetensors(path).serialize(), good);
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::vector<std::byte> damaged = good;
    damaged[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_THROW(SafetensorsFile::parse(damaged, "damaged"), Error) << "bit " << bit;
  }
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(good.data()), 100);
  EXPECT_THROW(read_safetensors(path), Error);
  write_safetensors(path, open);  // by others, who seal nothing
  EXPECT_NO_THROW(read_safetensors(path));
}

// Two changed bits are enough to lose the seal and to change a weight.
TEST(Safetensors, AFileOfOursWithoutItsSealIsRefused) {
  SafetensorsFile file;
  file.metadata = {{"format", "espalier model 2"}};
  const std::vector<float> values(6);
  file.add("weights", {2, 3}, std::span<const float>(values));
  file.seal();
  const auto parsed = [](const SafetensorsFile& f) { return SafetensorsFile::parse(f.serialize(), "a file"); };
  SafetensorsFile damaged = file;
  damaged.metadata["sebl"] = damaged.metadata.extract("seal").mapped();
  damaged.tensors.at("weights").bytes[3] = std::byte{1};
  EXPECT_THROW(parsed(damaged), Error);
  damaged.metadata.erase("sebl");
  EXPECT_THROW(parsed(damaged), Error);
  damaged.metadata["seal"] = "none";  // changed on purpose
  EXPECT_NO_THROW(parsed(damaged));
  damaged.metadata["seal"] = "nond";
  EXPECT_THROW(parsed(damaged), Error);
}

}  // namespace
}  // namespace espalier
