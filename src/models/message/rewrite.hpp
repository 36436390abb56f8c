// Local edits of an expression, one per node, and what they make of it; and the exact engine whose rules the
// `simplify` task learns.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "models/message/expression.hpp"

namespace espalier {

// The labels a model knows, by number. Order is part of the model file.
class Vocabulary {
 public:
  Vocabulary() = default;
  explicit Vocabulary(std::vector<std::string> labels);
  // + - * ^ neg, 0..max_number, then the symbols.
  static Vocabulary arithmetic(int max_number, const std::vector<std::string>& symbols);

  std::size_t size() const { return labels_.size(); }
  const std::vector<std::string>& labels() const { return labels_; }
  const std::string& label(std::size_t number) const { return labels_.at(number); }
  bool knows(const std::string& label) const { return numbers_.contains(label); }
  std::uint32_t number(const std::string& label) const;  // an Error that lists the known ones

 private:
  std::vector<std::string> labels_;
  std::map<std::string, std::uint32_t> numbers_;
};

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

}  // namespace espalier
