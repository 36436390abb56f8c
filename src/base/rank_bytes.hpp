// What ranks share out, and values as the bytes of their messages.
#pragma once

#include <cstring>

#include "espalier/ranks.hpp"

namespace espalier {

// Items [begin, end) of `items` that are a rank's: whole units of `unit` neighbours, as equal as can be.
struct RankShare {
  std::size_t begin, end;
};
RankShare share_of(std::size_t items, std::size_t unit, int rank, int size);
// Where the share of each rank begins, times `scale`; one more at the end. For all_gather.
std::vector<std::size_t> share_starts(std::size_t items, std::size_t unit, int size, std::size_t scale);

// Values one after the other in bytes, for messages.
class Packer {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T> Packer& put(const T& value) {
    append(&value, sizeof value);
    return *this;
  }
  Packer& put(std::span<const std::byte> bytes);
  Packer& put(const std::string& text) { return put(std::as_bytes(std::span(text))); }
  Bytes take() { return std::move(bytes_); }

 private:
  void append(const void* from, std::size_t count);
  Bytes bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class T>
  T get() {
    T value;
    std::memcpy(&value, next(sizeof value).data(), sizeof value);
    return value;
  }
  std::span<const std::byte> bytes() { return next(get<std::uint64_t>()); }
  std::string text() {
    const auto part = bytes();
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }

 private:
  std::span<const std::byte> next(std::size_t count);
  std::span<const std::byte> bytes_;
};

}  // namespace espalier
