// Pieces of text files, for readers and for messages.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

namespace espalier {

// A character for an error message: 'x', or its code where it cannot be printed.
std::string shown(char letter);

// Characters that are not seen, but change how other text is seen: controls of terminals and of the direction of
// writing, and those without a width.
bool is_hidden(std::uint32_t code_point);
// Text that others have written, for a terminal: hidden characters, and bytes that are no UTF-8, are shown as codes.
// With `lines`, ends of lines stay as they are.
std::string printable(std::string_view text, bool lines = false);
// The same, and long texts are cut, so that it stays one line that a terminal can show.
std::string one_line(std::string_view text);

// Takes the next line off `text`, without its end ("\n" or "\r\n").
std::string_view take_line(std::string_view& text);

// The character that begins at byte `at` of a UTF-8 text. `problem` says what is wrong with it, or is null.
struct CodePoint {
  std::uint32_t value;
  std::size_t bytes;
  const char* problem;
};
CodePoint code_point_at(std::string_view text, std::size_t at);
// The place of the first byte that is not part of valid UTF-8; npos when all are.
std::size_t find_invalid_utf8(std::string_view text);

// "1 step", "2 steps".
std::string counted(std::uint64_t number, std::string_view what);
// The same of a mean, to four digits: "1 bit", "2.5 bits".
std::string averaged(double number, std::string_view what);

// What was thrown, in words; "" for nothing.
std::string text_of(const std::exception_ptr& error);

// Without blanks and tabs on both sides.
std::string_view trimmed(std::string_view text);

}  // namespace espalier
