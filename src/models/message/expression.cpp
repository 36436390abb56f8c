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

// Copies what `node` sees into `out`; each visited node once when `share` maps it.
struct Copier {
  const std::vector<ExpressionNode>& nodes;
  Expression out;
  std::vector<std::int32_t> copied;

  std::int32_t copy(std::int32_t node) {
    if (node < 0) return -1;
    auto& known = copied[static_cast<std::size_t>(node)];
    if (known >= 0) return known;
    const ExpressionNode& n = nodes[static_cast<std::size_t>(node)];
    const std::int32_t left = copy(n.left), right = copy(n.right);
    out.nodes.push_back({n.label, left, right});
    return known = out.root();
  }
};

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

std::string to_text(const Expression& expression) {
  std::vector<std::string> texts;
  for (const ExpressionNode& n : expression.nodes) {
    std::string text = n.label;
    const auto operand = [&](std::int32_t i) -> const std::string& { return texts[static_cast<std::size_t>(i)]; };
    if (n.right >= 0)
      text = "(" + n.label + " " + operand(n.left) + " " + operand(n.right) + ")";
    else if (n.left >= 0)
      text = "(- " + operand(n.left) + ")";
    if (text.size() > kMaxNodes * 4) fail("expression", "a text of many megabytes", "a smaller expression");
    texts.push_back(std::move(text));
  }
  return texts.empty() ? std::string() : texts.back();
}

std::size_t depth(const Expression& expression) {
  std::vector<std::size_t> depths;
  for (const ExpressionNode& n : expression.nodes) {
    std::size_t below = 0;
    if (n.left >= 0) below = depths[static_cast<std::size_t>(n.left)] + 1;
    if (n.right >= 0) below = std::max(below, depths[static_cast<std::size_t>(n.right)] + 1);
    depths.push_back(below);
  }
  return depths.empty() ? 0 : depths.back();
}

Expression shared(const Expression& expression) {
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
  std::vector<std::size_t> sizes;
  for (const ExpressionNode& n : expression.nodes) {
    std::size_t size = 1;
    for (const std::int32_t c : {n.left, n.right})
      if (c >= 0) size += sizes[static_cast<std::size_t>(c)];
    if (size > kMaxNodes) fail("expression as tree", "more than four million nodes", "less sharing");
    sizes.push_back(size);
  }
  Expression out;
  const auto copy = [&](auto&& self, std::int32_t i) -> std::int32_t {
    if (i < 0) return -1;
    const ExpressionNode& n = expression.nodes[static_cast<std::size_t>(i)];
    const std::int32_t left = self(self, n.left), right = self(self, n.right);
    out.nodes.push_back({n.label, left, right});
    return out.root();
  };
  copy(copy, expression.root());
  return out;
}

Expression reachable(const std::vector<ExpressionNode>& nodes, std::int32_t root) {
  Copier copier{nodes, {}, std::vector<std::int32_t>(nodes.size(), -1)};
  copier.copy(root);
  return std::move(copier.out);
}

LabelledGraph graph_of_expression(const Expression& expression) {
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

std::string to_dot(const Expression& expression, std::string_view title) {
  std::string dot = fmt::format("digraph \"{}\" {{\n  label=\"{}\";\n", title, title);
  for (std::size_t i = 0; i < expression.nodes.size(); ++i) {
    const ExpressionNode& n = expression.nodes[i];
    dot += fmt::format("  n{} [label=\"{}\"];\n", i, n.label == kNegation ? "-" : n.label);
    if (n.left >= 0) dot += fmt::format("  n{} -> n{} [label=\"left\"];\n", i, n.left);
    if (n.right >= 0) dot += fmt::format("  n{} -> n{} [label=\"right\"];\n", i, n.right);
  }
  return dot + "}\n";
}

}  // namespace espalier
