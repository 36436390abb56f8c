// The commands of the program, one file each. A command adds itself to the parser; its callback runs after
// parsing and leaves the exit code in `exit_code`.
#pragma once

#include <CLI/CLI.hpp>

#include "espalier/error.hpp"

namespace espalier::app {

enum ExitCode { kDone = 0, kFailed = 1, kUsage = 2, kUnsolved = 3, kInterrupted = 130 };

// Runs `check` and turns its Error, a wrong word on the command line, into one of usage.
template <class Check>
void as_usage(Check&& check) {
  try {
    check();
  } catch (const Error& e) {
    throw CLI::ValidationError(e.what());
  }
}

void add_train_command(CLI::App& program, int& exit_code);
void add_eval_command(CLI::App& program, int& exit_code);
void add_run_command(CLI::App& program, int& exit_code);
void add_info_command(CLI::App& program, int& exit_code);
void add_circuit_command(CLI::App& program, int& exit_code);
void add_export_command(CLI::App& program, int& exit_code);
void add_verify_command(CLI::App& program, int& exit_code);
void add_bench_command(CLI::App& program, int& exit_code);
void add_rewrite_command(CLI::App& program, int& exit_code);
void add_predict_command(CLI::App& program, int& exit_code);
void add_ged_command(CLI::App& program, int& exit_code);
void add_data_command(CLI::App& program, int& exit_code);

}  // namespace espalier::app
