// The examples of the `simplify` task: generated expressions, no two alike, in disjoint sets; and as a file with
// one pair of graphs per line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/message/rewrite.hpp"

namespace espalier {

struct SimplifyDataOptions {
  std::size_t train = 20000, validation = 1000, test = 2000, deep = 1000;
  int depth = 5;       // of the deepest tree in train, validation and test; `deep` trees have twice that
  int max_number = 9;  // numbers are 0..max_number
  std::vector<std::string> symbols{"x", "y", "z"};
  bool share = false;  // equal subexpressions as one node
  // A file of simplify_line()s: train, validation and test are drawn from them instead of generated, and
  // train is what is left. Empty: generated. The deeper set is always generated.
  std::string file;
};

struct SimplifyData {
  Vocabulary words;
  std::vector<Expression> train, validation, test, deep;
};

// An Error when the options do not allow that many different expressions.
SimplifyData make_simplify_data(const SimplifyDataOptions& options, std::uint64_t seed);

// A line: {"input": text, "output": text after one pass, "normal": text,
//          "before": {"nodes": [labels], "edges": [[child, user, "left"|"right"], ...]}, "after": {...}}
std::string simplify_line(const Expression& input, const Vocabulary& words);
// The inputs of such a file. Errors name the line; graphs and texts must agree with each other.
std::vector<Expression> read_simplify_lines(const std::string& text, const Vocabulary& words,
                                            std::string_view what = "the examples");

}  // namespace espalier
