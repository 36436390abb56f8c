// espalier data simplify: the task's examples as a file.
#include <fmt/format.h>

#include "checks.hpp"
#include "commands.hpp"
#include "models/message/simplify_data.hpp"
#include "base/files.hpp"

namespace espalier::app {
namespace {

struct DataFlags {
  SimplifyDataOptions options;
  std::size_t count = 1000;
  std::string out;
};

void write_simplify(DataFlags f) {
  check_output("-o", f.out, {});
  f.options.train = f.count;
  f.options.validation = f.options.test = f.options.deep = 0;
  const SimplifyData data = make_simplify_data(f.options);
  std::string text;
  for (const Expression& e : data.train) text += simplify_line(e, data.words) + "\n";
  if (f.out.empty())
    fmt::print("{}", text);
  else
    write_atomically(f.out, text);
}

}  // namespace

void add_data_command(CLI::App& program, int&) {
  CLI::App* command = program.add_subcommand("data", "write the examples of a task to a file");
  command->require_subcommand(1);
  CLI::App* simplify =
      command->add_subcommand("simplify", "expressions before and after one pass, one pair of graphs a line");
  auto flags = std::make_shared<DataFlags>();
  simplify->add_option("--count", flags->count, "how many, no two alike")
      ->default_str("1000")
      ->check(CLI::Range(1, 10000000));
  simplify->add_option("--depth", flags->options.depth, "depth of the deepest expression")->default_str("5");
  simplify->add_option("--most-number", flags->options.max_number, "numbers are 0 to this one")->default_str("9");
  simplify->add_flag("--share", flags->options.share, "one node for equal subexpressions");
  simplify->add_option("--seed", flags->options.seed, "seed")->default_str("0")->check(is_seed());
  simplify->add_option("-o,--out", flags->out, "the file; standard output without it")->type_name("FILE.jsonl");
  simplify->callback([flags] { write_simplify(*flags); });
}

}  // namespace espalier::app
