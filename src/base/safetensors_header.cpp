// The header is read by events (SAX), not into a tree: a hostile header of nested or countless values is
// refused at its first wrong token, before memory is spent on it.
#include "safetensors_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "espalier/error.hpp"

namespace espalier {
namespace {

using Json = nlohmann::json;

constexpr DType kTypes[] = {DType::kF32, DType::kI32, DType::kI64, DType::kU8};

// Names from a file go into one-line messages: shortened, and with control characters escaped.
std::string in_quotes(std::string_view text) {
  constexpr std::size_t kMaxShown = 60;
  const std::string shown(text.substr(0, kMaxShown));
  return Json(shown).dump(-1, ' ', true, Json::error_handler_t::replace) + (text.size() > kMaxShown ? "..." : "");
}

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
    for (const DType type : kTypes)
      if (text == dtype_name(type)) {
        entry_.type = type;
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

}  // namespace

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

std::uint64_t checked_header_length(std::span<const std::byte> first8, std::uint64_t file_bytes,
                                    std::string_view what) {
  if (file_bytes < 8 || first8.size() < 8)
    fail("safetensors", fmt::format("{} of {} bytes", what, file_bytes), "at least 8 bytes",
         "the file is empty or cut short: is it a safetensors file?");
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | static_cast<std::uint64_t>(first8[static_cast<std::size_t>(i)]);
  if (length > kMaxHeaderBytes)
    fail("safetensors", fmt::format("{} with a header of {} bytes", what, length), "at most 100000000",
         "is it a safetensors file?");
  if (length > file_bytes - 8)
    fail("safetensors", fmt::format("{} with a header of {} bytes", what, length),
         fmt::format("at most the {} bytes that follow", file_bytes - 8), "the file is cut short, or of another kind");
  return length;
}

SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes, std::string_view what) {
  const auto refuse = [&](std::string_view problem) {
    fail("safetensors", fmt::format("{} with {}", what, problem), "a well-formed safetensors file",
         "the file is damaged, or of another kind");
  };
  SafetensorsHeader header;
  std::string problem;
  if (json.empty() || json[0] != '{') refuse("a header that does not start with {");
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

std::string format_safetensors_header(const SafetensorsHeader& header) {
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

}  // namespace espalier
