#include "circuit_files.hpp"

#include "espalier/synth.hpp"
#include "output.hpp"

namespace espalier::app {

nlohmann::json counts_json(const Netlist& netlist) {
  const NetlistCounts counts = count_netlist(netlist);
  nlohmann::json histogram = nlohmann::json::object();
  for (std::size_t g = 0; g < kGates; ++g)
    if (counts.histogram[g]) histogram[std::string(kGateNames[g])] = counts.histogram[g];
  return {{"inputs", counts.inputs},       {"used_inputs", counts.live_inputs},
          {"outputs", counts.outputs},     {"gates", counts.gates()},
          {"constants", counts.constants}, {"active", counts.active},
          {"depth", counts.depth},         {"by_type", histogram}};
}

int abc_exit_code(const AbcReport& report) {
  if (report.failed == 0) return kDone;
  note("espalier: {} of {} runs of {} failed; the circuit is proved all the same\n", report.failed, report.runs,
       report.program);
  return kFailed;
}

}  // namespace espalier::app
