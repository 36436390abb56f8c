// Boards drawn in a terminal, two rows of cells to a line of text.
#pragma once

#include <string>

#include "espalier/image.hpp"

namespace espalier {

struct TerminalOptions {
  bool colour = false;  // 24-bit escape codes; without, a cell is on when its brightest part is from half its range
};

// Lines of half blocks, (height + 1) / 2 of them, each ended by a newline.
std::string draw_in_terminal(const Image& image, const TerminalOptions& options = {});

// Goes back up over what was drawn, so that the next drawing covers it.
std::string rewind_terminal(const Image& image);

}  // namespace espalier
