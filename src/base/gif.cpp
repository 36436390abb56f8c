#include "base/gif.hpp"

#include <fmt/format.h>
#include <gif_lib.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/files.hpp"
#include "espalier/error.hpp"

namespace espalier {
namespace {

constexpr std::size_t kMaxColours = 256;

// Colours in use, ascending, with the lowest `dropped` bits of each part set to zero.
struct Palette {
  std::vector<std::uint32_t> colours;
  std::uint32_t mask;

  std::uint32_t key(Rgb c) const {
    return (std::uint32_t{c.red} << 16 | std::uint32_t{c.green} << 8 | std::uint32_t{c.blue}) & mask;
  }
  GifByteType index(Rgb c) const {
    return static_cast<GifByteType>(std::lower_bound(colours.begin(), colours.end(), key(c)) - colours.begin());
  }
};

Palette make_palette(std::span<const Image> frames) {
  for (unsigned dropped = 0;; ++dropped) {
    const std::uint32_t part = 0xffu << dropped & 0xffu;
    Palette palette{{}, part << 16 | part << 8 | part};
    std::vector<bool> seen(std::size_t{1} << 24);
    bool fits = true;
    for (std::size_t f = 0; f < frames.size() && fits; ++f)
      for (std::size_t i = 0; i < frames[f].rgb.size() && fits; i += 3) {
        const std::uint8_t* p = &frames[f].rgb[i];
        const std::uint32_t key = palette.key({p[0], p[1], p[2]});
        if (seen[key]) continue;
        seen[key] = true;
        palette.colours.push_back(key);
        fits = palette.colours.size() <= kMaxColours;
      }
    if (!fits) continue;
    std::sort(palette.colours.begin(), palette.colours.end());
    return palette;
  }
}

int append(GifFileType* file, const GifByteType* bytes, int count) {
  auto* out = static_cast<std::vector<std::byte>*>(file->UserData);
  const auto* first = reinterpret_cast<const std::byte*>(bytes);
  out->insert(out->end(), first, first + count);
  return count;
}

class GifWriter {
 public:
  GifWriter(std::vector<std::byte>& out, const Image& first, const Palette& palette) : palette_(palette) {
    int error = 0;
    file_ = EGifOpen(&out, append, &error);
    if (!file_) fail("write GIF", GifErrorString(error), "a GIF writer");
    EGifSetGifVersion(file_, true);
    // GIF wants a power of two of colours; the rest stays black.
    const auto used = static_cast<int>(palette.colours.size());
    const std::unique_ptr<ColorMapObject, void (*)(ColorMapObject*)> map(
        GifMakeMapObject(1 << GifBitSize(used), nullptr), GifFreeMapObject);
    if (!map) fail("write GIF", fmt::format("no room for {} colours", used), "a palette");
    for (std::size_t i = 0; i < palette.colours.size(); ++i) {
      const std::uint32_t c = palette.colours[i];
      map->Colors[i] = {static_cast<GifByteType>(c >> 16), static_cast<GifByteType>(c >> 8),
                        static_cast<GifByteType>(c)};
    }
    check(EGifPutScreenDesc(file_, first.width, first.height, map->BitsPerPixel, 0, map.get()));
  }
  ~GifWriter() {
    if (file_) EGifCloseFile(file_, nullptr);
  }
  GifWriter(const GifWriter&) = delete;
  GifWriter& operator=(const GifWriter&) = delete;

  void loop(int times) {
    const std::array<GifByteType, 3> block{1, static_cast<GifByteType>(times), static_cast<GifByteType>(times >> 8)};
    check(EGifPutExtensionLeader(file_, APPLICATION_EXT_FUNC_CODE));
    check(EGifPutExtensionBlock(file_, 11, "NETSCAPE2.0"));
    check(EGifPutExtensionBlock(file_, static_cast<int>(block.size()), block.data()));
    check(EGifPutExtensionTrailer(file_));
  }

  void frame(const Image& image, int delay_ms) {
    const GraphicsControlBlock control{DISPOSE_DO_NOT, false, std::clamp((delay_ms + 5) / 10, 0, 65535),
                                       NO_TRANSPARENT_COLOR};
    std::array<GifByteType, 4> block{};
    EGifGCBToExtension(&control, block.data());
    check(EGifPutExtension(file_, GRAPHICS_EXT_FUNC_CODE, static_cast<int>(block.size()), block.data()));
    check(EGifPutImageDesc(file_, 0, 0, image.width, image.height, false, nullptr));
    std::vector<GifByteType> line(static_cast<std::size_t>(image.width));
    for (int row = 0; row < image.height; ++row) {
      for (int column = 0; column < image.width; ++column)
        line[static_cast<std::size_t>(column)] = palette_.index(image.at(row, column));
      check(EGifPutLine(file_, line.data(), image.width));
    }
  }

  void close() {
    int error = 0;
    GifFileType* file = std::exchange(file_, nullptr);
    if (EGifCloseFile(file, &error) == GIF_ERROR) fail("write GIF", GifErrorString(error), "a whole file");
  }

 private:
  void check(int result) {
    if (result == GIF_ERROR) fail("write GIF", GifErrorString(file_->Error), "a whole file");
  }

  const Palette& palette_;
  GifFileType* file_;
};

}  // namespace

std::vector<std::byte> encode_gif(std::span<const Image> frames, const GifOptions& options) {
  if (frames.empty()) fail("write GIF", "no frames", "at least one");
  for (const Image& image : frames) {
    check_image(image, "write GIF");
    if (image.width != frames[0].width || image.height != frames[0].height)
      fail("write GIF", fmt::format("a frame of {} x {} pixels", image.width, image.height),
           fmt::format("{} x {} as the first", frames[0].width, frames[0].height));
  }
  std::vector<std::byte> out;
  const Palette palette = make_palette(frames);
  GifWriter writer(out, frames[0], palette);
  if (frames.size() > 1) writer.loop(std::clamp(options.loops, 0, 65535));
  for (const Image& image : frames)
    writer.frame(image, &image == &frames.back() ? options.last_delay_ms : options.delay_ms);
  writer.close();
  return out;
}

void write_gif(const std::string& path, std::span<const Image> frames, const GifOptions& options) {
  write_atomically(path, encode_gif(frames, options));
}

}  // namespace espalier
