#include <algorithm>

#include "espalier/edit_distance.hpp"
#include "models/message/simplify_objective.hpp"

namespace espalier {
namespace {
constexpr std::uint64_t kEditBudget = 500;  // search nodes a pair: results may not depend on the clock
constexpr std::size_t kSearchNodes = 12;    // larger graphs get their upper bound at once
constexpr std::size_t kMaxPairs = 200;      // the first wrong answers stand for all of them
}  // namespace

SimplifyScore score_rewrites(std::span<const Expression> inputs, std::span<const GraphTransformNet::Rewritten> outputs,
                             const Vocabulary& words, const ThreadPool& pool) {
  std::size_t once = 0, last = 0;
  std::vector<LabelledGraph> graphs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    once += to_text(outputs[i].once) == to_text(simplify_pass(inputs[i], words));
    const Expression expected = normal_form(inputs[i], words);
    if (to_text(outputs[i].last) == to_text(expected)) {
      ++last;
      continue;
    }
    if (graphs.size() == 2 * kMaxPairs) continue;
    graphs.push_back(graph_of_expression(as_tree(outputs[i].last)));
    graphs.push_back(graph_of_expression(as_tree(expected)));
  }
  const std::size_t pairs = graphs.size() / 2;
  EditDistanceOptions options;
  options.max_nodes = kEditBudget;
  const double distance = pool.reduce(
      pairs, 1, 1e6, 0.0,
      [&](Chunk c) {
        const LabelledGraph &x = graphs[2 * c.index], &y = graphs[2 * c.index + 1];
        return std::max(x.labels.size(), y.labels.size()) > kSearchNodes ? edit_bounds(x, y).distance
                                                                         : edit_distance(x, y, options).distance;
      },
      [](double& x, const double& y) { x += y; });
  const auto wrong = static_cast<double>(inputs.size() - last);
  const auto count = static_cast<double>(std::max<std::size_t>(1, inputs.size()));
  return {static_cast<double>(once) / count, static_cast<double>(last) / count,
          pairs ? distance / static_cast<double>(pairs) * wrong / count : 0};
}

}  // namespace espalier
