#include "models/message/rewrite.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "espalier/error.hpp"

namespace espalier {

Vocabulary::Vocabulary(std::vector<std::string> labels) : labels_(std::move(labels)) {
  for (std::size_t i = 0; i < labels_.size(); ++i)
    if (!numbers_.emplace(labels_[i], static_cast<std::uint32_t>(i)).second)
      fail("vocabulary", fmt::format("\"{}\" twice", labels_[i]), "every label once");
}

Vocabulary Vocabulary::arithmetic(int max_number, const std::vector<std::string>& symbols) {
  std::vector<std::string> labels{"+", "-", "*", "^", std::string(kNegation)};
  for (int n = 0; n <= max_number; ++n) labels.push_back(std::to_string(n));
  labels.insert(labels.end(), symbols.begin(), symbols.end());
  return Vocabulary(std::move(labels));
}

std::uint32_t Vocabulary::number(const std::string& label) const {
  const auto found = numbers_.find(label);
  if (found == numbers_.end())
    fail("vocabulary", fmt::format("\"{}\"", label), fmt::format("one of {}", fmt::join(labels_, " ")),
         "the model never saw this label");
  return found->second;
}

Expression apply_edits(const Expression& expression, std::span<const std::uint32_t> edits, const Vocabulary& words) {
  const std::vector<ExpressionNode>& nodes = expression.nodes;
  if (edits.size() != nodes.size())
    fail("apply edits", fmt::format("{} edits", edits.size()), fmt::format("one for each of {} nodes", nodes.size()));
  std::vector<ExpressionNode> out;
  std::vector<std::int32_t> result(nodes.size());  // where each node's edited form is; -1 when it is gone
  const auto at = [&](std::int32_t i) { return i < 0 ? -1 : result[static_cast<std::size_t>(i)]; };
  const auto add = [&](ExpressionNode n) {
    out.push_back(std::move(n));
    return static_cast<std::int32_t>(out.size()) - 1;
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const ExpressionNode& n = nodes[i];
    std::uint32_t edit = edits[i];
    std::string label = n.label;
    if ((edit == kTakeLeft && n.left < 0) || (edit == kTakeRight && n.right < 0)) edit = kKeep;
    if (edit >= kBecome) {
      label = words.label(edit - kBecome);
      if (arity(label) != 0 && arity(label) != arity(n.label)) label = n.label;
    }
    if (edit == kDelete) {
      result[i] = -1;
    } else if (edit == kTakeLeft || edit == kTakeRight) {
      result[i] = at(edit == kTakeLeft ? n.left : n.right);
    } else if (arity(label) == 0) {
      result[i] = add({label, -1, -1});
    } else {
      const std::int32_t left = at(n.left), right = at(n.right);
      if (n.right < 0)
        result[i] = left < 0 ? -1 : add({label, left, -1});
      else
        result[i] = left < 0 ? right : right < 0 ? left : add({label, left, right});
    }
  }
  return reachable(out, at(expression.root()));
}

}  // namespace espalier
