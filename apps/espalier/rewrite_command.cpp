// espalier rewrite MODEL EXPRESSION: a simplify model at work, pass by pass.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "espalier/message_passing.hpp"
#include "output.hpp"

namespace espalier::app {
namespace {

struct RewriteFlags {
  std::string model, expression;
  std::size_t max_passes = 100;
  bool dot = false, check = false, json = false;
};

int rewrite_expression(const RewriteFlags& f) {
  if (f.dot && f.json) throw UsageError("--dot", "got --json, too, expected one of them");
  const auto model = load_model_as<RewriteModel>(f.model, "make one with: espalier train simplify");
  const std::string expected = model->exact(f.expression);
  const auto [passes, settled, dot] = model->rewrite(f.expression, f.max_passes);
  const bool right = passes.back() == expected;
  if (f.json) {
    Json j = {{"passes", passes}, {"fixed_point", settled}};
    if (f.check) j.update({{"expected", expected}, {"exact", right}});
    print_json(j);
  } else if (f.dot) {
    write_output("", dot);
  } else {
    for (std::size_t i = 0; i < passes.size(); ++i)
      print("{:>4}  {}\n", i, passes[i].empty() ? "(nothing left)" : passes[i]);
    if (!settled) print("no fixed point after {} passes\n", f.max_passes);
    if (f.check) print("{}: the exact engine says {}\n", right ? "right" : "wrong", expected);
  }
  return f.check && !right ? kUnsolved : kDone;
}

}  // namespace

Command rewrite_command() {
  const auto f = std::make_shared<RewriteFlags>();
  Command command{"rewrite", "simplify an expression with a trained model, pass by pass"};
  command.arguments = {
      {"model", &f->model, "what `espalier train simplify` made: its run's folder or model.safetensors"},
      {"expression", &f->expression, "in prefix form, e.g. '(+ (* x 1) 0)'"}};
  command.options.add("max-passes", f->max_passes, "give up after this many passes", 1, 100000);
  command.options.add("dot", f->dot, "print all passes as one graph for graphviz instead");
  command.options.add("check", f->check, "compare with the exact engine; exit with 3 when they differ");
  add_json(command.options, f->json);
  return std::move(command).with(f, rewrite_expression);
}

}  // namespace espalier::app
