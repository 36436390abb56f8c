// espalier predict MODEL FILE.csv: what a table model says about every row.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "arguments.hpp"
#include "commands.hpp"
#include "output.hpp"

namespace espalier::app {
namespace {

struct PredictFlags {
  std::string model, csv, out, id;
  bool probabilities = false, allow_unknown = false;
  int threads = 0;
};

// One line: the class (and its probabilities), or the number in the target's own unit.
std::string line_of(const std::vector<std::string>& classes, std::span<const double> said, bool probabilities) {
  if (classes.empty()) return fmt::format("{:.6g}", said[0]);
  std::string line = csv_cell(classes[static_cast<std::size_t>(std::ranges::max_element(said) - said.begin())]);
  for (std::size_t i = 0; probabilities && i < said.size(); ++i) line += fmt::format(",{:.4f}", said[i]);
  return line;
}

int predict(const PredictFlags& f) {
  check_output("-o", f.out, {f.csv, f.model});
  const auto model = load_model_as<RowModel>(f.model, "make one with: espalier train table");
  const std::vector<std::string>& classes = model->classes();
  if (f.probabilities && classes.empty())
    throw UsageError("--probabilities", fmt::format("{} predicts numbers, expected a model of classes", f.model));
  const CsvTable table = read_csv(f.csv);
  // The column that names the rows; "row" counts them when the file has no such column.
  const bool counted = f.id == "row" && std::ranges::find(table.header, f.id) == table.header.end();
  const std::size_t id_column = f.id.empty() || counted ? 0 : table.column(f.id);
  const std::vector<double> said = model->predict(table, ThreadPool(f.threads), unknown_words(f.allow_unknown));
  const std::vector<std::string> unknown =
      f.allow_unknown ? told_unknown_words(*model, table) : std::vector<std::string>();
  const std::size_t width = std::max<std::size_t>(1, classes.size());
  std::string text = f.id.empty() ? "" : csv_cell(f.id) + ",";
  text += csv_cell(model->target());
  if (f.probabilities)
    for (const std::string& word : classes) text += fmt::format(",{}", csv_cell(fmt::format("p({})", word)));
  if (!unknown.empty()) text += ",unknown";
  text += "\n";
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    if (!f.id.empty()) text += (counted ? fmt::format("{}", r + 1) : csv_cell(table.rows[r][id_column])) + ",";
    text += line_of(classes, std::span(said).subspan(r * width, width), f.probabilities);
    if (!unknown.empty()) text += "," + csv_cell(unknown[r]);
    text += "\n";
  }
  write_output(f.out, text);
  return kDone;
}

}  // namespace

Command predict_command() {
  const auto f = std::make_shared<PredictFlags>();
  Command command{"predict", "predict the rows of a CSV file with a table model"};
  command.arguments = {{"model", &f->model, "what `espalier train table` made: its run's folder or model.safetensors"},
                       {"csv", &f->csv, "rows with the columns the model was trained on; - reads standard input"}};
  command.options.add("out", f->out, "write here instead of to standard output").alias("o").metavar("FILE");
  command.options.add("id", f->id, "copy this column to the front; row: the number of the row, from 1")
      .metavar("COLUMN");
  command.options.add("probabilities", f->probabilities, "a column for every class");
  add_allow_unknown(command.options, f->allow_unknown, "; if there are any, a column \"unknown\" names their columns");
  add_threads(command.options, f->threads);
  return std::move(command).with(f, predict);
}

}  // namespace espalier::app
