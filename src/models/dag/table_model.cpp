#include "models/dag/table_model.hpp"

#include <fmt/format.h>

#include "espalier/error.hpp"
#include "runs/config.hpp"
#include "runs/checkpoint.hpp"

namespace espalier {

TableModel load_table_model(const SafetensorsFile& file) {
  const Json config = parse_config(file.meta("config"), "the model's config");
  if (config.at("task") != "table")
    fail("table model", fmt::format("a model of the task {}", config.at("task").dump()), "one of table",
         "make one with: espalier train table --csv FILE --target COLUMN");
  TableSchema schema = TableSchema::from_json(file.meta("table"));
  Parameters layout;
  for (const char* name : {"weight", "bias", "edges", "nodes", "unit"}) layout.add(name, file.tensor(name).shape);
  const std::size_t edges = layout.tensors()[0].size, nodes = layout.tensors()[1].size;
  if (layout.tensors()[2].size != 4 * edges || layout.tensors()[3].size != 2 * nodes || layout.tensors()[4].size != 1)
    fail("table model", "tensors that do not fit together", "edges [E][4], nodes [N][2] and unit [1]");
  load_parameters(layout, file);
  DagNN network = TableShape::decode(layout, layout.values(), config.at("fan-in-scaling").get<bool>());
  if (network.num_inputs() != schema.num_inputs() || network.num_outputs() != schema.num_outputs())
    fail("table model",
         fmt::format("a network of {} inputs and {} outputs", network.num_inputs(), network.num_outputs()),
         fmt::format("{} and {} as the columns have", schema.num_inputs(), schema.num_outputs()));
  network.train(false);
  return {std::move(schema), std::move(network)};
}

}  // namespace espalier
