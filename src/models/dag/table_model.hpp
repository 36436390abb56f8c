// A trained `table` model from its file.
#pragma once

#include "espalier/safetensors.hpp"
#include "models/dag/table_data.hpp"
#include "models/dag/table_shape.hpp"

namespace espalier {

struct TableModel {
  TableSchema schema;
  DagNN network;
};
// An Error when the file is of another task or does not fit together.
TableModel load_table_model(const SafetensorsFile& file);

}  // namespace espalier
