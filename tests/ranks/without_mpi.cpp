// The program's way to its ranks as it is built on a machine without MPI, around no work at all.
#include <cstdio>

#include "program_ranks.hpp"

int main(int argc, char** argv) {
  return espalier::app::as_rank(argc, argv, [](int, char**) { return std::puts("at work") < 0 ? 1 : 0; });
}
