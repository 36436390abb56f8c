// The room of synthesis: circuits that may be no circuits, options out of range.
#include "espalier/synth.hpp"
#include "fuzz/api.hpp"

namespace espalier::fuzz {
namespace {

Netlist any_netlist(Choices& c, std::size_t inputs, std::size_t outputs) {
  Netlist n;
  for (std::size_t i = 0; i < inputs; ++i) n.add_input(c.rarely() ? "" : "i" + std::to_string(i));
  const auto net = [&] { return static_cast<Net>(c.below(c.size(n.nets()))); };
  for (std::size_t g = c.below(24); g > 0; --g) n.add_gate(static_cast<Gate>(c.below(16)), net(), net());
  for (std::size_t o = 0; o < outputs; ++o) n.add_output(c.rarely() ? "i0" : "o" + std::to_string(o), net());
  if (c.rarely() && !n.gates.empty()) n.gates.front().b = static_cast<Net>(c.below(1000));
  return n;
}

}  // namespace

void api_synth(std::span<const std::byte> bytes) {
  Choices c(bytes);
  std::size_t rounds = 0;
  while (c.more() && ++rounds < 5) {
    const bool cell = c.below(2);  // nine inputs and one output a channel
    const std::size_t channels = 1 + c.below(2), inputs = cell ? 9 * channels : c.below(8);
    const std::size_t outputs = cell ? channels : c.below(4);
    attempt([&] {
      const Netlist one = any_netlist(c, inputs, outputs);
      SimplifyOptions options = SimplifyOptions::brief();
      options.goal = static_cast<CircuitGoal>(c.below(4));
      options.sweep = c.below(2);
      options.resubstitute = c.below(2);
      options.sweep_options.table_inputs = c.rarely() ? static_cast<int>(c.below(256)) - 8 : 8;
      options.sweep_options.random_words = c.rarely() ? static_cast<int>(c.below(40)) - 8 : 4;
      options.resubstitute_options.leaves = c.rarely() ? static_cast<int>(c.below(40)) - 8 : 6;
      options.resubstitute_options.walks = c.rarely() ? static_cast<int>(c.below(40)) - 8 : 4;
      options.max_rounds = static_cast<int>(c.below(4)) - (c.rarely() ? 2 : 0);
      const Netlist small = simplify(one, options);
      const VerifyReport report = verify(one, small);
      if (report.verdict != VerifyReport::Verdict::kEqual) throw std::logic_error("simplify changed a function");
      describe(report, one);
      order_warning(verify(one, any_netlist(c, c.size(inputs), c.size(outputs))));
    });
    attempt([&] { prove_and_simplify(any_netlist(c, inputs, outputs), SimplifyOptions::brief()); });
    attempt([&] {
      const ProvedCircuit circuit = ProvedCircuit::unproved(any_netlist(c, inputs, outputs));
      ExportOptions options;
      do options.format = static_cast<CircuitFormat>(c.below(kCircuitFormatNames.size()));
      while (options.format == CircuitFormat::kSvg);  // another program, and slow
      options.name = c.rarely() ? "module" : "any";
      options.file = c.rarely() ? "" : "folder/file";
      options.height = static_cast<int>(c.below(12)) - (c.rarely() ? 5 : 0);
      options.width = static_cast<int>(c.below(12));
      options.steps = static_cast<int>(c.below(5)) - (c.rarely() ? 5 : 0);
      options.test_vectors = static_cast<int>(c.below(9)) - (c.rarely() ? 5 : 0);
      options.test_height = static_cast<int>(c.below(9));
      options.periodic = c.below(2);
      if (c.below(2)) options.start = Board(c.below(12), c.below(12), static_cast<int>(c.size(channels)));
      for (const ExportedFile& file : export_circuit(circuit, options))
        if (options.format == CircuitFormat::kBlif || options.format == CircuitFormat::kAiger)
          import_circuit(file.content, file.path);
    });
  }
}

}  // namespace espalier::fuzz
