#include "models/dag/table_model.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "espalier/error.hpp"
#include "models/dag/table_shape.hpp"

namespace espalier {

TableModel::TableModel(TableSchema schema, DagNN network, Parameters stored)
    : schema_(std::move(schema)), network_(std::move(network)), stored_(std::move(stored)) {}

std::unique_ptr<TableModel> TableModel::load(const SafetensorsFile& file, const std::string& name) {
  TableSchema schema = TableSchema::from_json(file.meta("table"));
  Parameters layout;
  for (const char* tensor : {"weight", "bias", "edges", "nodes", "unit"}) layout.add(tensor, file.tensor(tensor).shape);
  const std::size_t edges = layout.tensors()[0].size, nodes = layout.tensors()[1].size;
  if (layout.tensors()[2].size != 4 * edges || layout.tensors()[3].size != 2 * nodes || layout.tensors()[4].size != 1)
    fail("table model", "tensors that do not fit together", "edges [E][4], nodes [N][2] and unit [1]");
  load_parameters(layout, file);
  const nlohmann::json config = parse_json(file.meta("config"), name);
  DagNN network = TableShape::decode(layout, layout.values(), config.value("fan-in-scaling", false));
  if (network.num_inputs() != schema.num_inputs() || network.num_outputs() != schema.num_outputs())
    fail("table model",
         fmt::format("a network of {} inputs and {} outputs", network.num_inputs(), network.num_outputs()),
         fmt::format("{} and {} as the columns have", schema.num_inputs(), schema.num_outputs()));
  network.train(false);
  return std::make_unique<TableModel>(std::move(schema), std::move(network), std::move(layout));
}

void TableModel::describe(SafetensorsFile& file) const { file.metadata["table"] = schema_.to_json().dump(); }

Facts TableModel::facts() const {
  return {{"kind", schema_.classifies() ? std::string("classify") : std::string("regress")},
          {"nodes", static_cast<std::int64_t>(network_.topology().nodes().size())},
          {"edges", static_cast<std::int64_t>(network_.topology().edges().size())}};
}

}  // namespace espalier
