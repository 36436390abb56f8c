#include "models/message/expression.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/clock.hpp"
#include "espalier/error.hpp"
#include "models/message/rewrite.hpp"
#include "models/message/simplify_data.hpp"

namespace espalier {
namespace {

const Vocabulary& words() {
  static const Vocabulary w = arithmetic_vocabulary(9, {"x", "y", "z"});
  return w;
}

std::string pass(const char* text) { return to_text(simplify_pass(parse_expression(text), words())); }
std::string normal(const char* text) { return to_text(normal_form(parse_expression(text), words())); }

TEST(Expression, TextThereAndBack) {
  for (const char* text : {"x", "0", "(+ (* x 1) 0)", "(- x)", "(- (- x) 3)", "(^ (- 2 y) (* 1 z))"})
    EXPECT_EQ(to_text(parse_expression(text)), text);
  EXPECT_EQ(to_text(parse_expression("  ( +  x\t007 ) ")), "(+ x 7)");
  EXPECT_EQ(expression_depth(parse_expression("(+ (* x 1) 0)")), 2u);
}

TEST(Expression, MistakesAreNamedWithTheirPlace) {
  const auto error = [](const char* text) -> std::string {
    try {
      parse_expression(text);
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  for (const auto& [text, part] : std::vector<std::pair<const char*, const char*>>{{"", "character 1"},
                                                                                   {"(+ x", "character 1"},
                                                                                   {"(+ x)", "character 5"},
                                                                                   {"(+ x y z)", "character 8"},
                                                                                   {"(x y)", "character 2"},
                                                                                   {"(+ x 3) y", "character 9"},
                                                                                   {"(+ x -3)", "(- 3)"},
                                                                                   {"(+ x $)", "character 6"},
                                                                                   {"neg", "(- e)"},
                                                                                   {")", "character 1"},
                                                                                   {"12345678901", "9 digits"}})
    EXPECT_NE(error(text).find(part), std::string::npos) << text << ": " << error(text);
  EXPECT_NE(error(std::string(5000, '(').c_str()).find("operator"), std::string::npos);
  std::string deep;
  for (int i = 0; i < 5000; ++i) deep += "(- ";
  EXPECT_NE(error(deep.c_str()).find("brackets"), std::string::npos);
}

TEST(Engine, EveryRule) {
  for (const auto& [text, expected] :
       std::vector<std::pair<const char*, const char*>>{{"(+ x 0)", "x"},           {"(+ 0 x)", "x"},
                                                        {"(- x 0)", "x"},           {"(* x 1)", "x"},
                                                        {"(* 1 x)", "x"},           {"(^ x 1)", "x"},
                                                        {"(* x 0)", "0"},           {"(* 0 x)", "0"},
                                                        {"(^ x 0)", "1"},           {"(- (- x))", "x"},
                                                        {"(+ 2 3)", "5"},           {"(* 2 3)", "6"},
                                                        {"(+ 5 6)", "(+ 5 6)"},     {"(- 0 x)", "(- 0 x)"},
                                                        {"(^ 1 x)", "(^ 1 x)"},     {"(- 5 3)", "(- 5 3)"},
                                                        {"(^ 0 0)", "1"},           {"(* 1 0)", "0"},
                                                        {"(+ (* x 1) 0)", "x"},     {"(* (+ 0 0) x)", "(* 0 x)"},
                                                        {"(- (- (- x)))", "(- x)"}, {"(- (- (- (- x))))", "(- (- x))"}})
    EXPECT_EQ(pass(text), expected) << text;
  EXPECT_EQ(normal("(- (- (- (- x))))"), "x");
  EXPECT_EQ(normal("(* (+ 0 0) x)"), "0");
  EXPECT_EQ(normal("(^ (+ x (* 0 y)) (- 1 0))"), "x");
}

TEST(Engine, EditsDoWhatThePassDoesOnTreesAndOnSharedGraphs) {
  SimplifyDataOptions o;
  o.train = 4000, o.validation = o.test = 10, o.deep = 300;
  SimplifyData data = make_simplify_data(o, 0);
  data.train.insert(data.train.end(), data.deep.begin(), data.deep.end());
  std::set<std::uint32_t> used;
  for (const Expression& tree : data.train)
    for (const Expression& e : {tree, share_subexpressions(tree)}) {
      ASSERT_EQ(to_text(e), to_text(tree));
      const std::vector<std::uint32_t> edits = simplify_edits(e, words());
      used.insert(edits.begin(), edits.end());
      ASSERT_EQ(to_text(apply_edits(e, edits, words())), to_text(simplify_pass(tree, words()))) << to_text(tree);
      ASSERT_EQ(to_text(normal_form(e, words())), to_text(normal_form(tree, words())));
    }
  EXPECT_TRUE(used.contains(kDelete) && used.contains(kTakeLeft) && used.contains(kTakeRight));
  EXPECT_GT(used.size(), 10u);  // folds to many numbers
}

TEST(Expression, SharingMergesEqualPartsOnly) {
  const Expression e = share_subexpressions(parse_expression("(+ (* x y) (- (* x y) (- x)))"));
  EXPECT_EQ(e.nodes.size(), 6u);  // x y * neg - +
  EXPECT_EQ(to_text(as_tree(e)), "(+ (* x y) (- (* x y) (- x)))");
  EXPECT_EQ(as_tree(e).nodes.size(), 10u);
}

TEST(Expression, SenselessEditsAreHarmless) {
  const Expression e = parse_expression("(+ x (- y))");  // x y neg +
  const auto edited = [&](std::vector<std::uint32_t> edits) { return to_text(apply_edits(e, edits, words())); };
  EXPECT_EQ(edited({kTakeLeft, kTakeRight, kTakeRight, kKeep}), "(+ x (- y))");
  EXPECT_EQ(edited({kBecome + words().number("*"), kKeep, kKeep, kBecome + words().number("*")}), "(* x (- y))");
  EXPECT_EQ(edited({kDelete, kKeep, kKeep, kKeep}), "(- y)");
  EXPECT_EQ(edited({kKeep, kDelete, kKeep, kKeep}), "x");
  EXPECT_EQ(edited({kDelete, kDelete, kKeep, kKeep}), "");
  EXPECT_EQ(edited({kKeep, kKeep, kKeep, kDelete}), "");
  EXPECT_THROW(edited({kKeep}), Error);
}

TEST(Expression, AChainOfAHundredThousandOverflowsNothingAndTakesLittleMemory) {
  constexpr std::int32_t kLength = 100'000;
  Expression chain{{{"x", -1, -1}}};
  for (std::int32_t i = 0; i < kLength; ++i) chain.nodes.push_back({"+", i, i % 2 ? i : 0});
  for (std::int32_t i = 1; i <= kLength; ++i) chain.nodes[static_cast<std::size_t>(i)].right = 0;
  EXPECT_EQ(expression_depth(chain), static_cast<std::size_t>(kLength));
  const std::string text = to_text(chain);
  EXPECT_EQ(text.size(), 1 + std::size_t{6} * kLength);
  EXPECT_EQ(text.substr(text.size() - 6), " x) x)");
  EXPECT_EQ(as_tree(chain).nodes.size(), 2 * std::size_t{kLength} + 1);
  EXPECT_EQ(share_subexpressions(as_tree(chain)).nodes.size(), chain.nodes.size());
  EXPECT_EQ(reachable(chain.nodes, kLength / 2).nodes.size(), std::size_t{kLength} / 2 + 1);
  EXPECT_EQ(graph_of_expression(chain).labels.size(), chain.nodes.size());
  EXPECT_EQ(to_text(simplify_pass(chain, words())), text);
  // Every node twice: a text of 2^100,000 letters is refused, not begun.
  for (std::int32_t i = 1; i <= kLength; ++i) chain.nodes[static_cast<std::size_t>(i)].right = i - 1;
  EXPECT_THROW(to_text(chain), Error);
  EXPECT_THROW(as_tree(chain), Error);
}

TEST(Expression, OperandsThatAreNotThereAreErrors) {
  const std::vector<std::uint32_t> edits(2, kKeep);
  for (const ExpressionNode& bad :
       {ExpressionNode{"+", 0, 1}, {"+", 0, 7}, {"+", 0, -2}, {"+", 1 << 30, 0}, {"neg", 1, -1}, {"+", -1, 0}}) {
    const Expression e{{{"x", -1, -1}, bad}};
    EXPECT_THROW(to_text(e), Error);
    EXPECT_THROW(expression_depth(e), Error);
    EXPECT_THROW(share_subexpressions(e), Error);
    EXPECT_THROW(as_tree(e), Error);
    EXPECT_THROW(reachable(e.nodes, 1), Error);
    EXPECT_THROW(graph_of_expression(e), Error);
    EXPECT_THROW(simplify_pass(e, words()), Error);
    EXPECT_THROW(normal_form(e, words()), Error);
    EXPECT_THROW(simplify_edits(e, words()), Error);
    EXPECT_THROW(apply_edits(e, edits, words()), Error);
  }
  for (const ExpressionNode& bad : {ExpressionNode{"+", 0, -1}, {"neg", -1, -1}, {"x", 0, 0}}) {
    const Expression e{{{"x", -1, -1}, bad}};
    EXPECT_THROW(check_expression(e), Error);
    EXPECT_THROW(simplify_pass(e, words()), Error);
    EXPECT_THROW(apply_edits(e, edits, words()), Error);
  }
  EXPECT_THROW(reachable({}, 0), Error);
  EXPECT_THROW(reachable({{"x", -1, -1}}, -2), Error);
  EXPECT_TRUE(reachable({{"x", -1, -1}}, -1).nodes.empty());
}

TEST(SimplifyData, SetsAreDisjointDistinctAndOfTheDepthPromised) {
  SimplifyDataOptions o;
  o.train = 3000, o.validation = 300, o.test = 500, o.deep = 100, o.depth = 4;
  const SimplifyData data = make_simplify_data(o, 0);
  std::set<std::string> all;
  std::size_t deepest = 0;
  for (const auto* part : {&data.train, &data.validation, &data.test})
    for (const Expression& e : *part) {
      EXPECT_TRUE(all.insert(to_text(e)).second) << to_text(e);
      deepest = std::max(deepest, expression_depth(e));
    }
  EXPECT_EQ(all.size(), 3800u);
  EXPECT_EQ(deepest, 4u);
  for (const Expression& e : data.deep) {
    EXPECT_TRUE(all.insert(to_text(e)).second);
    EXPECT_EQ(expression_depth(e), 8u);
  }
  EXPECT_EQ(to_text(make_simplify_data(o, 0).test.front()), to_text(data.test.front()));
  o.depth = 1;
  EXPECT_THROW(make_simplify_data(o, 0), Error);
}

TEST(SimplifyData, LinesThereAndBack) {
  SimplifyDataOptions o;
  o.train = 200, o.validation = o.test = o.deep = 5, o.share = true;
  const SimplifyData data = make_simplify_data(o, 0);
  std::string text;
  for (const Expression& e : data.train) text += simplify_line(e, data.words) + "\n";
  const std::vector<Expression> back = read_simplify_lines(text, data.words);
  ASSERT_EQ(back.size(), data.train.size());
  for (std::size_t i = 0; i < back.size(); ++i) {
    EXPECT_EQ(to_text(back[i]), to_text(data.train[i]));
    EXPECT_EQ(back[i].nodes.size(), data.train[i].nodes.size());
  }
  for (const char* bad :
       {"{", "[]", "{\"input\": 3}", R"({"input":"x","output":"x","before":{"nodes":["y"],"edges":[]}})",
        R"({"input":"x","output":"y","before":{"nodes":["x"],"edges":[]}})",
        R"({"input":"x","output":"x","before":{"nodes":["x"],"edges":[[0,7,"left"]]}})",
        R"({"input":"x","output":"x","before":{"nodes":["+"],"edges":[]}})"})
    try {
      read_simplify_lines(bad, data.words, "bad.jsonl");
      ADD_FAILURE() << bad;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("line 1 of bad.jsonl"), std::string::npos) << error.what();
      EXPECT_EQ(std::string(error.what()).find("json.exception"), std::string::npos) << error.what();
    }
}

// A text for every node of a chain would take memory quadratic in its length.
TEST(SimplifyData, LongChainsAreReadInLittleMemoryAndTooLongLinesAreRefusedFirst) {
  const auto line = [](int length) {
    std::string nodes = "\"x\"", edges, text;
    for (int i = 0; i < length; ++i) {
      nodes += ",\"neg\"";
      edges += (i ? ",[" : "[") + std::to_string(i) + "," + std::to_string(i + 1) + ",\"left\"]";
    }
    for (int i = 0; i < length; ++i) text += "(- ";
    text += "x" + std::string(static_cast<std::size_t>(length), ')');
    return R"({"input":")" + text + R"(","output":"?","before":{"nodes":[)" + nodes + R"(],"edges":[)" + edges + "]}}";
  };
  const auto message = [&](const std::string& text) {
    try {
      read_simplify_lines(text, words());
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const double before = peak_rss_mb();
  EXPECT_NE(message(line(60'000)).find("output"), std::string::npos);  // read whole, and found to say something else
  EXPECT_LT(peak_rss_mb() - before, 300);
  EXPECT_NE(message(line(70'000)).find("70001 nodes"), std::string::npos);
  EXPECT_NE(message(line(140'000)).find("bytes"), std::string::npos);
}

}  // namespace
}  // namespace espalier
