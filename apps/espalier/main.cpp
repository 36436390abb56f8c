// The espalier program.
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
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
  program.footer = "Start with: espalier train checkerboard\nespalier help COMMAND says what a command takes.";
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

// Every thread gets as much stack as this limit says. Where that is too little, threads are given what they need, and
// the program itself runs on one of them, as the stack of the first thread cannot grow.
int with_enough_stack(int argc, char** argv, int (*work)(int, char**)) {
  constexpr rlim_t kEnough = 1 << 20;
  constexpr std::size_t kGiven = 8 << 20;
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kEnough) return work(argc, argv);
  struct Call {
    int argc;
    char** argv;
    int (*work)(int, char**);
    int exit_code;
  } call{argc, argv, work, espalier::app::kFailed};
  const auto run = [](void* given) -> void* {
    auto& c = *static_cast<Call*>(given);
    c.exit_code = c.work(c.argc, c.argv);
    return nullptr;
  };
  pthread_attr_t attributes;
  pthread_t thread;
  if (pthread_attr_init(&attributes) != 0 || pthread_attr_setstacksize(&attributes, kGiven) != 0 ||
      pthread_setattr_default_np(&attributes) != 0 || pthread_create(&thread, &attributes, run, &call) != 0) {
    std::fprintf(stderr,
                 "espalier: [stack] got a limit of %llu kB, expected at least %llu; hint: raise it (ulimit -s)\n",
                 static_cast<unsigned long long>(limit.rlim_cur >> 10), static_cast<unsigned long long>(kEnough >> 10));
    return espalier::app::kFailed;
  }
  pthread_join(thread, nullptr);
  return call.exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  keep_standard_streams_open();
  std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit is then an error of the write, which is reported
  std::signal(SIGPIPE, SIG_IGN);  // and so is a reader that went away
  return with_enough_stack(argc, argv,
                           [](int count, char** words) { return espalier::app::as_rank(count, words, run_program); });
}
