#include "synth/channels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "espalier/error.hpp"
#include "netlist/cell.hpp"
#include "synth/cnf.hpp"
#include "synth/passes.hpp"

namespace espalier {

std::vector<int> needed_channels(const Netlist& cell, int visible) {
  const int C = cell_channels(cell);
  if (visible < 1 || visible > C) fail("channels", fmt::format("{} visible ones", visible), fmt::format("1 to {}", C));
  std::vector<bool> needed(static_cast<std::size_t>(C));
  std::fill_n(needed.begin(), visible, true);
  // To a fixed point: the inputs in the cones of the channels needed so far name further channels.
  for (bool grown = true; grown;) {
    grown = false;
    Netlist part = cell;
    part.outputs.clear();
    for (int c = 0; c < C; ++c)
      if (needed[c]) part.outputs.push_back(cell.outputs[c]);
    const std::vector<bool> live = live_nets(part);
    for (std::size_t i = 0; i < cell.inputs.size(); ++i)
      if (live[i] && !needed[i % C]) grown = needed[i % C] = true;
  }
  std::vector<int> kept;
  for (int c = 0; c < C; ++c)
    if (needed[c]) kept.push_back(c);
  return kept;
}

Netlist keep_channels(const Netlist& cell, const std::vector<int>& kept) {
  const int C = cell_channels(cell), K = static_cast<int>(kept.size());
  Netlist part = cell;
  part.outputs.clear();
  for (const int c : kept) part.outputs.push_back(cell.outputs[c]);
  part = remove_dead(part);
  const std::vector<bool> live = live_nets(part);
  Netlist small;
  small.name = cell.name;
  std::vector<Net> now(part.nets(), kNoNet);
  for (int p = 0; p < kPatch; ++p)
    for (int k = 0; k < K; ++k) {
      const Net old = patch_net(p, kept[k], C);
      now[old] = small.add_input(cell.inputs[old]);
    }
  for (std::size_t i = 0; i < part.inputs.size(); ++i)
    if (live[i] && now[i] == kNoNet)
      fail("channels", fmt::format("input {}, which a kept channel reads", part.inputs[i]), "only kept channels");
  for (std::size_t g = 0; g < part.gates.size(); ++g) {
    const auto& [gate, a, b] = part.gates[g];
    const Net x = reads_a(gate) ? now[a] : reads_b(gate) ? now[b] : 0, y = reads_b(gate) ? now[b] : x;
    now[part.net_of_gate(g)] = small.add_gate(gate, x, y);
  }
  for (const NetlistOutput& output : part.outputs) small.add_output(output.name, now[output.net]);
  return small;
}

Board pick_channels(const Board& board, const std::vector<int>& channels) {
  Board picked(board.height(), board.width(), static_cast<int>(channels.size()));
  for (int c = 0; c < picked.channels(); ++c)
    for (std::size_t y = 0; y < board.height(); ++y)
      for (std::size_t x = 0; x < board.width(); ++x) picked.set(y, x, c, board.get(y, x, channels[c]));
  return picked;
}

namespace {

// What a channel always is: channel `of` (itself, when nothing is known), inverted or not, or a constant.
struct Relation {
  int of = 0;  // -1: a constant
  bool inverted = false;
};

// A hypothesis about all channels, and its proof by induction over steps: if it holds in every cell of a patch it holds
// in the cell's next state. Where the board ends, the neighbours outside are 0 in every channel, whatever is supposed.
class Correspondence {
 public:
  Correspondence(const Netlist& cell, bool periodic, std::vector<Relation> relations)
      : cell_(cell),
        periodic_(periodic),
        channels_(cell_channels(cell)),
        supposed_(relations),
        relations_(std::move(relations)) {}

  // Drops what cannot be proved until the rest can. The base is that it holds after one step from any board, or
  // (`base` false) in a start that the relations were taken from.
  void prove(bool base) {
    while (base && !holds_after_any_patch()) {
    }
    while (!holds()) {
    }
  }
  const std::vector<Relation>& relations() const { return relations_; }

  // The cell with every channel read as what it is.
  Netlist replaced() const {
    Netlist n = without_gates(cell_);
    LiteralBuilder builder(n);
    const std::vector<Literal> values = builder.copy(cell_, patch([](int) { return false; }, false));
    for (std::size_t c = 0; c < values.size(); ++c) n.outputs[c].net = builder.net(values[c]);
    return n;
  }

 private:
  template <class Outside>
  std::vector<Literal> patch(const Outside& outside, bool truly) const {
    std::vector<Literal> literals;
    for (int p = 0; p < kPatch; ++p)
      for (int c = 0; c < channels_; ++c) {
        const auto [of, inverted] = relations_[c];
        const bool gone = outside(p);
        Literal value = of < 0 || gone ? Literal{} : Literal{patch_net(p, of, channels_), false};
        if (!gone || !truly) value = value ^ inverted;  // outside, a cell that knows of the relation reads it, too
        literals.push_back(value);
      }
    return literals;
  }

  // One round over all ends of the board; false when a relation had to go.
  bool holds() {
    const bool plain = std::none_of(relations_.begin(), relations_.end(), [](const Relation& r) { return r.inverted; });
    const int ends = periodic_ || plain ? 1 : 16;  // equal channels are equal outside, too
    for (int end = 0; end < ends; ++end) {
      const auto outside = [&](int p) {
        return (end & 1 && p / 3 == 0) || (end & 2 && p / 3 == 2) || (end & 4 && p % 3 == 0) || (end & 8 && p % 3 == 2);
      };
      Netlist n = without_gates(cell_);
      n.outputs.clear();
      LiteralBuilder builder(n);
      const std::vector<Literal> real = builder.copy(cell_, patch(outside, true)),
                                 told = builder.copy(cell_, patch(outside, false));
      for (int c = 0; c < channels_; ++c) {
        const auto [of, inverted] = relations_[c];
        const Literal wanted = of < 0 ? Literal{kNoNet, inverted} : real[of] ^ inverted;
        if (differ(n, builder, real[c], wanted)) {
          drop(c);
          return false;
        }
        if (!differ(n, builder, real[c], told[c])) continue;
        // A cell at the edge reads an inverted 0: the inverted relations go.
        for (int d = 0; d < channels_; ++d)
          if (relations_[d].inverted) supposed_[d] = relations_[d] = {d, false};
        return false;
      }
    }
    return true;
  }

  bool holds_after_any_patch() {
    Netlist n = without_gates(cell_);
    n.outputs.clear();
    LiteralBuilder builder(n);
    std::vector<Literal> free;
    for (Net i = 0; i < n.inputs.size(); ++i) free.push_back({i, false});
    const std::vector<Literal> real = builder.copy(cell_, free);
    for (int c = 0; c < channels_; ++c) {
      const auto [of, inverted] = relations_[c];
      if (!differ(n, builder, real[c], of < 0 ? Literal{kNoNet, inverted} : real[of] ^ inverted)) continue;
      drop(c);
      return false;
    }
    return true;
  }

  // Channel c is not what it was taken for; it may still be what another such channel is.
  void drop(int c) {
    for (int d = relations_[c].of + 1; d < c; ++d)
      if (relations_[d].of == d && d != supposed_[c].of && supposed_[d].of == supposed_[c].of) {
        relations_[c] = {d, supposed_[c].inverted != supposed_[d].inverted};
        return;
      }
    relations_[c] = {c, false};
  }

  static bool differ(Netlist& n, LiteralBuilder& builder, Literal x, Literal y) {
    if (x == y) return false;
    if (x.constant() && y.constant()) return true;
    const Literal either = builder.gate(Gate::kXor, x, y);
    if (either.constant()) return either.inverted;
    CnfCone solver(n, false);
    return solver.solve(either.net, !either.inverted) != CnfCone::Answer::kUnsatisfiable;
  }

  const Netlist& cell_;
  bool periodic_;
  int channels_;
  std::vector<Relation> supposed_, relations_;
};

// All values of a channel seen in simulation, as bits; two channels may be equal, opposite or constant if these are.
std::vector<Relation> candidates(const Netlist& cell, const ChannelOptions& options) {
  const int C = cell_channels(cell);
  std::vector<std::vector<bool>> seen(static_cast<std::size_t>(C));
  constexpr std::size_t kSide = 12, kEnough = 1 << 16;
  Board board = options.start ? *options.start : Board(kSide, kSide, C);
  if (!options.start) board.randomize(1);
  SimulatorOptions simulation;
  simulation.periodic = options.periodic;
  Simulator simulator(cell, board.height(), board.width(), simulation);
  for (std::uint64_t step = 0; step <= options.steps && seen[0].size() < kEnough; ++step) {
    if (step > 0) simulator.run(board, 1);
    if (step == 0 && !options.start) continue;
    for (int c = 0; c < C; ++c)
      for (std::size_t y = 0; y < board.height(); ++y)
        for (std::size_t x = 0; x < board.width(); ++x) seen[c].push_back(board.get(y, x, c));
  }
  std::vector<Relation> relations;
  std::map<std::vector<bool>, int> first;
  for (int c = 0; c < C; ++c) {
    std::vector<bool> other = seen[c];
    other.flip();
    const bool always = std::find(seen[c].begin(), seen[c].end(), !seen[c][0]) == seen[c].end();
    if (always) {
      relations.push_back({-1, seen[c][0]});
    } else if (const auto same = first.find(seen[c]); same != first.end()) {
      relations.push_back({same->second, false});
    } else if (const auto opposite = first.find(other); opposite != first.end()) {
      relations.push_back({opposite->second, true});
    } else {
      first[seen[c]] = c;
      relations.push_back({c, false});
    }
  }
  return relations;
}

}  // namespace

ChannelReport reduce_channels(const Netlist& cell, const ChannelOptions& options) {
  const int C = cell_channels(cell);
  if (options.start && options.start->channels() != C)
    fail("channels", fmt::format("a start of {} channels", options.start->channels()), fmt::format("{}", C));
  ChannelReport report;
  Netlist known = cell;
  std::vector<Relation> relations;
  for (int c = 0; c < C; ++c) relations.push_back({c, false});
  if (options.start || options.from_any) {
    Correspondence proof(cell, options.periodic, candidates(cell, options));
    proof.prove(!options.start);
    relations = proof.relations();
    known = simplify(proof.replaced(), SimplifyOptions::brief());
  }
  report.kept = needed_channels(known, options.visible);
  report.cell = keep_channels(known, report.kept);
  for (int c = 0; c < C; ++c) {
    if (std::ranges::find(report.kept, c) != report.kept.end()) continue;
    const auto [of, inverted] = relations[c];
    (of < 0 ? report.constant : of == c ? report.unneeded : inverted ? report.opposite : report.equal).push_back(c);
  }
  report.proof = "by structure: no channel that is kept reads one that is not";
  if (options.start || options.from_any)
    report.proof += fmt::format("; what channels always are by induction over steps from {}, each with SAT",
                                options.start ? "the task's start" : "the first step after any start");
  return report;
}

}  // namespace espalier
