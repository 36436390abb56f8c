// The figures of the `simplify` task: both test sets, the two baselines.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "models/message/simplify_objective.hpp"

namespace espalier {
namespace {

constexpr std::size_t kMaxPasses = 64;

// Rewrites by one fixed edit per label: the best that any model without messages can learn.
std::vector<GraphTransformNet::Rewritten> rewrite_by_label(std::span<const Expression> inputs,
                                                           const std::map<std::string, std::uint32_t>& edit_of,
                                                           const Vocabulary& words) {
  std::vector<GraphTransformNet::Rewritten> results;
  for (const Expression& input : inputs) {
    Expression once, last = input;
    for (std::size_t pass = 0; pass < kMaxPasses && !last.nodes.empty(); ++pass) {
      std::vector<std::uint32_t> edits;
      for (const ExpressionNode& n : last.nodes) {
        const auto found = edit_of.find(n.label);
        edits.push_back(found == edit_of.end() ? static_cast<std::uint32_t>(kKeep) : found->second);
      }
      Expression next = apply_edits(last, edits, words);
      if (pass == 0) once = next;
      const bool changed = to_text(next) != to_text(last);
      last = std::move(next);
      if (!changed) break;
    }
    results.push_back({once, last});
  }
  return results;
}

// The most frequent edit of every label in the training set.
std::map<std::string, std::uint32_t> majority_edits(std::span<const Expression> train, const Vocabulary& words) {
  std::map<std::string, std::map<std::uint32_t, std::size_t>> counts;
  for (const Expression& e : train) {
    const std::vector<std::uint32_t> edits = simplify_edits(e, words);
    for (std::size_t i = 0; i < edits.size(); ++i) ++counts[e.nodes[i].label][edits[i]];
  }
  std::map<std::string, std::uint32_t> majority;
  for (const auto& [label, by_edit] : counts)
    majority[label] = std::max_element(by_edit.begin(), by_edit.end(), [](const auto& a, const auto& b) {
                        return a.second < b.second;
                      })->first;
  return majority;
}

Json to_json(const SimplifyScore& s) {
  return {{"one_pass", s.one_pass}, {"fixed_point", s.fixed_point}, {"mean_edit_distance", s.mean_edit_distance}};
}

}  // namespace

void SimplifyObjective::report(nlohmann::json& summary, std::span<const float> weights) const {
  const ThreadPool pool;
  GraphTransformNet best(data_.words, net_options_, seed_);
  if (weights.size() == best.parameters().num_parameters())
    std::copy(weights.begin(), weights.end(), best.parameters().values().begin());
  const auto majority = majority_edits(data_.train, data_.words);
  Json sets = Json::object();
  for (const auto& part :
       {std::pair<const char*, const std::vector<Expression>&>{"test", data_.test}, {"deep", data_.deep}}) {
    const std::vector<Expression>& inputs = part.second;
    const auto score = [&](const std::vector<GraphTransformNet::Rewritten>& outputs) {
      return to_json(score_rewrites(inputs, outputs, data_.words, pool));
    };
    sets[part.first] = {{"examples", inputs.size()},
                        {"model", score(best.rewrite_all(inputs, kMaxPasses, data_options_.share, pool))},
                        {"baseline_keep", score(rewrite_by_label(inputs, {}, data_.words))},
                        {"baseline_label", score(rewrite_by_label(inputs, majority, data_.words))}};
  }
  summary["simplify"] = sets;
}

}  // namespace espalier
