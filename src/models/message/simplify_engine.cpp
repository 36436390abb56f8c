// The exact symbolic engine. It rewrites by itself and says, separately, which edits would do the same; a test
// holds the two against each other.
#include <optional>

#include "models/message/rewrite.hpp"

namespace espalier {
namespace {

enum class Rule { kNone, kLeft, kRight, kNumber, kTwoNegations };
struct Match {
  Rule rule = Rule::kNone;
  std::string number;  // for kNumber
};

const ExpressionNode& node(const Expression& e, std::int32_t i) { return e.nodes[static_cast<std::size_t>(i)]; }

// The sum or product when both are numbers and the result is in the vocabulary. Numbers have at most nine
// digits, so the product fits.
std::optional<std::string> folded(const std::string& op, const std::string& a, const std::string& b,
                                  const Vocabulary& words) {
  if (!is_number(a) || !is_number(b)) return std::nullopt;
  const long x = std::stol(a), y = std::stol(b);
  const std::string result = std::to_string(op == "+" ? x + y : x * y);
  return words.knows(result) ? std::optional(result) : std::nullopt;
}

// The rule that applies at a node of the expression as it stands, by the labels around it alone.
Match match(const Expression& e, std::int32_t at, const Vocabulary& words) {
  const ExpressionNode& n = node(e, at);
  if (n.label == kNegation) {
    const ExpressionNode& child = node(e, n.left);
    const bool pair = child.label == kNegation && node(e, child.left).label != kNegation;
    return {pair ? Rule::kTwoNegations : Rule::kNone, {}};
  }
  if (arity(n.label) != 2) return {};
  const std::string &a = node(e, n.left).label, &b = node(e, n.right).label;
  if (n.label == "+") {
    if (b == "0") return {Rule::kLeft, {}};
    if (a == "0") return {Rule::kRight, {}};
  } else if (n.label == "-") {
    return {b == "0" ? Rule::kLeft : Rule::kNone, {}};
  } else if (n.label == "^") {
    if (b == "1") return {Rule::kLeft, {}};
    return b == "0" ? Match{Rule::kNumber, "1"} : Match{};
  } else {
    if (b == "1" || a == "0") return {Rule::kLeft, {}};
    if (a == "1" || b == "0") return {Rule::kRight, {}};
  }
  if (const auto number = folded(n.label, a, b, words)) return {Rule::kNumber, *number};
  return {};
}

}  // namespace

Expression simplify_pass(const Expression& e, const Vocabulary& words) {
  std::vector<ExpressionNode> out;
  std::vector<std::int32_t> result;  // operands come first, so innermost first is the order of the list
  const auto at = [&](std::int32_t i) { return i < 0 ? -1 : result[static_cast<std::size_t>(i)]; };
  for (std::int32_t i = 0; i <= e.root(); ++i) {
    const ExpressionNode& n = node(e, i);
    const Match m = match(e, i, words);
    switch (m.rule) {
      case Rule::kLeft: result.push_back(at(n.left)); continue;
      case Rule::kRight: result.push_back(at(n.right)); continue;
      case Rule::kTwoNegations: result.push_back(at(node(e, n.left).left)); continue;
      case Rule::kNumber: out.push_back({m.number, -1, -1}); break;
      case Rule::kNone: out.push_back({n.label, at(n.left), at(n.right)}); break;
    }
    result.push_back(static_cast<std::int32_t>(out.size()) - 1);
  }
  return reachable(out, at(e.root()));
}

Expression normal_form(const Expression& expression, const Vocabulary& words) {
  Expression current = expression;
  const auto matches = [&] {
    for (std::int32_t i = 0; i <= current.root(); ++i)
      if (match(current, i, words).rule != Rule::kNone) return true;
    return false;
  };
  while (matches()) current = simplify_pass(current, words);
  return current;
}

std::vector<std::uint32_t> simplify_edits(const Expression& e, const Vocabulary& words) {
  std::vector<std::uint32_t> edits(e.nodes.size(), kKeep);
  std::vector<std::uint32_t> users(e.nodes.size()), drops(e.nodes.size());
  const auto use = [&](std::int32_t i, bool dropped) {
    if (i < 0) return;
    ++users[static_cast<std::size_t>(i)];
    drops[static_cast<std::size_t>(i)] += dropped;
  };
  for (std::int32_t i = 0; i <= e.root(); ++i) {
    const ExpressionNode& n = node(e, i);
    const Match m = match(e, i, words);
    std::uint32_t& edit = edits[static_cast<std::size_t>(i)];
    if (m.rule == Rule::kLeft) edit = kTakeLeft;
    if (m.rule == Rule::kRight) edit = kTakeRight;
    if (m.rule == Rule::kNumber) edit = kBecome + words.number(m.number);
    if (m.rule == Rule::kTwoNegations) edit = edits[static_cast<std::size_t>(n.left)] = kTakeLeft;
    use(n.left, m.rule == Rule::kRight || m.rule == Rule::kNumber);
    use(n.right, m.rule == Rule::kLeft || m.rule == Rule::kNumber);
  }
  for (std::size_t i = 0; i < edits.size(); ++i)
    if (drops[i] > 0 && drops[i] == users[i]) edits[i] = kDelete;
  return edits;
}

}  // namespace espalier
