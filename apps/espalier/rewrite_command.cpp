// espalier rewrite MODEL EXPRESSION: a simplify model at work, pass by pass.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "espalier/error.hpp"
#include "models/message/simplify_model.hpp"
#include "runs/run_folder.hpp"

namespace espalier::app {
namespace {

struct RewriteFlags {
  std::string model, expression;
  std::size_t max_passes = 100;
  bool dot = false, check = false, json = false;
};

int run_rewrite(const RewriteFlags& f) {
  const SafetensorsFile file = read_safetensors(RunFolder::model_file(f.model));
  const GraphTransformNet net = load_simplify_model(file);
  const bool shares = simplify_model_shares(file);
  const Expression input = parse_expression(f.expression);
  const std::string expected = to_text(normal_form(input, net.words()));
  const auto [passes, settled] = rewrite(net, input, f.max_passes, shares);
  const std::string last = to_text(passes.back());
  const bool right = last == expected;
  if (f.json) {
    Json texts = Json::array();
    for (const Expression& e : passes) texts.push_back(to_text(e));
    Json j = {{"passes", texts}, {"fixed_point", settled}};
    if (f.check) j.update({{"expected", expected}, {"exact", right}});
    fmt::print("{}\n", j.dump());
  } else if (f.dot) {
    for (std::size_t i = 0; i < passes.size(); ++i) fmt::print("{}", to_dot(passes[i], fmt::format("pass {}", i)));
  } else {
    for (std::size_t i = 0; i < passes.size(); ++i)
      fmt::print("{:>4}  {}\n", i, passes[i].nodes.empty() ? "(nothing left)" : to_text(passes[i]));
    if (!settled) fmt::print("no fixed point after {} passes\n", f.max_passes);
    if (f.check) fmt::print("{}: the exact engine says {}\n", right ? "right" : "wrong", expected);
  }
  return f.check && !right ? kUnsolved : kDone;
}

}  // namespace

void add_rewrite_command(CLI::App& program, int& exit_code) {
  CLI::App* command = program.add_subcommand("rewrite", "simplify an expression with a trained model, pass by pass");
  auto flags = std::make_shared<RewriteFlags>();
  command
      ->add_option("model", flags->model, "what `espalier train simplify` made: its run's folder or model.safetensors")
      ->required()
      ->type_name("MODEL");
  command->add_option("expression", flags->expression, "in prefix form, e.g. '(+ (* x 1) 0)'")
      ->required()
      ->type_name("EXPRESSION");
  command->add_option("--most-passes", flags->max_passes, "give up after this many")->check(CLI::Range(1, 100000));
  command->add_flag("--dot", flags->dot, "print the graphs for graphviz instead");
  command->add_flag("--check", flags->check, "compare with the exact engine; exit with 3 when they differ");
  command->add_flag("--json", flags->json, "print one JSON object");
  command->callback([flags, &exit_code] { exit_code = run_rewrite(*flags); });
}

}  // namespace espalier::app
