// A program built without MPI is always alone, and says so rather than do the same work several times over.
#include <cstdlib>
#include <string>

#include "espalier/error.hpp"
#include "program_ranks.hpp"

namespace espalier::app {

std::unique_ptr<ProgramRanks> join_ranks() {
  // Under srun with PMIx only Slurm knows how many there are; in a batch script it says so to programs alone, too.
  const char* const slurm = std::getenv("PMIX_RANK") ? "SLURM_NTASKS" : "PMI_SIZE";
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", slurm})
    if (const char* size = std::getenv(name); size && std::atoi(size) > 1)
      fail("ranks", std::string("a start as one of ") + size, "a start alone",
           "this program was built without MPI; build it where libopenmpi-dev is installed");
  return nullptr;
}

}  // namespace espalier::app
