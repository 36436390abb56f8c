// The `simplify` examples as a file of JSON lines.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "espalier/error.hpp"
#include "models/message/simplify_data.hpp"

namespace espalier {
namespace {

using Json = nlohmann::json;

Json graph_json(const Expression& e) {
  Json nodes = Json::array(), edges = Json::array();
  for (std::size_t i = 0; i < e.nodes.size(); ++i) {
    nodes.push_back(e.nodes[i].label);
    if (e.nodes[i].left >= 0) edges.push_back({e.nodes[i].left, i, "left"});
    if (e.nodes[i].right >= 0) edges.push_back({e.nodes[i].right, i, "right"});
  }
  return {{"nodes", nodes}, {"edges", edges}};
}

Expression graph_of(const Json& json, std::size_t line) {
  const auto bad = [&](std::string_view what) {
    fail("simplify lines", fmt::format("line {}: {}", line, what), "a graph of an expression, operands first");
  };
  Expression e;
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
  for (std::size_t i = 0; i < e.nodes.size(); ++i) {
    const ExpressionNode& n = e.nodes[i];
    if ((n.left >= 0) + (n.right >= 0) != arity(n.label) || (n.right >= 0 && n.left < 0))
      bad(fmt::format("the operands of node {} (\"{}\")", i, n.label));
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

std::vector<Expression> read_simplify_lines(const std::string& text, const Vocabulary& words) {
  std::vector<Expression> inputs;
  std::istringstream lines(text);
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    if (line.find_first_not_of(" \r\t") == std::string::npos) continue;
    try {
      const Json json = Json::parse(line);
      Expression e = graph_of(json.at("before"), number);
      for (const ExpressionNode& n : e.nodes)
        if (!words.knows(n.label))
          fail("simplify lines", fmt::format("line {}: the label \"{}\"", number, n.label),
               fmt::format("one of the {} labels of the vocabulary", words.size()), "a vocabulary with larger numbers?");
      if (e.nodes.empty() || to_text(e) != json.at("input").get<std::string>())
        fail("simplify lines", fmt::format("line {}: a graph of \"{}\"", number, to_text(e)),
             fmt::format("the graph of its input \"{}\"", json.at("input").get<std::string>()));
      if (to_text(simplify_pass(e, words)) != json.at("output").get<std::string>())
        fail("simplify lines", fmt::format("line {}: output \"{}\"", number, json.at("output").get<std::string>()),
             fmt::format("\"{}\"", to_text(simplify_pass(e, words))), "another vocabulary?");
      inputs.push_back(std::move(e));
    } catch (const Json::exception& e) {
      fail("simplify lines", fmt::format("line {}: {}", number, e.what()), "an example as simplify_line writes it");
    }
  }
  return inputs;
}

}  // namespace espalier
