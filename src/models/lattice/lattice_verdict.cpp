#include "models/lattice/lattice_verdict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "base/text.hpp"
#include "models/lattice/board_cases.hpp"
#include "models/lattice/board_pairs.hpp"
#include "models/lattice/identify.hpp"
#include "models/lattice/lattice_goal.hpp"
#include "models/lattice/trials.hpp"
#include "netlist/cell.hpp"

namespace espalier {
namespace {

// The inputs of a cell that its judged channels depend on, in this step or through any channel in a later one.
std::vector<std::size_t> read_bits(const Netlist& cell, int judged, bool later) {
  const int C = cell_channels(cell);
  std::vector<char> live(cell.nets()), wanted(static_cast<std::size_t>(C));
  std::vector<Net> stack;
  const auto want = [&](int c) {
    if (std::exchange(wanted[static_cast<std::size_t>(c)], 1)) return;
    stack.push_back(cell.outputs[static_cast<std::size_t>(c)].net);
  };
  for (int c = 0; c < judged; ++c) want(c);
  while (!stack.empty()) {
    const Net net = stack.back();
    stack.pop_back();
    if (std::exchange(live[net], 1)) continue;
    if (cell.is_input(net)) {
      if (later) want(static_cast<int>(net) % C);
      continue;
    }
    const NetlistGate& g = cell.gate_of_net(net);
    if (reads_a(g.gate)) stack.push_back(g.a);
    if (reads_b(g.gate)) stack.push_back(g.b);
  }
  std::vector<std::size_t> bits;
  for (std::size_t i = 0; i < cell.inputs.size(); ++i)
    if (live[i]) bits.push_back(i);
  return bits;
}

}  // namespace

std::vector<std::string> demanded_trials(const LatticeModel& model) {
  std::vector<std::string> names = model.goal().demands(), kept = model.goal().kept();
  if (model.is_refined()) names.insert(names.end(), kept.begin(), kept.end());
  return names;
}

SeenCases seen_cases(const Netlist& cell, int judged, std::vector<Board> starts, int steps, bool periodic) {
  constexpr std::size_t kMostBits = 24;  // more patterns than boards have cells
  const std::vector<std::size_t> bits = read_bits(cell, judged, steps > 1);
  SeenCases cases{bits.size(), 0, std::ldexp(1.0, static_cast<int>(std::min<std::size_t>(bits.size(), 1000)))};
  if (bits.size() > kMostBits) return cases;
  const auto C = static_cast<std::size_t>(cell_channels(cell));
  std::unordered_set<std::uint32_t> seen;
  for (Board& board : starts) {
    const std::size_t H = board.height(), W = board.width();
    Simulator simulator(cell, H, W, {.periodic = periodic});
    for (int t = 0; t < steps; ++t) {
      if (t > 0) simulator.run(board, 1);
      for (std::size_t y = 0; y < H; ++y)
        for (std::size_t x = 0; x < W; ++x) {
          std::uint32_t pattern = 0;
          for (std::size_t i = 0; i < bits.size(); ++i) {
            const std::size_t p = bits[i] / C, v = y + H + p / 3 - 1, u = x + W + p % 3 - 1;
            if (!periodic && (v < H || v >= 2 * H || u < W || u >= 2 * W)) continue;
            pattern |= std::uint32_t{board.get(v % H, u % W, static_cast<int>(bits[i] % C))} << i;
          }
          seen.insert(pattern);
        }
    }
  }
  cases.seen = static_cast<double>(seen.size());
  return cases;
}

namespace {

std::vector<Board> starts_of(const BoardPairs& pairs, int channels) {
  std::vector<Board> boards;
  const std::uint8_t* bit = pairs.start.data();
  for (int n = 0; n < pairs.count; ++n) {
    Board& board = boards.emplace_back(pairs.height, pairs.width, channels);
    for (std::size_t y = 0; y < board.height(); ++y)
      for (std::size_t x = 0; x < board.width(); ++x)
        for (int c = 0; c < pairs.start_channels; ++c) board.set(y, x, c, *bit++ != 0);
  }
  return boards;
}

// Whether so many wrong bits are no more than noise of that rate explains.
bool within_noise(double wrong, double bits, double rate) {
  constexpr double kSigmas = 4;
  return wrong <= bits * rate + kSigmas * std::sqrt(bits * rate * (1 - rate)) + 1;
}

IdentifyData data_of(const BoardPairs& pairs, bool periodic) {
  return {pairs.count,           pairs.height, pairs.width,  pairs.start_channels,
          pairs.target_channels, pairs.start,  pairs.target, periodic};
}

// Do boards that contradict each other so often do it less than half as often with the other boundary?
bool fits_other_boundary(const BoardPairs& pairs, bool periodic, std::optional<double> contradiction) {
  const std::optional<BoardCases> other = read_cases(data_of(pairs, !periodic));
  return contradiction && other && other->contradiction && *other->contradiction < *contradiction / 2;
}

// Cases of a rule may have been seen in few of the neighbourhoods in which it is believed to hold.
std::string neighbourhoods_seen(const Identification& found) {
  constexpr double kShown = 1e9;
  const double possible = std::pow(static_cast<double>(found.states.size()), 9);
  return possible < kShown ? fmt::format("{} of {:.0f} neighbourhoods", found.neighbourhoods, possible)
                           : counted(found.neighbourhoods, "different neighbourhood");
}

// Given boards one step apart: what can be said of them decides what can be said of a model.
void judge_given(Verdict& verdict, const LatticeModel& model, const JudgingBoards& boards, bool exact,
                 const ThreadPool& pool) {
  const BoardPairs known = *model.goal().known_pairs(model.seed());
  const bool synchronous = model.goal().judged_fire_rate(model.rollout()) >= 1;
  const bool one_step = model.rollout().steps == 1 && synchronous;
  std::optional<Identification> found;
  if (one_step) found = identify_pairs(known, model.channels(), model.periodic(), pool);
  if (found && found->ceiling < 1 && !exact) {
    verdict.text += fmt::format(
        "; cells that see the same become different things, and no rule of a cell and its eight "
        "neighbours can exceed {:.2f} %",
        100 * found->ceiling);
    verdict.hint =
        "the boards contradict each other: check that they are one step apart, and what else a cell depends on";
    if (fits_other_boundary(known, model.periodic(), found->contradiction))
      verdict.hint = fmt::format(
          "with the option \"boundary\" = \"{}\" the boards contradict each other far less: nothing else may be wrong",
          model.periodic() ? "zero" : "periodic");
  }
  if (!boards.why_not.empty()) {
    verdict.text += fmt::format("; {}", boards.why_not);
    verdict.hint = boards.known_in_part ? "try it on a file of boards" : "give more boards";
    return;
  }
  const IdentifiedRule* rule = found && found->rule ? &*found->rule : nullptr;
  const bool identified = rule && model.trained()->refined(rule->cell)->hash() == model.hash();
  if (identified) {
    const std::size_t open = rule->entries - rule->seen;
    const double bits = static_cast<double>(boards.target.boards()) * boards.target.height() * boards.target.width() *
                        boards.target.channels();
    verdict.explained = !exact && rule->bit_noise > 0 && rule->not_noise.empty() &&
                        within_noise((1 - verdict.score) * bits, bits, rule->bit_noise);
    if (!rule->not_noise.empty()) verdict.text += fmt::format("; what is wrong is no noise: {}", rule->not_noise);
    if (verdict.explained)
      verdict.text += fmt::format("; explains the boards up to the noise that was estimated, {:.2f} % of their bits",
                                  100 * rule->bit_noise);
    verdict.text +=
        open ? fmt::format("; {} of {} cases never occurred, or too seldom, and are guessed: {}{}", open, rule->entries,
                           fmt::join(rule->unseen, ", "), open > rule->unseen.size() ? ", ..." : "")
             : fmt::format("; all {} of the rule occurred, in {}", counted(rule->entries, "case"),
                           neighbourhoods_seen(*found));
    if (open) verdict.hint = "give boards in which these cases occur";
    if (exact && rule->noise > 0) {
      verdict.text +=
          fmt::format("; but {:.2g} % of the cells that were fitted or chosen by are wrong", 100 * rule->noise);
      if (verdict.hint.empty()) verdict.hint = "look at these boards: they are noisy, or the rule has exceptions";
    }
    verdict.solved = exact && !open && rule->noise == 0;
    return;
  }
  if (!exact) return;
  // Right on the few boards that judge may be luck: boards that it was made from tell against it all the same.
  if (const PairScore fitted = score_pairs(model, known, model.rollout().steps, pool);
      synchronous && fitted.exact < fitted.boards) {
    verdict.text += fmt::format("; but {} of the {} boards that were fitted or chosen by are wrong",
                                fitted.boards - fitted.exact, fitted.boards);
    return;
  }
  // A few boards cannot show that a circuit is right in cases that none of them has.
  const SeenCases cases = seen_cases(model.quick_cell(), model.goal().loss_channels(),
                                     starts_of(known, model.channels()), model.rollout().steps, model.periodic());
  verdict.solved = cases.complete() && cases.bits > 0 && synchronous;
  if (cases.bits == 0)
    verdict.text += "; but all cells become the same, which tells of no rule";
  else if (!synchronous)
    verdict.text += "; but cells that update at random were not held against every case";
  else if (cases.complete())
    verdict.text += fmt::format("; all {:.0f} cases that the circuit tells apart occurred", cases.all);
  else if (cases.seen > 0)
    verdict.text += fmt::format("; but {:.0f} of the {:.0f} cases of the {} bits that the circuit reads never occurred",
                                cases.all - cases.seen, cases.all, cases.bits);
  else
    verdict.text +=
        fmt::format("; but the circuit reads {} bits, and few of their cases can have occurred", cases.bits);
  if (cases.bits == 0)
    verdict.hint = "give boards whose cells become different things";
  else if (!verdict.solved)
    verdict.hint = "a smaller circuit tells fewer cases apart; or give more boards";
}

}  // namespace

Identification identify_pairs(const BoardPairs& pairs, int channels, bool periodic, const ThreadPool& pool) {
  return identify(data_of(pairs, periodic), channels, pool);
}

Verdict judge_model(const LatticeModel& model, std::uint64_t draw, bool trials, const ThreadPool& pool) {
  const LatticeGoal& goal = model.goal();
  const RolloutOptions& r = model.rollout();
  const JudgingBoards boards = goal.judging(r, model.channels(), model.seed(), draw);
  const Trial judged = judge_boards(model, draw, pool);
  const double bits = static_cast<double>(r.height) * r.width * goal.loss_channels();
  Verdict verdict{.score = judged.score, .loss = (1 - judged.score) * bits, .data = boards.what};
  verdict.text = judged.exact ? "every bit right"
                              : fmt::format("{:.2f} % right, {} per board", 100 * judged.score,
                                            averaged(verdict.loss, "wrong bit"));
  if (goal.known_pairs(model.seed())) {
    judge_given(verdict, model, boards, judged.exact, pool);
    return verdict;
  }
  if (!judged.exact) {
    const int least = goal.least_steps(r, model.periodic());
    if (least == LatticeGoal::kNever)
      verdict.hint = "the start does not tell cells apart that should differ: a seed would, or a zero boundary";
    else if (r.steps < least)
      verdict.hint = fmt::format(
          "{} steps are too few: cells that should differ hear of what tells them apart only after {}", r.steps, least);
    return verdict;
  }
  std::vector<std::string> names = demanded_trials(model);
  if (!trials && !names.empty()) {
    verdict.not_asked = fmt::format("{}", fmt::join(std::exchange(names, {}), ", "));
    verdict.text += fmt::format("; not asked for: {}", verdict.not_asked);
  }
  const std::vector<std::string> failed = failed_trials(model, names, draw, pool);
  if (!failed.empty())
    verdict.text += fmt::format(", but not in {}", fmt::join(failed, ", "));
  else if (!names.empty())
    verdict.text += fmt::format(", also in {}", fmt::join(names, ", "));
  verdict.solved = failed.empty();
  return verdict;
}

}  // namespace espalier
