#include "espalier/safetensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "espalier/error.hpp"
#include "base/hash.hpp"
#include "base/files.hpp"
#include "open_file.hpp"
#include "safetensors_header.hpp"

namespace espalier {
namespace {

constexpr const char* kSeal = "tensors_hash";

static_assert(std::endian::native == std::endian::little, "tensors are stored as they lie in memory");

template <class T>
void add_tensor(SafetensorsFile& file, const std::string& name, DType type, std::vector<std::size_t> shape,
                std::span<const T> values) {
  std::uint64_t bytes = 0;
  if (!checked_size(shape, type, bytes) || bytes != values.size_bytes() || shape.size() > kMaxDimensions)
    fail("add tensor", fmt::format("{} values for \"{}\" of shape [{}]", values.size(), name, fmt::join(shape, ", ")),
         "as many values as the shape holds, in at most 16 dimensions");
  if (name == kMetadataKey) fail("add tensor", fmt::format("the name \"{}\"", name), "another name: it is reserved");
  const std::span<const std::byte> raw = std::as_bytes(values);
  if (!file.tensors.try_emplace(name, StoredTensor{type, std::move(shape), {raw.begin(), raw.end()}}).second)
    fail("add tensor", fmt::format("\"{}\" twice", name), "a new name");
}

template <class T>
std::vector<T> copy_tensor(const SafetensorsFile& file, const std::string& name, DType type) {
  const StoredTensor& tensor = file.tensor(name);
  if (tensor.type != type)
    fail("read tensor", fmt::format("\"{}\" of type {}", name, dtype_name(tensor.type)), dtype_name(type));
  std::vector<T> values(tensor.bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

template <class Map>
std::string keys_of(const Map& map) {
  constexpr std::size_t kMaxNamed = 20;
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) {
    if (keys.size() == kMaxNamed) {
      keys.push_back(fmt::format("and {} more", map.size() - kMaxNamed));
      break;
    }
    keys.push_back(key);
  }
  return keys.empty() ? "one (the file has none)" : fmt::format("one of {}", fmt::join(keys, ", "));
}

}  // namespace

std::size_t dtype_size(DType type) {
  switch (type) {
    case DType::kF32:
    case DType::kI32: return 4;
    case DType::kI64: return 8;
    case DType::kU8: return 1;
  }
  fail("dtype", fmt::format("number {}", static_cast<int>(type)), "F32, I32, I64 or U8");
}

std::string_view dtype_name(DType type) {
  switch (type) {
    case DType::kF32: return "F32";
    case DType::kI32: return "I32";
    case DType::kI64: return "I64";
    case DType::kU8: return "U8";
  }
  fail("dtype", fmt::format("number {}", static_cast<int>(type)), "F32, I32, I64 or U8");
}

void SafetensorsFile::add(const std::string& n, std::vector<std::size_t> s, std::span<const float> v) {
  add_tensor(*this, n, DType::kF32, std::move(s), v);
}
void SafetensorsFile::add(const std::string& n, std::vector<std::size_t> s, std::span<const std::int32_t> v) {
  add_tensor(*this, n, DType::kI32, std::move(s), v);
}
void SafetensorsFile::add(const std::string& n, std::vector<std::size_t> s, std::span<const std::int64_t> v) {
  add_tensor(*this, n, DType::kI64, std::move(s), v);
}
void SafetensorsFile::add(const std::string& n, std::vector<std::size_t> s, std::span<const std::uint8_t> v) {
  add_tensor(*this, n, DType::kU8, std::move(s), v);
}

std::vector<float> SafetensorsFile::floats(const std::string& name) const {
  return copy_tensor<float>(*this, name, DType::kF32);
}
std::vector<std::int32_t> SafetensorsFile::ints(const std::string& name) const {
  return copy_tensor<std::int32_t>(*this, name, DType::kI32);
}
std::vector<std::int64_t> SafetensorsFile::longs(const std::string& name) const {
  return copy_tensor<std::int64_t>(*this, name, DType::kI64);
}
std::vector<std::uint8_t> SafetensorsFile::octets(const std::string& name) const {
  return copy_tensor<std::uint8_t>(*this, name, DType::kU8);
}

const StoredTensor& SafetensorsFile::tensor(const std::string& name) const {
  const auto found = tensors.find(name);
  if (found == tensors.end()) fail("read tensor", fmt::format("\"{}\"", name), keys_of(tensors));
  return found->second;
}

const std::string& SafetensorsFile::meta(const std::string& key) const {
  const auto found = metadata.find(key);
  if (found == metadata.end()) fail("read metadata", fmt::format("\"{}\"", key), keys_of(metadata));
  return found->second;
}

std::vector<std::byte> SafetensorsFile::serialize() const {
  SafetensorsHeader header{metadata, {}};
  for (const auto& [name, t] : tensors) {
    std::uint64_t bytes = 0;
    if (name == kMetadataKey || !checked_size(t.shape, t.type, bytes) || bytes != t.bytes.size())
      fail("safetensors",
           fmt::format("tensor \"{}\" of {} bytes with shape [{}]", name, t.bytes.size(), fmt::join(t.shape, ", ")),
           "a free name, and bytes that fit the shape");
    header.entries.push_back({name, t.type, t.shape, 0, bytes});
  }
  // Widest elements first keeps every tensor aligned to its own element, as readers that map the file like
  // it.
  std::stable_sort(header.entries.begin(), header.entries.end(),
                   [](const TensorEntry& a, const TensorEntry& b) { return dtype_size(a.type) > dtype_size(b.type); });
  std::uint64_t at = 0;
  for (TensorEntry& entry : header.entries) {
    entry.begin = at;
    at = entry.end += at;
  }
  const std::string text = format_safetensors_header(header);
  std::vector<std::byte> out(8 + text.size() + at);
  for (std::size_t i = 0; i < 8; ++i) out[i] = static_cast<std::byte>(text.size() >> (8 * i));
  std::memcpy(out.data() + 8, text.data(), text.size());
  for (const TensorEntry& entry : header.entries) {
    const auto& bytes = tensors.at(entry.name).bytes;
    std::copy(bytes.begin(), bytes.end(), out.begin() + static_cast<std::ptrdiff_t>(8 + text.size() + entry.begin));
  }
  return out;
}

SafetensorsFile SafetensorsFile::parse(std::span<const std::byte> bytes, std::string_view what) {
  const std::uint64_t length =
      checked_header_length(bytes.first(std::min<std::size_t>(8, bytes.size())), bytes.size(), what);
  const std::span<const std::byte> data = bytes.subspan(8 + length);
  SafetensorsHeader header =
      parse_safetensors_header({reinterpret_cast<const char*>(bytes.data()) + 8, length}, data.size(), what);
  SafetensorsFile file;
  file.metadata = std::move(header.metadata);
  for (TensorEntry& e : header.entries) {
    const auto part = data.subspan(e.begin, e.end - e.begin);
    file.tensors[e.name] = {e.type, std::move(e.shape), {part.begin(), part.end()}};
  }
  return file;
}

void SafetensorsFile::seal() { metadata[kSeal] = tensors_hash(); }

std::string SafetensorsFile::tensors_hash() const {
  Hasher hash;
  for (const auto& [name, tensor] : tensors) {
    const std::uint64_t sizes[] = {name.size(), tensor.bytes.size()};
    hash.add(sizes, sizeof sizes).add(name).add(tensor.bytes.data(), tensor.bytes.size());
  }
  return hash.hex();
}

SafetensorsFile read_safetensors(const std::string& path) {
  const std::string what = fmt::format("\"{}\"", path);
  InputFile input("read model", path);
  std::byte first8[8] = {};
  input.read(std::span(first8).first(std::min<std::size_t>(8, input.size())));
  const std::uint64_t length = checked_header_length(first8, input.size(), what);
  std::string json(length, '\0');
  input.read(std::as_writable_bytes(std::span(json)));
  SafetensorsHeader header = parse_safetensors_header(json, input.size() - 8 - length, what);
  SafetensorsFile file;
  file.metadata = std::move(header.metadata);
  for (TensorEntry& e : header.entries) {
    StoredTensor& tensor = file.tensors[e.name];
    tensor = {e.type, std::move(e.shape), std::vector<std::byte>(e.end - e.begin)};
    input.read(tensor.bytes);
  }
  const auto seal = file.metadata.find(kSeal);
  if (seal != file.metadata.end() && seal->second != file.tensors_hash())
    fail("read model", fmt::format("{} with tensors of hash {}", what, file.tensors_hash()),
         fmt::format("{}, as it was written", seal->second), "the file was changed or damaged");
  return file;
}

void write_safetensors(const std::string& path, const SafetensorsFile& file) {
  write_atomically(path, file.serialize());
}

}  // namespace espalier
