// The safetensors file format: named tensors and string metadata, readable by Python's safetensors package.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

enum class DType { kF32, kI32, kI64, kU8 };
std::size_t dtype_size(DType type);

struct StoredTensor {
  DType type = DType::kF32;
  std::vector<std::size_t> shape;
  std::vector<std::byte> bytes;
};

// A whole file in memory. Tensors are ordered by name, metadata too: the same content, the same bytes.
class SafetensorsFile {
 public:
  std::map<std::string, std::string> metadata;
  std::map<std::string, StoredTensor> tensors;

  void add(const std::string& name, std::vector<std::size_t> shape, std::span<const float> values);
  void add(const std::string& name, std::vector<std::size_t> shape, std::span<const std::int32_t> values);
  // Views of a tensor that must exist, with that type; Errors name the file's tensors otherwise.
  std::vector<float> floats(const std::string& name) const;
  std::vector<std::int32_t> ints(const std::string& name) const;
  const StoredTensor& tensor(const std::string& name) const;
  const std::string& meta(const std::string& key) const;  // an Error when missing

  std::vector<std::byte> serialize() const;
  // Never trusts a length: a truncated, oversized or malformed file is a one-line Error.
  static SafetensorsFile parse(std::span<const std::byte> bytes, std::string_view what);
};

SafetensorsFile read_safetensors(const std::string& path);
// Atomic: see io/files.hpp.
void write_safetensors(const std::string& path, const SafetensorsFile& file);

}  // namespace espalier
