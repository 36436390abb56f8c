#include "base/pattern.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/files.hpp"
#include "base/rle.hpp"
#include "base/text.hpp"
#include "espalier/error.hpp"

namespace espalier {
namespace {

// Position = red + 2 green + 4 blue.
constexpr std::string_view kColours = ".rgybmcw";

Pattern blank(int height, int width, int channels) {
  Pattern p{height, width, channels, {}};
  p.bits.resize(static_cast<std::size_t>(height) * static_cast<std::size_t>(width) *
                static_cast<std::size_t>(channels));
  return p;
}

// Lines without their ends; blank lines at the end of the text do not count.
std::vector<std::string_view> lines_of(std::string_view text, std::string_view what) {
  std::vector<std::string_view> lines;
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  while (!text.empty()) {
    if (lines.size() == kMaxPatternSide)
      fail("pattern", fmt::format("{} with more than {} lines", what, kMaxPatternSide),
           fmt::format("at most {0} x {0} cells", kMaxPatternSide));
    lines.push_back(take_line(text));
  }
  return lines;
}

void check_sides(std::size_t height, std::size_t width, std::string_view what) {
  if (height < 1 || width < 1 || height > kMaxPatternSide || width > kMaxPatternSide)
    fail("pattern", fmt::format("{} of {} x {} cells", what, height, width),
         fmt::format("1 x 1 to {0} x {0}", kMaxPatternSide));
}

}  // namespace

Pattern parse_pattern(std::string_view text, std::string_view what) {
  const std::vector<std::string_view> lines = lines_of(text, what);
  check_sides(lines.size(), lines.empty() ? 0 : lines[0].size(), what);
  const bool colour = text.find_first_of(kColours.substr(1)) != std::string_view::npos;
  const std::string_view letters = colour ? kColours : ".#";
  for (std::size_t row = 0; row < lines.size(); ++row) {
    const std::size_t column = std::min(lines[row].find_first_not_of(letters), lines[row].size());
    if (column < lines[row].size())
      fail("pattern", fmt::format("{} in {}, line {}, column {}", shown(lines[row][column]), what, row + 1, column + 1),
           colour ? "one of . r g y b m c w" : "# or .",
           colour ? "a # and colour letters cannot stand in one pattern" : "colours are the letters . r g y b m c w");
    if (lines[row].size() != lines[0].size())
      fail("pattern", fmt::format("{} in {}, line {}", counted(lines[row].size(), "cell"), what, row + 1),
           fmt::format("{} as in line 1", lines[0].size()), "fill short lines with dots");
  }
  Pattern p = blank(static_cast<int>(lines.size()), static_cast<int>(lines[0].size()), colour ? 3 : 1);
  std::size_t at = 0;
  for (int channel = 0; channel < p.channels; ++channel)
    for (const std::string_view line : lines)
      for (const char letter : line) p.bits[at++] = letters.find(letter) >> channel & 1;
  return p;
}

Pattern pattern_of(const Image& image, std::string_view what) {
  check_image(image, "pattern");
  check_sides(static_cast<std::size_t>(image.height), static_cast<std::size_t>(image.width), what);
  const auto on = [&](std::size_t i) -> std::uint8_t { return image.rgb[i] >= 128; };
  bool grey = true;
  for (std::size_t i = 0; i < image.rgb.size() && grey; i += 3) grey = on(i) == on(i + 1) && on(i) == on(i + 2);
  Pattern p = blank(image.height, image.width, grey ? 1 : 3);
  const std::size_t cells = image.rgb.size() / 3;
  for (std::size_t i = 0; i < p.bits.size(); ++i) p.bits[i] = on(3 * (i % cells) + i / cells);
  const auto is_set = [](std::uint8_t value) { return value != 0; };
  if (std::ranges::none_of(p.bits, is_set) && std::ranges::any_of(image.rgb, is_set))
    fail("pattern", fmt::format("{} without a pixel that is brighter than half", what), "pixels that count as on",
         "make those that are meant brighter than half, and the others black");
  return p;
}

namespace {

// Kinds of files that people have at hand and that are not read here: each would be called text with a wrong letter.
struct OtherKind {
  std::string_view name, hint;
};
constexpr std::string_view kSavePicture = "save the picture as PNG", kWriteText = "write it as lines of . and #";
constexpr OtherKind kRle{"an RLE pattern", kWriteText}, kCells{"a .cells pattern", kWriteText},
    kArrays{"a NumPy file", "save the array as a picture or as text"};

std::optional<OtherKind> kind_by_content(std::string_view text) {
  constexpr std::pair<std::string_view, OtherKind> kBegins[] = {
      {"\xFF\xD8\xFF", {"a JPEG", kSavePicture}},
      {"GIF8", {"a GIF", kSavePicture}},
      {"BM", {"a BMP", kSavePicture}},
      {"II*", {"a TIFF", kSavePicture}},
      {std::string_view("MM\0*", 4), {"a TIFF", kSavePicture}},
      {"\x93NUMPY", kArrays},
      {"!", kCells},
  };
  for (const auto& [begin, kind] : kBegins)
    if (text.starts_with(begin)) return kind;
  if (text.starts_with("RIFF") && text.substr(0, 12).ends_with("WEBP")) return OtherKind{"a WebP", kSavePicture};
  if (text.starts_with("PK\x03\x04"))  // the name of its first member begins at byte 30
    return text.substr(0, 300).find(".npy") == std::string_view::npos ? OtherKind{"a ZIP archive", kSavePicture}
                                                                      : kArrays;
  return is_rle(text) ? std::optional(kRle) : std::nullopt;
}

}  // namespace

Pattern parse_pattern_file(std::span<const std::byte> bytes, std::string_view what, std::string_view kinds) {
  if (!bytes.empty() && bytes[0] == std::byte{0x89}) return pattern_of(decode_png(bytes, what), what);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (const std::optional<OtherKind> kind = kind_by_content(text))
    fail("read pattern", fmt::format("{}, {}, which is not read here", what, kind->name), kinds, kind->hint);
  return parse_pattern(text, what);
}

Pattern read_pattern(const std::string& path) {
  return parse_pattern_file(read_bytes(path, kMaxPatternBytes), fmt::format("\"{}\"", path));
}

namespace {

void check_pattern(const Pattern& p, std::string_view op) {
  const auto side = [](int n) { return n >= 1 && n <= kMaxPatternSide; };
  if (p.channels != 1 && p.channels != 3) fail(op, fmt::format("{} channels", p.channels), "1 or 3");
  if (!side(p.height) || !side(p.width) ||
      p.bits.size() != static_cast<std::size_t>(p.channels) * static_cast<std::size_t>(p.height) *
                           static_cast<std::size_t>(p.width) ||
      std::any_of(p.bits.begin(), p.bits.end(), [](std::uint8_t bit) { return bit > 1; }))
    fail(op, fmt::format("{} values for {} channels of {} x {}", p.bits.size(), p.channels, p.height, p.width),
         fmt::format("a 0 or 1 for each, sides of 1 to {}", kMaxPatternSide));
}

}  // namespace

std::string format_pattern(const Pattern& p) {
  check_pattern(p, "format pattern");
  std::string text;
  for (int row = 0; row < p.height; ++row) {
    for (int column = 0; column < p.width; ++column) {
      std::size_t letter = 0;
      for (int channel = 0; channel < p.channels; ++channel)
        letter |= static_cast<std::size_t>(p.at(channel, row, column)) << channel;
      text += p.channels == 1 ? ".#"[letter] : kColours[letter];
    }
    text += '\n';
  }
  return text;
}

}  // namespace espalier
