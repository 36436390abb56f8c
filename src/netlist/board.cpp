// Boards of bits, one or many: their storage, random starts and hashes.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/hash.hpp"
#include "espalier/error.hpp"
#include "espalier/random.hpp"
#include "espalier/simulator.hpp"

namespace espalier {

namespace {

// Sides, and boards when they are many, are rounded up to words and rims.
void check_size(std::size_t boards, std::size_t height, std::size_t width, int channels) {
  constexpr std::size_t kMost = std::size_t{1} << 40;
  const auto got = [&] { return fmt::format("{} of {} x {} cells, {} channels", boards, height, width, channels); };
  if (boards == 0 || height == 0 || width == 0 || channels < 1) fail("board", got(), "at least one of each");
  if (boards > kMost || height > kMost || width > kMost ||
      height + 2 > kMost / (width + 66) / (boards == 1 ? 1 : boards + 127) / static_cast<std::size_t>(channels))
    fail("board", got(), "at most 2^40 bits");
}

}  // namespace

Board::Board(std::size_t height, std::size_t width, int channels)
    : height_(height), width_(width), channels_(channels) {
  check_size(1, height, width, channels);
  row_words_ = (width + 63) / 64;
  // The rim row before row 0 and a word before that, rounded so that row 0 starts on a cache line.
  lead_ = (row_words_ + kSlackWords) / kSlackWords * kSlackWords;
  const std::size_t tail = row_words_ + 2 * kSlackWords;
  plane_words_ = (lead_ + height * row_words_ + tail + kSlackWords - 1) / kSlackWords * kSlackWords;
  words_.resize(plane_words_ * static_cast<std::size_t>(channels));
}

void Board::refuse(std::size_t y, std::size_t x, int c) const {
  fail("board", fmt::format("cell ({}, {}), channel {}", y, x, c),
       fmt::format("one of {} x {} cells and {} channels", height_, width_, channels_));
}

void Board::fill_rim(bool periodic) {
  for (int c = 0; c < channels_; ++c) {
    std::uint64_t *first = row(0, c), *above = first - row_words_, *below = first + height_ * row_words_;
    if (periodic) {
      std::copy_n(below - row_words_, row_words_, above);
      std::copy_n(first, row_words_, below);
    } else {
      std::fill_n(above, row_words_, 0);
      std::fill_n(below, row_words_, 0);
    }
  }
}

void Board::randomize(std::uint64_t seed, std::size_t first_row, std::size_t whole_height) {
  const Random random(seed, Purpose::kData);
  const std::uint64_t rows = whole_height ? whole_height : height_;
  for (int c = 0; c < channels_; ++c)
    for (std::size_t y = 0; y < height_; ++y) {
      std::uint64_t* words = row(y, c);
      std::uint64_t index = (static_cast<std::uint64_t>(c) * rows + first_row + y) * row_words_;
      for (std::size_t w = 0; w < row_words_; ++w) words[w] = random.bits64(index++);
      words[row_words_ - 1] &= last_word_mask();
    }
}

void Board::clear_rectangle(std::size_t top, std::size_t left, std::size_t height, std::size_t width) {
  if (top >= height_ || left >= width_) return;
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
    if (!std::equal(row(0, c), row(0, c) + height_ * row_words_, other.row(0, c))) return false;
  return true;
}

BoardBatch::BoardBatch(std::size_t boards, std::size_t height, std::size_t width, int channels)
    : boards_(boards), height_(height), width_(width), channels_(channels) {
  check_size(boards, height, width, channels);
  block_words_ = std::min<std::size_t>(words(), 2);
  // The rim before the first cell, rounded so that this cell starts on a cache line.
  lead_ = ((width + 3) * block_words_ + 7) / 8 * 8;
  plane_words_ = (lead_ + (height + 1) * (width + 2) * block_words_ + 8 + 7) / 8 * 8;
  words_.resize(blocks() * static_cast<std::size_t>(channels) * plane_words_);
}

void BoardBatch::refuse(std::size_t board, std::size_t y, std::size_t x, int c) const {
  fail("board batch", fmt::format("board {}, cell ({}, {}), channel {}", board, y, x, c),
       fmt::format("one of {} boards of {} x {} cells and {} channels", boards_, height_, width_, channels_));
}

Board BoardBatch::board(std::size_t board) const {
  Board result(height_, width_, channels_);
  for (int c = 0; c < channels_; ++c)
    for (std::size_t y = 0; y < height_; ++y)
      for (std::size_t x = 0; x < width_; ++x) result.set(y, x, c, get(board, y, x, c));
  return result;
}

void BoardBatch::set_board(std::size_t board, const Board& from) {
  if (from.height() != height_ || from.width() != width_ || from.channels() != channels_)
    fail("board batch",
         fmt::format("a board of {} x {} cells, {} channels", from.height(), from.width(), from.channels()),
         fmt::format("{} x {}, {} channels", height_, width_, channels_));
  for (int c = 0; c < channels_; ++c)
    for (std::size_t y = 0; y < height_; ++y)
      for (std::size_t x = 0; x < width_; ++x) set(board, y, x, c, from.get(y, x, c));
}

namespace {

// f(word, y, x, c) for all words of the first C channels.
template <class F>
void for_words(const BoardBatch& batch, int C, F f) {
  for (int c = 0; c < C; ++c)
    for (std::size_t y = 0; y < batch.height(); ++y)
      for (std::size_t x = 0; x < batch.width(); ++x)
        for (std::size_t w = 0; w < batch.words(); ++w) f(w, y, x, c);
}

}  // namespace

std::string BoardBatch::hash() const {
  const std::uint64_t shape[] = {boards_, height_, width_, static_cast<std::uint64_t>(channels_)};
  std::vector<std::uint64_t> bits(std::begin(shape), std::end(shape));
  for_words(*this, channels_, [&](auto... at) { bits.push_back(word(at...)); });
  return Hasher().add(std::span<const std::uint64_t>(bits)).hex();
}

bool BoardBatch::operator==(const BoardBatch& other) const {
  return boards_ == other.boards_ && height_ == other.height_ && width_ == other.width_ &&
         channels_ == other.channels_ && count_differences(*this, other) == 0;
}

std::size_t count_differences(const BoardBatch& got, const BoardBatch& wanted) {
  if (got.boards() != wanted.boards() || got.height() != wanted.height() || got.width() != wanted.width() ||
      got.channels() < wanted.channels())
    fail(
        "board batch",
        fmt::format("{} boards of {} x {} cells, {} channels", got.boards(), got.height(), got.width(), got.channels()),
        fmt::format("{} of {} x {}, at least {}", wanted.boards(), wanted.height(), wanted.width(), wanted.channels()));
  std::size_t total = 0;
  for_words(wanted, wanted.channels(), [&](auto... at) {
    total += static_cast<std::size_t>(std::popcount(got.word(at...) ^ wanted.word(at...)));
  });
  return total;
}

}  // namespace espalier
