// What every reader of files is held to.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "espalier/error.hpp"

namespace espalier::fuzz {

inline void expect(bool holds, const char* promise) {
  if (!holds) throw std::logic_error(promise);
}

// Runs a reader; a refusal must be one short line.
template <class Read>
void read_or_refuse(Read&& read) {
  try {
    read();
  } catch (const Error& error) {
    const std::string message = error.what();
    expect(message.find('\n') == std::string::npos, "an error message is one line");
    expect(message.size() < 2000, "an error message is short");
  }
}

inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace espalier::fuzz
