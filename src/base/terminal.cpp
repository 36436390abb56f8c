#include "base/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace espalier {
namespace {

constexpr const char* kBlocks[] = {" ", "▀", "▄", "█"};  // bit 0: upper cell on, bit 1: lower cell on

unsigned is_on(Rgb c) { return std::max({c.red, c.green, c.blue}) >= 128; }

void add_plain(std::string& text, const Image& image, int row) {
  for (int column = 0; column < image.width; ++column) {
    const unsigned lower = row + 1 < image.height ? is_on(image.at(row + 1, column)) : 0;
    text += kBlocks[is_on(image.at(row, column)) | lower << 1];
  }
}

// The upper half block in the upper cell's colour, on a ground of the lower cell's colour.
void add_coloured(std::string& text, const Image& image, int row) {
  const bool has_lower = row + 1 < image.height;
  for (int column = 0; column < image.width; ++column) {
    const Rgb upper = image.at(row, column), lower = has_lower ? image.at(row + 1, column) : Rgb{};
    if (column == 0 || upper != image.at(row, column - 1))
      text += fmt::format("\x1b[38;2;{};{};{}m", upper.red, upper.green, upper.blue);
    if (has_lower && (column == 0 || lower != image.at(row + 1, column - 1)))
      text += fmt::format("\x1b[48;2;{};{};{}m", lower.red, lower.green, lower.blue);
    text += kBlocks[1];
  }
  text += "\x1b[0m";
}

}  // namespace

std::string draw_in_terminal(const Image& image, const TerminalOptions& options) {
  std::string text;
  for (int row = 0; row < image.height; row += 2) {
    (options.colour ? add_coloured : add_plain)(text, image, row);
    text += '\n';
  }
  return text;
}

std::string rewind_terminal(const Image& image) {
  return image.height > 0 ? fmt::format("\x1b[{}F", (image.height + 1) / 2) : "";
}

}  // namespace espalier
