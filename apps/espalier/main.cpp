// The espalier program.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>

#include "commands.hpp"
#include "program_ranks.hpp"

namespace {

// A file that the program opens must not get the number of a closed standard stream: progress would end up in it.
void keep_standard_streams_open() {
  for (int descriptor = 0; descriptor < 3; ++descriptor)
    if (::fcntl(descriptor, F_GETFD) < 0) [[maybe_unused]]
      // Of standard output it must be noticed that nothing can be written.
      const int opened = ::open("/dev/null", descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY);
}

int run_program(int argc, char** argv) {
  using namespace espalier::app;
  Command program{"espalier",
                  "Trains networks that live on graphs and lattices, with the same bits for any number of threads."};
  program.footer = "Start with: espalier train checkerboard";
  program.commands = {train_command(),   eval_command(),    run_command(),     sweep_command(),  info_command(),
                      circuit_command(), export_command(),  verify_command(),  refine_command(), prove_command(),
                      bench_command(),   rewrite_command(), predict_command(), ged_command(),    data_command()};
  const int exit_code = run_command_line(program, "espalier " ESPALIER_VERSION, argc, argv);
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    if (errno != EPIPE)  // as in run_command_line
      std::fputs("espalier: standard output cannot be written\n", stderr);
    return exit_code ? exit_code : kFailed;
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  keep_standard_streams_open();
  std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit is then an error of the write, which is reported
  std::signal(SIGPIPE, SIG_IGN);  // and so is a reader that went away
  return espalier::app::as_rank(argc, argv, run_program);
}
