// Do two circuits compute the same function? Every "equal" is a proof: identical structure, a complete truth table, or
// an unsatisfiable formula. A difference comes with an input that shows it.
//   const VerifyReport report = verify(raw, simplified);
//   if (report.verdict == VerifyReport::Verdict::kEqual) ...
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "espalier/netlist.hpp"

namespace espalier {

struct VerifyOptions {
  std::uint64_t seed = 1;
  int table_inputs = 20;  // complete tables up to this many inputs of an output, SAT above
  double seconds = 0;     // for SAT, all outputs together; 0: as long as it takes. Without an answer: undecided
};

struct CounterExample {
  std::vector<bool> inputs;  // in the order of the first circuit
  std::string output;        // name in the first circuit
  bool first = false, second = false;
};

struct VerifyReport {
  enum class Verdict { kEqual, kDifferent, kUndecided };
  Verdict verdict = Verdict::kUndecided;
  bool inputs_by_name = false, outputs_by_name = false;  // or by position, when the names are not the same
  std::size_t outputs = 0;
  std::size_t by_structure = 0, by_table = 0, by_sat = 0;  // outputs proved equal, and how
  std::vector<std::string> undecided;                      // outputs
  std::optional<CounterExample> counter_example;
};

// An Error when the numbers of inputs or outputs differ.
VerifyReport verify(const Netlist& first, const Netlist& second, const VerifyOptions& options = {});

// "equal: 3 outputs proved, 1 by structure, 2 by complete table" and the like; one line, or a few for a difference.
std::string describe(const VerifyReport& report, const Netlist& first);

}  // namespace espalier
