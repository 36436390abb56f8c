// Circuits: netlists read, simplified with a proof, evaluated, compared and written for other tools.
#include "base/files.hpp"
#include "common.hpp"
#include "espalier/error.hpp"
#include "espalier/lattice_model.hpp"
#include "runs/outputs.hpp"

namespace espalier::python {
namespace {

nb::dict counts(const Netlist& n) {
  const NetlistCounts c = count_netlist(n);
  nb::dict d;
  d["inputs"] = c.inputs;
  d["outputs"] = c.outputs;
  d["gates"] = c.gates();
  d["constants"] = c.constants;
  d["active"] = c.active;
  d["depth"] = c.depth;
  d["used_inputs"] = c.live_inputs;
  nb::dict kinds;
  for (int g = 0; g < kGates; ++g)
    if (c.histogram[g]) kinds[std::string(kGateNames[static_cast<std::size_t>(g)]).c_str()] = c.histogram[g];
  d["kinds"] = kinds;
  return d;
}

// 64 patterns a word. bits: [N][inputs] -> [N][outputs].
nb::object evaluate_bits(const Netlist& n, const InArray<std::uint8_t>& bits) {
  if (bits.ndim() != 2 || bits.shape(1) != n.inputs.size())
    fail("evaluate", "bits of shape " + shape_text(bits),
         "[patterns, " + std::to_string(n.inputs.size()) + "], a column for each input");
  const std::size_t patterns = bits.shape(0), outputs = n.outputs.size();
  NewArray<std::uint8_t> out({patterns, outputs});
  {
    nb::gil_scoped_release release;
    for (std::size_t first = 0; first < patterns; first += 64) {
      const std::size_t count = std::min<std::size_t>(64, patterns - first);
      std::vector<std::uint64_t> words(n.inputs.size());
      for (std::size_t p = 0; p < count; ++p)
        for (std::size_t i = 0; i < words.size(); ++i) {
          const std::uint8_t bit = bits.data()[(first + p) * words.size() + i];
          if (bit > 1) fail("evaluate", "a value of " + std::to_string(bit), "0 or 1");
          words[i] |= std::uint64_t{bit} << p;
        }
      const std::vector<std::uint64_t> nets = evaluate_words(n, words);
      for (std::size_t p = 0; p < count; ++p)
        for (std::size_t o = 0; o < outputs; ++o) out.data[(first + p) * outputs + o] = nets[n.outputs[o].net] >> p & 1;
    }
  }
  return out.take();
}

nb::dict verification(const Netlist& first, const Netlist& second, double seconds) {
  const VerifyReport r = unlocked([&] { return verify(first, second, {.seconds = seconds}); });
  nb::dict d;
  d["verdict"] = r.verdict == VerifyReport::Verdict::kEqual       ? "equal"
                 : r.verdict == VerifyReport::Verdict::kDifferent ? "different"
                                                                  : "undecided";
  d["text"] = describe(r, first);
  d["by_structure"] = r.by_structure;
  d["by_table"] = r.by_table;
  d["by_sat"] = r.by_sat;
  d["undecided"] = r.undecided;
  d["inputs"] = nb::none();
  if (r.counter_example) {
    const CounterExample& e = *r.counter_example;
    NewArray<std::uint8_t> bits({e.inputs.size()});
    for (std::size_t i = 0; i < e.inputs.size(); ++i) bits.data[i] = e.inputs[i];
    d["inputs"] = bits.take();
    d["output"] = e.output;
    d["first"] = e.first;
    d["second"] = e.second;
  }
  return d;
}

std::vector<std::pair<std::string, nb::bytes>> exported(const ExportableCircuit& c, const std::string& format,
                                                        const std::string& file, const std::string& name) {
  ExportOptions options = c.options;
  options.format = circuit_format(format);
  if (!file.empty()) options.file = file;
  options.name = name;
  std::vector<std::pair<std::string, nb::bytes>> list;
  for (const ExportedFile& f : unlocked([&] { return export_circuit(c.circuit, options); }))
    list.emplace_back(f.path, nb::bytes(f.content.data(), f.content.size()));
  return list;
}

ExportableCircuit read_circuit(const std::string& path) {
  nb::gil_scoped_release release;
  return prove_circuit(load_circuit(path), {.form = CellForm::kAsTrained});
}

ExportableCircuit simplified(const ExportableCircuit& c, const nb::list& settings) {
  SimplifyOptions options;
  Fields fields = fields_of(options);
  set_fields(fields, settings);
  nb::gil_scoped_release release;
  return {prove_and_simplify(c.circuit.netlist(), options), c.options};
}

}  // namespace

void bind_circuit(nb::module_& m) {
  using Circuit = ExportableCircuit;
  nb::class_<Circuit>(m, "Circuit")
      .def_static("read", &read_circuit)
      .def_prop_ro("name", [](const Circuit& c) { return c.circuit.netlist().name; })
      .def_prop_ro("input_names", [](const Circuit& c) { return c.circuit.netlist().inputs; })
      .def_prop_ro("output_names",
                   [](const Circuit& c) {
                     std::vector<std::string> names;
                     for (const NetlistOutput& o : c.circuit.netlist().outputs) names.push_back(o.name);
                     return names;
                   })
      .def_prop_ro("proof", [](const Circuit& c) { return c.circuit.proof(); })
      .def_prop_ro("periodic", [](const Circuit& c) { return c.options.periodic; })
      .def("counts", [](const Circuit& c) { return counts(c.circuit.netlist()); })
      .def("evaluate",
           [](const Circuit& c, const InArray<std::uint8_t>& bits) { return evaluate_bits(c.circuit.netlist(), bits); })
      .def("verify", [](const Circuit& c, const Circuit& other,
                        double seconds) { return verification(c.circuit.netlist(), other.circuit.netlist(), seconds); })
      .def("exported", &exported)
      .def("simplified", &simplified)
      .def(
          "__eq__", [](const Circuit& a, const Circuit& b) { return a.circuit.netlist() == b.circuit.netlist(); },
          nb::is_operator());
  m.def("write_file", [](const std::string& path, const nb::bytes& content) {
    const std::string_view text(content.c_str(), content.size());
    nb::gil_scoped_release release;
    check_named_output("write file", path);
    write_atomically(path, text);
  });
  m.def("check_unnamed_output", [](const std::string& path) { check_unnamed_output("export", path); });
}

}  // namespace espalier::python
