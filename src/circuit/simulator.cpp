#include "espalier/circuit/simulator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "circuit/sim_interpreter.hpp"
#include "circuit/sim_native.hpp"
#include "circuit/sim_program.hpp"
#include "circuit/sim_shift.hpp"
#include "espalier/circuit/cell.hpp"
#include "espalier/core/error.hpp"
#include "espalier/core/fire_mask.hpp"
#include "espalier/core/scratch.hpp"

namespace espalier {
namespace {

constexpr std::size_t kTileBytes = 16 * 1024;  // of shifted rows of one tile, about: half a first-level cache
constexpr std::size_t kMostTileRows = 64;

}  // namespace

// Everything fixed by circuit and board size. A tile is a band of rows; its arena (one a worker) holds, for each
// channel that the circuit looks at, the tile's rows shifted west and east, then the fire mask, then room for the
// engine.
struct Simulator::Plan {
  std::size_t height, width, row_words, plane_words;
  int channels;
  bool fires;
  std::size_t tile_rows;
  struct Shifted {
    int channel;
    bool west, east;
    std::size_t west_word, east_word;  // in the arena
  };
  std::vector<Shifted> shifted;
  std::size_t fire_word = 0, engine_word = 0, arena_words = 0;
  SimProgram program;
  std::unique_ptr<NativeCode> native;
  std::unique_ptr<SimInterpreter> interpreter;
  std::unique_ptr<Board> next;

  using Arena = AlignedVector<std::uint64_t>;
  std::unique_ptr<ScratchPool<Arena>> arenas;

  Plan(const Netlist& cell, std::size_t h, std::size_t w, const SimulatorOptions& options)
      : height(h), width(w), channels(cell_channels(cell)), fires(options.fire_rate < 1) {
    next = std::make_unique<Board>(h, w, channels);
    row_words = next->row_words();
    plane_words = next->plane_words();
    program = sim_program(fires ? with_fire(cell) : cell);
    lay_out(used_inputs());
    make_engine(options);
    arenas = std::make_unique<ScratchPool<Arena>>([words = arena_words] { return std::make_unique<Arena>(words); });
  }

  std::vector<bool> used_inputs() const {
    std::vector<bool> used(program.inputs);
    for (const SimOp& op : program.ops) {
      if (op.code == SimCode::kZero || op.code == SimCode::kOnes) continue;
      if (op.a < program.inputs) used[op.a] = true;
      if (op.b < program.inputs) used[op.b] = true;
    }
    return used;
  }

  void lay_out(const std::vector<bool>& used) {
    for (int c = 0; c < channels; ++c) {
      bool west = false, east = false;
      for (int y = 0; y < 3; ++y) {
        west = west || used[patch_net(3 * y, c, channels)];
        east = east || used[patch_net(3 * y + 2, c, channels)];
      }
      if (west || east) shifted.push_back({c, west, east, 0, 0});
    }
    const std::size_t planes = std::max<std::size_t>(1, 2 * shifted.size());
    // Whole vectors in every tile but the last: a multiple of 8 rows is a multiple of 8 words.
    tile_rows = std::clamp<std::size_t>(kTileBytes / 8 / planes / row_words / 8 * 8, 8, kMostTileRows);
    const std::size_t plane = ((tile_rows + 2) * row_words + 2 * Board::kSlackWords) / 8 * 8 + 8;
    for (Shifted& s : shifted) {
      s.west_word = arena_words;
      arena_words += s.west ? plane : 0;
      s.east_word = arena_words;
      arena_words += s.east ? plane : 0;
    }
    fire_word = arena_words;
    if (fires) arena_words += plane;
    engine_word = arena_words;
  }

  // Places are relative to the tile's first row, in the board and in the arena's shifted rows (which begin a row
  // above).
  std::vector<SimPlace> input_places() const {
    std::vector<SimPlace> places;
    const auto bytes = [](std::size_t words) { return static_cast<std::int64_t>(words * 8); };
    for (int p = 0; p < kPatch; ++p)
      for (int c = 0; c < channels; ++c) {
        const auto row = static_cast<std::size_t>(p / 3);
        const auto s = std::find_if(shifted.begin(), shifted.end(), [&](const Shifted& x) { return x.channel == c; });
        if (p % 3 == 1) {
          const std::int64_t board_row = (p / 3 - 1) * bytes(row_words);
          places.push_back({SimPlace::kBoard, bytes(static_cast<std::size_t>(c) * plane_words) + board_row});
        } else if (s != shifted.end()) {
          places.push_back({SimPlace::kArena, bytes((p % 3 == 0 ? s->west_word : s->east_word) + row * row_words)});
        } else {
          places.push_back({SimPlace::kArena, 0});  // never read
        }
      }
    if (fires) places.push_back({SimPlace::kArena, bytes(fire_word)});
    return places;
  }

  void make_engine(const SimulatorOptions& options) {
    using Engine = SimulatorOptions::Engine;
    const std::vector<SimPlace> inputs = input_places();
    std::vector<SimPlace> outputs;
    for (int c = 0; c < channels; ++c)
      outputs.push_back({SimPlace::kNext, static_cast<std::int64_t>(static_cast<std::size_t>(c) * plane_words * 8)});
    const auto engine_bytes = static_cast<std::int64_t>(engine_word * 8);
    if (options.engine != Engine::kInterpreter && options.word_bits == 0)
      native = NativeCode::make(program, inputs, outputs, engine_bytes);
    if (native) {
      arena_words += native->spill_room() / 8;
    } else {
      if (options.engine == Engine::kNative)
        fail("simulator", "a machine without AVX2 or executable pages", "x86-64 Linux with AVX2",
             "use the interpreter");
      interpreter = std::make_unique<SimInterpreter>(program, inputs, outputs, engine_bytes, options.word_bits);
      arena_words += interpreter->slot_room() / 8;
    }
  }

  void run_tile(const Board& now, Board& into, std::size_t first_row, std::size_t rows, bool periodic,
                const FireMask* fire, Arena& arena) const {
    const ShiftShape shape{rows + 2, row_words, static_cast<unsigned>((width - 1) % 64), periodic};
    for (const Shifted& s : shifted)
      shift_rows(now.row(first_row, s.channel) - row_words, shape, s.west ? &arena[s.west_word] : nullptr,
                 s.east ? &arena[s.east_word] : nullptr);
    const std::size_t words = (rows * row_words + 7) / 8 * 8;
    if (fire) fire->fill(first_row * row_words, std::span(&arena[fire_word], words));
    const auto* board = reinterpret_cast<const std::uint8_t*>(now.row(first_row, 0));
    auto* next_rows = reinterpret_cast<std::uint8_t*>(into.row(first_row, 0));
    auto* base = reinterpret_cast<std::uint8_t*>(arena.data());
    if (native)
      native->run(base, board, next_rows, words * 8);
    else
      interpreter->run(base, board, next_rows, words);
    if (width % 64) {
      const std::uint64_t mask = into.last_word_mask();
      for (int c = 0; c < channels; ++c)
        for (std::size_t y = first_row; y < first_row + rows; ++y) into.row(y, c)[row_words - 1] &= mask;
    }
  }
};

Simulator::Simulator(const Netlist& cell, std::size_t height, std::size_t width, const SimulatorOptions& options)
    : options_(options), plan_(std::make_unique<Plan>(cell, height, width, options)) {
  if (!(options.fire_rate >= 0 && options.fire_rate <= 1))
    fail("simulator", fmt::format("a fire rate of {}", options.fire_rate), "0 to 1");
}
Simulator::~Simulator() = default;

bool Simulator::native() const { return plan_->native != nullptr; }
int Simulator::word_bits() const { return native() ? 256 : options_.word_bits ? options_.word_bits : widest_word(); }
std::size_t Simulator::operations() const { return plan_->program.ops.size(); }

DeadRectangle Simulator::random_square(std::uint64_t seed, std::uint64_t step, std::size_t side, std::size_t height,
                                       std::size_t width) {
  const Random random(seed, Purpose::kDamage, static_cast<std::uint32_t>(step));
  side = std::min({side, height, width});
  return {static_cast<std::size_t>(random.choice(0, height - side + 1)),
          static_cast<std::size_t>(random.choice(1, width - side + 1)),
          side,
          side,
          step,
          step + 1};
}

void Simulator::one_step(const Board& now, Board& next, const Pool& pool) {
  const Plan& plan = *plan_;
  const FireMask fire(options_.seed, static_cast<std::uint32_t>(step_), options_.fire_rate);
  // Chunks of whole tiles, at most about 64 of them: enough to balance any number of threads, few enough to cost
  // little.
  const std::size_t tiles = (plan.height + plan.tile_rows - 1) / plan.tile_rows;
  const std::size_t chunk_rows = plan.tile_rows * std::max<std::size_t>(1, tiles / 64);
  const double row_ns =
      (plan.native ? 0.04 : 0.25) * static_cast<double>(plan.row_words * (plan.program.ops.size() + 8));
  pool.for_chunks(plan.height, chunk_rows, row_ns, [&](Chunk rows) {
    auto arena = plan.arenas->borrow();
    for (std::size_t first = rows.begin; first < rows.end; first += plan.tile_rows)
      plan.run_tile(now, next, first, std::min(plan.tile_rows, rows.end - first), options_.periodic,
                    plan.fires ? &fire : nullptr, *arena);
  });
}

void Simulator::run(Board& board, std::uint64_t steps, const Pool& pool) {
  if (board.height() != plan_->height || board.width() != plan_->width || board.channels() != plan_->channels)
    fail("simulator",
         fmt::format("a board of {} x {} cells, {} channels", board.height(), board.width(), board.channels()),
         fmt::format("{} x {}, {} channels", plan_->height, plan_->width, plan_->channels));
  for (std::uint64_t s = 0; s < steps; ++s, ++step_) {
    board.fill_rim(options_.periodic);
    one_step(board, *plan_->next, pool);
    std::swap(board, *plan_->next);
    for (const DeadRectangle& r : options_.dead)
      if (step_ >= r.from && step_ < r.to) board.clear_rectangle(r.top, r.left, r.height, r.width);
    if (options_.random_reset) {
      const DeadRectangle r = random_square(options_.seed, step_, options_.random_reset, board.height(), board.width());
      board.clear_rectangle(r.top, r.left, r.height, r.width);
    }
  }
}

}  // namespace espalier
