// The espalier program: parse, run one command, turn errors into one line and an exit code.
#include <fmt/format.h>

#include <exception>

#include "app/commands.hpp"
#include "espalier/core/error.hpp"

int main(int argc, char** argv) {
  using namespace espalier::app;
  CLI::App program("Trains networks that live on graphs and lattices, with the same bits for any number of threads.",
                   "espalier");
  program.set_version_flag("--version", "espalier 0.1.0");
  program.require_subcommand(1);
  program.footer("Start with: espalier train checkerboard");
  int exit_code = kDone;
  add_train_command(program, exit_code);
  add_eval_command(program, exit_code);
  add_run_command(program, exit_code);
  add_info_command(program, exit_code);
  add_circuit_command(program, exit_code);
  add_export_command(program, exit_code);
  add_verify_command(program, exit_code);
  add_rewrite_command(program, exit_code);
  add_predict_command(program, exit_code);
  add_ged_command(program, exit_code);
  add_data_command(program, exit_code);
  try {
    program.parse(argc, argv);
    return exit_code;
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", program.help());
    return kDone;
  } catch (const CLI::Success& e) {
    return program.exit(e);  // --help of a command, --version
  } catch (const CLI::ParseError& e) {
    fmt::print(stderr, "espalier: {}; try --help\n", e.what());
    return kUsage;
  } catch (const espalier::Error& e) {
    fmt::print(stderr, "espalier: {}\n", e.what());
    return kFailed;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "espalier: out of memory\n");
    return kFailed;
  } catch (const std::exception& e) {
    fmt::print(stderr, "espalier: {}\n", e.what());
    return kFailed;
  }
}
