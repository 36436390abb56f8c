#include "espalier/safetensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <set>

#include "base/files.hpp"
#include "base/hash.hpp"
#include "base/json.hpp"
#include "espalier/error.hpp"

namespace espalier {
namespace {

using Json = nlohmann::json;

static_assert(std::endian::native == std::endian::little, "tensors are stored as they lie in memory");

constexpr const char *kSeal = "seal", *kUnsealed = "none";
constexpr const char* kOurs = "espalier ";  // how a format of ours begins
constexpr struct {
  DType type;
  std::string_view name;
  std::size_t size;
} kTypes[] = {{DType::kF32, "F32", 4}, {DType::kI32, "I32", 4}, {DType::kI64, "I64", 8}, {DType::kU8, "U8", 1}};
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the limit of the original implementation
constexpr std::size_t kMaxDimensions = 16;
constexpr const char* kMetadataKey = "__metadata__";

const auto& type_info(DType type) {
  for (const auto& known : kTypes)
    if (known.type == type) return known;
  fail("dtype", fmt::format("number {}", static_cast<int>(type)), "F32, I32, I64 or U8");
}

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

// The header is read by events (SAX), not into a tree: a hostile header of nested or countless values is refused at its
// first wrong token, before memory is spent on it.
class HeaderReader : public nlohmann::json_sax<Json> {
 public:
  HeaderReader(SafetensorsHeader& header, std::string& problem) : header_(header), problem_(problem) {}

  bool null() override { return refuse("null"); }
  bool boolean(bool) override { return refuse("true or false"); }
  bool number_integer(number_integer_t) override { return refuse("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { return refuse("a fraction or a huge number"); }
  bool binary(binary_t&) override { return refuse("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ == Place::kShape) {
      if (entry_.shape.size() == kMaxDimensions) return refuse("more than 16 dimensions");
      entry_.shape.push_back(value);
      return true;
    }
    if (place_ == Place::kOffsets) {
      if (offsets_.size() == 2) return refuse("more than two data_offsets");
      offsets_.push_back(value);
      return true;
    }
    return refuse("a number");
  }

  bool string(string_t& text) override {
    if (place_ == Place::kMetadata) {
      if (!header_.metadata.emplace(key_, std::move(text)).second) return refuse("the same metadata key twice");
      return true;
    }
    if (place_ != Place::kTensor || key_ != "dtype") return refuse("a string");
    for (const auto& known : kTypes)
      if (text == known.name) {
        entry_.type = known.type;
        return true;
      }
    return refuse(fmt::format("dtype {} (known: F32, I32, I64, U8)", in_quotes(text)));
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::kOutside) {
      place_ = Place::kTop;
    } else if (place_ == Place::kTop && name_ == kMetadataKey) {
      place_ = Place::kMetadata;
    } else if (place_ == Place::kTop) {
      place_ = Place::kTensor;
      entry_ = {};
      entry_.name = name_;
      offsets_.clear();
      fields_.clear();
    } else {
      return refuse("an object");
    }
    return true;
  }

  bool key(string_t& text) override {
    if (place_ == Place::kTop) {
      name_ = std::move(text);
      if (!names_.insert(name_).second) return refuse("the same name twice");
    } else {
      key_ = std::move(text);
      if (place_ == Place::kTensor && !fields_.insert(key_).second) return refuse("the same field twice");
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ == Place::kTensor && key_ == "shape")
      place_ = Place::kShape;
    else if (place_ == Place::kTensor && key_ == "data_offsets")
      place_ = Place::kOffsets;
    else
      return refuse("an array");
    return true;
  }

  bool end_array() override {
    place_ = Place::kTensor;
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kTensor) {
      if (fields_.size() != 3 || offsets_.size() != 2) return refuse("a field missing");
      entry_.begin = offsets_[0];
      entry_.end = offsets_[1];
      header_.entries.push_back(std::move(entry_));
    }
    place_ = place_ == Place::kTop ? Place::kOutside : Place::kTop;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    problem_ = fmt::format("a header that is not JSON (byte {})", position);
    return false;
  }

 private:
  enum class Place { kOutside, kTop, kMetadata, kTensor, kShape, kOffsets };

  bool refuse(std::string_view found) {
    problem_ = fmt::format("{} in the header{}", found, name_.empty() ? "" : " at " + in_quotes(name_));
    return false;
  }

  SafetensorsHeader& header_;
  std::string& problem_;
  Place place_ = Place::kOutside;
  std::string name_, key_;
  std::set<std::string> names_, fields_;
  TensorEntry entry_;
  std::vector<std::uint64_t> offsets_;
};

// Product of extents and element size; false when it does not fit into 63 bits.
bool checked_size(const std::vector<std::size_t>& shape, DType type, std::uint64_t& bytes) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 63;
  bytes = dtype_size(type);
  if (std::find(shape.begin(), shape.end(), 0u) != shape.end()) {
    bytes = 0;
    return true;
  }
  for (const std::size_t extent : shape) {
    if (bytes > kMost / extent) return false;
    bytes *= extent;
  }
  return bytes < kMost;
}

// The length of the header, from the first 8 bytes of a file of `file_bytes`.
std::uint64_t checked_header_length(std::span<const std::byte, 8> first8, std::uint64_t file_bytes,
                                    std::string_view what) {
  if (file_bytes < 8)
    fail("safetensors", fmt::format("{} of {} bytes", what, file_bytes), "at least 8 bytes",
         "the file is empty or cut short: is it a safetensors file?");
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | static_cast<std::uint64_t>(first8[static_cast<std::size_t>(i)]);
  if (length > kMaxHeaderBytes)
    fail("safetensors", fmt::format("{}, whose first bytes are of no such file", what), "a safetensors file",
         "it is damaged, or of another kind");
  if (length > file_bytes - 8)
    fail("safetensors", fmt::format("{} with a header of {} bytes", what, length),
         fmt::format("at most the {} bytes that follow", file_bytes - 8), "the file is cut short, or of another kind");
  return length;
}

// Checks all there is to check: grammar, types, no name twice, shapes that fit their bytes, and tensors that cover the
// `data_bytes` after the header without gap or overlap. After that, sizes can be trusted.
SafetensorsHeader parse_header(std::string_view json, std::uint64_t data_bytes, std::string_view what) {
  const auto refuse = [&](std::string_view problem) {
    fail("safetensors", fmt::format("{} with {}", what, problem), "a well-formed safetensors file",
         "the file is damaged, or of another kind");
  };
  SafetensorsHeader header;
  std::string problem;
  if (json.empty() || json[0] != '{') refuse("a header that does not start with {");
  if (const std::size_t end = find_json_end(json); end < json.size())
    refuse(fmt::format("a header that is not JSON (byte {})", end + 1));
  HeaderReader reader(header, problem);
  if (!Json::sax_parse(json.begin(), json.end(), &reader)) refuse(problem);

  auto& entries = header.entries;
  std::sort(entries.begin(), entries.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  std::uint64_t at = 0;
  for (const TensorEntry& entry : entries) {
    if (entry.begin != at || entry.end < entry.begin)
      refuse(fmt::format("tensor {} at bytes {} to {}, where byte {} is due", in_quotes(entry.name), entry.begin,
                         entry.end, at));
    std::uint64_t size = 0;
    if (!checked_size(entry.shape, entry.type, size) || size != entry.end - entry.begin)
      refuse(fmt::format("tensor {}, whose shape does not fit its {} bytes", in_quotes(entry.name),
                         entry.end - entry.begin));
    at = entry.end;
  }
  if (at != data_bytes)
    fail("safetensors", fmt::format("{} with {} bytes of data", what, data_bytes),
         fmt::format("{} as its header says", at), "the file is cut short or has grown: copy it again");
  return header;
}

// The reverse, padded with spaces to a multiple of 8 bytes, without the length.
std::string format_header(const SafetensorsHeader& header) {
  std::string text = "{";
  const auto add = [&](const std::string& key, const std::string& value) {
    if (text.size() > 1) text += ',';
    text += Json(key).dump() + ':' + value;
  };
  try {
    if (!header.metadata.empty()) add(kMetadataKey, Json(header.metadata).dump());
    for (const TensorEntry& e : header.entries)
      add(e.name, fmt::format("{{\"dtype\":\"{}\",\"shape\":{},\"data_offsets\":[{},{}]}}", dtype_name(e.type),
                              Json(e.shape).dump(), e.begin, e.end));
  } catch (const Json::exception&) {
    fail("safetensors", "a name or metadata text that is not UTF-8", "UTF-8");
  }
  text += '}';
  text.append((8 - text.size() % 8) % 8, ' ');
  if (text.size() > kMaxHeaderBytes)
    fail("safetensors", fmt::format("a header of {} bytes", text.size()), "at most 100000000",
         "put large things into tensors, not into metadata");
  return text;
}

template <class T>
void add_tensor(SafetensorsFile& file, const std::string& name, DType type, std::vector<std::size_t> shape,
                std::span<const T> values) {
  std::uint64_t bytes = 0;
  if (!checked_size(shape, type, bytes) || bytes != values.size_bytes() || shape.size() > kMaxDimensions)
    fail("add tensor", fmt::format("{} values for \"{}\" of shape [{}]", values.size(), name, fmt::join(shape, ", ")),
         "as many values as the shape holds, in at most 16 dimensions");
  if (name == kMetadataKey)
    fail("add tensor", fmt::format("the name \"{}\"", name), "another name: this one is reserved");
  const std::span<const std::byte> raw = std::as_bytes(values);
  if (!file.tensors.try_emplace(name, StoredTensor{type, std::move(shape), {raw.begin(), raw.end()}}).second)
    fail("add tensor", fmt::format("\"{}\" twice", name), "a new name");
}

template <class T>
std::vector<T> copy_tensor(const SafetensorsFile& file, const std::string& name, DType type) {
  const StoredTensor& tensor = file.tensor(name);
  if (tensor.type != type)
    fail("read tensor", fmt::format("\"{}\" of type {}", name, dtype_name(tensor.type)), dtype_name(type));
  std::uint64_t bytes = 0;
  if (!checked_size(tensor.shape, type, bytes) || bytes != tensor.bytes.size())
    fail("read tensor", fmt::format("\"{}\" of {} bytes", name, tensor.bytes.size()), "as many as its shape holds");
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

std::size_t dtype_size(DType type) { return type_info(type).size; }
std::string_view dtype_name(DType type) { return type_info(type).name; }

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
  const std::string text = format_header(header);
  std::vector<std::byte> out(8 + text.size() + at);
  for (std::size_t i = 0; i < 8; ++i) out[i] = static_cast<std::byte>(text.size() >> (8 * i));
  std::memcpy(out.data() + 8, text.data(), text.size());
  for (const TensorEntry& entry : header.entries) {
    const auto& bytes = tensors.at(entry.name).bytes;
    std::copy(bytes.begin(), bytes.end(), out.begin() + static_cast<std::ptrdiff_t>(8 + text.size() + entry.begin));
  }
  return out;
}

namespace {

// The hash of all but the entry `key`.
std::string seal_without(const SafetensorsFile& file, const std::string& key) {
  SafetensorsFile open = file;
  open.metadata.erase(key);
  const std::vector<std::byte> bytes = open.serialize();
  return Hasher().add(bytes.data(), bytes.size()).hex();
}

// A file with a seal matches it. One of ours without is refused: whoever changes it on purpose says so by the seal
// "none". One of others has none, unless it is there under a name that is damaged.
bool matches_its_seal(const SafetensorsFile& file) {
  const auto seal = file.metadata.find(kSeal), format = file.metadata.find("format"), none = file.metadata.end();
  if (seal != none) return seal->second == kUnsealed || file.is_sealed();
  if (format != none && format->second.starts_with(kOurs)) return false;
  const std::size_t length = Hasher().hex().size();
  return std::ranges::none_of(file.metadata, [&](const auto& entry) {
    return entry.second.size() == length && entry.second == seal_without(file, entry.first);
  });
}

// Fills in the next bytes of a file.
using Read = std::function<void(std::span<std::byte>)>;

SafetensorsHeader read_header(const Read& read, std::uint64_t size, std::string_view what) {
  std::byte first8[8] = {};
  read(std::span(first8).first(std::min<std::size_t>(8, size)));
  const std::uint64_t length = checked_header_length(first8, size, what);
  std::string json(length, '\0');
  read(std::as_writable_bytes(std::span(json)));
  return parse_header(json, size - 8 - length, what);
}

SafetensorsFile read_from(const Read& read, std::uint64_t size, std::string_view what) {
  SafetensorsHeader header = read_header(read, size, what);
  SafetensorsFile file;
  file.metadata = std::move(header.metadata);
  for (TensorEntry& e : header.entries) {
    StoredTensor& tensor = file.tensors[e.name];
    tensor = {e.type, std::move(e.shape), std::vector<std::byte>(e.end - e.begin)};
    read(tensor.bytes);
  }
  if (!matches_its_seal(file))
    fail("read model", fmt::format("{}, which does not match its own seal, or has lost it", what),
         "the file as it was written", "it was changed or damaged");
  return file;
}

}  // namespace

SafetensorsFile SafetensorsFile::parse(std::span<const std::byte> bytes, std::string_view what) {
  const auto read = [left = bytes](std::span<std::byte> into) mutable {
    std::ranges::copy(left.first(into.size()), into.begin());
    left = left.subspan(into.size());
  };
  return read_from(read, bytes.size(), what);
}

void SafetensorsFile::seal() { metadata[kSeal] = seal_without(*this, kSeal); }

bool SafetensorsFile::is_sealed() const {
  const auto seal = metadata.find(kSeal);
  return seal != metadata.end() && seal->second == seal_without(*this, kSeal);
}

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
  return read_from([&](std::span<std::byte> into) { input.read(into); }, input.size(), what);
}

SafetensorsFile read_safetensors_metadata(const std::string& path) {
  InputFile input("read model", path);
  const auto read = [&](std::span<std::byte> into) { input.read(into); };
  SafetensorsFile file;
  file.metadata = read_header(read, input.size(), fmt::format("\"{}\"", path)).metadata;
  return file;
}

void write_safetensors(const std::string& path, const SafetensorsFile& file) {
  write_atomically(path, file.serialize());
}

}  // namespace espalier
