// The extension module espalier._core: a thin layer over models and runs. What users see is the package around it.
#include <algorithm>

#include "common.hpp"
#include "espalier/error.hpp"

namespace espalier::python {

nb::object to_python(const FieldValue& value) {
  return std::visit([](const auto& v) { return nb::cast(v); }, value);
}

nb::list to_python(const Provenance& provenance) {
  nb::list all;
  for (const Making& m : provenance) {
    nb::dict d;
    d["by"] = m.by;
    d["count"] = m.count;
    d["wrong_before"] = m.wrong_before;
    d["wrong_after"] = m.wrong_after;
    d["gates_before"] = m.gates_before;
    d["gates_after"] = m.gates_after;
    all.append(d);
  }
  return all;
}

Provenance provenance_from(const nb::list& list) {
  Provenance provenance;
  for (const nb::handle item : list) {
    const auto d = nb::cast<nb::dict>(item);
    const auto count = [&](const char* name) { return nb::cast<std::uint64_t>(d[name]); };
    const auto number = [&](const char* name) { return nb::cast<double>(d[name]); };
    provenance.push_back({nb::cast<std::string>(d["by"]), count("count"), number("wrong_before"), number("wrong_after"),
                          count("gates_before"), count("gates_after")});
  }
  return provenance;
}

// Dots nest: "test.accuracy" becomes {"test": {"accuracy": ...}}.
nb::dict to_python(const Facts& facts) {
  nb::dict all;
  for (const auto& [name, value] : facts) {
    nb::dict inner = all;
    std::size_t begin = 0;
    for (std::size_t dot; (dot = name.find('.', begin)) != std::string::npos; begin = dot + 1) {
      const std::string part = name.substr(begin, dot - begin);
      if (!inner.contains(part.c_str())) inner[part.c_str()] = nb::dict();
      inner = nb::cast<nb::dict>(inner[part.c_str()]);
    }
    inner[name.substr(begin).c_str()] = to_python(value);
  }
  return all;
}

FieldValue to_field(nb::handle value, const std::string& name) {
  if (nb::isinstance<nb::bool_>(value)) return nb::cast<bool>(value);
  if (nb::isinstance<nb::int_>(value)) {
    std::int64_t whole = 0;
    if (nb::try_cast(value, whole)) return whole;
    std::uint64_t large = 0;
    if (nb::try_cast(value, large)) return large;
    fail(name, nb::str(value).c_str(), "a whole number of at most 64 bits");
  }
  if (nb::isinstance<nb::float_>(value)) return nb::cast<double>(value);
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  if (nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value)) {
    std::string text;
    for (nb::handle item : value) text += (text.empty() ? "" : ",") + std::string(nb::str(item).c_str());
    return text;
  }
  fail(name, nb::str(value.type()).c_str(), "a number, a text, True or False, or a list");
}

namespace {

void set_field(Fields& fields, const std::string& name, nb::handle given) {
  Field& field = fields.at(name);
  const FieldValue value = to_field(given, name);
  if (const auto* text = std::get_if<std::string>(&value)) {
    field.set_text(*text);
  } else {
    field.set(value);
    field.named();
  }
}

std::string as_keyword(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

}  // namespace

// A field's Error says "[train-steps] got ...", or names those that there are: here they are keywords.
void set_fields(Fields& fields, const nb::list& settings) {
  for (nb::handle item : settings) {
    const auto pair = nb::cast<nb::tuple>(item);
    const auto name = nb::cast<std::string>(pair[0]);
    try {
      set_field(fields, name, pair[1]);
    } catch (const Error& error) {
      const std::string what = error.what();
      const std::size_t end = what.find("] ");
      if (!what.starts_with("[") || end == std::string::npos) throw;
      if (what.starts_with("[options]")) throw Error(as_keyword(what));
      throw Error("[" + as_keyword(name) + what.substr(end));
    }
  }
}

nb::dict tensor_views(Parameters& parameters, bool gradients, nb::handle owner) {
  nb::dict views;
  for (std::size_t t = 0; t < parameters.tensors().size(); ++t) {
    const TensorInfo& tensor = parameters.tensors()[t];
    const std::span<float> values = gradients ? parameters.gradients(t) : parameters.values(t);
    views[tensor.name.c_str()] =
        nb::cast(OutArray<float>(values.data(), tensor.shape.size(), tensor.shape.data(), owner));
  }
  return views;
}

}  // namespace espalier::python

NB_MODULE(_core, m) {
  using namespace espalier::python;
  m.doc() = "The engine of the espalier package; use the package itself.";
  nb::exception<espalier::Error>(m, "Error", PyExc_ValueError);
  m.def("usable_cores", &espalier::ThreadPool::usable_cores);
  bind_runs(m);
  bind_circuit(m);
  bind_lattice(m);
  bind_graph(m);
  bind_networks(m);
  bind_tables(m);
}
