#include "base/npz.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/files.hpp"
#include "codecs.hpp"
#include "espalier/error.hpp"
#include "places.hpp"
#include "temp_folder.hpp"

namespace espalier {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string stored(const std::string& name) { return test::source_dir() + "/tests/fuzz/corpus/npz/" + name; }

NumpyArray stored_npy(const std::string& name) { return parse_npy(read_bytes(stored(name)), name); }

template <class T>
NumpyArray raw(std::string type, const std::vector<T>& values) {
  NumpyArray array;
  array.type = std::move(type);
  array.shape = {values.size()};
  array.bytes.resize(values.size() * sizeof(T));
  std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
  return array;
}

TEST(Npz, ReadsEveryTypeThatNumpyWrote) {
  const NpzFile file = read_npz(stored("numpy"));
  EXPECT_THAT(file.names(), ElementsAre("exact", "flags", "labels", "one", "pixels", "values"));
  EXPECT_EQ(file.array("pixels").shape, (std::vector<std::size_t>{2, 3}));
  EXPECT_THAT(file.array("pixels").octets("pixels"), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(file.array("values").floats("values"), ElementsAre(0.5f, -1.25f, 3e10f));
  EXPECT_THAT(file.array("labels").longs("labels"), ElementsAre(3, -1, 7));
  EXPECT_THAT(file.array("labels").floats("labels"), ElementsAre(3.0f, -1.0f, 7.0f));
  EXPECT_THAT(file.array("flags").octets("flags"), ElementsAre(1, 0));
  EXPECT_THAT(file.array("exact").floats("exact"), ElementsAre(1.0f, 2.5f));
  EXPECT_TRUE(file.array("one").shape.empty());
  EXPECT_THAT(file.array("one").longs("one"), ElementsAre(7));
}

TEST(Npz, ReadsWhatNumpyCompressed) {
  const NpzFile file = read_npz(stored("numpy-compressed"));
  EXPECT_EQ(file.array("pixels").octets("pixels"), std::vector<std::uint8_t>(600));
  const std::vector<std::int64_t> ramp = file.array("ramp").longs("ramp");
  ASSERT_EQ(ramp.size(), 1000u);
  for (std::size_t i = 0; i < ramp.size(); ++i) EXPECT_EQ(ramp[i], static_cast<std::int64_t>(i));
}

TEST(Npz, ReadsAllThreeVersionsOfTheHeader) {
  EXPECT_THAT(stored_npy("npy-v1").longs("x"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(stored_npy("npy-v2").floats("x"), ElementsAre(0, 1, 2));
  EXPECT_THAT(stored_npy("npy-v3").longs("x"), ElementsAre(0, 1, 2));
  EXPECT_EQ(stored_npy("npy-empty").shape, (std::vector<std::size_t>{0, 3}));
}

TEST(Npz, WhatIsWrittenIsReadBack) {
  EXPECT_TRUE(rc::check([] {
    const auto rows = *rc::gen::inRange<std::size_t>(0, 5), columns = *rc::gen::inRange<std::size_t>(0, 5);
    std::vector<float> values(rows * columns);
    for (float& v : values) v = *rc::gen::arbitrary<float>();
    const auto octets = *rc::gen::container<std::vector<std::uint8_t>>(rc::gen::arbitrary<std::uint8_t>());
    const std::vector<std::int64_t> longs{*rc::gen::arbitrary<std::int64_t>()};
    const std::map<std::string, NumpyArray> arrays{{"values", numpy_array({rows, columns}, values)},
                                                   {"octets", numpy_array({octets.size(), 1}, octets)},
                                                   {"one", numpy_array({}, longs)}};
    const NpzFile file = NpzFile::parse(encode_npz(arrays), "test");
    RC_ASSERT(file.names().size() == 3u);
    for (const auto& [name, array] : arrays) RC_ASSERT(file.array(name) == array);
    RC_ASSERT(file.array("octets").octets("octets") == octets);
    RC_ASSERT(file.array("one").longs("one") == longs);
  }));
}

TEST(Npz, NumpyReadsWhatIsWritten) {
  const TempFolder folder;
  write_npz(folder / "ours.npz", {{"a", numpy_array({2, 2}, std::vector<float>{1, 2, 3, 4.5f})},
                                  {"b", numpy_array({3}, std::vector<std::uint8_t>{7, 8, 255})}});
  const std::string command = test::source_dir() +
                              "/script/python -c 'import numpy, sys; f = numpy.load(sys.argv[1]); "
                              "assert f[\"a\"].dtype == numpy.float32 and f[\"a\"].tolist() == [[1, 2], [3, 4.5]]; "
                              "assert f[\"b\"].dtype == numpy.uint8 and f[\"b\"].tolist() == [7, 8, 255]' " +
                              (folder / "ours.npz");
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST(Npz, NumbersThatDoNotFitAreRefused) {
  EXPECT_THROW(raw<std::int32_t>("<i4", {256}).octets("x"), Error);
  EXPECT_THROW(raw<std::int8_t>("|i1", {-1}).octets("x"), Error);
  EXPECT_THROW(raw<float>("<f4", {0.5f}).octets("x"), Error);
  EXPECT_THROW(raw<float>("<f4", {NAN}).longs("x"), Error);
  EXPECT_THROW(raw<double>("<f8", {0x1p63}).longs("x"), Error);
  EXPECT_THROW(raw<double>("<f8", {1e300}).floats("x"), Error);
  EXPECT_THROW(raw<std::uint64_t>("<u8", {std::numeric_limits<std::uint64_t>::max()}).longs("x"), Error);
  EXPECT_THROW(raw<std::uint64_t>("<u8", {std::numeric_limits<std::uint64_t>::max()}).floats("x"), Error);
  EXPECT_THAT(message_of<Error>([] {
                raw<std::int32_t>("<i4", {0, (1 << 24) + 1}).floats("labels");
              }),
              AllOf(HasSubstr("16777217"), HasSubstr("labels at 1"), HasSubstr("a float holds")));
  EXPECT_THAT(raw<std::int32_t>("<i4", {1 << 24, -(1 << 30)}).floats("x"), ElementsAre(0x1p24f, -0x1p30f));
  EXPECT_THAT(raw<double>("<f8", {-0x1p63, 7}).longs("x"), ElementsAre(std::numeric_limits<std::int64_t>::min(), 7));
  EXPECT_TRUE(std::isinf(raw<double>("<f8", {INFINITY}).floats("x")[0]));
  EXPECT_THAT(raw<std::uint8_t>("|b1", {0, 1, 2}).octets("x"), ElementsAre(0, 1, 1));
}

TEST(Npz, WhatCannotBeReadIsSaidClearly) {
  const auto message = [](const char* name) { return message_of<Error>([&] { stored_npy(name); }); };
  EXPECT_THAT(message("npy-fortran"), AllOf(HasSubstr("Fortran order"), HasSubstr("ascontiguousarray")));
  EXPECT_THAT(message("npy-big-endian"), AllOf(HasSubstr("\">f4\""), HasSubstr("little-endian")));
  EXPECT_THAT(message("npy-text"), HasSubstr("<U2"));
  EXPECT_THAT(message("npy-record"), HasSubstr("records"));
  EXPECT_THAT(message("npy-huge-shape"), HasSubstr("99999999999"));
  EXPECT_THAT(message("npy-many-dimensions"), HasSubstr("32 dimensions"));
}

TEST(Npz, DamagedOrHostileZipsAreRefused) {
  const auto message = [](const char* name) {
    return message_of<Error>([&] {
      const NpzFile file = read_npz(stored(name));
      for (const std::string& array : file.names()) file.array(array);
    });
  };
  EXPECT_THAT(message("empty"), AllOf(HasSubstr("/empty\""), HasSubstr("no zip directory")));
  EXPECT_THAT(message("bomb"), HasSubstr("impossible size"));
  EXPECT_THAT(message("overlap"), HasSubstr("overlap"));
  EXPECT_THAT(message("name-twice"), HasSubstr("twice"));
  EXPECT_THAT(message("wrong-checksum"), HasSubstr("checksum"));
  EXPECT_THAT(message("encrypted"), HasSubstr("encrypted"));
  EXPECT_THAT(message("zip64"), HasSubstr("2 GiB"));
  EXPECT_THAT(message("bzip2"), HasSubstr("method 12"));
  EXPECT_THAT(message("other-member"), HasSubstr("notes.txt"));
  EXPECT_THAT(message_of<Error>([] { read_npz(stored("numpy")).array("x"); }),
              AllOf(HasSubstr("no array \"x\""), HasSubstr("of that name; hint: the file has exact, flags, labels")));
}

TEST(Npz, AnArrayOfUnknownTypeHasNoNumbers) { EXPECT_THROW(raw<float>("|O", {1}).floats("x"), Error); }

}  // namespace
}  // namespace espalier
