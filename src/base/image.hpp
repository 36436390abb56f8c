// A small RGB picture: PNG in and out, and drawn in a terminal, two rows of pixels to a line of text.
// Example:
//   Image image(8, 8, {255, 255, 255});
//   image.set(0, 0, {255, 0, 0});
//   write_png("corner.png", enlarge(image, 16));
//   const std::string text = draw_in_terminal(image, {.colour = true});
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

struct Rgb {
  std::uint8_t red = 0, green = 0, blue = 0;
  bool operator==(const Rgb&) const = default;
};

inline constexpr int kMaxImageSide = 4096;

struct Image {
  int width = 0, height = 0;
  std::vector<std::uint8_t> rgb;  // [row][column][red, green, blue]

  Image() = default;
  Image(int width, int height, Rgb fill = {});  // sides of 1 to kMaxImageSide

  // Errors for places outside, also where `rgb` was cut short by hand.
  Rgb at(int row, int column) const {
    const std::uint8_t* p = &rgb[offset(row, column)];
    return {p[0], p[1], p[2]};
  }
  void set(int row, int column, Rgb colour) {
    std::uint8_t* p = &rgb[offset(row, column)];
    p[0] = colour.red, p[1] = colour.green, p[2] = colour.blue;
  }

 private:
  std::size_t offset(int row, int column) const {
    const std::size_t place =
        3 * (static_cast<std::size_t>(row) * static_cast<std::size_t>(width) + static_cast<std::size_t>(column));
    if (row < 0 || row >= height || column < 0 || column >= width || rgb.size() < place + 3) refuse(row, column);
    return place;
  }
  [[noreturn]] void refuse(int row, int column) const;
};

// An Error unless the sides are 1 to kMaxImageSide and there are as many bytes as they say.
void check_image(const Image& image, std::string_view op);

// Every pixel becomes a square of factor x factor.
Image enlarge(const Image& image, int factor);

std::vector<std::byte> encode_png(const Image& image);
// Transparent places are laid on black, grey and palette become RGB. A side over kMaxImageSide or a damaged
// file is a one-line Error before memory is spent on it; `what` names the source in it.
Image decode_png(std::span<const std::byte> bytes, std::string_view what);

void write_png(const std::string& path, const Image& image);  // atomic

struct TerminalOptions {
  bool colour = false;  // 24-bit escape codes; without, a pixel is on when its brightest part is from half its range
};

// Lines of half blocks, (height + 1) / 2 of them, each ended by a newline.
std::string draw_in_terminal(const Image& image, const TerminalOptions& options = {});

// Goes back up over what was drawn, so that the next drawing covers it.
std::string rewind_terminal(const Image& image);

}  // namespace espalier
