// A network on the rows of a table, with how its columns become numbers: the model that the table task trains.
#pragma once

#include <memory>

#include "espalier/dag_nn.hpp"
#include "espalier/model.hpp"
#include "models/dag/table_data.hpp"

namespace espalier {

class TableModel : public Model {
 public:
  static constexpr const char* kKind = "table network";

  // An Error when the network has not one input per number of a row and one output per number of a target.
  TableModel(TableSchema schema, DagNN network);
  static std::unique_ptr<TableModel> load(const SafetensorsFile& file, const std::string& name);

  std::string kind() const override { return kKind; }
  Parameters& parameters() override { return network_.parameters(); }
  const Parameters& parameters() const override { return network_.parameters(); }
  void describe(SafetensorsFile& file) const override;
  Facts facts() const override;

  const TableSchema& schema() const { return schema_; }
  DagNN& network() { return network_; }
  const DagNN& network() const { return network_; }

 private:
  TableSchema schema_;
  DagNN network_;
};

// The schema as the JSON text of model files.
std::string schema_text(const TableSchema& schema);
TableSchema schema_from(const std::string& text, const std::string& name);

}  // namespace espalier
