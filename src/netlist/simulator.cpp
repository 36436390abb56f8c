#include "espalier/simulator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/rank_bytes.hpp"
#include "base/scratch.hpp"
#include "espalier/error.hpp"
#include "espalier/random.hpp"
#include "netlist/cell.hpp"
#include "netlist/fire_mask.hpp"
#include "netlist/sim_engine.hpp"

namespace espalier {
namespace {

constexpr std::size_t kTileBytes = 16 * 1024;  // of shifted rows of one tile, about: half a first-level cache
constexpr std::size_t kMaxTileRows = 64;

// A band has at least one row: with more ranks than rows the last ones have none.
int bands_of(std::size_t height, const Ranks& ranks) {
  return static_cast<int>(std::min<std::size_t>(height, static_cast<std::size_t>(ranks.size())));
}
RankShare band_of(std::size_t height, const Ranks* ranks, int rank) {
  if (!ranks) return {0, height};
  const int bands = bands_of(height, *ranks);
  return rank < bands ? share_of(height, 1, rank, bands) : RankShare{height, height};
}

}  // namespace

std::unique_ptr<SimEngine> make_engine(const SimProgram& program, const SimPlaces& places, SimulatorEngine engine,
                                       int word_bits, bool pays) {
  if (engine == SimulatorEngine::kNative || (engine == SimulatorEngine::kAuto && word_bits == 0 && pays))
    if (auto native = make_native(program, places, word_bits)) return native;
  if (engine == SimulatorEngine::kNative)
    fail("simulator", fmt::format("machine code of {} bits", word_bits), "a machine and a system that can run it",
         "use the interpreter");
  return make_interpreter(program, places, word_bits);
}

// Everything fixed by circuit and board size. A tile is a band of rows; its scratch memory (one for each worker) holds,
// for each channel that the circuit looks at, the tile's rows shifted west and east, then the values that rows of cells
// share, then the fire mask, then room for the engine.
struct Simulator::Plan {
  RankShare band;  // rows of the whole board that are ours
  std::size_t height, width, row_words, plane_words;
  int channels;
  bool fires;
  std::size_t tile_rows = 0;
  struct Shifted {
    int channel;
    bool west, east;
    std::size_t west_word, east_word;  // in scratch memory
  };
  std::vector<Shifted> shifted;
  std::size_t shared_word = 0, fire_word = 0, scratch_words = 0, plane = 0;
  SimProgram program, row_program;
  std::unique_ptr<SimEngine> engine, row_engine;  // the latter null when rows share nothing
  Board next;

  using Scratch = AlignedVector<std::uint64_t>;
  std::unique_ptr<ScratchPool<Scratch>> scratch;

  Plan(const Netlist& cell, std::size_t h, std::size_t w, const SimulatorOptions& options)
      : band(band_of(h, options.ranks, options.ranks ? options.ranks->rank() : 0)),
        height(h == 0 ? 0 : std::max<std::size_t>(1, band.end - band.begin)),
        width(w),
        channels(cell_channels(cell)),
        fires(options.fire_rate < 1),
        next(height, w, channels) {
    row_words = next.row_words_;
    plane_words = next.plane_words_;
    const SimProgram whole = sim_program(fires ? with_fire(cell) : cell);
    SharedRows shared = share_rows(whole, channels);
    program = std::move(shared.cell);
    row_program = std::move(shared.row);
    lay_out(used_inputs(whole));
    const std::size_t engine_word = scratch_words;
    engine = make_engine(program, {input_places(), output_places(), bytes(engine_word)}, options.engine,
                         options.word_bits, true);
    std::size_t engine_bytes = engine->scratch_bytes();
    if (!row_program.ops.empty()) {
      row_engine = make_engine(row_program, row_places(engine_word), options.engine, options.word_bits, true);
      engine_bytes = std::max(engine_bytes, row_engine->scratch_bytes());
    }
    scratch_words += engine_bytes / 8;
    scratch =
        std::make_unique<ScratchPool<Scratch>>([words = scratch_words] { return std::make_unique<Scratch>(words); });
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
      s.west_word = scratch_words;
      scratch_words += s.west ? plane : 0;
      s.east_word = scratch_words;
      scratch_words += s.east ? plane : 0;
    }
    shared_word = scratch_words;
    scratch_words += plane * row_program.outputs.size();
    fire_word = scratch_words;
    if (fires) scratch_words += plane;
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
    if (s == shifted.end()) return {};  // never read
    return {SimPlace::kScratch, bytes((column == 0 ? s->west_word : s->east_word) + row * row_words)};
  }

  std::vector<SimPlace> input_places() const {
    std::vector<SimPlace> places;
    for (std::size_t p = 0; p < kPatch; ++p)
      for (int c = 0; c < channels; ++c) places.push_back(place(p / 3, p % 3, c));
    if (fires) places.push_back({SimPlace::kFire, 0});
    for (std::size_t o = 0; o < row_program.outputs.size(); ++o)
      for (std::size_t row = 0; row < 3; ++row)
        places.push_back({SimPlace::kScratch, bytes(shared_word + o * plane + row * row_words)});
    return places;
  }
  std::vector<SimPlace> output_places() const {
    std::vector<SimPlace> places;
    for (int c = 0; c < channels; ++c)
      places.push_back({SimPlace::kNext, bytes(static_cast<std::size_t>(c) * plane_words)});
    return places;
  }
  SimPlaces row_places(std::size_t engine_word) const {
    SimPlaces places{{}, {}, bytes(engine_word)};
    for (std::size_t column = 0; column < 3; ++column)
      for (int c = 0; c < channels; ++c) places.inputs.push_back(place(0, column, c));
    for (std::size_t o = 0; o < row_program.outputs.size(); ++o)
      places.outputs.push_back({SimPlace::kScratch, bytes(shared_word + o * plane)});
    return places;
  }

  void run_tile(const Board& now, Board& into, std::size_t first_row, std::size_t rows, bool periodic,
                const FireMask* fire, Scratch& memory) const {
    const ShiftShape shape{rows + 2, row_words, static_cast<unsigned>((width - 1) % 64), periodic};
    for (const Shifted& s : shifted)
      shift_rows(now.row(first_row, s.channel) - row_words, shape, s.west ? &memory[s.west_word] : nullptr,
                 s.east ? &memory[s.east_word] : nullptr);
    const auto whole_vectors = [](std::size_t words) { return (words + 7) / 8 * 8; };
    const std::size_t words = whole_vectors(rows * row_words);
    if (fire) fire->fill((band.begin + first_row) * row_words, std::span(&memory[fire_word], words));
    auto* base = reinterpret_cast<std::uint8_t*>(memory.data());
    const SimMemory places{base, reinterpret_cast<const std::uint8_t*>(now.row(first_row, 0)),
                           reinterpret_cast<std::uint8_t*>(into.row(first_row, 0)), base + bytes(fire_word)};
    if (row_engine) row_engine->run(places, whole_vectors((rows + 2) * row_words));
    engine->run(places, words);
    if (width % 64) {
      const std::uint64_t mask = into.last_word_mask();
      for (int c = 0; c < channels; ++c)
        for (std::size_t y = first_row; y < first_row + rows; ++y) into.row(y, c)[row_words - 1] &= mask;
    }
  }
};

Simulator::Simulator(const Netlist& cell, std::size_t height, std::size_t width, const SimulatorOptions& options)
    : options_(options), whole_height_(height) {
  if (!(options.fire_rate >= 0 && options.fire_rate <= 1))
    fail("simulator", fmt::format("a fire rate of {}", options.fire_rate), "0 to 1");
  plan_ = std::make_unique<Plan>(cell, height, width, options);
}
Simulator::~Simulator() = default;

std::size_t Simulator::first_row() const { return plan_->band.begin; }
std::size_t Simulator::rows() const { return plan_->band.end - plan_->band.begin; }
std::size_t Simulator::rows_of(int rank) const {
  const int ranks = options_.ranks ? options_.ranks->size() : 1;
  if (rank < 0 || rank >= ranks) fail("simulator", fmt::format("rank {}", rank), fmt::format("0 to {}", ranks - 1));
  const RankShare band = band_of(whole_height_, options_.ranks, rank);
  return band.end - band.begin;
}

bool Simulator::native() const { return plan_->engine->native(); }
int Simulator::word_bits() const { return plan_->engine->word_bits(); }
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
  const double row_ns = (native() ? 0.04 : 0.25) * static_cast<double>(plan.row_words * (operations() + 8));
  pool.for_chunks(plan.height, chunk_rows, row_ns, [&](Chunk rows) {
    auto scratch = plan.scratch->borrow();
    for (std::size_t first = rows.begin; first < rows.end; first += plan.tile_rows)
      plan.run_tile(now, next, first, std::min(plan.tile_rows, rows.end - first), options_.periodic,
                    plan.fires ? &fire : nullptr, *scratch);
  });
}

// The rows around a band are those of its neighbours, all channels in one message. What goes up and what goes down has
// a tag of its own, because both neighbours may be the same rank.
void Simulator::fill_rim(Board& board) const {
  Ranks* const ranks = options_.ranks;
  const int bands = ranks ? bands_of(whole_height_, *ranks) : 1;
  board.fill_rim(bands == 1 && options_.periodic);
  if (bands == 1) return;
  constexpr int kUp = 0, kDown = 1;
  const int me = ranks->rank(), above = (me + bands - 1) % bands, below = (me + 1) % bands;
  const bool has_above = options_.periodic || me > 0, has_below = options_.periodic || me + 1 < bands;
  const std::size_t words = board.row_words();
  const auto pack = [&](std::size_t y) {
    std::vector<std::uint64_t> rows;
    for (int c = 0; c < board.channels(); ++c) rows.insert(rows.end(), board.row(y, c), board.row(y, c) + words);
    return rows;
  };
  const auto put = [&](const Bytes& bytes, std::ptrdiff_t y) {
    if (bytes.size() != static_cast<std::size_t>(board.channels()) * words * 8)
      fail("simulator", fmt::format("rows of {} bytes from another rank", bytes.size()),
           fmt::format("{}", static_cast<std::size_t>(board.channels()) * words * 8), "the same model on all ranks");
    for (int c = 0; c < board.channels(); ++c)
      std::memcpy(board.row(0, c) + y * static_cast<std::ptrdiff_t>(words),
                  bytes.data() + static_cast<std::size_t>(c) * words * 8, words * 8);
  };
  const std::vector<std::uint64_t> first = pack(0), last = pack(board.height() - 1);
  ranks->exchange({{has_above ? above : -1, kUp, std::as_bytes(std::span(first))},
                   {has_below ? below : -1, kDown, std::as_bytes(std::span(last))}},
                  {{has_above ? above : -1, kDown, [&](const Bytes& bytes) { put(bytes, -1); }},
                   {has_below ? below : -1, kUp,
                    [&](const Bytes& bytes) { put(bytes, static_cast<std::ptrdiff_t>(board.height())); }}});
}

void Simulator::clear(Board& board, const DeadRectangle& r) const {
  const std::size_t top = std::max(r.top, first_row()), bottom = r.top + std::min(r.height, whole_height_);
  if (bottom > top) board.clear_rectangle(top - first_row(), r.left, bottom - top, r.width);
}

void Simulator::run(Board& board, std::uint64_t steps, const ThreadPool& pool) {
  if (rows() == 0) return;
  if (board.height() != plan_->height || board.width() != plan_->width || board.channels() != plan_->channels)
    fail("simulator",
         fmt::format("a board of {} x {} cells, {} channels", board.height(), board.width(), board.channels()),
         fmt::format("{} x {}, {} channels", plan_->height, plan_->width, plan_->channels));
  for (std::uint64_t s = 0; s < steps; ++s, ++step_) {
    fill_rim(board);
    one_step(board, plan_->next, pool);
    std::swap(board, plan_->next);
    for (const DeadRectangle& r : options_.dead)
      if (step_ >= r.from && step_ < r.to) clear(board, r);
    if (options_.random_reset)
      clear(board, random_square(options_.seed, step_, options_.random_reset, whole_height_, board.width()));
  }
}

}  // namespace espalier
