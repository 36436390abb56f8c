// espalier predict MODEL FILE.csv: what a table model says about every row.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "checks.hpp"
#include "commands.hpp"
#include "base/files.hpp"
#include "runs/run_folder.hpp"
#include "models/dag/table_model.hpp"

namespace espalier::app {
namespace {

struct PredictFlags {
  std::string model, csv, out;
  bool probabilities = false;
  int threads = 0;
};

std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

// One line: the class (and its softmax probabilities), or the number in the target's own unit.
std::string line_of(const TableSchema& schema, std::span<const float> y, bool probabilities) {
  if (!schema.classifies())
    return fmt::format("{:.6g}", static_cast<double>(y[0]) * schema.target.deviation + schema.target.mean);
  const auto best = std::max_element(y.begin(), y.end());
  std::string line = cell(schema.target.words[static_cast<std::size_t>(best - y.begin())]);
  if (!probabilities) return line;
  double sum = 0;
  for (const float x : y) sum += std::exp(static_cast<double>(x - *best));
  for (const float x : y) line += fmt::format(",{:.4f}", std::exp(static_cast<double>(x - *best)) / sum);
  return line;
}

void predict(const PredictFlags& f) {
  check_output("-o", f.out, {f.csv, RunFolder::model_file(f.model)});
  TableModel model = load_table_model(read_safetensors(RunFolder::model_file(f.model)));
  const CsvTable table = parse_csv(read_text(f.csv), f.csv);
  std::vector<std::size_t> rows(table.rows.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  const std::vector<float> x = model.schema.inputs_of(table, rows);
  const ThreadPool pool(f.threads);
  const std::span<const float> y = model.network.forward(x, rows.size(), pool);
  const std::size_t width = model.schema.num_outputs();
  std::string text = cell(model.schema.target.name);
  if (f.probabilities && model.schema.classifies())
    for (const std::string& word : model.schema.target.words) text += "," + cell("p(" + word + ")");
  text += "\n";
  for (std::size_t r = 0; r < rows.size(); ++r)
    text += line_of(model.schema, y.subspan(r * width, width), f.probabilities) + "\n";
  if (f.out.empty())
    fmt::print("{}", text);
  else
    write_atomically(f.out, text);
}

}  // namespace

void add_predict_command(CLI::App& program, int&) {
  CLI::App* command = program.add_subcommand("predict", "say what a table model predicts for the rows of a CSV file");
  auto flags = std::make_shared<PredictFlags>();
  command->add_option("model", flags->model, "what `espalier train table` made: its run's folder or model.safetensors")
      ->required()
      ->type_name("MODEL");
  command->add_option("csv", flags->csv, "rows with the columns the model was trained on")
      ->required()
      ->type_name("FILE.csv");
  command->add_option("-o,--out", flags->out, "write here instead of to standard output")->type_name("FILE");
  command->add_flag("--probabilities", flags->probabilities, "a column for every class");
  command->add_option("--threads", flags->threads, "worker threads; 0 = all cores");
  command->callback([flags] { predict(*flags); });
}

}  // namespace espalier::app
