// XXH3-128 of a stream of bytes, as 32 hex digits.
#pragma once

#include <fmt/format.h>
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace espalier {

class Hasher {
 public:
  Hasher() : state_(XXH3_createState()) { XXH3_128bits_reset(state_.get()); }

  Hasher& add(const void* bytes, std::size_t count) {
    if (count) XXH3_128bits_update(state_.get(), bytes, count);
    return *this;
  }
  Hasher& add(std::string_view text) { return add(text.data(), text.size()); }
  template <class T>
  Hasher& add(std::span<const T> values) {
    return add(values.data(), values.size_bytes());
  }
  std::uint64_t number() const { return XXH3_128bits_digest(state_.get()).low64; }
  std::string hex() const {
    const XXH128_hash_t h = XXH3_128bits_digest(state_.get());
    return fmt::format("{:016x}{:016x}", h.high64, h.low64);
  }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_;
};

// A number by which to see whether an array is still what it was; `before` is that of what comes before it.
inline std::uint64_t seal_of(std::span<const float> values, std::uint64_t before = 0) {
  return XXH3_64bits_withSeed(values.data(), values.size_bytes(), before);
}

}  // namespace espalier
