// espalier ged A B: the edit distance of two graphs, or of many pairs of graphs from folders or a list.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/files.hpp"
#include "commands.hpp"
#include "espalier/error.hpp"
#include "espalier/graph.hpp"
#include "graph/graph_files.hpp"
#include "output.hpp"
#include "progress.hpp"

namespace espalier {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(EditDistanceReport, distance, lower, upper, exact, searched)
}  // namespace espalier

namespace espalier::app {
namespace {

struct GedFlags {
  std::string first, second, pairs, costs, attributes, out;
  std::uint64_t budget = 100'000;
  int threads = 0;
  bool edits = false, json = false, quiet = false;
};

// In the order of EditKind.
constexpr const char* kKinds[] = {"insert_node", "delete_node", "substitute_node",
                                  "insert_edge", "delete_edge", "substitute_edge"};

// Which attributes of GXL files are the labels; a name that no file has would be a label nowhere.
GxlAttributes wanted_attributes(const GedFlags& f) {
  GxlAttributes attributes;
  std::istringstream names(f.attributes);
  for (std::string name; std::getline(names, name, ',');) attributes.wanted.push_back(name);
  return attributes;
}
void tell_attributes(const GedFlags& f, const GxlAttributes& attributes) {
  for (const std::string& name : attributes.wanted)
    if (!attributes.used.contains(name))
      fail("--attributes", fmt::format("\"{}\", which no graph has", name), "attributes of GXL files",
           fmt::format("there are {}", fmt::join(attributes.ignored, ", ")));
  if (f.quiet || (attributes.used.empty() && attributes.ignored.empty())) return;
  note("labels are made of {}{}\n",
       attributes.used.empty() ? "nothing" : fmt::format("{}", fmt::join(attributes.used, ", ")),
       attributes.ignored.empty()
           ? ""
           : fmt::format("; not used: {}{}", fmt::join(attributes.ignored, ", "),
                         f.attributes.empty() ? " (measured numbers; --attributes chooses)" : ""));
}
Json to_json(const GxlAttributes& attributes) { return {{"used", attributes.used}, {"ignored", attributes.ignored}}; }

Json to_json(const EditDistanceReport& r, double similarity) {
  Json edits = Json::array();
  for (const GraphEdit& e : r.edits)
    edits.push_back({{"kind", kKinds[static_cast<std::size_t>(e.kind)]},
                     {"first", {e.first, e.first_to}},
                     {"second", {e.second, e.second_to}},
                     {"before", e.before},
                     {"after", e.after},
                     {"cost", e.cost}});
  Json j = r;
  j.update({{"mapping", r.mapping}, {"edits", edits}, {"wl_similarity", similarity}});
  return j;
}

void one_pair(const GedFlags& f, const EditDistanceOptions& options) {
  GxlAttributes attributes = wanted_attributes(f);
  const LabelledGraph a = read_graph(f.first, &attributes), b = read_graph(f.second, &attributes);
  tell_attributes(f, attributes);
  const EditDistanceReport r = edit_distance(a, b, options);
  const double similarity = wl_similarity(a, b);
  if (f.json) {
    Json json = to_json(r, similarity);
    json["attributes"] = to_json(attributes);
    write_output(f.out, json_text(json));
    return;
  }
  std::string text = r.exact ? fmt::format("distance {:g} (exact)\n", r.distance)
                             : fmt::format("distance between {:g} and {:g}\n", r.lower, r.upper);
  text += fmt::format("Weisfeiler-Lehman similarity {:.4f}\n", similarity);
  if (f.edits)
    for (const GraphEdit& e : r.edits) text += fmt::format("  {:<6g} {}\n", e.cost, printable(to_text(e)));
  write_output(f.out, text);
}

// --- Many pairs.

FilePairs pairs_of(const GedFlags& f) {
  if (!f.pairs.empty()) return listed_pairs(f.pairs);
  FilePairs pairs;
  const std::vector<std::string> a = graph_files(f.first);
  if (f.second.empty()) {
    for (std::size_t i = 0; i < a.size(); ++i)
      for (std::size_t j = i + 1; j < a.size(); ++j) pairs.emplace_back(a[i], a[j]);
    return pairs;
  }
  for (const std::string& x : a)
    for (const std::string& y : graph_files(f.second)) pairs.emplace_back(x, y);
  return pairs;
}

void many_pairs(const GedFlags& f, const EditDistanceOptions& options) {
  check_output("-o", f.out, {f.pairs});
  const FilePairs names = pairs_of(f);
  GxlAttributes attributes = wanted_attributes(f);
  std::map<std::string, LabelledGraph> graphs;  // every file is read once
  for (const auto& [first, second] : names)
    for (const std::string& name : {first, second}) {
      if (graphs.contains(name)) continue;
      check_output("-o", f.out, {name});
      graphs.emplace(name, read_graph(name, &attributes));
    }
  tell_attributes(f, attributes);
  constexpr std::size_t kBlock = 256;  // pairs between two looks at the clock
  const ThreadPool pool(f.threads);
  Progress progress(f.quiet, names.size());
  Json rows = Json::array();
  std::string text = "first,second,distance,lower,upper,exact,searched\n";
  std::size_t exact = 0;
  for (std::size_t begin = 0; begin < names.size(); begin += kBlock) {
    std::vector<GraphPair> block;
    for (std::size_t i = begin; i < std::min(names.size(), begin + kBlock); ++i)
      block.push_back({&graphs.at(names[i].first), &graphs.at(names[i].second)});
    const std::vector<EditDistanceReport> reports = edit_distances(block, options, pool);
    for (std::size_t i = 0; i < reports.size(); ++i) {
      const EditDistanceReport& r = reports[i];
      const auto& [first, second] = names[begin + i];
      exact += r.exact;
      if (f.json)
        rows.emplace_back(r).update({{"first", first}, {"second", second}});
      else
        text += fmt::format("{},{},{:g},{:g},{:g},{},{}\n", csv_cell(first), csv_cell(second), r.distance, r.lower,
                            r.upper, r.exact, r.searched);
    }
    progress.update(begin + reports.size(), fmt::format("{} exact", exact));
  }
  progress.clear();
  if (f.json) text = json_text({{"pairs", rows}, {"exact", exact}, {"attributes", to_json(attributes)}});
  write_output(f.out, text);
}

int ged(const GedFlags& f) {
  EditDistanceOptions options;
  options.costs = edit_costs_from(f.costs);
  options.max_nodes = f.budget;
  if (!f.pairs.empty() && !f.first.empty())
    throw UsageError("ged", "got both --pairs and a graph, expected one of them");
  if (f.pairs.empty() && f.first.empty())
    throw UsageError("ged", "got no graph, expected two, or a folder, or --pairs");
  const bool many = !f.pairs.empty() || is_folder(f.first) || is_folder(f.second);
  if (!many && f.second.empty()) throw UsageError("ged", fmt::format("got only {}, expected a second graph", f.first));
  if (many && f.edits) throw UsageError("--edits", "only for two graphs");
  check_output("-o", f.out, {f.first, f.second});
  many ? many_pairs(f, options) : one_pair(f, options);
  return kDone;
}

}  // namespace

Command ged_command() {
  const auto f = std::make_shared<GedFlags>();
  Command command{"ged", "compute the edit distance of two graphs (JSON or GXL files), or of many pairs as CSV"};
  command.arguments = {{"first", &f->first, "a graph, or a folder of graphs", false},
                       {"second", &f->second, "another; with one folder alone, all pairs within it", false}};
  command.options.add("pairs", f->pairs, "pairs from a CSV file with the columns first and second").metavar("FILE");
  command.options
      .add("exact-budget", f->budget, "search nodes per pair for the exact search; 0 = bounds only", 0,
           1.8446744073709552e19)
      .metavar("N");
  command.options.add("costs", f->costs, "e.g. node-insert=1,edge-substitute=0.5; what is not named costs 1");
  command.options
      .add("attributes", f->attributes, "of GXL files, that make the labels; else all but <float> ones, and it is told")
      .metavar("NAMES");
  command.options.add("edits", f->edits, "list the edits");
  command.options.add("out", f->out, "write here instead of to standard output").alias("o").metavar("FILE");
  add_threads(command.options, f->threads);
  command.options.add("quiet", f->quiet, "no progress on standard error");
  add_json(command.options, f->json);
  return std::move(command).with(f, ged);
}

}  // namespace espalier::app
