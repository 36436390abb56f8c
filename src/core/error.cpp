#include "espalier/core/error.hpp"

#include <fmt/format.h>

namespace espalier {

void fail(std::string_view op, std::string_view got, std::string_view expected, std::string_view hint) {
  std::string message = fmt::format("[{}] got {}, expected {}", op, got, expected);
  if (!hint.empty()) message += fmt::format("; hint: {}", hint);
  throw Error(message);
}

}  // namespace espalier
