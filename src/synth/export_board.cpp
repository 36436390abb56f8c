// A board with its property as a circuit with latches, for model checkers.
#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "espalier/error.hpp"
#include "synth/board_proof.hpp"
#include "synth/formats.hpp"

namespace espalier {
namespace {

Literal any_of(Unroller& u, std::vector<Literal> literals) {
  if (literals.empty()) return kZero;
  while (literals.size() > 1) {  // a balanced tree
    std::vector<Literal> pairs;
    for (std::size_t i = 0; i < literals.size(); i += 2)
      pairs.push_back(i + 1 < literals.size() ? u.gate(Gate::kOr, literals[i], literals[i + 1]) : literals[i]);
    literals = std::move(pairs);
  }
  return literals[0];
}

// Enough for boards of hundreds of cells a side; more would fill the memory before a model checker sees them.
constexpr std::uint64_t kMaxGates = 50'000'000;

}  // namespace

void BoardProver::check_export(int height, int width, bool from_start) const {
  // Of a cell its gates, of a shown bit one that looks for wrong ones, of a free one three that choose the start.
  const std::uint64_t cells = static_cast<std::uint64_t>(height) * static_cast<std::uint64_t>(width);
  const std::uint64_t each = cell_.gates.size() + static_cast<std::uint64_t>(system_.visible) +
                             (from_start ? 0 : 3 * static_cast<std::uint64_t>(channels_.size()));
  if (cells * each > kMaxGates)
    fail("export", fmt::format("a board of {} x {} with about {} gates", height, width, cells * each),
         fmt::format("at most {}", kMaxGates),
         fmt::format("a board of {0} x {0} has fewer",
                     static_cast<int>(std::sqrt(static_cast<double>(kMaxGates) / static_cast<double>(each)))));
}

std::string BoardProver::export_aiger(const Board& target, int steps, const Board* start, bool binary) {
  if (system_.round) fail("export", "the board of an asynchronous model", "a synchronous one");
  if (steps < 0) fail("export", fmt::format("{} steps", steps), "0 or more");
  LiteralBoard state = free_board(target);
  const std::size_t bits = state.literals.size(), free = start ? 0 : bits;
  const std::size_t digits = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(steps)));
  // Inputs: the start; then latches: the board, "begun" (with a free start), the number of steps up to `steps`. Latches
  // begin as 0 everywhere, as every tool takes it: a bit that begins as 1 is kept inverted.
  const std::size_t board_latch = free, begun_latch = free + bits, count_latch = begun_latch + (start ? 0 : 1);
  Unroller u(cell_, system_.periodic, count_latch + digits);
  std::vector<bool> inverted(bits);
  std::vector<std::string> names(count_latch + digits);
  for (int c = 0; c < state.channels; ++c)
    for (int y = 0; y < state.height; ++y)
      for (int x = 0; x < state.width; ++x) {
        const std::size_t i = state.index(c, y, x);
        const std::string name = fmt::format("c{}y{}x{}", channels_[c], y, x);
        if (start) inverted[i] = start->get(y, x, channels_[c]);
        Literal& now = state.literals[i];
        now = u.input(board_latch + i) ^ inverted[i];
        if (!start) {
          now = u.gate(Gate::kOr, u.gate(Gate::kAnd, u.input(begun_latch), now),
                       u.gate(Gate::kNotAAndB, u.input(begun_latch), u.input(i)));
          names[i] = "start_" + name;
        }
        names[board_latch + i] = name;
      }
  if (!start) names[begun_latch] = "begun";
  std::vector<Literal> wrong, next;
  for (int c = 0; c < target.channels(); ++c)
    for (int y = 0; y < state.height; ++y)
      for (int x = 0; x < state.width; ++x) wrong.push_back(state.at(c, y, x) ^ target.get(y, x, c));
  const LiteralBoard after = u.step(state);
  for (std::size_t i = 0; i < bits; ++i) next.push_back(after.literals[i] ^ inverted[i]);
  if (!start) next.push_back(kOne);
  std::vector<Literal> not_there;  // digits of the count that are not those of `steps`
  for (std::size_t d = 0; d < digits; ++d) not_there.push_back(u.input(count_latch + d) ^ ((steps >> d & 1) != 0));
  const Literal counting = any_of(u, not_there);
  Literal carry = counting;
  for (std::size_t d = 0; d < digits; ++d) {
    const Literal digit = u.input(count_latch + d);
    next.push_back(u.gate(Gate::kXor, digit, carry));
    carry = u.gate(Gate::kAnd, digit, carry);
    names[count_latch + d] = fmt::format("count{}", d);
  }
  const Literal bad = u.gate(Gate::kNotAAndB, counting, any_of(u, wrong));
  Netlist board = u.netlist();
  board.name = system_.cell.name;
  board.inputs = names;
  LiteralBuilder builder(board);
  board.add_output("bad", builder.net(bad));
  for (std::size_t i = 0; i < next.size(); ++i) board.add_output(names[free + i] + "_next", builder.net(next[i]));
  return binary ? export_aiger_binary(board, next.size()) : export_aiger_ascii(board, next.size());
}

}  // namespace espalier
