// The commands of the program, one file each.
#pragma once

#include "command_line.hpp"

namespace espalier::app {

Command train_command();
Command eval_command();
Command run_command();
Command sweep_command();
Command info_command();
Command circuit_command();
Command export_command();
Command verify_command();
Command refine_command();
Command prove_command();
Command bench_command();
Command rewrite_command();
Command predict_command();
Command ged_command();
Command data_command();

// The cost of ranks, measured under mpirun: prints one line per size and per task, or one JSON object; an exit code.
int comm_bench(double seconds, bool json);

}  // namespace espalier::app
