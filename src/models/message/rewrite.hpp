// Local edits of an expression, one per node, and what they make of it; the exact engine whose rules the `simplify`
// task learns; and a GraphTransformNet that predicts the edits.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "espalier/message_passing.hpp"
#include "models/message/expression.hpp"

namespace espalier {

// + - * ^ neg, 0..max_number, then the symbols.
Vocabulary arithmetic_vocabulary(int max_number, const std::vector<std::string>& symbols);

// An edit is a number: one of these, or kBecome + s for "become symbol s".
enum Edit : std::uint32_t { kKeep = 0, kDelete = 1, kTakeLeft = 2, kTakeRight = 3, kBecome = 4 };

// All edits at once. A node that takes a child's place is that child, edited, for whoever used it. A deleted
// node takes its subtree with it: a binary user passes on its other operand, a unary one goes too; deleting the
// root leaves the empty expression. Edits that make no sense (take the place of a missing child, become an
// operator of another arity) keep the node.
Expression apply_edits(const Expression& expression, std::span<const std::uint32_t> edits, const Vocabulary& words);

// The rules: e+0, 0+e, e-0, e*1, 1*e, e^1 -> e;  e*0, 0*e -> 0;  e^0 -> 1;  --e -> e;  sums and products of two
// numbers fold when the result is in the vocabulary.
// One pass: every place of the given expression that matches, innermost first. Places that come to match by
// the pass itself wait for the next one; so does the outer of two negation pairs that overlap (---e).
Expression simplify_pass(const Expression& expression, const Vocabulary& words);
// Passes until nothing changes.
Expression normal_form(const Expression& expression, const Vocabulary& words);
// The edits that do the same as simplify_pass; operands that go are marked kDelete when all users drop them.
std::vector<std::uint32_t> simplify_edits(const Expression& expression, const Vocabulary& words);

// A network with one relation for left operands, one for right ones, both from operand to user, and one logit per edit.
GraphTransformNet make_rewrite_net(Vocabulary words, const TransformOptions& options, std::uint64_t seed);
NumberedGraph number_expression(const Expression& expression, const GraphTransformNet& net);
TransformBatch batch_expressions(const GraphTransformNet& net, std::span<const Expression* const> expressions);

// One pass: predict, apply.
Expression transform(const GraphTransformNet& net, const Expression& expression);
// Passes until nothing changes, at most `max_passes`; the expression after each pass, the first being the input. With
// `share` equal subexpressions become one node again after every pass.
struct RewritePasses {
  std::vector<Expression> passes;
  bool settled = false;  // the last pass changed nothing
};
RewritePasses rewrite(const GraphTransformNet& net, const Expression& expression, std::size_t max_passes, bool share);
// The same for many expressions, in parallel: the expression after one pass and the last one.
struct Rewritten {
  Expression once, last;
};
std::vector<Rewritten> rewrite_all(const GraphTransformNet& net, std::span<const Expression> expressions,
                                   std::size_t max_passes, bool share, const ThreadPool& pool);

}  // namespace espalier
