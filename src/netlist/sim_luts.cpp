#include "netlist/sim_luts.hpp"

#include <algorithm>
#include <limits>

namespace espalier {
namespace {

constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();

std::uint8_t combined(SimCode code, unsigned x, unsigned y) {
  switch (code) {
    case SimCode::kAnd: return static_cast<std::uint8_t>(x & y);
    case SimCode::kOr: return static_cast<std::uint8_t>(x | y);
    case SimCode::kXor: return static_cast<std::uint8_t>(x ^ y);
    case SimCode::kAndNot: return static_cast<std::uint8_t>(~x & y);
    case SimCode::kCopy: return static_cast<std::uint8_t>(x);
    case SimCode::kNot: return static_cast<std::uint8_t>(~x);
    case SimCode::kZero: return 0;
    case SimCode::kOnes: return 0xFF;
  }
  return 0;
}

// Covers the operations with functions of up to three values. For each value a few cuts are kept, sets of at most three
// values that it is a function of, with what they cost by area flow (Manohararajah, Brown, Vranesic: "Heuristics for
// area minimization in LUT-based FPGA technology mapping", 2006); each value takes its best one.
class Coverer {
 public:
  explicit Coverer(const SimProgram& program) : program_(program), cuts_(program.values()), readers_(program.values()) {
    for (const SimOp& op : program.ops) {
      if (operands(op.code) > 0) ++readers_[op.a];
      if (operands(op.code) > 1) ++readers_[op.b];
    }
    for (const std::uint32_t output : program.outputs) ++readers_[output];
  }

  LutProgram run() {
    for (std::uint32_t i = 0; i < program_.inputs; ++i) add_itself(i);
    for (std::uint32_t i = 0; i < program_.ops.size(); ++i) {
      find_cuts(program_.ops[i], static_cast<std::uint32_t>(program_.inputs) + i);
      add_itself(static_cast<std::uint32_t>(program_.inputs) + i);
    }
    return cover();
  }

 private:
  // Measured on AMD's fourth generation, where vpternlogq runs at half the rate of the plain operations; elsewhere it
  // costs the same as those.
  static constexpr float kCostOfThree = 1.5f;
  static constexpr std::size_t kMaxCuts = 5;
  struct Cut {
    Lut lut;
    float cost = 0;  // with a share of what its values cost
  };
  struct Cuts {
    std::array<Cut, kMaxCuts + 1> list;  // best first, the value itself last
    std::size_t count = 0;
  };

  void add_itself(std::uint32_t value) {
    Cuts& cuts = cuts_[value];
    cuts.list[cuts.count++] = {{kX, 1, {value}}, value < program_.inputs ? 0.0f : cuts.list[0].cost};
  }
  float share(std::uint32_t value) const {
    if (value < program_.inputs) return 0;
    return cuts_[value].list[0].cost / static_cast<float>(std::max(1u, readers_[value]));
  }

  void find_cuts(const SimOp& op, std::uint32_t value) {
    Cuts& cuts = cuts_[value];
    const int count = operands(op.code);
    if (count == 0) {
      cuts.list[cuts.count++] = {{combined(op.code, 0, 0), 0, {}}, 1};
      return;
    }
    for (std::size_t i = 0; i < cuts_[op.a].count; ++i) {
      const Lut& x = cuts_[op.a].list[i].lut;
      if (count == 1)
        offer(cuts, {combined(op.code, x.table, 0), x.count, x.in});
      else
        for (std::size_t j = 0; j < cuts_[op.b].count; ++j) offer_pair(cuts, op.code, x, cuts_[op.b].list[j].lut);
    }
  }

  void offer_pair(Cuts& cuts, SimCode code, const Lut& x, const Lut& y) {
    Lut both{0, 0, {}};
    std::size_t i = 0, j = 0;
    while (i < x.count || j < y.count) {  // both ascending
      const std::uint32_t u = i < x.count ? x.in[i] : kNever, v = j < y.count ? y.in[j] : kNever;
      if (both.count == 3) return;
      both.in[both.count++] = std::min(u, v);
      i += u <= v;
      j += v <= u;
    }
    both.table = combined(code, stretched(x, both), stretched(y, both));
    offer(cuts, both);
  }

  // The table of `lut` over the values of `wider`, which hold its own.
  static unsigned stretched(const Lut& lut, const Lut& wider) {
    if (lut.in == wider.in) return lut.table;
    unsigned bit[3] = {0, 0, 0};  // where a value stands in the index
    for (std::size_t i = 0, w = 0; i < lut.count; ++i) {
      while (wider.in[w] != lut.in[i]) ++w;
      bit[i] = 2 - static_cast<unsigned>(w);
    }
    unsigned table = 0;
    for (unsigned index = 0; index < 8; ++index) {
      unsigned from = 0;
      for (unsigned i = 0; i < lut.count; ++i) from |= (index >> bit[i] & 1u) << (2 - i);
      table |= (lut.table >> from & 1u) << index;
    }
    return table;
  }

  void offer(Cuts& cuts, const Lut& lut) {
    float cost = lut.count == 3 ? kCostOfThree : 1;
    for (std::size_t i = 0; i < lut.count; ++i) cost += share(lut.in[i]);
    std::size_t at = cuts.count;
    for (std::size_t i = 0; i < cuts.count; ++i)
      if (cuts.list[i].lut.count == lut.count && cuts.list[i].lut.in == lut.in) return;
    while (at > 0 && cuts.list[at - 1].cost > cost) --at;
    if (at == kMaxCuts) return;
    cuts.count = std::min(cuts.count + 1, kMaxCuts);
    for (std::size_t i = cuts.count - 1; i > at; --i) cuts.list[i] = cuts.list[i - 1];
    cuts.list[at] = {lut, cost};
  }

  LutProgram cover() const {
    std::vector<bool> needed(program_.values());
    for (const std::uint32_t output : program_.outputs) needed[output] = true;
    for (std::size_t v = program_.values(); v-- > program_.inputs;)
      if (needed[v])
        for (std::size_t i = 0; i < cuts_[v].list[0].lut.count; ++i) needed[cuts_[v].list[0].lut.in[i]] = true;
    LutProgram result{program_.inputs, {}, {}};
    std::vector<std::uint32_t> moved(program_.values());
    for (std::uint32_t v = 0; v < program_.values(); ++v) {
      moved[v] = v;
      if (v < program_.inputs || !needed[v]) continue;
      Lut lut = cuts_[v].list[0].lut;
      for (std::size_t i = 0; i < lut.count; ++i) lut.in[i] = moved[lut.in[i]];
      moved[v] = static_cast<std::uint32_t>(result.values());
      result.luts.push_back(lut);
    }
    for (const std::uint32_t output : program_.outputs) result.outputs.push_back(moved[output]);
    return result;
  }

  const SimProgram& program_;
  std::vector<Cuts> cuts_;              // [value]
  std::vector<std::uint32_t> readers_;  // [value]
};

}  // namespace

LutProgram plain_luts(const SimProgram& program) {
  LutProgram result{program.inputs, {}, program.outputs};
  for (const SimOp& op : program.ops) {
    const int count = operands(op.code);
    if (count == 2 && op.a == op.b) {
      const std::uint8_t table = combined(op.code, kX, kX);  // kX, or 0
      result.luts.push_back({table, static_cast<std::uint8_t>(table ? 1 : 0), {op.a}});
    } else {
      result.luts.push_back({combined(op.code, kX, kY), static_cast<std::uint8_t>(count), {op.a, op.b}});
    }
  }
  return result;
}

LutProgram cover_with_luts(const SimProgram& program) { return Coverer(program).run(); }

}  // namespace espalier
