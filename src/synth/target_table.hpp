// Combinational targets: examples of inputs and of what the outputs should be, as a whole truth table or a part of one.
#pragma once

#include <string>
#include <string_view>

#include "synth/lane_engine.hpp"
#include "synth/refine_search.hpp"
#include "synth/repair.hpp"

namespace espalier {

struct TargetTable {
  std::size_t count = 0;        // examples
  ExampleWords inputs;          // [input][word]
  ExampleWords outputs, cares;  // [output][word]; what an example does not care about is never wrong
  std::size_t words() const { return (count + 63) / 64; }
};

// All 2^n rows of what the circuit computes; an Error for more than `most` inputs.
TargetTable complete_table(const Netlist& circuit, std::size_t most = 16);

// Lines of input bits, a space, and output bits, in the order of the circuit: "0110 1-"; "-" does not care. Empty lines
// and what follows a # are left out.
TargetTable parse_table(std::string_view text, const std::string& name, std::size_t inputs, std::size_t outputs);

class TableScore : public LaneScore {
 public:
  explicit TableScore(TargetTable table, const LaneOptions& options = {});
  CircuitKind kind() const override { return {table_.outputs.size(), 0}; }
  void score(const Netlist& parent, const MutantGroup& group, std::span<std::uint32_t, kLanes> wrong) const override;
  std::optional<Netlist> repair(const Netlist& circuit, std::uint64_t seed) const override;
  std::uint64_t judge(const Netlist& circuit, const ThreadPool& pool) const override;
  const TargetTable& table() const { return table_; }

 private:
  ExampleWords errors(const Netlist& circuit) const;  // [output][word]

  TargetTable table_;
  LaneOptions options_;
};

}  // namespace espalier
