// TableModel: what it says of rows, and its file.
#include <fmt/format.h>

#include "base/text.hpp"
#include "data/rows.hpp"
#include "data/table_schema.hpp"
#include "espalier/dag_nn.hpp"
#include "espalier/error.hpp"
#include "train/losses.hpp"

namespace espalier {

TableModel::TableModel(TableSchema schema, DagNN network)
    : schema_(std::make_shared<const TableSchema>(std::move(schema))), network_(std::move(network)) {
  if (network_.num_inputs() != schema_->num_inputs() || network_.num_outputs() != schema_->num_outputs())
    fail("table model",
         fmt::format("a network of {} inputs and {} outputs", network_.num_inputs(), network_.num_outputs()),
         fmt::format("{} and {} as the columns have", schema_->num_inputs(), schema_->num_outputs()));
  network_.apply_edits();
}

std::unique_ptr<TableModel> TableModel::load(const SafetensorsFile& file, const std::string& name) {
  return std::make_unique<TableModel>(schema_from(file.meta("table"), name), DagNN::load(file));
}

void TableModel::describe(SafetensorsFile& file) const {
  // A network's own file has its weights by id; those in the order of the kernels are not needed beside them.
  for (const TensorInfo& t : parameters().tensors()) file.tensors.erase(t.name);
  network_.save(file);
  file.metadata["table"] = schema_text(*schema_);
}

Facts TableModel::facts() const {
  return {{"kind", std::string(schema_->classifies() ? "classify" : "regress")},
          {"nodes", static_cast<std::int64_t>(network_.topology().nodes().size())},
          {"edges", static_cast<std::int64_t>(network_.topology().edges().size())}};
}

std::vector<std::string> TableModel::columns() const {
  std::vector<std::string> names;
  for (const TableColumn& column : schema_->inputs) names.push_back(column.name);
  return names;
}

const std::string& TableModel::target() const { return schema_->target.name; }
const std::vector<std::string>& TableModel::classes() const { return schema_->target.words; }

std::vector<UnknownWord> TableModel::unknown_words(const CsvTable& table) const {
  return schema_->unknown_words(table);
}

std::vector<float> TableModel::inputs_of(const CsvTable& table, UnknownWords unknown) const {
  std::vector<float> inputs = schema_->inputs_of(table, all_rows(table.rows.size()));
  if (unknown == UnknownWords::kAllow) return inputs;
  const std::vector<UnknownWord> words = unknown_words(table);
  if (words.empty()) return inputs;
  const UnknownWord& first = words.front();
  const std::string more = words.size() > 1 ? fmt::format("; {} such words in all", words.size()) : "";
  fail("table",
       fmt::format("\"{}\" in column \"{}\", line {} ({}{})", one_line(first.word), first.column,
                   table.lines[first.rows.front()], counted(first.rows.size(), "row"), more),
       "words that the model was trained on",
       (first.nearest.empty() ? "" : fmt::format("did you mean \"{}\"? Else ", one_line(first.nearest))) +
           "allow unknown words, which count as none of those it knows");
}

std::vector<double> TableModel::predict(const CsvTable& table, const ThreadPool& pool, UnknownWords unknown) const {
  DagNN network = network_;
  const std::span<const float> said = network.forward(inputs_of(table, unknown), table.rows.size(), pool);
  std::vector<double> values(said.begin(), said.end());
  if (!schema_->classifies()) {
    for (double& value : values) value = value * schema_->target.deviation + schema_->target.mean;
    return values;
  }
  const std::size_t width = schema_->num_outputs();
  for (std::size_t at = 0; at < values.size(); at += width) softmax(std::span(values).subspan(at, width));
  return values;
}

Evaluation TableModel::evaluate(const CsvTable& table, const ThreadPool& pool, UnknownWords unknown) const {
  if (table.rows.empty()) fail("evaluate", "a table without rows", "one row or more");
  DagNN network = network_;
  return judge_outputs(schema_->classifies(), network.forward(inputs_of(table, unknown), table.rows.size(), pool),
                       schema_->targets_of(table, all_rows(table.rows.size())));
}

}  // namespace espalier
