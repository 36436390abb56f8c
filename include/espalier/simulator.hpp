// Runs a cell's circuit on boards of bits, hundreds of cells for each machine instruction. The same bits for every word
// width, engine and number of threads, and the same as evaluating every cell by itself. A cell of C channels has 9 C
// inputs, patch position major (the 3 x 3 neighbourhood by rows, 4 is the cell itself) and channel minor, and C
// outputs.
//
// Example:
//   Netlist cell;  // each cell becomes the XOR of its western and eastern neighbours
//   for (int p = 0; p < 9; ++p) cell.add_input("p" + std::to_string(p));
//   cell.add_output("next", cell.add_gate(Gate::kXor, 3, 5));
//   Board board(512, 512, 1);
//   board.set(256, 256, 0, true);
//   Simulator(cell, 512, 512, {.periodic = false}).run(board, 100, ThreadPool());
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "espalier/netlist.hpp"
#include "espalier/thread_pool.hpp"

namespace espalier {

class Ranks;

// One board of H x W cells with C bits each: one plane for each channel, rows packed into 64-bit words, cell x of a row
// in bit x % 64 of word x / 64. Bits beyond the width are 0.
class Board {
 public:
  // Errors for empty boards and for ones of more than 2^40 bits.
  Board(std::size_t height, std::size_t width, int channels);

  std::size_t height() const { return height_; }
  std::size_t width() const { return width_; }
  int channels() const { return channels_; }
  std::size_t row_words() const { return row_words_; }

  bool get(std::size_t y, std::size_t x, int c) const {
    check(y, x, c);
    return words_[offset(y, c) + x / 64] >> (x % 64) & 1;
  }
  void set(std::size_t y, std::size_t x, int c, bool value) {
    check(y, x, c);
    std::uint64_t& word = words_[offset(y, c) + x / 64];
    const std::uint64_t bit = std::uint64_t{1} << (x % 64);
    word = value ? word | bit : word & ~bit;
  }
  // Rows y .. H-1 of a channel follow each other, row_words() apart. Keep the bits beyond the width 0.
  std::uint64_t* row(std::size_t y, int c) {
    check(y, 0, c);
    return words_.data() + offset(y, c);
  }
  const std::uint64_t* row(std::size_t y, int c) const {
    check(y, 0, c);
    return words_.data() + offset(y, c);
  }

  // Every bit a fair coin; the same board for the same seed. With a whole height, the rows from first_row on of a board
  // that high.
  void randomize(std::uint64_t seed, std::size_t first_row = 0, std::size_t whole_height = 0);
  // What lies outside of the board is left out.
  void clear_rectangle(std::size_t top, std::size_t left, std::size_t height, std::size_t width);
  std::size_t count(int channel) const;  // bits that are 1
  std::string hash() const;
  bool operator==(const Board& other) const;

 private:
  friend class Simulator;
  static constexpr std::size_t kSlackWords = 8;  // the widest vector

  void check(std::size_t y, std::size_t x, int c) const {
    if (y >= height_ || x >= width_ || c < 0 || c >= channels_) refuse(y, x, c);
  }
  [[noreturn]] void refuse(std::size_t y, std::size_t x, int c) const;
  std::size_t offset(std::size_t y, int c) const {
    return static_cast<std::size_t>(c) * plane_words_ + lead_ + y * row_words_;
  }
  std::uint64_t last_word_mask() const {  // bits of a row's last word that belong to cells
    return width_ % 64 ? (std::uint64_t{1} << (width_ % 64)) - 1 : ~std::uint64_t{0};
  }
  void fill_rim(bool periodic);

  std::size_t height_, width_;
  int channels_;
  // Each plane has a row before its first and one after its last, and room for vectors to run on; what stands there has
  // no meaning between steps.
  std::size_t row_words_, lead_, plane_words_;
  AlignedVector<std::uint64_t> words_;  // [C][plane_words]
};

// Many boards of the same size, one bit of a word each: a word holds one channel of one cell of 64 boards.
class BoardBatch {
 public:
  // All bits 0. Errors for empty batches and for ones of more than 2^40 bits.
  BoardBatch(std::size_t boards, std::size_t height, std::size_t width, int channels);

  std::size_t boards() const { return boards_; }
  std::size_t height() const { return height_; }
  std::size_t width() const { return width_; }
  int channels() const { return channels_; }
  std::size_t words() const { return (boards_ + 63) / 64; }

  bool get(std::size_t board, std::size_t y, std::size_t x, int c) const {
    check(board, y, x, c);
    return words_[offset(board / 64, y, x, c)] >> (board % 64) & 1;
  }
  void set(std::size_t board, std::size_t y, std::size_t x, int c, bool value) {
    check(board, y, x, c);
    std::uint64_t& word = words_[offset(board / 64, y, x, c)];
    const std::uint64_t bit = std::uint64_t{1} << (board % 64);
    word = value ? word | bit : word & ~bit;
  }
  // Boards 64 w .. 64 w + 63 at once; bits of boards that are not there are 0, and are left out when set.
  std::uint64_t word(std::size_t w, std::size_t y, std::size_t x, int c) const {
    check(w < words() ? 64 * w : boards_, y, x, c);
    return words_[offset(w, y, x, c)] & lanes(w);
  }
  void set_word(std::size_t w, std::size_t y, std::size_t x, int c, std::uint64_t value) {
    check(w < words() ? 64 * w : boards_, y, x, c);
    words_[offset(w, y, x, c)] = value & lanes(w);
  }
  std::uint64_t lanes(std::size_t w) const {  // bits of word w that are boards
    const std::size_t left = boards_ - 64 * w;
    return left >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
  }

  Board board(std::size_t board) const;
  void set_board(std::size_t board, const Board& from);
  std::string hash() const;
  bool operator==(const BoardBatch& other) const;

 private:
  friend class BatchSimulator;

  void check(std::size_t board, std::size_t y, std::size_t x, int c) const {
    if (board >= boards_ || y >= height_ || x >= width_ || c < 0 || c >= channels_) refuse(board, y, x, c);
  }
  [[noreturn]] void refuse(std::size_t board, std::size_t y, std::size_t x, int c) const;
  std::size_t offset(std::size_t w, std::size_t y, std::size_t x, int c) const {
    return (w / block_words_ * static_cast<std::size_t>(channels_) + static_cast<std::size_t>(c)) * plane_words_ +
           lead_ + (y * (width_ + 2) + x) * block_words_ + w % block_words_;
  }
  std::uint64_t* plane(std::size_t block, int c) { return words_.data() + offset(block * block_words_, 0, 0, c); }
  const std::uint64_t* plane(std::size_t block, int c) const {
    return words_.data() + offset(block * block_words_, 0, 0, c);
  }
  std::size_t blocks() const { return (words() + block_words_ - 1) / block_words_; }

  std::size_t boards_, height_, width_;
  int channels_;
  // A block of words is simulated by one thread. Within it the words of a cell stand side by side, and each plane has a
  // rim of one cell: so rows follow each other, and a neighbour stands a fixed number of words away.
  std::size_t block_words_, lead_, plane_words_;
  AlignedVector<std::uint64_t> words_;  // [block][C][plane_words], a plane [H + 2][W + 2][block_words] and slack
};

// In how many bits two batches of the same boards differ, over the channels of `wanted`, which may be the first few.
std::size_t count_differences(const BoardBatch& got, const BoardBatch& wanted);

// Widest vector of this machine, in bits.
int widest_word();

// Machine code made for the circuit, or an interpreter; by default whatever is faster.
enum class SimulatorEngine { kAuto, kNative, kInterpreter };

// A rectangle that is held at 0 while step is in [from, to): cleared after every such step.
struct DeadRectangle {
  std::size_t top = 0, left = 0, height = 0, width = 0;
  std::uint64_t from = 0, to = 0;
};

struct SimulatorOptions {
  bool periodic = true;    // or zeros outside the board
  double fire_rate = 1;    // below 1: asynchronous, a cell takes its new state with this probability
  std::uint64_t seed = 1;  // of fire mask and random damage
  std::vector<DeadRectangle> dead = {};
  std::size_t random_reset = 0;  // side of a square set to 0 at a random place after every step
  SimulatorEngine engine = SimulatorEngine::kAuto;
  int word_bits = 0;  // 64 to 512 for the interpreter, 256 or 512 for machine code; 0: the widest this machine has
  // Processes (ranks.hpp) that share the board in bands of rows, each with its own simulator; null: none.
  Ranks* ranks = nullptr;
};

// One board of any size.
class Simulator {
 public:
  // An Error when the netlist is no cell of 9 C inputs and C outputs, and for an engine that this machine cannot run.
  Simulator(const Netlist& cell, std::size_t height, std::size_t width, const SimulatorOptions& options = {});
  ~Simulator();

  // The number of the next step: it keys fire mask and damage, so a run can be cut in pieces.
  std::uint64_t step() const { return step_; }
  // The rows that run() takes: all, or this process's band, which has none when there are more processes than rows.
  std::size_t first_row() const;
  std::size_t rows() const;
  std::size_t rows_of(int rank) const;  // of another's band; an Error when there is no such rank
  // `board` must have the simulator's rows and width and the cell's channels. Bands give their neighbours the rows that
  // these see, so all processes that have rows must run as many steps.
  void run(Board& board, std::uint64_t steps, const ThreadPool& pool = calling_thread());

  bool native() const;  // machine code rather than the interpreter
  int word_bits() const;
  std::size_t operations() const;  // of one step and word, those of the mask included

  // Where the random square of a step lies.
  static DeadRectangle random_square(std::uint64_t seed, std::uint64_t step, std::size_t side, std::size_t height,
                                     std::size_t width);

 private:
  struct Plan;
  void one_step(const Board& now, Board& next, const ThreadPool& pool);
  void fill_rim(Board& board) const;
  void clear(Board& board, const DeadRectangle& rectangle) const;
  SimulatorOptions options_;
  std::size_t whole_height_;
  std::uint64_t step_ = 0;
  std::unique_ptr<Plan> plan_;
};

struct BatchOptions {
  bool periodic = true;              // or zeros outside the boards
  const BoardBatch* fire = nullptr;  // channel t: the cells that take their new state in step t of a run; null: all do
  SimulatorEngine engine = SimulatorEngine::kAuto;
  int word_bits = 0;  // as of SimulatorOptions
};

// Many boards of the same size, for a few steps: cheap to make, as circuits are judged while they are trained.
//   BoardBatch boards = starts;
//   BatchSimulator(cell, {.periodic = false}).run(boards, 20, pool);
//   const bool solved = count_differences(boards, wanted) == 0;
class BatchSimulator {
 public:
  explicit BatchSimulator(const Netlist& cell, const BatchOptions& options = {});
  ~BatchSimulator();

  // Boards of any size, with the cell's channels.
  void run(BoardBatch& boards, std::uint64_t steps, const ThreadPool& pool = calling_thread());

 private:
  struct Plan;
  BatchOptions options_;
  std::unique_ptr<Plan> plan_;
};

// Channel t of the result: for each board and cell a random bit that is 1 with probability `rate`, for step t. A pure
// function of (seed, stream, number of boards, board, cell, step).
BoardBatch draw_fire(const BoardBatch& boards, int steps, double rate, std::uint64_t seed, std::uint32_t stream);

}  // namespace espalier
