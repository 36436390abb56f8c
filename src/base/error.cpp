// Error messages, and the small text helpers of the readers that write them.
#include "espalier/error.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace espalier {

std::string one_line(std::string_view text) {
  constexpr std::size_t kMaxShown = 400;
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };  // within UTF-8
  std::size_t length = text.size();
  if (length > kMaxShown)
    for (length = kMaxShown; length > 0 && continues(text[length]);) --length;
  std::string line;
  for (const char c : text.substr(0, length)) {
    if (c == '\n')
      line += "\\n";
    else if (static_cast<unsigned char>(c) < ' ' || c == 127)
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      line += c;
  }
  return length < text.size() ? line + "..." : line;
}

void fail(std::string_view op, std::string_view got, std::string_view expected, std::string_view hint) {
  std::string message = fmt::format("[{}] got {}, expected {}", one_line(op), one_line(got), one_line(expected));
  if (!hint.empty()) message += "; hint: " + one_line(hint);
  throw Error(message);
}

std::string shown(char letter) {
  return letter > ' ' && letter < 127 ? fmt::format("'{}'", letter)
                                      : fmt::format("byte 0x{:02x}", static_cast<unsigned char>(letter));
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::size_t find_invalid_utf8(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(text[i])); };
  for (std::size_t i = 0; i < text.size();) {
    const unsigned first = byte(i);
    const std::size_t length = first < 0x80   ? 1
                               : first < 0xC2 ? 0
                               : first < 0xE0 ? 2
                               : first < 0xF0 ? 3
                               : first < 0xF5 ? 4
                                              : 0;
    if (length == 0 || length > text.size() - i) return i;
    for (std::size_t k = 1; k < length; ++k)
      if ((byte(i + k) & 0xC0) != 0x80) return i;
    // Overlong forms, surrogates, and what lies beyond U+10FFFF.
    const unsigned second = length > 2 ? byte(i + 1) : 0x80;
    if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0) || (first == 0xF0 && second < 0x90) ||
        (first == 0xF4 && second >= 0x90))
      return i;
    i += length;
  }
  return std::string_view::npos;
}

std::string counted(std::uint64_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

}  // namespace espalier
