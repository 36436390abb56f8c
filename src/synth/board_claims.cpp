// The claims that can be made about boards, each as questions about starts, steps and a target.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/text.hpp"
#include "espalier/error.hpp"
#include "espalier/synth.hpp"
#include "netlist/cell.hpp"
#include "synth/board_proof.hpp"
#include "synth/channels.hpp"

namespace espalier {

using Verdict = BoardProof::Verdict;

namespace {

int height_of(const Board& board) { return static_cast<int>(board.height()); }
int width_of(const Board& board) { return static_cast<int>(board.width()); }

std::size_t bits_of(const Board& board, int channels) {
  return board.height() * board.width() * static_cast<std::size_t>(channels);
}

// Under which schedules.
std::string schedules(int round, int moments) {
  if (!round) return "";
  return fmt::format(", whenever cells update, if each does at least once in a round{},",
                     moments ? fmt::format(" of at most {}", counted(moments, "moment")) : "");
}

// Not what was claimed, but what is proved all the same.
BoardProof weaker(BoardProof claimed, const BoardProof& proved) {
  claimed.weaker = proved.verdict == Verdict::kWeaker ? proved.weaker : proved.claim;
  claimed.how = fmt::format("{}; the claim itself is {}", proved.how,
                            claimed.counter_example ? "refuted, " + claimed.how : "undecided");
  claimed.verdict = Verdict::kWeaker;
  claimed.moments = proved.moments;
  claimed.gates = proved.gates;
  return claimed;
}

// A claim about rounds of any length, of which a search has looked at short ones; `in_rounds` puts it in words.
void claim_in_rounds(BoardProof& proof, const std::function<std::string(int moments)>& in_rounds) {
  proof.claim = in_rounds(0);
  if (proof.verdict != Verdict::kProved || !proof.moments) return;
  proof.verdict = Verdict::kWeaker;
  proof.weaker = in_rounds(proof.moments);
  proof.how += "; the claim itself is undecided";
}

// A rule's table as a circuit over the patches of a cell: for each place the two halves of the table that it chooses
// between.
Netlist rule_netlist(const std::vector<std::string>& inputs, int channels, const RuleTable& rule) {
  Netlist n;
  n.inputs = inputs;
  LiteralBuilder builder(n);
  std::vector<Literal> values;
  for (const std::uint8_t next : rule) values.push_back(constant_literal(next != 0));
  for (int place = 0; place < kPatch; ++place) {
    const Literal bit{patch_net(place, 0, channels), false};
    std::vector<Literal> chosen;
    for (std::size_t i = 0; i < values.size(); i += 2) {
      const Literal differ = builder.gate(Gate::kXor, values[i], values[i + 1]);
      chosen.push_back(builder.gate(Gate::kXor, values[i], builder.gate(Gate::kAnd, bit, differ)));
    }
    values = std::move(chosen);
  }
  n.add_output("next0", builder.net(values[0]));
  return n;
}

}  // namespace

LiteralBoard BoardProver::free_board(const Board& target) const {
  LiteralBoard board(static_cast<int>(channels_.size()), height_of(target), width_of(target));
  for (std::size_t i = 0; i < board.literals.size(); ++i) board.literals[i] = {static_cast<Net>(i), false};
  return board;
}

BoardProver::Query BoardProver::from_every_start(const Board& target, int steps) const {
  Query query{target};
  query.bits = free_board(target).literals.size();
  query.start = [this, target](Unroller&) { return free_board(target); };
  query.steps = steps;
  query.any_step = true;
  return query;
}

BoardProof BoardProver::converges(const Board& target, int steps) {
  BoardProof proof = answer(from_every_start(target, steps));
  proof.unknown_bits = bits_of(target, cell_channels(system_.cell));
  // What is settled never changes again; search looks at the ends of rounds alone.
  claim_in_rounds(proof, [&](int moments) {
    return fmt::format("from every start{} the {} x {} board shows the target after {}, and {}",
                       schedules(system_.round, moments), target.height(), target.width(),
                       counted(steps, system_.round ? "round" : "step"),
                       moments ? "after every later one" : "ever after");
  });
  return proof;
}

// What is shown is the target, what is not is free.
BoardProver::Query BoardProver::shows(const Board& target, int steps, int in_a_row) const {
  Query query{target};
  const std::size_t shown = static_cast<std::size_t>(target.channels()) * target.height() * target.width();
  query.bits = free_board(target).literals.size() - shown;
  query.start = [this, target, shown](Unroller&) {
    LiteralBoard board = free_board(target);
    std::ranges::copy(constant_board(target).literals, board.literals.begin());
    for (std::size_t i = shown; i < board.literals.size(); ++i) board.literals[i].net -= static_cast<Net>(shown);
    return board;
  };
  query.steps = steps;
  query.assumed = in_a_row > 1 ? in_a_row : 0;
  return query;
}

BoardProof BoardProver::repeats_after(const Board& target, int period, int in_a_row) {
  BoardProof proof;
  for (int step = std::max(in_a_row, period); step < period + in_a_row; ++step) {
    proof = answer(shows(target, step, in_a_row));
    proof.unknown_bits = bits_of(target, cell_channels(system_.cell) - system_.visible);
    if (proof.verdict != Verdict::kProved) break;
  }
  return proof;
}

// Once is the claim; otherwise the least number of times in a row from which `ask` proves it.
BoardProof BoardProver::repeats_somehow(const std::string& where, int period, int in_a_row,
                                        const std::function<BoardProof(BoardProver&, int)>& ask) {
  BoardProver prover = *this;
  if (system_.round) {
    // A single update of any cells at any time: if no cell leaves the target, no schedule does.
    if (period != 1) fail("prove", "a period of an asynchronous system", "fixed", "nothing there happens in step");
    prover.system_.round = 0;
    in_a_row = 1;
  }
  if (!options_.proof_file.empty() && period > 1) in_a_row = 1;  // one question, one proof
  const std::string again = period == 1 ? "ever after" : fmt::format("again every {}", counted(period, "step"));
  const auto claim = [&](int times) {
    return fmt::format("{} that shows the target{} shows it {}, whatever its other channels are", where,
                       times == 1 ? "" : fmt::format(" {} times in a row", times), again);
  };
  BoardProof first;
  first.claim = claim(1);
  first.how = "no answer in time";
  for (int times = 1; times <= in_a_row && !out_of_time(); ++times) {
    BoardProof proof = ask(prover, times);
    proof.claim = claim(times);
    if (proof.verdict == Verdict::kProved) return times == 1 ? proof : weaker(std::move(first), proof);
    if (times == 1) first = std::move(proof);
  }
  if (in_a_row > 1 && first.verdict == Verdict::kRefuted)
    first.how += fmt::format("; nor is it proved for boards that show it 2 to {} times in a row", in_a_row);
  return first;
}

BoardProof BoardProver::repeats(const Board& target, int period, int in_a_row) {
  return repeats_somehow(fmt::format("every {} x {} board", target.height(), target.width()), period, in_a_row,
                         [&](BoardProver& prover, int times) { return prover.repeats_after(target, period, times); });
}

BoardProof BoardProver::repeats_on_every_size(const MakeTarget& target, int tile, int period, int in_a_row) {
  if (!options_.proof_file.empty())
    fail("prove", "a proof file for boards of every size", "one board", "name its size");
  BoardProof first;
  const std::vector<int> multiples = system_.periodic || tile == 1 ? std::vector{tile} : std::vector{1, tile};
  for (const int multiple : multiples) {
    const auto ask = [&](BoardProver& prover, int times) {
      // What a cell shows after `radius` steps follows from the cells up to `radius` away. Their target, and where the
      // board ends among them, is the same for some cell of one of the boards below: of a larger one, `tile` rows or
      // columns that lie further away can be taken out.
      const int radius = period + times - 1;
      std::vector<int> sides;
      for (int side = multiple; side < 2 * radius + 2 * tile; side += multiple) sides.push_back(side);
      BoardProof all;
      std::size_t done = 0;
      for (const int height : sides)
        for (const int width : sides) {
          const BoardProof proof = prover.repeats_after(target(height, width), period, times);
          report(++done, sides.size() * sides.size(), "boards");
          if (proof.verdict != Verdict::kProved) return proof;
          all.needed_channels = proof.needed_channels;
        }
      all.verdict = Verdict::kProved;
      all.how = fmt::format(
          "by induction over neighbourhoods: proved on the {} such boards with sides up to {}; of every larger one, "
          "what "
          "a cell sees in {} occurs there",
          done, sides.back(), counted(radius, "step"));
      return all;
    };
    const std::string where = multiple == 1 ? "every board of any size"
                                            : fmt::format("every board with sides that are multiples of {}", multiple);
    BoardProof proof = repeats_somehow(where, period, in_a_row, ask);
    const bool proved = proof.verdict == Verdict::kProved || proof.verdict == Verdict::kWeaker;
    if (proved) return multiple == multiples[0] ? proof : weaker(std::move(first), proof);
    if (multiple == multiples[0]) first = std::move(proof);
  }
  return first;
}

BoardProof BoardProver::repeats_from(const Board& start, const Board& target, int steps, int period) {
  if (system_.round) fail("prove", "one start of an asynchronous system", "a synchronous one");
  constexpr std::size_t kMaxSteps = 100'000;
  BoardProof proof;
  proof.needed_channels = static_cast<int>(channels_.size());
  proof.claim = fmt::format("from the task's start the {} x {} board shows the target after {} and {}", target.height(),
                            target.width(), counted(steps, "step"),
                            period == 1 ? "ever after" : fmt::format("again every {}", counted(period, "step")));
  BoardBatch boards(1, start.height(), start.width(), start.channels());
  boards.set_board(0, start);
  BatchOptions how;
  how.periodic = system_.periodic;
  BatchSimulator simulator(system_.cell, how);
  simulator.run(boards, static_cast<std::uint64_t>(steps), pool());
  std::vector<Board> seen;  // every `period` steps, the needed channels
  for (std::size_t n = 0; n * period < kMaxSteps && !out_of_time(); ++n) {
    const Board now = boards.board(0);
    if (const std::size_t wrong = count_wrong(now, target)) {
      proof.verdict = Verdict::kRefuted;
      proof.how = "by simulation";
      proof.counter_example = BoardCounterExample{
          start, now, target, {}, static_cast<int>(wrong), static_cast<std::uint64_t>(steps) + n * period};
      return proof;
    }
    const Board kept = pick_channels(now, channels_);
    const auto back = std::ranges::find(seen, kept);
    if (back != seen.end()) {
      proof.verdict = Verdict::kProved;
      proof.how = fmt::format("by simulation: step {} gives the very board of step {}, in every channel that matters",
                              steps + n * period, steps + static_cast<std::size_t>(back - seen.begin()) * period);
      return proof;
    }
    seen.push_back(kept);
    simulator.run(boards, static_cast<std::uint64_t>(period), pool());
  }
  proof.how = fmt::format("no board came back in {}", counted(seen.size() * static_cast<std::size_t>(period), "step"));
  return proof;
}

// Where the rectangle lies is free too: its row and column as binary numbers. Numbers too large mean no damage.
BoardProver::Query BoardProver::damaged_anywhere(const Board& settled, const Board& target, int height, int width,
                                                 int steps) const {
  Query query{target};
  const Board kept = pick_channels(settled, channels_);
  const std::size_t values = free_board(target).literals.size();
  const int rows = height_of(target) - height + 1, columns = width_of(target) - width + 1;
  const std::size_t row_bits = std::bit_width(static_cast<unsigned>(rows - 1)),
                    column_bits = std::bit_width(static_cast<unsigned>(columns - 1));
  query.bits = values + row_bits + column_bits;
  query.steps = steps;
  query.start = [=](Unroller& u) {
    // covered[i]: a stretch of `length` that begins where the number says covers place i.
    const auto covered = [&](std::size_t first, std::size_t bits, int places, int length) {
      std::vector<Literal> cover(static_cast<std::size_t>(places + length - 1), kZero);
      for (int place = 0; place < places; ++place) {
        Literal here = kOne;
        for (std::size_t b = 0; b < bits; ++b)
          here = u.gate(Gate::kAnd, here, u.input(first + b) ^ (place >> b & 1 ? false : true));
        for (int i = place; i < place + length; ++i) cover[i] = u.gate(Gate::kOr, cover[i], here);
      }
      return cover;
    };
    const std::vector<Literal> in_row = covered(values, row_bits, rows, height),
                               in_column = covered(values + row_bits, column_bits, columns, width);
    LiteralBoard board = constant_board(kept);
    for (int c = 0; c < board.channels; ++c)
      for (int y = 0; y < board.height; ++y)
        for (int x = 0; x < board.width; ++x) {
          const Literal hit = u.gate(Gate::kAnd, in_row[y], in_column[x]);
          const Literal change = u.gate(Gate::kAnd, hit, u.input(board.index(c, y, x)));
          board.at(c, y, x) = u.gate(Gate::kXor, board.at(c, y, x), change);
        }
    return board;
  };
  return query;
}

BoardProver::Query BoardProver::damaged_at(const Board& settled, const Board& target, DeadRectangle where,
                                           int steps) const {
  Query query{target};
  query.bits = channels_.size() * where.height * where.width;
  query.steps = steps;
  query.start = [kept = pick_channels(settled, channels_), where](Unroller& u) {
    LiteralBoard board = constant_board(kept);
    std::size_t bit = 0;
    for (int c = 0; c < board.channels; ++c)
      for (std::size_t y = where.top; y < where.top + where.height; ++y)
        for (std::size_t x = where.left; x < where.left + where.width; ++x)
          board.at(c, static_cast<int>(y), static_cast<int>(x)) = u.input(bit++);
    return board;
  };
  return query;
}

BoardProof BoardProver::heals(const Board& settled, const Board& target, int height, int width, int steps) {
  if (height < 1 || width < 1 || height > height_of(target) || width > width_of(target))
    fail("prove", fmt::format("damage of {} x {}", height, width),
         fmt::format("1 x 1 to {} x {}", target.height(), target.width()));
  if (const std::size_t wrong = count_wrong(settled, target))
    fail("prove", fmt::format("a board with {} wrong cells before any damage", wrong), "one that shows the target");
  const int rows = height_of(target) - height + 1, columns = width_of(target) - width + 1;
  const std::size_t bits = bits_of(Board(height, width, 1), cell_channels(system_.cell));
  BoardProof all;
  const auto finish = [&] {
    claim_in_rounds(all, [&](int moments) {
      return fmt::format(
          "however {} x {} cells of one settled {} x {} board that shows the target are changed, at any of {} "
          "places,{} the target is shown again after {}",
          height, width, target.height(), target.width(), rows * columns,
          system_.round ? schedules(system_.round, moments).substr(1) : "",
          counted(steps, system_.round ? "round" : "step"));
    });
    return all;
  };
  if (!options_.proof_file.empty()) {
    all = answer(damaged_anywhere(settled, target, height, width, steps));
    all.unknown_bits = bits;
    return finish();
  }
  Query every = from_every_start(target, steps);
  all.needed_channels = static_cast<int>(channels_.size());
  all.unknown_bits = bits;
  try {
    if (by_settling(every, all)) {
      all.how += ", from any start at all";
      return finish();
    }
  } catch (const Cancelled&) {  // the places below find that no time is left
  }
  for (int place = 0; place < rows * columns; ++place) {
    const DeadRectangle where{static_cast<std::size_t>(place / columns), static_cast<std::size_t>(place % columns),
                              static_cast<std::size_t>(height), static_cast<std::size_t>(width)};
    const BoardProof one = answer(damaged_at(settled, target, where, steps));
    const std::size_t gates = std::max(all.gates, one.gates);
    const int moments = std::max(all.moments, one.moments);
    if (one.verdict != Verdict::kProved) {
      all = one;
      all.unknown_bits = bits;
      all.how += fmt::format("; damage at row {}, column {}", where.top, where.left);
      return finish();
    }
    all.gates = gates;
    all.moments = moments;
    report(static_cast<std::uint64_t>(place) + 1, static_cast<std::uint64_t>(rows * columns), "places");
  }
  all.verdict = Verdict::kProved;
  all.how = all.gates ? fmt::format("place by place, with at most {} gates", all.gates)
                      : "place by place, by settling: what is decided already decides the rest";
  return finish();
}

namespace {

// A patch that the cell and the rule tell differently, on a board with so much room around it that its boundary does
// not matter.
BoardCounterExample patch_board(const Netlist& cell, const RuleTable& rule, const std::vector<bool>& inputs) {
  constexpr int kSide = 5;
  const int C = cell_channels(cell);
  Board start(kSide, kSide, C), target(kSide, kSide, 1);
  for (int p = 0; p < kPatch; ++p)
    for (int c = 0; c < C; ++c) start.set(1 + p / 3, 1 + p % 3, c, inputs[patch_net(p, c, C)]);
  const auto alive = [&](int y, int x) { return y >= 0 && y < kSide && x >= 0 && x < kSide && start.get(y, x, 0); };
  for (int y = 0; y < kSide; ++y)
    for (int x = 0; x < kSide; ++x) {
      unsigned patch = 0;
      for (int p = 0; p < kPatch; ++p) patch |= unsigned{alive(y + p / 3 - 1, x + p % 3 - 1)} << p;
      target.set(y, x, 0, rule[patch] != 0);
    }
  Board end = start;
  Simulator(cell, kSide, kSide, {.periodic = false}).run(end, 1);
  if (end.get(2, 2, 0) == target.get(2, 2, 0))
    fail("prove", "a counter-example that simulation does not confirm", "one that it does", "report this");
  return {start, end, target, {}, static_cast<int>(count_wrong(end, target)), 1};
}

}  // namespace

BoardProof prove_equals(const Netlist& cell, const RuleTable& rule, const std::string& name) {
  using Said = VerifyReport::Verdict;
  const int C = cell_channels(cell);
  BoardProof proof;
  proof.needed_channels = C;
  Netlist shown = cell;
  shown.outputs.resize(1);
  shown.outputs[0].name = "next0";
  const Netlist wanted = rule_netlist(cell.inputs, C, rule);
  const VerifyReport answer = verify(shown, wanted);
  proof.claim = fmt::format("the cell is {}{}", name, C > 1 ? ", whatever its other channels are" : "");
  proof.how = describe(answer, shown);
  if (answer.verdict == Said::kEqual) proof.verdict = Verdict::kProved;
  if (answer.verdict != Said::kDifferent) return proof;
  proof.verdict = Verdict::kRefuted;
  std::vector<bool> inputs = answer.counter_example->inputs;
  if (C > 1) {
    // The other channels 0: the rule, and 0 again.
    Netlist quiet = without_gates(cell);
    std::vector<Net> now(cell.nets());
    const Net zero = quiet.add_constant(false);
    for (Net i = 0; i < cell.inputs.size(); ++i) now[i] = i % static_cast<Net>(C) == 0 ? i : zero;
    for (std::size_t g = 0; g < cell.gates.size(); ++g)
      now[cell.net_of_gate(g)] = quiet.add_gate(cell.gates[g].gate, now[cell.gates[g].a], now[cell.gates[g].b]);
    Netlist all = wanted;
    const Net all_zero = all.add_constant(false);
    for (int c = 0; c < C; ++c) {
      quiet.outputs[c] = {fmt::format("next{}", c), now[cell.outputs[c].net]};
      if (c > 0) all.add_output(fmt::format("next{}", c), all_zero);
    }
    const VerifyReport while_quiet = verify(quiet, all);
    if (while_quiet.verdict == Said::kEqual) {
      BoardProof less;
      less.claim = fmt::format("the cell is {} while its other channels are 0, as they remain", name);
      less.how = describe(while_quiet, quiet);
      proof.counter_example = patch_board(cell, rule, inputs);
      return weaker(std::move(proof), less);
    }
    // The plainer example: it is wrong even then. What the others are was not looked at.
    if (while_quiet.counter_example && while_quiet.counter_example->output == "next0") {
      for (std::size_t i = 0; i < inputs.size(); ++i)
        inputs[i] = i % static_cast<std::size_t>(C) == 0 && while_quiet.counter_example->inputs[i];
      proof.how = describe(while_quiet, quiet);
    }
  }
  proof.counter_example = patch_board(cell, rule, inputs);
  return proof;
}

}  // namespace espalier
