#include "models/message/rewrite.hpp"

#include <fmt/format.h>

#include <optional>

#include "espalier/error.hpp"

namespace espalier {

Vocabulary arithmetic_vocabulary(int max_number, const std::vector<std::string>& symbols) {
  std::vector<std::string> labels{"+", "-", "*", "^", std::string(kNegation)};
  for (int n = 0; n <= max_number; ++n) labels.push_back(std::to_string(n));
  labels.insert(labels.end(), symbols.begin(), symbols.end());
  return Vocabulary(std::move(labels));
}

Expression apply_edits(const Expression& expression, std::span<const std::uint32_t> edits, const Vocabulary& words) {
  check_expression(expression);
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

// --- The exact symbolic engine. It rewrites by itself and says, separately, which edits would do the same; a test
// holds the two against each other.
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
  check_expression(e);
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
  check_expression(expression);
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
  check_expression(e);
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

// --- The network.

GraphTransformNet make_rewrite_net(Vocabulary words, const TransformOptions& options, std::uint64_t seed) {
  const std::size_t num_edits = kBecome + words.size();
  return GraphTransformNet(std::move(words), Vocabulary({"left", "right"}), num_edits, options, seed);
}

NumberedGraph number_expression(const Expression& expression, const GraphTransformNet& net) {
  NumberedGraph numbered;
  numbered.labels = net.labels();
  for (std::uint32_t i = 0; i < expression.nodes.size(); ++i) {
    const ExpressionNode& n = expression.nodes[i];
    numbered.symbols.push_back(net.words().number(n.label));
    if (n.left >= 0) numbered.edges.push_back({static_cast<std::uint32_t>(n.left), i, 0});
    if (n.right >= 0) numbered.edges.push_back({static_cast<std::uint32_t>(n.right), i, 1});
  }
  return numbered;
}

TransformBatch batch_expressions(const GraphTransformNet& net, std::span<const Expression* const> expressions) {
  std::vector<NumberedGraph> numbered;
  for (const Expression* e : expressions) numbered.push_back(number_expression(*e, net));
  std::vector<const NumberedGraph*> pointers;
  for (const NumberedGraph& g : numbered) pointers.push_back(&g);
  return net.batch(pointers);
}

Expression transform(const GraphTransformNet& net, const Expression& expression) {
  const Expression* const one[] = {&expression};
  TransformState state;
  return apply_edits(expression, net.predict_edits(batch_expressions(net, one), state), net.words());
}

RewritePasses rewrite(const GraphTransformNet& net, const Expression& expression, std::size_t max_passes, bool share) {
  RewritePasses r{{share ? share_subexpressions(expression) : expression}, false};
  while (r.passes.size() <= max_passes && !r.settled && !r.passes.back().nodes.empty()) {
    Expression next = transform(net, r.passes.back());
    if (share) next = share_subexpressions(next);
    r.settled = to_text(next) == to_text(r.passes.back());
    if (!r.settled) r.passes.push_back(std::move(next));
  }
  return r;
}

std::vector<Rewritten> rewrite_all(const GraphTransformNet& net, std::span<const Expression> expressions,
                                   std::size_t max_passes, bool share, const ThreadPool& pool) {
  constexpr std::size_t kTogether = 32;
  std::vector<Rewritten> results(expressions.size());
  pool.for_chunks(expressions.size(), kTogether, 1e5, [&](Chunk c) {
    TransformState state;
    std::vector<std::size_t> open;
    for (std::size_t i = c.begin; i < c.end; ++i) {
      results[i] = {expressions[i], expressions[i]};
      open.push_back(i);
    }
    for (std::size_t pass = 0; pass < max_passes && !open.empty(); ++pass) {
      std::vector<const Expression*> inputs;
      for (const std::size_t i : open) inputs.push_back(&results[i].last);
      const TransformBatch batch = batch_expressions(net, inputs);
      const std::vector<std::uint32_t> edits = net.predict_edits(batch, state);
      std::vector<std::size_t> still;
      for (std::size_t k = 0; k < open.size(); ++k) {
        Expression& last = results[open[k]].last;
        const std::size_t begin = batch.first_node[k], count = batch.first_node[k + 1] - begin;
        Expression next = apply_edits(last, std::span(edits).subspan(begin, count), net.words());
        if (share) next = share_subexpressions(next);
        const bool changed = to_text(next) != to_text(last);
        if (pass == 0) results[open[k]].once = next;
        last = std::move(next);
        if (changed && !last.nodes.empty()) still.push_back(open[k]);
      }
      open = std::move(still);
    }
  });
  return results;
}

}  // namespace espalier
