// Each room adds its benchmark cases to the list.
#pragma once

#include "bench/bench_case.hpp"

namespace espalier {

void add_thread_bench(BenchList& cases);
void add_train_bench(BenchList& cases);
void add_circuit_bench(BenchList& cases);
void add_graph_bench(BenchList& cases);
void add_edit_bench(BenchList& cases);
void add_lattice_bench(BenchList& cases);
void add_lattice_scaling_bench(BenchList& cases);
void add_refine_bench(BenchList& cases);

}  // namespace espalier
