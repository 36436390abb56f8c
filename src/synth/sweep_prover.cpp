#include "synth/sweep_prover.hpp"

#include <algorithm>
#include <bit>

#include "espalier/random.hpp"

namespace espalier {
namespace {

constexpr std::size_t kSpareVariables = 500;  // a solver is kept while most of what it holds is of use
constexpr std::uint64_t kSatCost = 200;       // gate words that one encoded net costs in a SAT call, roughly

}  // namespace

SweepProver::SweepProver(const Netlist& netlist, const SweepOptions& options, SweepReport& report)
    : netlist_(netlist), options_(options), report_(report) {}

void SweepProver::add_net() {
  const Net net = static_cast<Net>(supports_.size());
  seen_.push_back(0);
  place_.push_back(0);
  if (netlist_.is_input(net)) {
    supports_.push_back(Support{net});
  } else {
    const NetlistGate& gate = netlist_.gate_of_net(net);
    supports_.push_back(is_constant(gate.gate) ? Support{} : joint_support(gate.a, gate.b));
  }
}

std::optional<SweepProver::Support> SweepProver::joint_support(Net x, Net y) const {
  if (!supports_[x] || (y != kNoNet && !supports_[y])) return std::nullopt;
  if (y == kNoNet) return supports_[x];
  Support both;
  std::set_union(supports_[x]->begin(), supports_[x]->end(), supports_[y]->begin(), supports_[y]->end(),
                 std::back_inserter(both));
  if (both.size() > static_cast<std::size_t>(options_.table_inputs)) return std::nullopt;
  return both;
}

void SweepProver::collect_cone(Net x, Net y) {
  ++mark_;
  cone_.clear();
  const auto visit = [&](Net net) {
    if (net == kNoNet || netlist_.is_input(net) || seen_[net] == mark_) return;
    seen_[net] = mark_;
    cone_.push_back(net);
  };
  visit(x);
  visit(y);
  for (std::size_t i = 0; i < cone_.size(); ++i) {
    const NetlistGate& gate = netlist_.gate_of_net(cone_[i]);
    if (reads_a(gate.gate)) visit(gate.a);
    if (reads_b(gate.gate)) visit(gate.b);
  }
  std::sort(cone_.begin(), cone_.end());
}

SweepProver::Verdict SweepProver::prove(Net x, Net y, bool inverted) {
  ++report_.candidates;
  const std::optional<Support> support = joint_support(x, y);
  const Verdict verdict = support ? by_table(x, y, inverted, *support) : by_sat(x, y, inverted);
  if (verdict == Verdict::kEqual) ++report_.merged;
  if (verdict == Verdict::kDifferent) ++report_.refuted;
  if (verdict == Verdict::kUndecided) ++report_.undecided;
  return verdict;
}

SweepProver::Verdict SweepProver::by_table(Net x, Net y, bool inverted, const Support& support) {
  collect_cone(x, y);
  const std::uint64_t blocks = support.size() > 6 ? std::uint64_t{1} << (support.size() - 6) : 1;
  spent_ += blocks * (cone_.size() + support.size() + 1);
  std::uint32_t rows = 0;
  for (const Net input : support) place_[input] = rows++;
  for (const Net net : cone_) place_[net] = rows++;
  words_.assign(rows + 1, 0);
  for (std::uint64_t block = 0; block < blocks; ++block) {
    for (std::size_t i = 0; i < support.size(); ++i) words_[i] = counting_word(i, block);
    for (const Net net : cone_) {
      const NetlistGate& gate = netlist_.gate_of_net(net);
      words_[place_[net]] = is_constant(gate.gate)
                                ? apply_gate(gate.gate, std::uint64_t{0}, std::uint64_t{0})
                                : apply_gate(gate.gate, words_[place_[gate.a]], words_[place_[gate.b]]);
    }
    std::uint64_t different = words_[place_[x]] ^ (y == kNoNet ? 0 : words_[place_[y]]);
    if (inverted) different = ~different;
    if (!different) continue;
    const int bit = std::countr_zero(different);
    witness_.clear();
    for (std::size_t i = 0; i < support.size(); ++i)
      witness_.emplace_back(support[i], counting_word(i, block) >> bit & 1);
    return Verdict::kDifferent;
  }
  ++report_.by_table;
  return Verdict::kEqual;
}

// Rare values hide from fair coins: inputs that are mostly 0 or mostly 1 find differences that would cost a SAT call.
bool SweepProver::told_apart_by_samples(Net x, Net y, bool inverted) {
  constexpr std::uint64_t kWords = 12;
  std::vector<Net> inputs;
  ++mark_;
  const auto read = [&](Net net) {
    if (net == kNoNet || !netlist_.is_input(net) || seen_[net] == mark_) return;
    seen_[net] = mark_;
    inputs.push_back(net);
  };
  read(x);
  read(y);
  for (const Net net : cone_) {
    const NetlistGate& gate = netlist_.gate_of_net(net);
    if (reads_a(gate.gate)) read(gate.a);
    if (reads_b(gate.gate)) read(gate.b);
  }
  std::uint32_t rows = 0;
  for (const Net input : inputs) place_[input] = rows++;
  for (const Net net : cone_) place_[net] = rows++;
  words_.assign(rows + 1, 0);
  const Random random(options_.seed, Purpose::kSweep, 2);
  for (std::uint64_t w = 0; w < kWords; ++w) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const PhiloxBlock block = random.block(draws_++);
      const std::uint64_t u = block[0] | std::uint64_t{block[1]} << 32, v = block[2] | std::uint64_t{block[3]} << 32;
      words_[i] = w % 4 == 0 ? u : w % 4 == 1 ? u & v : w % 4 == 2 ? u | v : u & v & (u >> 7 | u << 57);
    }
    for (const Net net : cone_) {
      const NetlistGate& gate = netlist_.gate_of_net(net);
      words_[place_[net]] = is_constant(gate.gate)
                                ? apply_gate(gate.gate, std::uint64_t{0}, std::uint64_t{0})
                                : apply_gate(gate.gate, words_[place_[gate.a]], words_[place_[gate.b]]);
    }
    spent_ += cone_.size() + 8 * inputs.size();
    std::uint64_t different = words_[place_[x]] ^ (y == kNoNet ? 0 : words_[place_[y]]);
    if (inverted) different = ~different;
    if (!different) continue;
    witness_.clear();
    for (std::size_t i = 0; i < inputs.size(); ++i)
      witness_.emplace_back(inputs[i], words_[i] >> std::countr_zero(different) & 1);
    return true;
  }
  return false;
}

SweepProver::Verdict SweepProver::by_sat(Net x, Net y, bool inverted) {
  collect_cone(x, y);
  if (told_apart_by_samples(x, y, inverted)) return Verdict::kDifferent;
  if (!solver_ || solver_->encoded() > 3 * cone_.size() + kSpareVariables)
    solver_ = std::make_unique<CnfCone>(netlist_, true);
  const CnfCone::Answer answer = y == kNoNet ? solver_->solve(x, !inverted, options_.conflicts)
                                             : solver_->differ(x, y, inverted, options_.conflicts);
  spent_ += kSatCost * (solver_->encoded() + 100);
  if (answer == CnfCone::Answer::kUnknown) return Verdict::kUndecided;
  if (answer == CnfCone::Answer::kUnsatisfiable) {
    ++report_.by_sat;
    return Verdict::kEqual;
  }
  witness_.clear();
  ++mark_;
  const auto read = [&](Net net) {
    if (!netlist_.is_input(net) || seen_[net] == mark_) return;
    seen_[net] = mark_;
    witness_.emplace_back(net, solver_->input_value(net));
  };
  read(x);
  if (y != kNoNet) read(y);
  for (const Net net : cone_) {
    const NetlistGate& gate = netlist_.gate_of_net(net);
    if (reads_a(gate.gate)) read(gate.a);
    if (reads_b(gate.gate)) read(gate.b);
  }
  return Verdict::kDifferent;
}

}  // namespace espalier
