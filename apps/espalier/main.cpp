// The espalier program: parse, run one command, turn errors into one line and an exit code.
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>

#include "commands.hpp"
#include "espalier/error.hpp"

namespace {

using namespace espalier::app;

// Never throws, even when standard error cannot be written.
int complain(const std::string& text, int exit_code) {
  std::fputs(("espalier: " + text + "\n").c_str(), stderr);
  return exit_code;
}

int run(int argc, char** argv) {
  CLI::App program("Trains networks that live on graphs and lattices, with the same bits for any number of threads.",
                   "espalier");
  program.set_version_flag("--version", "espalier 0.1.0");
  program.footer("Start with: espalier train checkerboard");
  int exit_code = kDone;
  add_train_command(program, exit_code);
  add_eval_command(program, exit_code);
  add_run_command(program, exit_code);
  add_info_command(program, exit_code);
  add_circuit_command(program, exit_code);
  add_export_command(program, exit_code);
  add_verify_command(program, exit_code);
  add_bench_command(program, exit_code);
  add_rewrite_command(program, exit_code);
  add_predict_command(program, exit_code);
  add_ged_command(program, exit_code);
  add_data_command(program, exit_code);
  // After the commands, which would inherit it: a word that is no command is named as such.
  program.allow_extras();
  try {
    program.parse(argc, argv);
    if (program.get_subcommands().empty()) {
      if (!program.remaining().empty()) throw CLI::ExtrasError({program.remaining().front()});
      throw CLI::RequiredError("A command");
    }
    return exit_code;
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", program.help());
    return kDone;
  } catch (const CLI::Success& e) {
    return program.exit(e);  // --version
  } catch (const CLI::ParseError& e) {
    return complain(fmt::format("{}; try --help", e.what()), kUsage);
  } catch (const std::bad_alloc&) {
    return complain("out of memory", kFailed);
  } catch (const std::exception& e) {  // espalier::Error and what the system throws
    return complain(e.what(), kFailed);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit is then an error of the write, which is reported
  const int exit_code = run(argc, argv);
  if (std::fflush(stdout) != 0) return complain("standard output cannot be written", exit_code ? exit_code : kFailed);
  return exit_code;
}
