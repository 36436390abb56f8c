// The cost of ranks, measured under mpirun.
#pragma once

namespace espalier::app {

// Prints one line per size and per task, or one JSON object; an exit code.
int comm_bench(double seconds, bool json);

}  // namespace espalier::app
