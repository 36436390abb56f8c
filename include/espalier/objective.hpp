// What the trainer trains: anything that can add the gradients of a mini-batch to its Parameters and judge
// itself. Lattices and graphs both stand behind this interface.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "espalier/thread_pool.hpp"
#include "espalier/parameters.hpp"

namespace espalier {

class SafetensorsFile;

// Where the time of an epoch went; filled in by objectives, reported by `--timing`.
struct PhaseSeconds {
  double forward = 0, backward = 0, reduction = 0, optimizer = 0;
};

// One judgement of the current weights.
struct Evaluation {
  double score = 0;     // fraction right, the larger the better
  bool solved = false;  // nothing left to learn on the validation set
  double loss = 0;      // validation loss; for logic tasks the hard loss; breaks ties of score
  std::vector<std::pair<std::string, double>> extra;  // further columns of metrics.csv, always the same ones
};

class Objective {
 public:
  virtual ~Objective() = default;

  virtual Parameters& parameters() = 0;

  // Adds the gradients of mini-batch number `batch` to parameters().gradients() and returns its loss. A pure
  // function of (weights, batch): the same bits for any pool.
  virtual double accumulate(std::uint64_t batch, const ThreadPool& pool, PhaseSeconds& phases) = 0;

  virtual Evaluation evaluate(const ThreadPool& pool) = 0;

  // Tensors and metadata that a model file needs beside the weights (wiring, vocabulary, shape).
  virtual void describe(SafetensorsFile& file) const = 0;

  // Called once per step before the first accumulate: temperature, noise and other things that follow a plan.
  // `progress` is step / total steps, `last_loss` the loss of the step before (NaN before the first).
  virtual void begin_step(std::uint64_t /*step*/, double /*progress*/, double /*last_loss*/) {}

  // For the report at the end of training: gate counts and the like.
  // `weights` are the best ones, in the order of parameters().values().
  virtual void report(nlohmann::json& /*summary*/, std::span<const float> /*weights*/) const {}
};

}  // namespace espalier
