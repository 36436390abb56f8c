#include "models/message/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <tuple>

#include "espalier/error.hpp"

namespace espalier {
namespace {

constexpr std::size_t kMaxDepth = 2000;      // of brackets: keeps the recursion small
constexpr std::size_t kMaxNodes = 1u << 22;  // of a tree made from shared nodes

struct Parser {
  std::string_view text;
  std::size_t at = 0;
  Expression out;

  [[noreturn]] void bad(std::size_t where, std::string_view got, std::string_view expected,
                        std::string_view hint = {}) {
    fail("expression", fmt::format("{} at character {}", got, where + 1), expected, hint);
  }
  void skip_space() {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at]))) ++at;
  }
  static bool name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
  static bool name_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

  std::int32_t add(std::string label, std::int32_t left = -1, std::int32_t right = -1) {
    out.nodes.push_back({std::move(label), left, right});
    return out.root();
  }

  std::int32_t leaf() {
    const std::size_t start = at;
    if (std::isdigit(static_cast<unsigned char>(text[at]))) {
      while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at]))) ++at;
      if (at - start > 9) bad(start, "a number of more than 9 digits", "a smaller one");
      return add(std::to_string(std::stol(std::string(text.substr(start, at - start)))));
    }
    if (name_start(text[at])) {
      while (at < text.size() && name_part(text[at])) ++at;
      const std::string_view name = text.substr(start, at - start);
      if (name.size() > 32) bad(start, "a symbol of more than 32 letters", "a shorter one");
      if (name == kNegation) bad(start, "the symbol \"neg\"", "another name", "write the negation as (- e)");
      return add(std::string(name));
    }
    if (text[at] == '-') bad(start, "\"-\"", "an operand", "write minus three as (- 3)");
    bad(start, fmt::format("\"{}\"", text[at]), "a number, a symbol or \"(\"");
  }

  std::int32_t expression(std::size_t level) {
    skip_space();
    if (at == text.size()) bad(at, "the end", "an expression");
    if (text[at] != '(') return leaf();
    if (level > kMaxDepth) bad(at, "too many open brackets", fmt::format("at most {}", kMaxDepth));
    const std::size_t open = at++;
    skip_space();
    if (at == text.size() || std::string_view("+-*^").find(text[at]) == std::string_view::npos)
      bad(at, at == text.size() ? "the end" : fmt::format("\"{}\"", text[at]), "an operator + - * ^");
    const std::string op(1, text[at++]);
    const std::int32_t left = expression(level + 1);
    skip_space();
    std::int32_t right = -1;
    if (at < text.size() && text[at] != ')') right = expression(level + 1);
    skip_space();
    if (at == text.size()) bad(open, "a bracket that is never closed", "\")\"");
    if (text[at] != ')') bad(at, "a third operand", "\")\"");
    if (right < 0 && op != "-") bad(at, "\")\"", fmt::format("the second operand of {}", op));
    ++at;
    return add(right < 0 ? std::string(kNegation) : op, left, right);
  }
};

const ExpressionNode& at(const std::vector<ExpressionNode>& nodes, std::int32_t i) {
  return nodes[static_cast<std::size_t>(i)];
}

// Operands come before their users: then nothing runs in a circle, and no index is out of range.
void check_operands(const std::vector<ExpressionNode>& nodes) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto own = static_cast<std::int64_t>(i);
    for (const std::int32_t operand : {nodes[i].left, nodes[i].right})
      if (operand < -1 || operand >= own)
        fail("expression", fmt::format("node {} with operand {}", i, operand), "operands before their operators");
    if (nodes[i].left < 0 && nodes[i].right >= 0)
      fail("expression", fmt::format("node {} with a right operand alone", i), "the only operand on the left");
  }
}

// Calls done(node) for what `root` sees, operands before users and left before right; open(node) says whether to go
// into a node at all. With a stack of its own: a chain may be longer than the machine's.
template <class Open, class Done>
void visit(const std::vector<ExpressionNode>& nodes, std::int32_t root, Open open, Done done) {
  struct Place {
    std::int32_t node;
    int operand = 0;  // the next one to look at
  };
  std::vector<Place> stack;
  if (root >= 0 && open(root)) stack.push_back({root});
  while (!stack.empty()) {
    const std::int32_t node = stack.back().node;
    const int next = stack.back().operand++;
    if (next == 2) {
      done(node);
      stack.pop_back();
      continue;
    }
    const std::int32_t operand = next == 0 ? at(nodes, node).left : at(nodes, node).right;
    if (operand >= 0 && open(operand)) stack.push_back({operand});
  }
}

}  // namespace

int arity(std::string_view label) {
  if (label == kNegation) return 1;
  return label == "+" || label == "-" || label == "*" || label == "^" ? 2 : 0;
}

bool is_number(std::string_view label) {
  return !label.empty() && std::all_of(label.begin(), label.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Expression parse_expression(std::string_view text) {
  Parser parser{text, 0, {}};
  parser.expression(0);
  parser.skip_space();
  if (parser.at < text.size())
    parser.bad(parser.at, fmt::format("\"{}\" after the expression", text[parser.at]), "the end");
  return std::move(parser.out);
}

void check_expression(const Expression& expression) {
  check_operands(expression.nodes);
  for (std::size_t i = 0; i < expression.nodes.size(); ++i) {
    const ExpressionNode& n = expression.nodes[i];
    const int got = (n.left >= 0) + (n.right >= 0);
    if (got != arity(n.label))
      fail("expression", fmt::format("node {}, \"{}\", with {} operands", i, n.label, got),
           fmt::format("{}", arity(n.label)));
  }
}

// Straight into one text, which alone takes memory: a text for every node would be quadratic in a chain.
std::string to_text(const Expression& expression) {
  constexpr std::int32_t kBlank = -1, kClose = -2;
  check_operands(expression.nodes);
  std::string text;
  std::vector<std::int32_t> left;
  if (!expression.nodes.empty()) left.push_back(expression.root());
  while (!left.empty()) {
    const std::int32_t next = left.back();
    left.pop_back();
    if (next < 0) {
      text += next == kBlank ? ' ' : ')';
      continue;
    }
    const ExpressionNode& n = at(expression.nodes, next);
    if (n.right >= 0) {
      text += "(" + n.label + " ";
      left.insert(left.end(), {kClose, n.right, kBlank, n.left});
    } else if (n.left >= 0) {
      text += "(- ";
      left.insert(left.end(), {kClose, n.left});
    } else {
      text += n.label;
    }
    if (text.size() > kMaxNodes * 4) fail("expression", "a text of many megabytes", "a smaller expression");
  }
  return text;
}

std::size_t expression_depth(const Expression& expression) {
  check_operands(expression.nodes);
  std::vector<std::size_t> depths;
  for (const ExpressionNode& n : expression.nodes) {
    std::size_t below = 0;
    if (n.left >= 0) below = depths[static_cast<std::size_t>(n.left)] + 1;
    if (n.right >= 0) below = std::max(below, depths[static_cast<std::size_t>(n.right)] + 1);
    depths.push_back(below);
  }
  return depths.empty() ? 0 : depths.back();
}

Expression share_subexpressions(const Expression& expression) {
  check_operands(expression.nodes);
  std::map<std::tuple<std::string, std::int32_t, std::int32_t>, std::int32_t> known;
  std::vector<std::int32_t> place;
  Expression out;
  const auto moved = [&](std::int32_t i) { return i < 0 ? -1 : place[static_cast<std::size_t>(i)]; };
  for (const ExpressionNode& n : expression.nodes) {
    const ExpressionNode copy{n.label, moved(n.left), moved(n.right)};
    const auto next = static_cast<std::int32_t>(out.nodes.size());
    const bool own = n.label == kNegation;
    const auto found = own ? known.end() : known.emplace(std::tuple(copy.label, copy.left, copy.right), next).first;
    place.push_back(own ? next : found->second);
    if (place.back() == next) out.nodes.push_back(copy);
  }
  return place.empty() ? out : reachable(out.nodes, place.back());
}

Expression as_tree(const Expression& expression) {
  check_operands(expression.nodes);
  std::vector<std::size_t> sizes;
  for (const ExpressionNode& n : expression.nodes) {
    std::size_t size = 1;
    for (const std::int32_t c : {n.left, n.right})
      if (c >= 0) size += sizes[static_cast<std::size_t>(c)];
    if (size > kMaxNodes) fail("expression as tree", "more than four million nodes", "less sharing");
    sizes.push_back(size);
  }
  Expression out;
  std::vector<std::int32_t> made;  // operands whose user is still to come
  const auto take = [&](std::int32_t operand) {
    if (operand < 0) return operand;
    const std::int32_t last = made.back();
    made.pop_back();
    return last;
  };
  visit(
      expression.nodes, expression.root(), [](std::int32_t) { return true; },
      [&](std::int32_t i) {
        const ExpressionNode& n = at(expression.nodes, i);
        const std::int32_t right = take(n.right), left = take(n.left);
        out.nodes.push_back({n.label, left, right});
        made.push_back(out.root());
      });
  return out;
}

Expression reachable(const std::vector<ExpressionNode>& nodes, std::int32_t root) {
  check_operands(nodes);
  if (root < -1 || root >= static_cast<std::int64_t>(nodes.size()))
    fail("expression", fmt::format("root {}", root), fmt::format("-1, or one of {} nodes", nodes.size()));
  Expression out;
  std::vector<std::int32_t> copied(nodes.size(), -1);
  const auto copy_of = [&](std::int32_t i) { return i < 0 ? -1 : copied[static_cast<std::size_t>(i)]; };
  visit(
      nodes, root, [&](std::int32_t i) { return copy_of(i) < 0; },
      [&](std::int32_t i) {
        const ExpressionNode& n = at(nodes, i);
        out.nodes.push_back({n.label, copy_of(n.left), copy_of(n.right)});
        copied[static_cast<std::size_t>(i)] = out.root();
      });
  return out;
}

LabelledGraph graph_of_expression(const Expression& expression) {
  check_operands(expression.nodes);
  LabelledGraph graph;
  graph.directed = true;
  for (std::uint32_t i = 0; i < expression.nodes.size(); ++i) {
    const ExpressionNode& n = expression.nodes[i];
    graph.labels.push_back(n.label);
    if (n.left >= 0 && n.left == n.right) {  // a shared operand on both sides is one edge
      graph.edges.push_back({static_cast<std::uint32_t>(n.left), i, "both"});
      continue;
    }
    if (n.left >= 0) graph.edges.push_back({static_cast<std::uint32_t>(n.left), i, "left"});
    if (n.right >= 0) graph.edges.push_back({static_cast<std::uint32_t>(n.right), i, "right"});
  }
  return graph;
}

std::string to_dot(std::span<const Expression> passes) {
  std::string dot = "digraph passes {\n";
  for (std::size_t p = 0; p < passes.size(); ++p) {
    dot += fmt::format("  subgraph cluster_{} {{\n    label=\"pass {}\";\n", p, p);
    for (std::size_t i = 0; i < passes[p].nodes.size(); ++i) {
      const ExpressionNode& n = passes[p].nodes[i];
      dot += fmt::format("    p{}n{} [label=\"{}\"];\n", p, i, n.label == kNegation ? "-" : n.label);
      if (n.left >= 0) dot += fmt::format("    p{}n{} -> p{}n{} [label=\"left\"];\n", p, i, p, n.left);
      if (n.right >= 0) dot += fmt::format("    p{}n{} -> p{}n{} [label=\"right\"];\n", p, i, p, n.right);
    }
    dot += "  }\n";
  }
  return dot + "}\n";
}

}  // namespace espalier
