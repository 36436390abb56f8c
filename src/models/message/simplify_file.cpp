// The `simplify` examples as a file of JSON lines.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "base/text.hpp"
#include "espalier/error.hpp"
#include "models/message/simplify_data.hpp"

namespace espalier {
namespace {

using Json = nlohmann::json;

// What `espalier data` writes is far below: an expression of depth 12 has at most 8191 nodes. Anything larger is
// refused before memory is spent on it.
constexpr std::size_t kMaxLine = 4 << 20, kMaxNodes = 1 << 16;

Json graph_json(const Expression& e) {
  Json nodes = Json::array(), edges = Json::array();
  for (std::size_t i = 0; i < e.nodes.size(); ++i) {
    nodes.push_back(e.nodes[i].label);
    if (e.nodes[i].left >= 0) edges.push_back({e.nodes[i].left, i, "left"});
    if (e.nodes[i].right >= 0) edges.push_back({e.nodes[i].right, i, "right"});
  }
  return {{"nodes", nodes}, {"edges", edges}};
}

Expression graph_of(const Json& json, std::string_view place) {
  const auto bad = [&](std::string_view what) {
    fail("simplify lines", fmt::format("{}: {}", place, what), "a graph of an expression, operands first");
  };
  Expression e;
  if (json.at("nodes").size() > kMaxNodes) bad(fmt::format("{} nodes", json.at("nodes").size()));
  for (const Json& label : json.at("nodes")) e.nodes.push_back({label.get<std::string>(), -1, -1});
  for (const Json& edge : json.at("edges")) {
    const auto child = edge.at(0).get<std::int64_t>(), user = edge.at(1).get<std::int64_t>();
    const auto side = edge.at(2).get<std::string>();
    if (child < 0 || user < 0 || user > e.root() || child >= user) bad(fmt::format("edge {} -> {}", child, user));
    if (side != "left" && side != "right") bad(fmt::format("an edge labelled \"{}\"", side));
    ExpressionNode& n = e.nodes[static_cast<std::size_t>(user)];
    std::int32_t& place = side == "left" ? n.left : n.right;
    if (place >= 0) bad(fmt::format("two {} operands of node {}", side, user));
    place = static_cast<std::int32_t>(child);
  }
  try {
    check_expression(e);
  } catch (const Error& error) {
    bad(error.what());
  }
  return e;
}

}  // namespace

std::string simplify_line(const Expression& input, const Vocabulary& words) {
  const Expression after = simplify_pass(input, words);
  const Json line{{"input", to_text(input)},
                  {"output", to_text(after)},
                  {"normal", to_text(normal_form(input, words))},
                  {"before", graph_json(input)},
                  {"after", graph_json(after)}};
  return line.dump();
}

std::vector<Expression> read_simplify_lines(const std::string& text, const Vocabulary& words, std::string_view what) {
  std::vector<Expression> inputs;
  std::string_view rest = text;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::string_view line = take_line(rest);
    if (trimmed(line).empty()) continue;
    const std::string place = fmt::format("line {} of {}", number, what);
    if (line.size() > kMaxLine)
      fail("simplify lines", fmt::format("{} bytes in {}", line.size(), place), fmt::format("at most {}", kMaxLine));
    try {
      const Json json = parse_json(line, place);
      Expression e = graph_of(json.at("before"), place);
      for (const ExpressionNode& n : e.nodes)
        if (!words.knows(n.label))
          fail("simplify lines", fmt::format("the label \"{}\" in {}", n.label, place),
               fmt::format("one of the {} labels of the vocabulary", words.size()),
               "a vocabulary with larger numbers?");
      if (e.nodes.empty() || to_text(e) != json.at("input").get<std::string>())
        fail("simplify lines", fmt::format("a graph of \"{}\" in {}", to_text(e), place),
             fmt::format("the graph of its input \"{}\"", json.at("input").get<std::string>()));
      const std::string after = to_text(simplify_pass(e, words));
      if (after != json.at("output").get<std::string>())
        fail("simplify lines", fmt::format("the output \"{}\" in {}", json.at("output").get<std::string>(), place),
             fmt::format("\"{}\", as the rules of this task give it", after),
             "a file gives expressions to learn from, not rules; docs/graphs.md has an example");
      inputs.push_back(std::move(e));
    } catch (const Json::exception&) {
      fail("simplify lines", fmt::format("{} with a field that is missing or of another kind", place),
           "\"input\" and \"output\" as texts, \"before\" as a graph of \"nodes\" and \"edges\"");
    }
  }
  return inputs;
}

}  // namespace espalier
