// Readers of graphs, tables and expressions.
#include <string>

#include "data/table_schema.hpp"
#include "espalier/graph.hpp"
#include "fuzz/entries.hpp"
#include "fuzz/read_or_refuse.hpp"
#include "models/message/simplify_data.hpp"

namespace espalier::fuzz {
namespace {

void expect_round_trip(const LabelledGraph& graph) {
  graph.check();
  const std::string text = graph_to_json(graph);
  expect(graph_to_json(graph_from_json(text, "our own output")) == text, "a graph survives a round trip");
}

}  // namespace

void graph_json(std::span<const std::byte> bytes) {
  read_or_refuse([&] { expect_round_trip(graph_from_json(text_of(bytes), "input")); });
}

void graph_gxl(std::span<const std::byte> bytes) {
  read_or_refuse([&] { expect_round_trip(graph_from_gxl(text_of(bytes), "input")); });
}

void csv(std::span<const std::byte> bytes) {
  read_or_refuse([&] {
    const CsvTable table = parse_csv(text_of(bytes), "input");
    expect(table.lines.size() == table.rows.size(), "every row has its line");
    for (const auto& row : table.rows) expect(row.size() == table.header.size(), "rows are as long as the header");
    std::vector<std::size_t> rows(table.rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = i;
    const TableSchema schema = TableSchema::fit(table, rows, table.header.back(), "auto", rows.size() % 2);
    expect(schema.inputs_of(table, rows).size() == rows.size() * schema.num_inputs(), "a number for every input");
    expect(schema.targets_of(table, rows).size() == rows.size(), "a target for every row");
  });
}

void simplify_lines(std::span<const std::byte> bytes) {
  const Vocabulary words = arithmetic_vocabulary(9, {"x", "y", "z"});
  read_or_refuse([&] {
    for (const Expression& e : read_simplify_lines(std::string(text_of(bytes)), words))
      expect(read_simplify_lines(simplify_line(e, words), words).size() == 1, "an expression survives a round trip");
  });
}

}  // namespace espalier::fuzz
