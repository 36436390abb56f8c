#include "espalier/board.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/hash.hpp"
#include "espalier/error.hpp"
#include "espalier/random.hpp"

namespace espalier {

Board::Board(std::size_t height, std::size_t width, int channels)
    : height_(height), width_(width), channels_(channels) {
  constexpr std::size_t kMost = std::size_t{1} << 40;
  if (height == 0 || width == 0 || channels < 1)
    fail("board", fmt::format("{} x {} cells of {} channels", height, width, channels), "at least one of each");
  if (height > kMost || width > kMost || height > kMost / (width + 63) / static_cast<std::size_t>(channels))
    fail("board", fmt::format("{} x {} cells of {} channels", height, width, channels), "at most 2^40 bits");
  row_words_ = (width + 63) / 64;
  // The rim row before row 0 and a word before that, rounded so that row 0 starts on a cache line.
  lead_ = (row_words_ + kSlackWords) / kSlackWords * kSlackWords;
  const std::size_t tail = row_words_ + 2 * kSlackWords;
  plane_words_ = (lead_ + height * row_words_ + tail + kSlackWords - 1) / kSlackWords * kSlackWords;
  words_.resize(plane_words_ * static_cast<std::size_t>(channels));
}

void Board::fill_rim(bool periodic) {
  for (int c = 0; c < channels_; ++c) {
    std::uint64_t *above = row(0, c) - row_words_, *below = row(height_, c);
    if (periodic) {
      std::copy_n(row(height_ - 1, c), row_words_, above);
      std::copy_n(row(0, c), row_words_, below);
    } else {
      std::fill_n(above, row_words_, 0);
      std::fill_n(below, row_words_, 0);
    }
  }
}

void Board::randomize(std::uint64_t seed) {
  const Random random(seed, Purpose::kData);
  std::uint64_t index = 0;
  for (int c = 0; c < channels_; ++c)
    for (std::size_t y = 0; y < height_; ++y) {
      std::uint64_t* words = row(y, c);
      for (std::size_t w = 0; w < row_words_; ++w) words[w] = random.bits64(index++);
      words[row_words_ - 1] &= last_word_mask();
    }
}

void Board::clear_rectangle(std::size_t top, std::size_t left, std::size_t height, std::size_t width) {
  const std::size_t bottom = std::min(height_, top + std::min(height, height_));
  const std::size_t right = std::min(width_, left + std::min(width, width_));
  for (std::size_t x = left; x < right;) {
    const std::size_t word = x / 64, stop = std::min(right, (word + 1) * 64);
    const std::uint64_t upto = stop % 64 ? (std::uint64_t{1} << (stop % 64)) - 1 : ~std::uint64_t{0};
    const std::uint64_t gone = upto & ~((std::uint64_t{1} << (x % 64)) - 1);
    for (int c = 0; c < channels_; ++c)
      for (std::size_t y = top; y < bottom; ++y) row(y, c)[word] &= ~gone;
    x = stop;
  }
}

std::size_t Board::count(int channel) const {
  std::size_t total = 0;
  for (std::size_t y = 0; y < height_; ++y)
    for (std::size_t w = 0; w < row_words_; ++w) total += static_cast<std::size_t>(std::popcount(row(y, channel)[w]));
  return total;
}

std::string Board::hash() const {
  Hasher hasher;
  const std::uint64_t shape[] = {height_, width_, static_cast<std::uint64_t>(channels_)};
  hasher.add(std::span<const std::uint64_t>(shape));
  for (int c = 0; c < channels_; ++c) hasher.add(std::span<const std::uint64_t>(row(0, c), height_ * row_words_));
  return hasher.hex();
}

bool Board::operator==(const Board& other) const {
  if (height_ != other.height_ || width_ != other.width_ || channels_ != other.channels_) return false;
  for (int c = 0; c < channels_; ++c)
    if (!std::equal(row(0, c), row(height_, c), other.row(0, c))) return false;
  return true;
}

}  // namespace espalier
