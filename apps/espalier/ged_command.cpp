// espalier ged A B: the edit distance of two graphs.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "espalier/graph.hpp"
#include "output.hpp"

namespace espalier::app {
namespace {

struct GedFlags {
  std::string first, second, costs;
  double budget = 10;
  bool edits = false, json = false;
};

const char* kind_name(EditKind kind) {
  switch (kind) {
    case EditKind::kInsertNode: return "insert_node";
    case EditKind::kDeleteNode: return "delete_node";
    case EditKind::kSubstituteNode: return "substitute_node";
    case EditKind::kInsertEdge: return "insert_edge";
    case EditKind::kDeleteEdge: return "delete_edge";
    case EditKind::kSubstituteEdge: return "substitute_edge";
  }
  return "";
}

Json to_json(const EditDistanceReport& r, double similarity) {
  Json edits = Json::array();
  for (const GraphEdit& e : r.edits)
    edits.push_back({{"kind", kind_name(e.kind)},
                     {"first", {e.first, e.first_to}},
                     {"second", {e.second, e.second_to}},
                     {"before", e.before},
                     {"after", e.after},
                     {"cost", e.cost}});
  return {{"distance", r.distance}, {"lower", r.lower}, {"upper", r.upper},       {"exact", r.exact},
          {"mapping", r.mapping},   {"edits", edits},   {"searched", r.searched}, {"wl_similarity", similarity}};
}

void ged(const GedFlags& f) {
  EditDistanceOptions options;
  options.costs = edit_costs_from(f.costs);
  options.max_seconds = f.budget;
  const LabelledGraph a = read_graph(f.first), b = read_graph(f.second);
  const EditDistanceReport r = f.budget > 0 ? edit_distance(a, b, options) : edit_bounds(a, b, options.costs);
  const double similarity = wl_similarity(a, b);
  if (f.json) {
    print_json(to_json(r, similarity));
    return;
  }
  if (r.exact)
    fmt::print("distance {:g} (exact)\n", r.distance);
  else
    fmt::print("distance between {:g} and {:g}\n", r.lower, r.upper);
  fmt::print("Weisfeiler-Lehman similarity {:.4f}\n", similarity);
  if (f.edits)
    for (const GraphEdit& e : r.edits) fmt::print("  {:<6g} {}\n", e.cost, to_text(e));
}

}  // namespace

Command ged_command() {
  const auto f = std::make_shared<GedFlags>();
  Command command{"ged", "the edit distance of two graphs (JSON or GXL files)"};
  command.arguments = {{"first", &f->first, "a graph"}, {"second", &f->second, "another"}};
  command.options.add("exact-budget", f->budget, "seconds for the exact search; 0 = bounds only", 0, 1e9).metavar("S");
  command.options.add("costs", f->costs, "e.g. node-insert=1,edge-substitute=0.5; what is not named costs 1");
  command.options.add("edits", f->edits, "list the edits");
  add_json(command.options, f->json);
  command.keeps = f;
  command.run = [f] {
    ged(*f);
    return static_cast<int>(kDone);
  };
  return command;
}

}  // namespace espalier::app
