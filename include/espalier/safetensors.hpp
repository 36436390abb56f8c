// The safetensors file format: named tensors and string metadata, readable by Python's safetensors package.
// Example:
//   const std::vector<float> weights(6);
//   SafetensorsFile file;
//   file.metadata["task"] = "life";
//   file.add("weights", {2, 3}, std::span<const float>(weights));
//   write_safetensors("model.safetensors", file);
//   const std::vector<float> back = read_safetensors("model.safetensors").floats("weights");
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
std::string_view dtype_name(DType type);  // as in the file: "F32", ...

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

  // A name that is there already, or a shape that does not hold as many values, is an Error.
  void add(const std::string& name, std::vector<std::size_t> shape, std::span<const float> values);
  void add(const std::string& name, std::vector<std::size_t> shape, std::span<const std::int32_t> values);
  void add(const std::string& name, std::vector<std::size_t> shape, std::span<const std::int64_t> values);
  void add(const std::string& name, std::vector<std::size_t> shape, std::span<const std::uint8_t> values);
  // Copies of a tensor that must exist, with that type; Errors name the file's tensors otherwise.
  std::vector<float> floats(const std::string& name) const;
  std::vector<std::int32_t> ints(const std::string& name) const;
  std::vector<std::int64_t> longs(const std::string& name) const;
  std::vector<std::uint8_t> octets(const std::string& name) const;
  const StoredTensor& tensor(const std::string& name) const;
  const std::string& meta(const std::string& key) const;  // an Error when missing

  // Puts a hash of all else into the metadata ("seal"): every tensor with its name and shape, and the metadata.
  // Whatever reads a file refuses a sealed one that does not match its own.
  void seal();
  bool is_sealed() const;            // and matches
  std::string tensors_hash() const;  // of the tensors alone, without the metadata

  std::vector<std::byte> serialize() const;
  // Never trusts a length: a truncated, oversized or malformed file is a one-line Error. `what` names the
  // source in it.
  static SafetensorsFile parse(std::span<const std::byte> bytes, std::string_view what);
};

// Reads the header first, and no more than it rightly announces.
SafetensorsFile read_safetensors(const std::string& path);
// The same without the tensors, which are not looked at: nor is the seal.
SafetensorsFile read_safetensors_metadata(const std::string& path);
// Atomic: a crash leaves the old file or the new one.
void write_safetensors(const std::string& path, const SafetensorsFile& file);

}  // namespace espalier
