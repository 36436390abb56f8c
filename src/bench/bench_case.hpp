// One benchmark of `espalier bench`: a piece of work with its own unit, the least the machine must do for it,
// a hash that shows that the result does not depend on threads, and, where there is one, the plain scalar
// twin. Each room keeps its cases in one file, src/ROOM/*_bench.cpp.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "espalier/run.hpp"
#include "espalier/thread_pool.hpp"

namespace espalier {

// A case made ready to run: whatever it needs is built, and lives in the functions.
struct BenchBody {
  // The timed work. May go on from where the last call ended, as training does.
  std::function<void(const ThreadPool&)> run;
  // Not timed: some of the work from a fixed start; the hash of its result.
  std::function<std::string(const ThreadPool&)> result;
};

// A body that does the same each time: `work` gives a result, of which `hash` makes a text.
template <class Work, class Hash>
BenchBody same_work(Work work, Hash hash) {
  return {[work](const ThreadPool& pool) { work(pool); }, [=](const ThreadPool& pool) { return hash(work(pool)); }};
}

// The plain scalar code doing the same kind of work, as a rule on a smaller problem.
struct BenchReference {
  double work = 0;  // units of one run
  std::function<void()> run;
};

struct BenchCase {
  std::string name;                    // "room/what", e.g. "lattice/checkerboard"
  std::string unit;                    // of the throughput: "gates/s", "edges/s", "cells/s"
  double work = 0;                     // units of one run
  double flops = 0;                    // floating-point operations of one run; 0 = not counted
  double bytes = 0;                    // bytes that one run must at least read and write; 0 = not counted
  std::function<BenchBody()> prepare;  // called when the case is about to run
  std::function<BenchReference()> prepare_reference = {};  // empty = no scalar twin
};

using BenchList = std::vector<BenchCase>;

// Each room adds its cases to the list.
void add_thread_bench(BenchList& cases);
void add_train_bench(BenchList& cases);
void add_circuit_bench(BenchList& cases);
void add_graph_bench(BenchList& cases);
void add_edit_bench(BenchList& cases);
void add_lattice_bench(BenchList& cases);
void add_lattice_scaling_bench(BenchList& cases);
void add_refine_bench(BenchList& cases);
void add_run_bench(BenchList& cases);

// All cases, in the order of `espalier bench --list`.
const BenchList& all_bench_cases();

// A body that trains a task one step per run: zero_grad, gradients of a fresh mini-batch, optimizer step.
// Its result is the hash of the weights after `result_steps` steps from the start.
BenchBody training_body(const RunConfig& config, int result_steps = 3);

}  // namespace espalier
