// XXH3-128 of a stream of bytes, as 32 hex digits.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace espalier {

class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher& add(const void* bytes, std::size_t count);
  Hasher& add(std::string_view text) { return add(text.data(), text.size()); }
  template <class T>
  Hasher& add(std::span<const T> values) {
    return add(values.data(), values.size_bytes());
  }
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace espalier
