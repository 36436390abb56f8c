// Error messages, and the small text helpers of the readers that write them.
#include "espalier/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/text.hpp"

namespace espalier {

bool is_hidden(std::uint32_t code_point) {
  constexpr std::pair<std::uint32_t, std::uint32_t> kHidden[] = {
      {0, 0x1F},        {0x7F, 0x9F},       {0xAD, 0xAD},       {0x34F, 0x34F},    {0x61C, 0x61C},
      {0x115F, 0x1160}, {0x17B4, 0x17B5},   {0x180B, 0x180F},   {0x200B, 0x200F},  {0x2028, 0x202E},
      {0x2060, 0x206F}, {0x3164, 0x3164},   {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},  {0xFFA0, 0xFFA0},
      {0xFFF0, 0xFFFB}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}};
  return std::ranges::any_of(kHidden, [&](const auto& r) { return code_point >= r.first && code_point <= r.second; });
}

std::string printable(std::string_view text, bool lines) {
  std::string safe;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    const std::size_t bytes = point.problem ? 1 : point.bytes;
    if (point.value == '\n' && !point.problem)
      safe += lines ? "\n" : "\\n";
    else if (point.problem || point.value < 0x80)
      safe += point.problem || is_hidden(point.value) ? fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at]))
                                                      : std::string(1, text[at]);
    else
      safe += is_hidden(point.value) ? fmt::format("\\u{:04x}", point.value) : std::string(text.substr(at, bytes));
    at += bytes;
  }
  return safe;
}

std::string one_line(std::string_view text) {
  constexpr std::size_t kMaxShown = 400;
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };  // within UTF-8
  std::size_t length = text.size();
  if (length > kMaxShown)
    for (length = kMaxShown; length > 0 && continues(text[length]);) --length;
  return printable(text.substr(0, length)) + (length < text.size() ? "..." : "");
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

CodePoint code_point_at(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const std::size_t bytes = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
  if (bytes == 0) return {0, 0, "a stray byte"};
  if (bytes > text.size() - at) return {0, bytes, "a truncated character"};
  std::uint32_t value = bytes == 1 ? lead : lead & (0x7Fu >> bytes);
  for (const char c : text.substr(at + 1, bytes - 1)) {
    const auto next = static_cast<unsigned char>(c);
    if (next >> 6 != 2) return {0, bytes, "a truncated character"};
    value = value << 6 | (next & 0x3F);
  }
  constexpr std::uint32_t kLeast[5] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kLeast[bytes]) return {value, bytes, "an overlong form"};
  const bool surrogate = value >= 0xD800 && value < 0xE000;
  return {value, bytes, surrogate || value > 0x10FFFF ? "no code point" : nullptr};
}

std::size_t find_invalid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    if (point.problem) return at;
    at += point.bytes;
  }
  return std::string_view::npos;
}

std::string counted(std::uint64_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

std::string averaged(double number, std::string_view what) {
  const std::string digits = fmt::format("{:.4g}", number);
  return fmt::format("{} {}{}", digits, what, digits == "1" ? "" : "s");
}

std::string text_of(const std::exception_ptr& error) {
  if (!error) return "";
  try {
    std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    return "out of memory";
  } catch (const std::exception& e) {
    return e.what();
  }
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

}  // namespace espalier
