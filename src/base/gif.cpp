#include "base/gif.hpp"

#include <fmt/format.h>
#include <gif_lib.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

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

using Frames = std::function<const Image&(std::size_t)>;

Palette make_palette(std::size_t count, const Frames& frame) {
  for (unsigned dropped = 0;; ++dropped) {
    const std::uint32_t part = 0xffu << dropped & 0xffu;
    Palette palette{{}, part << 16 | part << 8 | part};
    bool fits = true;
    for (std::size_t f = 0; f < count && fits; ++f) {
      const Image& image = frame(f);
      std::uint32_t last = ~0u;
      for (std::size_t i = 0; i < image.rgb.size() && fits; i += 3) {
        const std::uint8_t* p = &image.rgb[i];
        const std::uint32_t key = palette.key({p[0], p[1], p[2]});
        if (key == last) continue;
        last = key;
        const auto at = std::lower_bound(palette.colours.begin(), palette.colours.end(), key);
        if (at != palette.colours.end() && *at == key) continue;
        palette.colours.insert(at, key);
        fits = palette.colours.size() <= kMaxColours;
      }
    }
    if (fits) return palette;
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
  GifWriter(std::vector<std::byte>& out, int width, int height, const Palette& palette) : palette_(palette) {
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
    check(EGifPutScreenDesc(file_, width, height, map->BitsPerPixel, 0, map.get()));
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

std::vector<std::byte> encode(std::size_t count, const Frames& frame, const GifOptions& options) {
  if (count == 0) fail("write GIF", "no frames", "at least one");
  int width = 0, height = 0;
  for (std::size_t f = 0; f < count; ++f) {
    const Image& image = frame(f);
    check_image(image, "write GIF");
    if (f == 0) width = image.width, height = image.height;
    if (image.width != width || image.height != height)
      fail("write GIF", fmt::format("a frame of {} x {} pixels", image.width, image.height),
           fmt::format("{} x {} as the first", width, height));
  }
  std::vector<std::byte> out;
  const Palette palette = make_palette(count, frame);
  GifWriter writer(out, width, height, palette);
  if (count > 1) writer.loop(std::clamp(options.loops, 0, 65535));
  for (std::size_t f = 0; f < count; ++f)
    writer.frame(frame(f), f + 1 == count                         ? options.last_delay_ms
                           : static_cast<long>(f) == options.held ? options.held_ms
                                                                  : options.delay_ms);
  writer.close();
  return out;
}

}  // namespace

std::vector<std::byte> encode_gif(std::span<const Image> frames, const GifOptions& options) {
  return encode(
      frames.size(), [&](std::size_t f) -> const Image& { return frames[f]; }, options);
}

std::vector<std::byte> encode_gif(std::size_t frames, const std::function<Image(std::size_t)>& frame,
                                  const GifOptions& options) {
  Image now;
  return encode(
      frames, [&](std::size_t f) -> const Image& { return now = frame(f); }, options);
}

}  // namespace espalier
