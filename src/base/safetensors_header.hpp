// Private to the io room: the JSON header of a safetensors file, read strictly.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/safetensors.hpp"

namespace espalier {

inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the limit of the original implementation
inline constexpr std::size_t kMaxDimensions = 16;
inline constexpr const char* kMetadataKey = "__metadata__";

// One tensor as announced: its bytes are [begin, end) of the data that follows the header.
struct TensorEntry {
  std::string name;
  DType type = DType::kF32;
  std::vector<std::size_t> shape;
  std::uint64_t begin = 0, end = 0;
};

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::vector<TensorEntry> entries;  // in the order of their bytes
};

// The length of the header, from the first 8 bytes of a file of `file_bytes`.
std::uint64_t checked_header_length(std::span<const std::byte> first8, std::uint64_t file_bytes, std::string_view what);

// Checks all there is to check: grammar, types, no name twice, shapes that fit their bytes, and tensors that
// cover the `data_bytes` after the header without gap or overlap. After that, sizes can be trusted.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes, std::string_view what);

// The reverse, padded with spaces to a multiple of 8 bytes, without the length.
std::string format_safetensors_header(const SafetensorsHeader& header);

// Product of extents and element size; false when it does not fit into 63 bits.
bool checked_size(const std::vector<std::size_t>& shape, DType type, std::uint64_t& bytes);

}  // namespace espalier
