// `table` for the trainer: a DagNN on the rows of a CSV file, which may grow and be pruned while it trains.
#pragma once

#include "data/rows.hpp"
#include "data/table_schema.hpp"
#include "espalier/dag_nn.hpp"
#include "espalier/trainer.hpp"

namespace espalier {

struct TableOptions {
  std::string csv, target, kind = "auto";
  std::vector<std::size_t> hidden{16};
  LayeredOptions network;
  std::vector<std::string> words;  // columns that are words, though their values may be numbers
  bool impute = false;
  bool no_skip = false;  // without edges from every input to every output beside the hidden layers, 0 in the beginning
  double test_fraction = 0.25, validation_fraction = 0.2;
  std::size_t batch_size = 32;
  std::size_t grow = 0;    // splits, spread over the first half of training
  double prune = 0;        // per cent of the edges, taken in five steps in the second half
  bool reference = false;  // the plain sequential code instead of the fast one
};
Fields fields_of(TableOptions& options);

// A linear model trained on the same rows: softmax regression, or least squares by normal equations.
std::vector<float> linear_predictions(bool classifies, std::size_t inputs, std::size_t outputs,
                                      std::span<const float> x, std::span<const float> y, std::span<const float> x_test,
                                      const ThreadPool& pool = calling_thread());

// Three parts of the rows: gradients see `train` alone; `validation` chooses (the step, the linear model or the
// network, the seed); `test` judges the best model alone, at the end. A test row whose inputs are those of a row in
// another part judges nothing, as it may have been learned by heart.
//
// Parameters have a fixed size, as the trainer and its optimizer want them, and a place for every id that growth may
// ever give: the weight of edge e is weight[e] as long as e lives, so an optimizer's state stays with its edge. The
// shape is the objective's state.
class TableObjective : public Objective {
 public:
  TableObjective(const TableOptions& options, std::uint64_t seed);  // reads the file
  TableObjective(const TableOptions& options, std::uint64_t seed, const CsvTable& table);

  Parameters& parameters() override { return parameters_; }
  double accumulate(std::uint64_t batch, const ThreadPool& pool, PhaseSeconds& phases) override;
  Evaluation evaluate(const ThreadPool& pool) override;
  void begin_step(std::uint64_t step, double progress) override;
  SafetensorsFile state() const override;
  void restore_state(const SafetensorsFile& state) override;
  std::unique_ptr<Model> snapshot(std::span<const float> weights, const SafetensorsFile& state) const override;
  Verdict judge(const Model& best, const ThreadPool& pool) const override;
  Facts report(const Model& best, const ThreadPool& pool) const override;
  Provenance origin() const override { return begins_linear() ? Provenance{{"least-squares", 1}} : Provenance(); }
  std::string score_text(const Evaluation& evaluation) const override;

 private:
  struct Rows {
    std::vector<float> x, y, at_start;  // the last: what the network says as it begins
  };
  static DagNN make_network(const TableOptions& options, const TableSchema& schema, std::uint64_t seed);
  void forget_known_test_rows();
  double accumulate_reference(std::span<const float> x, std::span<const float> y, PhaseSeconds& phases);
  DagNN shape_from(const SafetensorsFile& state) const;
  void start_from_linear();
  bool begins_linear() const {
    return std::ranges::any_of(start_, [](float x) { return x != 0; });
  }
  std::vector<float> start_from(const SafetensorsFile& state) const;
  DagNN& network();       // with the weights that the parameters have now
  void take_gradients();  // adds those of the network to those of the parameters
  void take_weights();    // after edits of the network
  void find_places();     // after edits or a new network
  void grow(std::uint64_t event);
  void prune(std::uint64_t event);

  TableOptions options_;
  std::uint64_t seed_;
  TableSplit split_;
  EpochOrder order_;  // of the rows to train on
  TableSchema schema_;
  Rows train_, validation_, test_;
  std::size_t known_test_rows_ = 0;  // with inputs of another part, and left out
  DagNN network_;
  std::size_t max_edges_, max_nodes_;
  Parameters parameters_;     // "weight" [max_edges], "bias" [max_nodes], by id; 0 where there is none
  std::vector<float> start_;  // [parameters] what the network's weights have beyond the parameters
  // Place in the network's parameters and place in parameters_, for every weight and bias there is.
  std::vector<std::pair<std::size_t, std::size_t>> places_;
  std::uint64_t grown_ = 0, pruned_ = 0;  // events so far
};

}  // namespace espalier
