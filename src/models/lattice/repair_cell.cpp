// Wrong bits of a cell's last step put right by construction.
#include "models/lattice/repair_cell.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "netlist/cell.hpp"
#include "synth/repair.hpp"

namespace espalier {
namespace {

constexpr std::uint64_t kReservoirs = 16, kMaxDraws = 1u << 20;

// Calls visit(input) for each input of a cell that is 1. board: [channel][cell].
template <class Visit>
void each_bit(const RolloutShape& shape, const std::uint8_t* board, std::size_t cell, Visit visit) {
  const std::size_t H = shape.height, W = shape.width;
  for (std::size_t p = 0; p < kPatch; ++p) {
    const std::size_t y = cell / W + H + p / 3 - 1, x = cell % W + W + p % 3 - 1;
    if (!shape.periodic && (y < H || y >= 2 * H || x < W || x >= 2 * W)) continue;
    for (std::size_t c = 0; c < shape.channels; ++c)
      if (board[c * shape.cells() + y % H * W + x % W]) visit(p * shape.channels + c);
  }
}

// Every cell of every step of every board: what it sees, as words of examples.
class Trajectory {
 public:
  Trajectory(std::span<const RolloutStage> stages, const Netlist& cell) {
    std::size_t count = 0;
    for (const auto& [shape, examples] : stages) count += examples.count * shape.steps * shape.cells();
    words_ = (count + 63) / 64;
    inputs_.assign(cell.inputs.size(), std::vector<std::uint64_t>(words_));
    std::size_t example = 0;
    for (const auto& [shape, examples] : stages)
      for (std::size_t n = 0; n < examples.count; ++n) {
        const std::uint8_t* start = &examples.start[n * shape.channels * shape.cells()];
        std::vector<std::uint8_t> now(start, start + shape.channels * shape.cells());
        for (std::size_t t = 0; t < shape.steps; ++t) now = step(shape, cell, now, example);
        ends_.push_back(std::move(now));
      }
  }
  const ExampleWords& inputs() const { return inputs_; }
  std::size_t words() const { return words_; }
  // After the last step of a board, counted over all stages: [channel][cell].
  const std::vector<std::uint8_t>& end(std::size_t board) const { return ends_[board]; }

 private:
  std::vector<std::uint8_t> step(const RolloutShape& shape, const Netlist& cell, const std::vector<std::uint8_t>& now,
                                 std::size_t& example) {
    const std::size_t cells = shape.cells(), C = shape.channels;
    std::vector<std::uint8_t> next(now.size());
    std::vector<std::uint64_t> in(cell.inputs.size());
    for (std::size_t first = 0; first < cells; first += 64) {
      const std::size_t count = std::min<std::size_t>(64, cells - first);
      std::ranges::fill(in, 0);
      for (std::size_t k = 0; k < count; ++k, ++example)
        each_bit(shape, now.data(), first + k, [&](std::size_t input) {
          in[input] |= std::uint64_t{1} << k;
          inputs_[input][example / 64] |= std::uint64_t{1} << (example % 64);
        });
      const std::vector<std::uint64_t> values = evaluate_words(cell, in);
      for (std::size_t c = 0; c < C; ++c)
        for (std::size_t k = 0; k < count; ++k) next[c * cells + first + k] = values[cell.outputs[c].net] >> k & 1;
    }
    return next;
  }

  std::size_t words_;
  ExampleWords inputs_;
  std::vector<std::vector<std::uint8_t>> ends_;
};

Netlist repair_once(std::span<const RolloutStage> stages, const Netlist& cell, RepairReport& report) {
  const Trajectory trajectory(stages, cell);
  const std::size_t judged = stages[0].shape.judged, C = stages[0].shape.channels;
  std::vector<Correction> corrections;
  const std::vector<bool> live = live_nets(cell);
  for (std::size_t c = 0; c < judged; ++c) {
    bool read = false;  // a channel that no gate reads may be anything before the last step
    for (std::size_t p = 0; p < kPatch; ++p) read = read || live[p * C + c];
    Correction correction{c, std::vector<std::uint64_t>(trajectory.words()),
                          std::vector<std::uint64_t>(trajectory.words())};
    std::size_t example = 0, board = 0;
    for (const auto& [shape, examples] : stages)
      for (std::size_t n = 0; n < examples.count; ++n, ++board)
        for (std::size_t t = 0; t < shape.steps; ++t)
          for (std::size_t i = 0; i < shape.cells(); ++i, ++example) {
            const bool last = t + 1 == shape.steps;
            const bool wrong = last && trajectory.end(board)[c * shape.cells() + i] !=
                                           examples.target[(n * judged + c) * shape.cells() + i];
            if (wrong || last || read)
              (wrong ? correction.turn : correction.keep)[example / 64] |= std::uint64_t{1} << (example % 64);
          }
    corrections.push_back(std::move(correction));
  }
  return repair_outputs(cell, trajectory.inputs(), corrections, &report);
}

// Channels that nothing reads get random functions of three gates, of each other and of the rest: their patterns grow
// out of whatever differs from place to place, and tell cells apart that look the same otherwise.
Netlist with_reservoir(const RolloutShape& shape, const Netlist& cell, const Random& random, std::uint64_t draw) {
  const std::size_t C = shape.channels;
  std::vector<bool> read(C);
  std::vector<Net> seen;  // inputs of channels that are read
  const std::vector<bool> live = live_nets(cell);
  for (Net i = 0; i < cell.inputs.size(); ++i)
    if (live[i]) seen.push_back(i), read[i % C] = true;
  std::vector<Net> idle;
  for (std::size_t c = shape.judged; c < C; ++c)
    if (!read[c])
      for (std::size_t p = 0; p < kPatch; ++p) idle.push_back(static_cast<Net>(p * C + c));
  Netlist result = cell;
  draw *= kMaxDraws;
  const auto pick = [&](const std::vector<Net>& from) { return from[random.choice(draw++, from.size())]; };
  const auto any = [&] { return !seen.empty() && random.coin(draw++) ? pick(seen) : pick(idle); };
  constexpr std::array kTypes{Gate::kXor, Gate::kXnor, Gate::kXor, Gate::kXnor, Gate::kAAndNotB, Gate::kAOrNotB};
  const auto gate = [&](Net a, Net b) { return result.add_gate(kTypes[random.choice(draw++, kTypes.size())], a, b); };
  for (std::size_t c = shape.judged; c < C; ++c) {
    if (read[c]) continue;
    const Net own = gate(pick(idle), pick(idle)), other = gate(pick(idle), any());
    result.outputs[c].net = gate(own, other);
  }
  return result;
}

}  // namespace

TargetTable neighbourhood_table(const RolloutShape& shape, const RolloutExamples& examples) {
  const std::size_t inputs = kPatch * shape.channels;
  std::set<std::vector<bool>> rows;  // inputs, then outputs
  for (std::size_t n = 0; n < examples.count; ++n)
    for (std::size_t i = 0; i < shape.cells(); ++i) {
      std::vector<bool> row(inputs + shape.judged);
      each_bit(shape, &examples.start[n * shape.channels * shape.cells()], i,
               [&](std::size_t input) { row[input] = true; });
      for (std::size_t c = 0; c < shape.judged; ++c)
        row[inputs + c] = examples.target[(n * shape.judged + c) * shape.cells() + i] != 0;
      rows.insert(std::move(row));
    }
  TargetTable table;
  table.count = rows.size();
  table.inputs.assign(inputs, std::vector<std::uint64_t>(table.words()));
  table.outputs.assign(shape.judged, std::vector<std::uint64_t>(table.words()));
  table.cares.assign(shape.judged, std::vector<std::uint64_t>(table.words(), ~std::uint64_t{0}));
  std::size_t at = 0;
  for (const std::vector<bool>& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      if (row[i]) (i < inputs ? table.inputs[i] : table.outputs[i - inputs])[at / 64] |= std::uint64_t{1} << (at % 64);
    ++at;
  }
  return table;
}

Netlist repair_cell(std::span<const RolloutStage> stages, const Netlist& cell, const Random& random) {
  const RolloutShape& shape = stages[0].shape;
  RepairReport report;
  Netlist best = repair_once(stages, cell, report);
  const std::vector<int> needed = needed_channels(cell, static_cast<int>(shape.judged), 0);
  if (needed.size() == shape.channels) return best;
  for (std::uint64_t attempt = 0; report.left && attempt < kReservoirs; ++attempt) {
    RepairReport other;
    Netlist next = repair_once(stages, with_reservoir(shape, cell, random, attempt), other);
    if (other.left >= report.left) continue;
    best = std::move(next);
    report = other;
  }
  return best;
}

}  // namespace espalier
