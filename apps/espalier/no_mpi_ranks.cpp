// A program built without MPI is always alone.
#include "program_ranks.hpp"

namespace espalier::app {

std::unique_ptr<ProgramRanks> join_ranks() { return nullptr; }

const char* hint_for_lone_ranks() {
  return "this program was built without MPI; build it where libopenmpi-dev is installed";
}

}  // namespace espalier::app
