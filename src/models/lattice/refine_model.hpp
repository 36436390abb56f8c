// A trained automaton improved by search over its hardened circuit.
#pragma once

#include <memory>

#include "espalier/lattice_model.hpp"
#include "models/lattice/rollout_score.hpp"

namespace espalier {

class ModelRefiner {
 public:
  ModelRefiner(const LatticeModel& model, const SearchOptions& options, const ThreadPool& pool,
               const LaneOptions& lanes = {}, bool demands = true);

  CircuitSearch& search() { return *search_; }
  const CircuitSearch& search() const { return *search_; }
  const SearchScore& before() const { return before_; }
  // Boards that decide, over all of which wrong bits are counted. Of a single step, where neighbourhoods count once
  // each: boards of as many cells as there are neighbourhoods.
  double boards() const { return boards_; }
  // The best so far, as a model; finished if no bit is wrong and its goal has something to be built.
  std::unique_ptr<LatticeModel> best(const ThreadPool& pool = calling_thread()) const;
  // What was done to the model that it began with.
  Provenance provenance(const ThreadPool& pool = calling_thread()) const;

  // All that is needed to go on with the same bits, and to refuse to go on with another model or other options.
  SafetensorsFile checkpoint() const;
  void restore(const SafetensorsFile& file, const ThreadPool& pool);

 private:
  // Whether its goal wants something to be built around the circuit that was found.
  bool unfinished(const LatticeModel& model, const ThreadPool& pool) const;

  const LatticeModel& model_;
  SearchOptions options_;
  std::vector<int> channels_;
  std::unique_ptr<LaneScore> score_;
  double boards_ = 1;
  SearchScore before_;
  std::unique_ptr<CircuitSearch> search_;
};

}  // namespace espalier
