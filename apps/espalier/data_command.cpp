// espalier data simplify: the task's examples as a file.
#include "commands.hpp"
#include "models/message/simplify_data.hpp"
#include "output.hpp"

namespace espalier::app {
namespace {

struct DataFlags {
  SimplifyDataOptions options;
  std::size_t count = 1000;
  std::uint64_t seed = 0;
  std::string out;
};

int write_simplify(DataFlags f) {
  check_output("-o", f.out, {});
  f.options.train = f.count;
  f.options.validation = f.options.test = f.options.deep = 0;
  const SimplifyData data = make_simplify_data(f.options, f.seed);
  std::string text;
  for (const Expression& e : data.train) text += simplify_line(e, data.words) + "\n";
  write_output(f.out, text);
  return kDone;
}

}  // namespace

Command data_command() {
  const auto f = std::make_shared<DataFlags>();
  Command simplify{"simplify", "expressions before and after one pass, one pair of graphs per line"};
  Fields& o = simplify.options;
  o.add("count", f->count, "how many expressions, no two alike", 1, 1e7);
  o.add("depth", f->options.depth, "depth of the deepest expression", 1, 12);
  o.add("max-number", f->options.max_number, "numbers are 0 to this", 1, 99);
  o.add("share", f->options.share, "one node for equal subexpressions");
  o.add("seed", f->seed, "seed", 0, 1.8446744073709552e19);
  o.add("out", f->out, "where to write (default: standard output)").alias("o").metavar("FILE.jsonl");
  Command command{"data", "write the examples of a task to a file"};
  command.commands.push_back(std::move(simplify).with(f, write_simplify));
  return command;
}

}  // namespace espalier::app
