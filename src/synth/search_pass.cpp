// The pass of simplify() that looks for fewer gates by mutation, function unchanged. Circuits of few live inputs are
// held to their complete table. Others are held to examples, and what comes out is proved; an input that shows a
// difference becomes an example, and the search begins again from what was proved last.
#include <algorithm>

#include "espalier/random.hpp"
#include "synth/passes.hpp"
#include "synth/refine_search.hpp"
#include "synth/target_table.hpp"

namespace espalier {
namespace {

constexpr std::size_t kCompleteInputs = 12, kExampleWords = 32;
constexpr std::uint64_t kRounds = 8;  // proofs of circuits of many inputs

// The circuit over its live inputs alone.
Netlist over_live_inputs(const Netlist& netlist, std::vector<Net>& inputs) {
  const std::vector<bool> live = live_nets(netlist);
  Netlist result;
  result.name = netlist.name;
  std::vector<Net> to(netlist.nets(), 0);
  for (Net i = 0; i < netlist.inputs.size(); ++i)
    if (live[i]) to[i] = result.add_input(netlist.inputs[i]), inputs.push_back(i);
  for (std::size_t g = 0; g < netlist.gates.size(); ++g) {
    const NetlistGate& gate = netlist.gates[g];
    to[netlist.net_of_gate(g)] = static_cast<Net>(result.nets());
    result.gates.push_back({gate.gate, to[gate.a], to[gate.b]});
  }
  for (const NetlistOutput& output : netlist.outputs) result.outputs.push_back({output.name, to[output.net]});
  return result;
}

// And back.
Netlist over_all_inputs(const Netlist& small, const std::vector<Net>& inputs, const Netlist& shape) {
  Netlist result = without_gates(shape);
  std::vector<Net> to(inputs);
  for (const NetlistGate& gate : small.gates) {
    to.push_back(static_cast<Net>(result.nets()));
    const auto net = [&](Net n) { return n < to.size() ? to[n] : 0; };
    result.gates.push_back({gate.gate, net(gate.a), net(gate.b)});
  }
  for (std::size_t o = 0; o < small.outputs.size(); ++o) result.outputs[o].net = to[small.outputs[o].net];
  return result;
}

void add_example_word(TargetTable& table, const Netlist& circuit, const std::vector<std::uint64_t>& inputs) {
  const std::vector<std::uint64_t> values = evaluate_words(circuit, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) table.inputs[i].push_back(inputs[i]);
  for (std::size_t o = 0; o < circuit.outputs.size(); ++o) {
    table.outputs[o].push_back(values[circuit.outputs[o].net]);
    table.cares[o].push_back(~std::uint64_t{0});
  }
  table.count += 64;
}

Netlist shrink(const Netlist& circuit, const TargetTable& table, std::uint64_t evaluations, std::uint64_t seed,
               const ThreadPool& pool) {
  TableScore score(table);
  CircuitSearch search(circuit, score, {.seed = seed, .shrink = evaluations}, pool);
  while (!search.ended()) search.step(pool);
  return search.state().best;
}

}  // namespace

Netlist search_smaller(const Netlist& netlist, std::uint64_t evaluations, const ThreadPool& pool) {
  std::vector<Net> inputs;
  const Netlist circuit = over_live_inputs(netlist, inputs);
  if (inputs.empty() || circuit.gates.size() < 2) return netlist;
  if (inputs.size() <= kCompleteInputs)
    return over_all_inputs(shrink(circuit, complete_table(circuit), evaluations, 1, pool), inputs, netlist);
  const Random random(1, Purpose::kRefine, 0xffffffff);
  std::uint64_t draw = 0;
  TargetTable table;
  table.inputs.resize(inputs.size());
  table.outputs.resize(circuit.outputs.size());
  table.cares.resize(circuit.outputs.size());
  std::vector<std::uint64_t> word(inputs.size());
  for (std::size_t w = 0; w < kExampleWords; ++w) {
    for (std::uint64_t& bits : word) bits = random.bits64(draw++);
    add_example_word(table, circuit, word);
  }
  Netlist proved = circuit;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const Netlist next = shrink(proved, table, evaluations / kRounds, round + 1, pool);
    const VerifyReport report = verify(circuit, next);
    if (report.verdict == VerifyReport::Verdict::kEqual) proved = next;
    if (!report.counter_example) continue;
    for (std::size_t i = 0; i < word.size(); ++i) {  // itself in bit 0, and others that differ from it a little
      const PhiloxBlock rare = random.block(draw++);
      const std::uint64_t few = std::uint64_t{rare[0] & rare[1]} << 32 | (rare[2] & rare[3]);
      word[i] = (report.counter_example->inputs[i] ? ~std::uint64_t{0} : 0) ^ (few & ~std::uint64_t{1});
    }
    add_example_word(table, circuit, word);
  }
  return over_all_inputs(proved, inputs, netlist);
}

}  // namespace espalier
