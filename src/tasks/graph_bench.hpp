// The bench cases of the graph room: each runs by itself and gives its figures as one JSON object.
#pragma once

#include "espalier/tasks/task.hpp"

namespace espalier {

// DagNN of 10,000 nodes and 200,000 edges, 256 samples, forward and backward: one thread, two, the plain reference.
Json bench_dag();
// Message passing over 100,000 nodes and 1,000,000 edges with 64 features, forward and backward, against the bound
// set by measured copy and multiply-add rates; `hub`: one node has a tenth of all edges.
Json bench_message(bool hub);
// Mini-batches of the simplify task: one thread against two.
Json bench_simplify();
// Exact edit distance of pairs of 10-node graphs; bounds of a pair of 1,000-node graphs.
Json bench_ged();

}  // namespace espalier
