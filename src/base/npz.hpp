// Arrays in numpy's file formats: .npy (one array) and .npz (a zip of named ones), as numpy.save, savez and
// savez_compressed write them. Nothing in a file is trusted: sizes are checked against what is there before memory is
// spent on them, and every refusal is a one-line Error that names the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

// Numbers of one type in C order, little-endian, as they lie in the file.
struct NumpyArray {
  std::string type;                // as numpy names it: |b1 |u1 <u2 <u4 <u8 |i1 <i2 <i4 <i8 <f4 <f8
  std::vector<std::size_t> shape;  // empty for a single number
  std::vector<std::byte> bytes;

  std::size_t size() const;  // how many numbers

  // The numbers as another type. Those that it cannot hold are an Error: a whole number must be exact; a float64 is
  // rounded to the nearest float, but may not become infinite by that. `what` names the array in it.
  std::vector<float> floats(std::string_view what) const;
  std::vector<std::uint8_t> octets(std::string_view what) const;
  std::vector<std::int64_t> longs(std::string_view what) const;

  bool operator==(const NumpyArray&) const = default;
};

// Fortran order, big-endian numbers, texts, objects and records are refused.
NumpyArray parse_npy(std::span<const std::byte> bytes, std::string_view what);

// A .npz in memory; an array is unpacked and checked only when it is asked for.
//   const NpzFile file = read_npz("mnist.npz");
//   const std::vector<float> pixels = file.array("x_train").floats("x_train");
class NpzFile {
 public:
  static NpzFile parse(std::vector<std::byte> bytes, std::string_view what);

  std::vector<std::string> names() const;  // ascending, without ".npy"
  bool contains(const std::string& name) const { return members_.contains(name); }
  NumpyArray array(const std::string& name) const;  // an Error names the file's arrays when there is none of that name

 private:
  struct Member {
    std::size_t offset = 0, packed = 0, unpacked = 0;  // place and size in bytes_, size of the .npy
    bool deflated = false;
    std::uint32_t crc = 0;
  };
  std::vector<std::byte> bytes_;
  std::map<std::string, Member> members_;
  std::string what_;
};

NpzFile read_npz(const std::string& path);

}  // namespace espalier
