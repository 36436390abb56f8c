// Labelled graphs: edit distance and similarity.
#include "espalier/graph.hpp"

#include <nanobind/stl/tuple.h>

#include "common.hpp"
#include "espalier/error.hpp"

namespace espalier::python {
namespace {

using Edges = std::vector<std::tuple<std::uint32_t, std::uint32_t, std::string>>;

nb::dict report_of(const EditDistanceReport& r) {
  nb::dict d;
  d["distance"] = r.distance;
  d["exact"] = r.exact;
  d["lower"] = r.lower;
  d["upper"] = r.upper;
  d["mapping"] = to_array<std::int32_t>(r.mapping, {r.mapping.size()});
  std::vector<std::string> edits;
  for (const GraphEdit& edit : r.edits) edits.push_back(to_text(edit));
  d["edits"] = edits;
  d["searched"] = r.searched;
  return d;
}

EditDistanceOptions options_of(const std::string& costs, std::optional<std::uint64_t> budget) {
  EditDistanceOptions options;
  if (!costs.empty()) options.costs = edit_costs_from(costs);
  if (budget) options.max_nodes = *budget;
  return options;
}

}  // namespace

void bind_graph(nb::module_& m) {
  nb::class_<LabelledGraph>(m, "LabelledGraph")
      .def("__init__",
           [](LabelledGraph* self, std::vector<std::string> labels, const Edges& edges, bool directed) {
             LabelledGraph graph{.directed = directed, .labels = std::move(labels)};
             for (const auto& [from, to, label] : edges) graph.edges.push_back({from, to, label});
             graph.check();
             new (self) LabelledGraph(std::move(graph));
           })
      .def_static("read",
                  [](const std::string& path, std::vector<std::string> attributes) {
                    GxlAttributes read{.wanted = std::move(attributes)};
                    LabelledGraph graph = unlocked([&] { return read_graph(path, &read); });
                    return std::tuple(std::move(graph),
                                      std::vector<std::string>(read.ignored.begin(), read.ignored.end()));
                  })
      .def_prop_ro("directed", [](const LabelledGraph& g) { return g.directed; })
      .def_prop_ro("labels", [](const LabelledGraph& g) { return g.labels; })
      .def_prop_ro("edges",
                   [](const LabelledGraph& g) {
                     Edges edges;
                     for (const LabelledEdge& e : g.edges) edges.emplace_back(e.from, e.to, e.label);
                     return edges;
                   })
      .def("to_json", [](const LabelledGraph& g) { return graph_to_json(g); });
  m.def("edit_distances",
        [](const std::vector<const LabelledGraph*>& first, const std::vector<const LabelledGraph*>& second,
           const std::string& costs, std::optional<std::uint64_t> budget, int threads) {
          if (first.size() != second.size()) fail("edit distances", "lists of different lengths", "pairs");
          std::vector<GraphPair> pairs;
          for (std::size_t i = 0; i < first.size(); ++i) pairs.push_back({first[i], second[i]});
          nb::list list;
          for (const EditDistanceReport& r :
               unlocked([&] { return edit_distances(pairs, options_of(costs, budget), ThreadPool(threads)); }))
            list.append(report_of(r));
          return list;
        });
  m.def("wl_similarity", [](const LabelledGraph& a, const LabelledGraph& b, int rounds) {
    nb::gil_scoped_release release;
    return wl_similarity(a, b, rounds);
  });
}

}  // namespace espalier::python
