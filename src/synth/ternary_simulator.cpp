#include "synth/ternary_simulator.hpp"

#include "netlist/cell.hpp"
#include "synth/cnf.hpp"
#include "synth/passes.hpp"

namespace espalier {
namespace {

constexpr char kUnknown = static_cast<char>(Trit::kUnknown);
constexpr int kConflicts = 1000;  // for one bit of one patch; without an answer it counts as unknown

char trit(bool value) { return value ? '1' : '0'; }

}  // namespace

TernarySimulator::TernarySimulator(const Netlist& cell, bool periodic, int height, int width,
                                   std::function<void()> pause)
    : cell_(remove_dead(cell)),
      periodic_(periodic),
      channels_(cell_channels(cell)),
      height_(height),
      width_(width),
      pause_(std::move(pause)) {}

TernarySimulator::State TernarySimulator::of(const LiteralBoard& board) {
  State state;
  for (const Literal& literal : board.literals) state += literal.constant() ? trit(literal.inverted) : kUnknown;
  return state;
}

const std::string& TernarySimulator::next(const std::string& patch) {
  const auto [entry, added] = known_.try_emplace(patch);
  if (!added) return entry->second;
  // The patch as a board of one step: unknown bits are free inputs.
  Netlist folded;
  folded.inputs = cell_.inputs;
  LiteralBuilder builder(folded);
  std::vector<Literal> bits;
  for (std::size_t i = 0; i < patch.size(); ++i)
    bits.push_back(patch[i] == kUnknown ? Literal{static_cast<Net>(i), false} : constant_literal(patch[i] == '1'));
  const std::vector<Literal> values = builder.copy(cell_, std::move(bits));
  CnfCone solver(folded, true);
  for (const Literal value : values) {
    char answer = value.constant() ? trit(value.inverted) : kUnknown;
    if (!value.constant() && !folded.is_input(value.net))
      for (const bool high : {false, true})
        if (solver.solve(value.net, !high, kConflicts) == CnfCone::Answer::kUnsatisfiable)
          answer = trit(high != value.inverted);
    entry->second += answer;
  }
  return entry->second;
}

TernarySimulator::State TernarySimulator::step(const State& now) {
  const int C = channels_, H = height_, W = width_;
  const auto index = [&](int c, int y, int x) { return (static_cast<std::size_t>(c) * H + y) * W + x; };
  State after(now.size(), kUnknown);
  std::string patch(static_cast<std::size_t>(kPatch) * C, '0');
  for (int y = 0; y < H; ++y) {
    if (pause_) pause_();
    for (int x = 0; x < W; ++x) {
      for (int p = 0; p < kPatch; ++p) {
        int v = y + p / 3 - 1, u = x + p % 3 - 1;
        if (periodic_) v = (v + H) % H, u = (u + W) % W;
        const bool outside = v < 0 || v >= H || u < 0 || u >= W;
        for (int c = 0; c < C; ++c) patch[patch_net(p, c, C)] = outside ? '0' : now[index(c, v, u)];
      }
      const std::string& value = next(patch);
      for (int c = 0; c < C; ++c) after[index(c, y, x)] = value[c];
    }
  }
  return after;
}

TernarySimulator::State TernarySimulator::closure(State now) {
  for (bool grown = true; grown;) {
    grown = false;
    const State after = step(now);
    for (std::size_t i = 0; i < now.size(); ++i)
      if (now[i] != kUnknown && now[i] != after[i]) now[i] = kUnknown, grown = true;
  }
  return now;
}

}  // namespace espalier
