// Tables from arrays: the recipe of the table task (edges from inputs to outputs, weight decay, the best weights by
// rows that were not trained on) for the estimators.
#include <fmt/format.h>

#include "common.hpp"
#include "espalier/error.hpp"
#include "espalier/model.hpp"
#include "models/dag/table_objective.hpp"

namespace espalier::python {
namespace {

// Numbers as cells, none of them rounded. Classes have as many digits as any other, so that they are ordered as
// numbers.
CsvTable table_of(const InArray<double>& x, const InArray<double>& y, bool classes) {
  if (x.ndim() != 2 || y.ndim() != 1 || x.shape(0) != y.shape(0)) fail("fit", "rows without targets", "one of each");
  CsvTable table;
  for (std::size_t c = 0; c < x.shape(1); ++c) table.header.push_back(fmt::format("x{}", c));
  table.header.emplace_back("y");
  for (std::size_t r = 0; r < x.shape(0); ++r) {
    std::vector<std::string> row;
    for (std::size_t c = 0; c < x.shape(1); ++c) row.push_back(fmt::format("{}", x.data()[r * x.shape(1) + c]));
    row.push_back(classes ? fmt::format("{:06}", static_cast<std::int64_t>(y.data()[r]))
                          : fmt::format("{}", y.data()[r]));
    table.rows.push_back(std::move(row));
    table.lines.push_back(r + 1);
  }
  return table;
}

// The model, then means and deviations of the inputs and, last, of the target.
nb::tuple fit_table(const InArray<double>& x, const InArray<double>& y, bool classes, const nb::list& settings,
                    std::uint64_t seed, int threads) {
  TableOptions options;
  options.target = "y";
  options.kind = classes ? "classify" : "regress";
  options.test_fraction = 0;
  TrainOptions train = find_task("table").train;
  Fields fields = fields_of(options);
  fields.append(fields_of(train));
  set_fields(fields, settings);
  const std::shared_ptr<Model> model = unlocked([&] {
    const ThreadPool pool(threads);
    TableObjective objective(options, seed, table_of(x, y, classes));
    Trainer trainer(objective, train, pool);
    trainer.run([](const Trainer&, bool) {
      const nb::gil_scoped_acquire acquire;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      return true;
    });
    return std::shared_ptr<Model>(trainer.best_model());
  });
  const TableSchema& schema = dynamic_cast<const TableModel&>(*model).schema();
  std::vector<double> means, deviations;
  for (const TableColumn& column : schema.inputs) {
    means.push_back(column.mean);
    deviations.push_back(column.deviation);
  }
  means.push_back(schema.target.mean);
  deviations.push_back(schema.target.deviation);
  return nb::make_tuple(model, to_array<double>(means, {means.size()}), to_array<double>(deviations, {means.size()}));
}

}  // namespace

void bind_tables(nb::module_& m) { m.def("fit_table", &fit_table); }

}  // namespace espalier::python
