// Arithmetic expressions as labelled graphs: + - * ^, unary minus, whole numbers, symbols. Read and written in
// prefix form, e.g. "(+ (* x 1) 0)"; "(- x)" is the unary minus. Equal subexpressions may be one shared node.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/graph.hpp"

namespace espalier {

inline constexpr std::string_view kNegation = "neg";  // label of the unary minus

struct ExpressionNode {
  std::string label;                   // "+", "-", "*", "^", "neg", a number or a symbol
  std::int32_t left = -1, right = -1;  // operands; the operand of a negation is its left
};

// Operands before operators, the root last. An empty expression has no nodes.
struct Expression {
  std::vector<ExpressionNode> nodes;
  std::int32_t root() const { return static_cast<std::int32_t>(nodes.size()) - 1; }
};

// 2 for + - * ^, 1 for the negation, 0 for the rest.
int arity(std::string_view label);
bool is_number(std::string_view label);

// An Error when an operand does not come before its operator, or an operator has not as many as it needs. All functions
// below check the order by themselves; chains may be of any length.
void check_expression(const Expression& expression);

// Errors say what is wrong and at which character (from 1).
Expression parse_expression(std::string_view text);
std::string to_text(const Expression& expression);
// Longest path from the root, counted in edges; 0 for a leaf.
std::size_t expression_depth(const Expression& expression);

// One node for equal subexpressions. Negations keep their own node each: --e has to take one away for one user
// and leave it to the others.
Expression share_subexpressions(const Expression& expression);
// Every subexpression its own node.
Expression as_tree(const Expression& expression);

// Only the nodes that the given root sees, operands first; an empty expression for root -1.
Expression reachable(const std::vector<ExpressionNode>& nodes, std::int32_t root);

// Edges from operand to user, labelled left and right; "both" where one shared node is on both sides.
LabelledGraph graph_of_expression(const Expression& expression);
// One graph for Graphviz, every pass a cluster of it.
std::string to_dot(std::span<const Expression> passes);

}  // namespace espalier
