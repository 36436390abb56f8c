// A board of H x W cells with C bits each: one plane a channel, rows packed into 64-bit words, cell x of a row in bit
// x % 64 of word x / 64. Bits beyond the width are 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "espalier/aligned.hpp"

namespace espalier {

class Board {
 public:
  // Errors for empty boards and for ones of more than 2^40 bits.
  Board(std::size_t height, std::size_t width, int channels);

  std::size_t height() const { return height_; }
  std::size_t width() const { return width_; }
  int channels() const { return channels_; }
  std::size_t row_words() const { return row_words_; }

  bool get(std::size_t y, std::size_t x, int c) const { return row(y, c)[x / 64] >> (x % 64) & 1; }
  void set(std::size_t y, std::size_t x, int c, bool value) {
    std::uint64_t& word = row(y, c)[x / 64];
    const std::uint64_t bit = std::uint64_t{1} << (x % 64);
    word = value ? word | bit : word & ~bit;
  }
  // Rows y .. H-1 of a channel follow each other, row_words() apart.
  std::uint64_t* row(std::size_t y, int c) { return words_.data() + offset(y, c); }
  const std::uint64_t* row(std::size_t y, int c) const { return words_.data() + offset(y, c); }

  // Every bit a fair coin; the same board for the same seed.
  void randomize(std::uint64_t seed);
  void clear_rectangle(std::size_t top, std::size_t left, std::size_t height, std::size_t width);
  std::size_t count(int channel) const;  // bits that are 1
  std::string hash() const;
  bool operator==(const Board& other) const;

  // For the simulator. Each plane has a row before its first and one after its last, and room for vectors to run on;
  // what stands there has no meaning between steps.
  std::size_t plane_words() const { return plane_words_; }
  void fill_rim(bool periodic);
  // Bits of a row's last word that belong to cells.
  std::uint64_t last_word_mask() const {
    return width_ % 64 ? (std::uint64_t{1} << (width_ % 64)) - 1 : ~std::uint64_t{0};
  }
  static constexpr std::size_t kSlackWords = 8;  // the widest vector

 private:
  std::size_t offset(std::size_t y, int c) const {
    return static_cast<std::size_t>(c) * plane_words_ + lead_ + y * row_words_;
  }
  std::size_t height_, width_;
  int channels_;
  std::size_t row_words_, lead_, plane_words_;
  AlignedVector<std::uint64_t> words_;  // [C][plane_words]
};

}  // namespace espalier
