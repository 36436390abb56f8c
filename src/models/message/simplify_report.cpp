// The figures of the `simplify` task: both test sets, the two baselines.
#include <algorithm>
#include <map>

#include "models/message/rewrite_model.hpp"
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

}  // namespace

Facts SimplifyObjective::report(const Model& best, const ThreadPool& pool) const {
  const GraphTransformNet& net = dynamic_cast<const RewriteModel&>(best).net();
  const auto majority = majority_edits(data_.train, data_.words);
  Facts facts;
  for (const auto& part :
       {std::pair<std::string, const std::vector<Expression>&>{"test", data_.test}, {"deep", data_.deep}}) {
    const std::vector<Expression>& inputs = part.second;
    facts.emplace_back(part.first + ".examples", static_cast<std::int64_t>(inputs.size()));
    const auto score = [&](const char* who, const std::vector<GraphTransformNet::Rewritten>& outputs) {
      const SimplifyScore s = score_rewrites(inputs, outputs, data_.words, pool);
      const std::string prefix = part.first + "." + who + ".";
      facts.emplace_back(prefix + "one_pass", s.one_pass);
      facts.emplace_back(prefix + "fixed_point", s.fixed_point);
      facts.emplace_back(prefix + "mean_edit_distance", s.mean_edit_distance);
    };
    score("model", net.rewrite_all(inputs, kMaxPasses, data_options_.share, pool));
    score("baseline_keep", rewrite_by_label(inputs, {}, data_.words));
    score("baseline_label", rewrite_by_label(inputs, majority, data_.words));
  }
  return facts;
}

}  // namespace espalier
