#include "base/npz.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/files.hpp"
#include "espalier/error.hpp"

namespace espalier {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are stored as they lie in memory");

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 32;
constexpr std::size_t kMaxUnpackedBytes = std::size_t{1} << 32;  // of one array
constexpr std::size_t kMaxHeaderBytes = 10'000;                  // numpy's own limit
constexpr std::size_t kMaxRank = 32;
constexpr std::size_t kMaxDeflateRatio = 1032;  // what deflate can reach at most
constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::string_view kKnownTypes = "bool, uint8 to uint64, int8 to int64, float32 or float64, little-endian";

// ---- types ----

// Calls `use` with a zero of the C++ type of a numpy type; false if it is not one of ours.
template <class Use>
bool with_type(std::string_view type, Use&& use) {
  if (type == "|b1") return use(bool{}), true;
  if (type == "|u1") return use(std::uint8_t{}), true;
  if (type == "<u2") return use(std::uint16_t{}), true;
  if (type == "<u4") return use(std::uint32_t{}), true;
  if (type == "<u8") return use(std::uint64_t{}), true;
  if (type == "|i1") return use(std::int8_t{}), true;
  if (type == "<i2") return use(std::int16_t{}), true;
  if (type == "<i4") return use(std::int32_t{}), true;
  if (type == "<i8") return use(std::int64_t{}), true;
  if (type == "<f4") return use(float{}), true;
  if (type == "<f8") return use(double{}), true;
  return false;
}

std::size_t type_size(std::string_view type) {  // 0 for types that we do not read
  std::size_t size = 0;
  with_type(type, [&](auto zero) { size = sizeof zero; });
  return size;
}

// Product of extents and element size; false when it passes the limit of one array.
bool checked_bytes(std::span<const std::size_t> shape, std::size_t element, std::size_t& bytes) {
  bytes = element;
  if (std::find(shape.begin(), shape.end(), 0u) != shape.end()) return bytes = 0, true;
  for (const std::size_t extent : shape) {
    if (extent > kMaxUnpackedBytes / bytes) return false;
    bytes *= extent;
  }
  return true;
}

// True if `to` holds `from` exactly, or as nearly as a float holds a double.
template <class To, class From>
bool convert(From from, To& to) {
  if constexpr (std::is_floating_point_v<From> && std::is_floating_point_v<To>) {
    to = static_cast<To>(from);
    return std::isfinite(to) || !std::isfinite(from);
  } else if constexpr (std::is_floating_point_v<From>) {
    // The limits of `To` as powers of two, which every floating-point type holds exactly.
    const From end = std::ldexp(From{1}, std::numeric_limits<To>::digits);
    const From begin = std::is_signed_v<To> ? -end : From{0};
    if (!(from >= begin && from < end) || from != std::trunc(from)) return false;
    to = static_cast<To>(from);
    return true;
  } else if constexpr (std::is_floating_point_v<To>) {
    to = static_cast<To>(from);
    From back{};
    return convert(to, back) && back == from;
  } else if constexpr (std::is_same_v<From, bool>) {
    to = from;
    return true;
  } else {
    to = static_cast<To>(from);
    return std::in_range<To>(from);
  }
}

template <class To>
std::vector<To> converted(const NumpyArray& array, std::string_view what, std::string_view expected) {
  std::vector<To> values(array.size());
  const bool known = with_type(array.type, [&]<class From>(From) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      From from{};
      if constexpr (std::is_same_v<From, bool>)
        from = array.bytes[i] != std::byte{0};  // a C++ bool may not be made of a byte of 2
      else
        std::memcpy(&from, array.bytes.data() + i * sizeof(From), sizeof(From));
      if (!convert(from, values[i])) fail("numpy array", fmt::format("{} in {} at {}", from, what, i), expected);
    }
  });
  if (!known) fail("numpy array", fmt::format("{} of type \"{}\"", what, array.type), kKnownTypes);
  return values;
}

// ---- .npy ----

// The header is a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class NpyHeader {
 public:
  std::string type;
  bool fortran = false;
  std::vector<std::size_t> shape;

  NpyHeader(std::string_view text, std::string_view what) : text_(text), what_(what) {
    bool has_type = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      bool& had = key == "descr" ? has_type : key == "fortran_order" ? has_order : has_shape;
      if ((key != "descr" && key != "fortran_order" && key != "shape") || had) refuse();
      had = true;
      if (key == "descr")
        read_type();
      else if (key == "fortran_order")
        read_order();
      else
        read_shape();
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (!text_.empty() || !has_type || !has_order || !has_shape) refuse();
  }

 private:
  [[noreturn]] void refuse() const {
    fail("read npy", fmt::format("{} with a header that numpy does not write", what_), "descr, fortran_order and shape",
         "the file is damaged, or of another kind");
  }
  void skip_blanks() { text_.remove_prefix(std::min(text_.find_first_not_of(" \n"), text_.size())); }
  bool accept(char c) {
    skip_blanks();
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) refuse();
  }
  bool accept_word(std::string_view word) {
    skip_blanks();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  std::string_view quoted() {
    skip_blanks();
    if (text_.empty() || (text_[0] != '\'' && text_[0] != '"')) refuse();
    const std::size_t end = text_.find(text_[0], 1);
    if (end == std::string_view::npos) refuse();
    const std::string_view inside = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return inside;
  }
  void read_type() {
    skip_blanks();
    if (text_.starts_with('['))
      fail("read npy", fmt::format("{} of records", what_), kKnownTypes, "save each column as a separate array");
    type = quoted();
  }
  void read_order() {
    fortran = accept_word("True");
    if (!fortran && !accept_word("False")) refuse();
  }
  void read_shape() {
    expect('(');
    while (!accept(')')) {
      skip_blanks();
      std::size_t extent = 0;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), extent);
      if (error != std::errc()) refuse();
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      if (shape.size() == kMaxRank)
        fail("read npy", fmt::format("{} of more than {} dimensions", what_, kMaxRank), "fewer");
      shape.push_back(extent);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
  }

  std::string_view text_, what_;
};

std::size_t little_endian(std::span<const std::byte> bytes) {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<std::size_t>(bytes[i]);
  return value;
}

// ---- zip ----

// Only what numpy writes: one disk, no encryption, members stored or deflated, less than 4 GiB. The central directory
// at the end of the file counts; local headers are only stepped over.
constexpr std::uint32_t kLocalHeader = 0x04034b50, kDirectoryEntry = 0x02014b50, kDirectoryEnd = 0x06054b50;
constexpr std::size_t kLocalHeaderBytes = 30, kDirectoryEntryBytes = 46, kDirectoryEndBytes = 22;

class ZipView {
 public:
  ZipView(std::span<const std::byte> bytes, std::string_view what) : bytes_(bytes), what_(what) {}

  [[noreturn]] void refuse(std::string_view problem) const {
    fail("read npz", fmt::format("{}, {}", what_, problem), "an .npz file as numpy writes it",
         "the file is damaged, cut short or of another kind");
  }
  std::size_t number(std::size_t at, std::size_t size) const { return little_endian(part(at, size)); }
  std::span<const std::byte> part(std::size_t at, std::size_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) refuse("which ends within its own directory");
    return bytes_.subspan(at, size);
  }
  // The record that ends the file; a comment may follow it.
  std::size_t find_end() const {
    constexpr std::size_t kMaxComment = 0xffff;
    for (std::size_t comment = 0; comment <= kMaxComment && comment + kDirectoryEndBytes <= bytes_.size(); ++comment) {
      const std::size_t at = bytes_.size() - kDirectoryEndBytes - comment;
      if (number(at, 4) == kDirectoryEnd && number(at + 20, 2) == comment) return at;
    }
    refuse("which has no zip directory");
  }

 private:
  std::span<const std::byte> bytes_;
  std::string_view what_;
};

std::vector<std::byte> inflated(std::span<const std::byte> packed, std::size_t size, const ZipView& zip) {
  std::vector<std::byte> out(size);
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  const auto* next = reinterpret_cast<const Bytef*>(packed.data());
  stream.next_in = const_cast<Bytef*>(next);  // zlib does not write there
  stream.avail_in = static_cast<uInt>(packed.size());
  std::byte nothing{};
  stream.next_out = reinterpret_cast<Bytef*>(size ? out.data() : &nothing);
  stream.avail_out = static_cast<uInt>(size);
  const int result = inflate(&stream, Z_FINISH);
  const bool whole = result == Z_STREAM_END && stream.avail_in == 0 && stream.avail_out == 0;
  inflateEnd(&stream);
  if (!whole) zip.refuse("whose compressed data are damaged");
  return out;
}

std::uint32_t crc_of(std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

std::size_t NumpyArray::size() const { return bytes.size() / std::max<std::size_t>(1, type_size(type)); }

std::vector<float> NumpyArray::floats(std::string_view what) const {
  return converted<float>(*this, what, "numbers that a float holds");
}
std::vector<std::uint8_t> NumpyArray::octets(std::string_view what) const {
  return converted<std::uint8_t>(*this, what, "whole numbers from 0 to 255");
}
std::vector<std::int64_t> NumpyArray::longs(std::string_view what) const {
  return converted<std::int64_t>(*this, what, "whole numbers that 64 bits hold");
}

NumpyArray parse_npy(std::span<const std::byte> bytes, std::string_view what) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto refuse = [&](std::string_view problem, std::string_view expected) {
    fail("read npy", fmt::format("{} {}", what, problem), expected, "the file is damaged, or of another kind");
  };
  if (!text.starts_with(kMagic) || text.size() < 10)
    refuse("without numpy's first bytes", "an array as numpy writes it");
  const auto major = static_cast<int>(bytes[6]);
  if (major < 1 || major > 3) refuse(fmt::format("of format {}", major), "format 1, 2 or 3");
  const std::size_t length_bytes = major == 1 ? 2 : 4, begin = 8 + length_bytes;
  if (text.size() < begin) refuse("that ends within its header", "a whole file");
  const std::size_t length = little_endian(bytes.subspan(8, length_bytes));
  if (length > kMaxHeaderBytes || length > text.size() - begin)
    refuse(fmt::format("with a header of {} bytes", length), "one that the file holds, of at most 10000 bytes");
  NpyHeader header(text.substr(begin, length), what);
  const std::size_t element = type_size(header.type);
  if (element == 0) fail("read npy", fmt::format("{} of type \"{}\"", what, header.type), kKnownTypes);
  if (header.fortran && header.shape.size() > 1)
    fail("read npy", fmt::format("{} in Fortran order", what), "C order", "save numpy.ascontiguousarray(...) of it");
  const std::span<const std::byte> data = bytes.subspan(begin + length);
  std::size_t size = 0;
  if (!checked_bytes(header.shape, element, size) || size != data.size())
    refuse(fmt::format("of shape ({}) with {} bytes of data", fmt::join(header.shape, ", "), data.size()),
           "as many as the shape needs");
  return {std::move(header.type), std::move(header.shape), {data.begin(), data.end()}};
}

NpzFile NpzFile::parse(std::vector<std::byte> bytes, std::string_view what) {
  NpzFile file;
  file.bytes_ = std::move(bytes);
  file.what_ = what;
  const ZipView zip(file.bytes_, what);
  const std::size_t end = zip.find_end(), count = zip.number(end + 10, 2);
  if (zip.number(end + 4, 2) != 0 || zip.number(end + 6, 2) != 0 || zip.number(end + 8, 2) != count)
    zip.refuse("which is spread over several files");
  std::size_t at = zip.number(end + 16, 4);
  std::vector<std::pair<std::size_t, std::size_t>> places;  // [begin, end) of each member
  for (std::size_t i = 0; i < count; ++i) {
    if (zip.number(at, 4) != kDirectoryEntry) zip.refuse("whose directory is damaged");
    const std::size_t flags = zip.number(at + 8, 2), method = zip.number(at + 10, 2);
    Member member;
    member.crc = static_cast<std::uint32_t>(zip.number(at + 16, 4));
    member.packed = zip.number(at + 20, 4);
    member.unpacked = zip.number(at + 24, 4);
    member.deflated = method == Z_DEFLATED;
    const std::size_t name_length = zip.number(at + 28, 2), local = zip.number(at + 42, 4);
    const auto raw = zip.part(at + kDirectoryEntryBytes, name_length);
    std::string name(reinterpret_cast<const char*>(raw.data()), raw.size());
    at += kDirectoryEntryBytes + name_length + zip.number(at + 30, 2) + zip.number(at + 32, 2);
    if (flags & 1) zip.refuse("which is encrypted");
    constexpr std::size_t kElsewhere = 0xffff'ffff;  // the true figure is in a zip64 record
    if (member.packed == kElsewhere || member.unpacked == kElsewhere || local == kElsewhere)
      zip.refuse("with arrays of 2 GiB or more");
    if (method != 0 && !member.deflated) zip.refuse(fmt::format("with compression method {}", method));
    if (zip.number(local, 4) != kLocalHeader) zip.refuse("whose directory points at no member");
    member.offset = local + kLocalHeaderBytes + zip.number(local + 26, 2) + zip.number(local + 28, 2);
    zip.part(member.offset, member.packed);
    // Before memory is spent: a stored member is as large as it says, a deflated one cannot grow more than deflate can.
    if (member.deflated ? member.unpacked / kMaxDeflateRatio > member.packed : member.unpacked != member.packed)
      zip.refuse("with a member of an impossible size");
    places.emplace_back(local, member.offset + member.packed);
    if (!name.ends_with(".npy")) zip.refuse(fmt::format("with a member \"{}\"", name));
    name.resize(name.size() - 4);
    if (!file.members_.emplace(name, member).second) zip.refuse(fmt::format("with the array \"{}\" twice", name));
  }
  // Members that share bytes would let a small file unpack to any size.
  std::sort(places.begin(), places.end());
  for (std::size_t i = 1; i < places.size(); ++i)
    if (places[i].first < places[i - 1].second) zip.refuse("with members that overlap");
  return file;
}

std::vector<std::string> NpzFile::names() const {
  std::vector<std::string> names;
  for (const auto& [name, member] : members_) names.push_back(name);
  return names;
}

NumpyArray NpzFile::array(const std::string& name) const {
  const auto found = members_.find(name);
  if (found == members_.end())
    fail("read npz", fmt::format("no array \"{}\" in {}", name, what_), "an array of that name",
         members_.empty() ? "the file has no arrays" : fmt::format("the file has {}", fmt::join(names(), ", ")));
  const Member& member = found->second;
  const ZipView zip(bytes_, what_);
  const auto packed = std::span(bytes_).subspan(member.offset, member.packed);
  std::vector<std::byte> unpacked;
  if (member.deflated) unpacked = inflated(packed, member.unpacked, zip);
  const std::span<const std::byte> npy = member.deflated ? std::span<const std::byte>(unpacked) : packed;
  if (crc_of(npy) != member.crc) zip.refuse(fmt::format("whose array \"{}\" does not match its checksum", name));
  return parse_npy(npy, fmt::format("\"{}\" of {}", name, what_));
}

NpzFile read_npz(const std::string& path) {
  return NpzFile::parse(read_bytes(path, kMaxFileBytes), fmt::format("\"{}\"", path));
}

}  // namespace espalier
