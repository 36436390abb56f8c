#include "espalier/simulator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/scratch.hpp"
#include "espalier/error.hpp"
#include "netlist/cell.hpp"
#include "netlist/fire_mask.hpp"
#include "netlist/sim_interpreter.hpp"
#include "netlist/sim_native.hpp"
#include "netlist/sim_program.hpp"
#include "netlist/sim_sharing.hpp"
#include "netlist/sim_shift.hpp"

namespace espalier {
namespace {

constexpr std::size_t kTileBytes = 16 * 1024;  // of shifted rows of one tile, about: half a first-level cache
constexpr std::size_t kMaxTileRows = 64;

}  // namespace

// Everything fixed by circuit and board size. A tile is a band of rows; its arena (one a worker) holds, for each
// channel that the circuit looks at, the tile's rows shifted west and east, then the values that rows of cells share,
// then the fire mask, then room for the engine.
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
  std::size_t shared_word = 0, fire_word = 0, engine_word = 0, arena_words = 0, plane = 0;
  SimProgram program, row_program;
  std::unique_ptr<NativeCode> native, row_native;
  std::unique_ptr<SimInterpreter> interpreter;
  std::unique_ptr<Board> next;

  using Arena = AlignedVector<std::uint64_t>;
  std::unique_ptr<ScratchPool<Arena>> arenas;

  Plan(const Netlist& cell, std::size_t h, std::size_t w, const SimulatorOptions& options)
      : height(h), width(w), channels(cell_channels(cell)), fires(options.fire_rate < 1) {
    next = std::make_unique<Board>(h, w, channels);
    row_words = next->row_words();
    plane_words = next->plane_words();
    const SimProgram whole = sim_program(fires ? with_fire(cell) : cell);
    const std::vector<bool> used = used_inputs(whole);
    program = whole;
    if (may_be_native(options)) {
      SharedRows shared = share_rows(whole, channels);
      program = std::move(shared.cell);
      row_program = std::move(shared.row);
    }
    lay_out(used);
    if (may_be_native(options)) make_native();
    if (!native) {  // the interpreter takes the program in one piece
      program = whole;
      row_program = {};
      make_interpreter(options);
    }
    arenas = std::make_unique<ScratchPool<Arena>>([words = arena_words] { return std::make_unique<Arena>(words); });
  }

  static bool may_be_native(const SimulatorOptions& options) {
    return options.engine != SimulatorOptions::Engine::kInterpreter && options.word_bits == 0;
  }

  static std::vector<bool> used_inputs(const SimProgram& program) {
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
    const std::size_t planes = std::max<std::size_t>(1, 2 * shifted.size() + row_program.outputs.size());
    // Whole vectors in every tile but the last: a multiple of 8 rows is a multiple of 8 words.
    tile_rows = std::clamp<std::size_t>(kTileBytes / 8 / planes / row_words / 8 * 8, 8, kMaxTileRows);
    plane = ((tile_rows + 2) * row_words + 2 * Board::kSlackWords) / 8 * 8 + 8;
    for (Shifted& s : shifted) {
      s.west_word = arena_words;
      arena_words += s.west ? plane : 0;
      s.east_word = arena_words;
      arena_words += s.east ? plane : 0;
    }
    shared_word = arena_words;
    arena_words += plane * row_program.outputs.size();
    fire_word = arena_words;
    if (fires) arena_words += plane;
    engine_word = arena_words;
  }

  static std::int64_t bytes(std::size_t words) { return static_cast<std::int64_t>(words * 8); }

  // Where a column of the patch stands, seen from the tile's first row. Row 0 is the one above: shifted rows begin
  // there.
  SimPlace place(std::size_t row, std::size_t column, int c) const {
    if (column == 1) {
      const std::size_t words = static_cast<std::size_t>(c) * plane_words + row * row_words;
      return {SimPlace::kBoard, bytes(words) - bytes(row_words)};
    }
    const auto s = std::find_if(shifted.begin(), shifted.end(), [&](const Shifted& x) { return x.channel == c; });
    if (s == shifted.end()) return {SimPlace::kArena, 0};  // never read
    return {SimPlace::kArena, bytes((column == 0 ? s->west_word : s->east_word) + row * row_words)};
  }

  std::vector<SimPlace> input_places() const {
    std::vector<SimPlace> places;
    for (std::size_t p = 0; p < kPatch; ++p)
      for (int c = 0; c < channels; ++c) places.push_back(place(p / 3, p % 3, c));
    if (fires) places.push_back({SimPlace::kArena, bytes(fire_word)});
    for (std::size_t o = 0; o < row_program.outputs.size(); ++o)
      for (std::size_t row = 0; row < 3; ++row)
        places.push_back({SimPlace::kArena, bytes(shared_word + o * plane + row * row_words)});
    return places;
  }
  std::vector<SimPlace> output_places() const {
    std::vector<SimPlace> places;
    for (int c = 0; c < channels; ++c)
      places.push_back({SimPlace::kNext, bytes(static_cast<std::size_t>(c) * plane_words)});
    return places;
  }

  void make_native() {
    native = NativeCode::make(program, input_places(), output_places(), bytes(engine_word));
    if (!native) return;
    std::size_t spill_room = native->spill_room();
    if (!row_program.ops.empty()) {
      std::vector<SimPlace> inputs, outputs;
      for (std::size_t column = 0; column < 3; ++column)
        for (int c = 0; c < channels; ++c) inputs.push_back(place(0, column, c));
      for (std::size_t o = 0; o < row_program.outputs.size(); ++o)
        outputs.push_back({SimPlace::kArena, bytes(shared_word + o * plane)});
      row_native = NativeCode::make(row_program, inputs, outputs, bytes(engine_word));
      if (!row_native) return native.reset();
      spill_room = std::max(spill_room, row_native->spill_room());
    }
    arena_words += spill_room / 8;
  }

  void make_interpreter(const SimulatorOptions& options) {
    if (options.engine == SimulatorOptions::Engine::kNative)
      fail("simulator", "a machine without AVX2 or executable pages", "x86-64 Linux with AVX2", "use the interpreter");
    interpreter = std::make_unique<SimInterpreter>(program, input_places(), output_places(), bytes(engine_word),
                                                   options.word_bits);
    arena_words += interpreter->slot_room() / 8;
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
    if (row_native) row_native->run(base, board, next_rows, ((rows + 2) * row_words + 3) / 4 * 32);
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
std::size_t Simulator::operations() const { return plan_->program.ops.size() + plan_->row_program.ops.size(); }

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

void Simulator::one_step(const Board& now, Board& next, const ThreadPool& pool) {
  const Plan& plan = *plan_;
  const FireMask fire(options_.seed, static_cast<std::uint32_t>(step_), options_.fire_rate);
  // Chunks of whole tiles, at most about 64 of them: enough to balance any number of threads, few enough to cost
  // little.
  const std::size_t tiles = (plan.height + plan.tile_rows - 1) / plan.tile_rows;
  const std::size_t chunk_rows = plan.tile_rows * std::max<std::size_t>(1, tiles / 64);
  const double row_ns =
      (plan.native ? 0.04 : 0.25) *
      static_cast<double>(plan.row_words * (plan.program.ops.size() + plan.row_program.ops.size() + 8));
  pool.for_chunks(plan.height, chunk_rows, row_ns, [&](Chunk rows) {
    auto arena = plan.arenas->borrow();
    for (std::size_t first = rows.begin; first < rows.end; first += plan.tile_rows)
      plan.run_tile(now, next, first, std::min(plan.tile_rows, rows.end - first), options_.periodic,
                    plan.fires ? &fire : nullptr, *arena);
  });
}

void Simulator::run(Board& board, std::uint64_t steps, const ThreadPool& pool) {
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
