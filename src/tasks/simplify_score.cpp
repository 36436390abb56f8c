#include <algorithm>

#include "espalier/graph/edit_distance.hpp"
#include "tasks/simplify_objective.hpp"

namespace espalier {
namespace {
constexpr std::uint64_t kEditBudget = 2000;  // search nodes a pair: results may not depend on the clock
}

SimplifyScore score_rewrites(std::span<const Expression> inputs, std::span<const GraphTransformNet::Rewritten> outputs,
                             const Vocabulary& words, const Pool& pool) {
  std::size_t once = 0, last = 0;
  std::vector<LabelledGraph> graphs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    once += to_text(outputs[i].once) == to_text(simplify_pass(inputs[i], words));
    const Expression expected = normal_form(inputs[i], words);
    if (to_text(outputs[i].last) == to_text(expected)) {
      ++last;
      continue;
    }
    graphs.push_back(graph_of_expression(as_tree(outputs[i].last)));
    graphs.push_back(graph_of_expression(as_tree(expected)));
  }
  std::vector<GraphPair> pairs;
  for (std::size_t i = 0; i < graphs.size(); i += 2) pairs.push_back({&graphs[i], &graphs[i + 1]});
  EditDistanceOptions options;
  options.most_nodes = kEditBudget;
  double distance = 0;
  for (const EditDistanceReport& r : edit_distances(pairs, options, pool)) distance += r.distance;
  const auto count = static_cast<double>(std::max<std::size_t>(1, inputs.size()));
  return {static_cast<double>(once) / count, static_cast<double>(last) / count, distance / count};
}

}  // namespace espalier
