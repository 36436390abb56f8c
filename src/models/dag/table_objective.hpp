// `table` for the trainer: a DagNN on the rows of a CSV file.
#pragma once

#include "espalier/trainer.hpp"
#include "models/dag/table_data.hpp"
#include "models/dag/table_shape.hpp"

namespace espalier {

struct TableOptions {
  std::string csv, target, kind = "auto";
  std::vector<std::size_t> hidden{16};
  LayeredOptions network;
  bool impute = false;
  bool no_skip = false;  // without edges from every input to every output beside the hidden layers, 0 in the beginning
  double test_fraction = 0.25, validation_fraction = 0.2;
  std::size_t batch_size = 32;
  std::size_t grow = 0;    // splits, spread over the first half of training
  double prune = 0;        // per cent of the edges, taken in five steps in the second half
  bool reference = false;  // the plain sequential code instead of the fast one
};
Fields fields_of(TableOptions& options);

// Loss (mean) and, when wanted, its gradient for outputs [B][outputs]: cross-entropy over classes, or half the
// squared error of the standardised target.
double table_loss(bool classifies, std::span<const float> outputs, std::span<const float> targets,
                  std::vector<float>* gradient);
// Fraction of classes right, or R squared.
double table_score(bool classifies, std::span<const float> outputs, std::span<const float> targets);

// A linear model trained on the same rows: softmax regression, or least squares by normal equations.
std::vector<float> linear_predictions(bool classifies, std::size_t inputs, std::size_t outputs,
                                      std::span<const float> x, std::span<const float> y,
                                      std::span<const float> x_test);

class TableObjective : public Objective {
 public:
  TableObjective(const TableOptions& options, std::uint64_t seed);

  Parameters& parameters() override { return shape_.parameters(); }
  double accumulate(std::uint64_t batch, const ThreadPool& pool, PhaseSeconds& phases) override;
  Evaluation evaluate(const ThreadPool& pool) override;
  void begin_step(std::uint64_t step, double progress, double last_loss) override;
  std::unique_ptr<Model> snapshot(std::span<const float> weights, const SafetensorsFile& state) const override;
  Facts report(const Model& best, const ThreadPool& pool) const override;

 private:
  struct Rows {
    std::vector<float> x, y;
  };
  TableObjective(const TableOptions& options, std::uint64_t seed, const CsvTable& table);
  static DagNN make_network(const TableOptions& options, const TableSchema& schema, std::uint64_t seed);
  double accumulate_reference(std::span<const float> x, std::span<const float> y);
  void grow(std::uint64_t event);
  void prune(std::uint64_t event);

  TableOptions options_;
  std::uint64_t seed_;
  TableSplit split_;
  TableSchema schema_;
  Rows train_, validation_, test_;
  TableShape shape_;
  std::vector<std::uint32_t> order_;
  std::uint64_t shuffled_epoch_ = ~std::uint64_t{0};
};

}  // namespace espalier
