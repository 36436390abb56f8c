// espalier predict MODEL FILE.csv: what a table model says about every row.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/files.hpp"
#include "commands.hpp"
#include "model_argument.hpp"
#include "output.hpp"

namespace espalier::app {
namespace {

struct PredictFlags {
  std::string model, csv, out, id;
  bool probabilities = false;
  int threads = 0;
};

// One line: the class (and its softmax probabilities), or the number in the target's own unit.
std::string line_of(const TableSchema& schema, std::span<const float> y, bool probabilities) {
  if (!schema.classifies())
    return fmt::format("{:.6g}", static_cast<double>(y[0]) * schema.target.deviation + schema.target.mean);
  const auto best = std::max_element(y.begin(), y.end());
  std::string line = csv_cell(schema.target.words[static_cast<std::size_t>(best - y.begin())]);
  if (!probabilities) return line;
  double sum = 0;
  for (const float x : y) sum += std::exp(static_cast<double>(x - *best));
  for (const float x : y) line += fmt::format(",{:.4f}", std::exp(static_cast<double>(x - *best)) / sum);
  return line;
}

int predict(const PredictFlags& f) {
  check_output("-o", f.out, {f.csv, f.model});
  const auto model = load_model_as<TableModel>(f.model, "table");
  const TableSchema& schema = model->schema();
  const CsvTable table = read_csv(f.csv);
  // The column that names the rows; "row" counts them when the file has no such column.
  const bool counted = f.id == "row" && std::ranges::find(table.header, f.id) == table.header.end();
  const std::size_t id_column = f.id.empty() || counted ? 0 : table.column(f.id);
  std::vector<std::size_t> rows(table.rows.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  const std::vector<float> x = schema.inputs_of(table, rows);
  const ThreadPool pool(f.threads);
  const std::span<const float> y = model->network().forward(x, rows.size(), pool);
  const std::size_t width = schema.num_outputs();
  std::string text = f.id.empty() ? "" : csv_cell(f.id) + ",";
  text += csv_cell(schema.target.name);
  if (f.probabilities && schema.classifies())
    for (const std::string& word : schema.target.words)
      text += fmt::format(",{}", csv_cell(fmt::format("p({})", word)));
  text += "\n";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (!f.id.empty()) text += (counted ? fmt::format("{}", r + 1) : csv_cell(table.rows[r][id_column])) + ",";
    text += line_of(schema, y.subspan(r * width, width), f.probabilities) + "\n";
  }
  write_output(f.out, text);
  return kDone;
}

}  // namespace

Command predict_command() {
  const auto f = std::make_shared<PredictFlags>();
  Command command{"predict", "say what a table model predicts for the rows of a CSV file"};
  command.arguments = {{"model", &f->model, "what `espalier train table` made: its run's folder or model.safetensors"},
                       {"csv", &f->csv, "rows with the columns the model was trained on; - reads standard input"}};
  command.options.add("out", f->out, "write here instead of to standard output").alias("o").metavar("FILE");
  command.options.add("id", f->id, "first copy this column; row: the number of the row, from 1").metavar("COLUMN");
  command.options.add("probabilities", f->probabilities, "a column for every class");
  add_threads(command.options, f->threads);
  command.keeps = f;
  command.run = [f] { return predict(*f); };
  return command;
}

}  // namespace espalier::app
