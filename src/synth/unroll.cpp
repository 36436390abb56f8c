#include "synth/unroll.hpp"

#include "netlist/cell.hpp"
#include "synth/passes.hpp"

namespace espalier {

LiteralBoard constant_board(const Board& board) {
  LiteralBoard literals(board.channels(), static_cast<int>(board.height()), static_cast<int>(board.width()));
  for (int c = 0; c < literals.channels; ++c)
    for (int y = 0; y < literals.height; ++y)
      for (int x = 0; x < literals.width; ++x) literals.at(c, y, x) = constant_literal(board.get(y, x, c));
  return literals;
}

Unroller::Unroller(const Netlist& cell, bool periodic, std::size_t inputs, bool plain)
    : cell_(remove_dead(cell)),
      channels_(cell_channels(cell)),
      periodic_(periodic),
      plain_(plain),
      builder_(netlist_),
      nets_(cell_.nets() + 1) {
  netlist_.name = cell.name;
  netlist_.inputs.resize(inputs);
}

Literal Unroller::settled(Literal literal) {
  return literal.constant() || literal.inverted ? Literal{builder_.net(literal), false} : literal;
}

Literal Unroller::gate(Gate gate, Literal a, Literal b) {
  if (!plain_) return builder_.gate(gate, a, b);
  return {netlist_.add_gate(gate, settled(a).net, settled(b).net), false};
}

LiteralBoard Unroller::step(const LiteralBoard& now, const std::vector<Literal>& fire,
                            const std::function<void()>& pause) {
  const int C = channels_, H = now.height, W = now.width;
  LiteralBoard next(C, H, W);
  const auto seen = [&](int c, int y, int x) {
    if (periodic_) return now.at(c, (y + H) % H, (x + W) % W);
    return y < 0 || y >= H || x < 0 || x >= W ? kZero : now.at(c, y, x);
  };
  for (int y = 0; y < H; ++y) {
    if (pause) pause();
    for (int x = 0; x < W; ++x) {
      for (int p = 0; p < kPatch; ++p)
        for (int c = 0; c < C; ++c) nets_[patch_net(p, c, C)] = seen(c, y + p / 3 - 1, x + p % 3 - 1);
      for (std::size_t g = 0; g < cell_.gates.size(); ++g) {
        const auto& [type, a, b] = cell_.gates[g];
        nets_[cell_.net_of_gate(g)] =
            is_constant(type) ? constant_literal(type == Gate::kTrue) : gate(type, nets_[a], nets_[b]);
      }
      for (int c = 0; c < C; ++c) {
        Literal value = nets_[cell_.outputs[c].net];
        if (!fire.empty()) {  // old ^ (fire & (old ^ new))
          const Literal old = now.at(c, y, x), fires = fire[static_cast<std::size_t>(y) * W + x];
          value = gate(Gate::kXor, old, gate(Gate::kAnd, fires, gate(Gate::kXor, old, value)));
        }
        next.at(c, y, x) = value;
      }
    }
  }
  return next;
}

}  // namespace espalier
