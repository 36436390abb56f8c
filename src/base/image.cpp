#include "base/image.hpp"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>

#include "base/files.hpp"
#include "espalier/error.hpp"

namespace espalier {
namespace {

// libpng's own record of one picture; frees what a failed read leaves.
struct PngImage {
  png_image image{};
  PngImage() { image.version = PNG_IMAGE_VERSION; }
  ~PngImage() { png_image_free(&image); }
  PngImage(const PngImage&) = delete;
  PngImage& operator=(const PngImage&) = delete;
};

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

Image::Image(int w, int h, Rgb fill) : width(w), height(h) {
  if (w < 1 || h < 1 || w > kMaxImageSide || h > kMaxImageSide)
    fail("image", fmt::format("{} x {} pixels", w, h), fmt::format("sides of 1 to {}", kMaxImageSide));
  rgb.resize(3 * static_cast<std::size_t>(w) * static_cast<std::size_t>(h));
  if (fill == Rgb{}) return;
  for (int row = 0; row < h; ++row)
    for (int column = 0; column < w; ++column) set(row, column, fill);
}

void Image::refuse(int row, int column) const {
  fail("image", fmt::format("row {}, column {} of {} bytes", row, column, rgb.size()),
       fmt::format("a place in {} x {} pixels", width, height));
}

void check_image(const Image& image, std::string_view op) {
  const auto side = [](int n) { return n >= 1 && n <= kMaxImageSide; };
  if (!side(image.width) || !side(image.height) ||
      image.rgb.size() != 3 * static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.height))
    fail(op, fmt::format("{} bytes for {} x {} pixels", image.rgb.size(), image.width, image.height),
         fmt::format("three for each pixel, and sides of 1 to {}", kMaxImageSide));
}

Image enlarge(const Image& image, int factor) {
  if (factor < 1 || factor > kMaxImageSide / std::max({1, image.width, image.height}))
    fail("enlarge image", fmt::format("{} x {} pixels times {}", image.width, image.height, factor),
         fmt::format("a factor of at least 1 and sides of at most {}", kMaxImageSide));
  Image large(image.width * factor, image.height * factor);
  for (int row = 0; row < large.height; ++row)
    for (int column = 0; column < large.width; ++column)
      large.set(row, column, image.at(row / factor, column / factor));
  return large;
}

std::vector<std::byte> encode_png(const Image& image) {
  check_image(image, "write PNG");
  PngImage png;
  png.image.width = static_cast<png_uint_32>(image.width);
  png.image.height = static_cast<png_uint_32>(image.height);
  png.image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(png.image);
  std::vector<std::byte> bytes(size);
  if (!png_image_write_to_memory(&png.image, bytes.data(), &size, 0, image.rgb.data(), 0, nullptr))
    fail("write PNG", png.image.message, "an image that libpng can write");
  bytes.resize(size);
  return bytes;
}

Image decode_png(std::span<const std::byte> bytes, std::string_view what) {
  const auto refuse = [&](const char* problem) {
    fail("read PNG", fmt::format("{}: {}", what, problem), "a whole PNG picture",
         "the file is damaged, or of another kind");
  };
  PngImage png;
  if (!png_image_begin_read_from_memory(&png.image, bytes.data(), bytes.size())) refuse(png.image.message);
  if (png.image.width > kMaxImageSide || png.image.height > kMaxImageSide)
    fail("read PNG", fmt::format("{} of {} x {} pixels", what, png.image.width, png.image.height),
         fmt::format("sides of at most {}", kMaxImageSide), "scale it down first");
  png.image.format = PNG_FORMAT_RGB;
  Image image(static_cast<int>(png.image.width), static_cast<int>(png.image.height));
  const png_color black{};
  if (!png_image_finish_read(&png.image, &black, image.rgb.data(), 0, nullptr)) refuse(png.image.message);
  return image;
}

void write_png(const std::string& path, const Image& image) { write_atomically(path, encode_png(image)); }

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
