// The reverse of readers, for tests: arrays, patterns, rules and pictures as the files that the library reads.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/files.hpp"
#include "base/image.hpp"
#include "base/life_rule.hpp"
#include "base/npz.hpp"
#include "base/pattern.hpp"
#include "base/rle.hpp"

namespace espalier {

// --- numpy.

template <class T>
NumpyArray numpy_array(std::vector<std::size_t> shape, const std::vector<T>& values) {
  const auto raw = std::as_bytes(std::span(values));
  const char* type = std::is_same_v<T, float> ? "<f4" : sizeof(T) == 1 ? "|u1" : "<i8";
  return {type, std::move(shape), {raw.begin(), raw.end()}};
}

using Octets = std::vector<std::byte>;

inline void put(Octets& out, std::initializer_list<std::pair<std::size_t, std::size_t>> values_and_sizes) {
  for (const auto& [value, size] : values_and_sizes)
    for (std::size_t i = 0; i < size; ++i) out.push_back(static_cast<std::byte>(value >> (8 * i)));
}

inline void put(Octets& out, std::string_view text) {
  for (const char c : text) out.push_back(static_cast<std::byte>(c));
}

inline Octets encode_npy(const NumpyArray& array) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", array.type,
                                   fmt::join(array.shape, ", "), array.shape.size() == 1 ? "," : "");
  constexpr std::size_t kAlign = 64, kBefore = 10;  // data begin at a multiple of 64, as numpy likes it
  header.append(kAlign - 1 - (kBefore + header.size()) % kAlign, ' ');
  header += '\n';
  Octets out;
  put(out, "\x93NUMPY");
  put(out, {{1, 1}, {0, 1}, {header.size(), 2}});
  put(out, header);
  out.insert(out.end(), array.bytes.begin(), array.bytes.end());
  return out;
}

// A zip without compression; the same arrays give the same bytes.
inline Octets encode_npz(const std::map<std::string, NumpyArray>& arrays) {
  constexpr std::size_t kVersion = 20, kDate = 0x21, kUtf8Names = 0x800;
  Octets out, directory;
  for (const auto& [name, array] : arrays) {
    const Octets npy = encode_npy(array);
    const std::size_t local = out.size(), crc = crc32_z(0, reinterpret_cast<const Bytef*>(npy.data()), npy.size());
    const std::string member = name + ".npy";
    put(out, {{0x04034b50, 4}, {kVersion, 2}, {kUtf8Names, 2}, {0, 2}, {0, 2}, {kDate, 2}, {crc, 4}});
    put(out, {{npy.size(), 4}, {npy.size(), 4}, {member.size(), 2}, {0, 2}});
    put(out, member);
    out.insert(out.end(), npy.begin(), npy.end());
    put(directory, {{0x02014b50, 4}, {kVersion, 2}, {kVersion, 2}, {kUtf8Names, 2}, {0, 2}, {0, 2}, {kDate, 2}});
    put(directory, {{crc, 4}, {npy.size(), 4}, {npy.size(), 4}, {member.size(), 2}, {0, 2}, {0, 2}});
    put(directory, {{0, 2}, {0, 2}, {0, 4}, {local, 4}});
    put(directory, member);
  }
  const std::size_t begin = out.size();
  out.insert(out.end(), directory.begin(), directory.end());
  put(out, {{0x06054b50, 4}, {0, 2}, {0, 2}, {arrays.size(), 2}, {arrays.size(), 2}});
  put(out, {{directory.size(), 4}, {begin, 4}, {0, 2}});
  return out;
}

inline void write_npz(const std::string& path, const std::map<std::string, NumpyArray>& arrays) {
  write_atomically(path, encode_npz(arrays));
}

// --- Patterns and rules.

inline std::string format_rle(const RlePattern& p) {
  std::string text = fmt::format("x = {}, y = {}{}\n", p.width, p.height, p.rule.empty() ? "" : ", rule = " + p.rule);
  for (std::size_t at = 0; at < p.cells.size(); ++at) {
    if (at && at % static_cast<std::size_t>(p.width) == 0) text += "$\n";
    std::size_t run = 1;
    while ((at + 1) % static_cast<std::size_t>(p.width) && p.cells[at + 1] == p.cells[at]) ++at, ++run;
    text += (run > 1 ? std::to_string(run) : "") + (p.cells[at] ? "o" : "b");
  }
  return text + "!\n";
}

inline std::string format_rule_table(const RuleTable& table) {
  std::string text = "# The next states of a cell.\n";
  for (const std::uint8_t next : table) text += next ? '1' : '0';
  return text;
}

// --- Pictures.

inline Image image_of(const Pattern& p) {
  Image image(p.width, p.height);
  const std::size_t cells = image.rgb.size() / 3;
  for (std::size_t cell = 0; cell < cells; ++cell)
    for (std::size_t part = 0; part < 3; ++part)
      image.rgb[3 * cell + part] = p.bits[p.channels == 1 ? cell : part * cells + cell] ? 255 : 0;
  return image;
}

inline Image read_png(const std::string& path) { return decode_png(read_bytes(path), path); }

}  // namespace espalier
