// The ranks that this program is one of when mpirun or srun has started it. Alone it never looks at MPI.
#pragma once

#include <memory>
#include <string>

#include "espalier/model.hpp"
#include "espalier/ranks.hpp"

namespace espalier::app {

// What the program asks of ranks beside what the library does.
class ProgramRanks : public Ranks {
 public:
  // How long the others may let this one wait before the job ends with a line about them.
  virtual void set_patience(double seconds) = 0;
  // One line from rank 0, and the end of all. On other ranks: told to rank 0, which prints it.
  [[noreturn]] virtual void end_job(const std::string& line, int exit_code) = 0;
  // The good end. Rank 0 comes last, after whatever it does alone, however long that takes.
  virtual void leave() = 0;

 protected:
  using Ranks::Ranks;
};

// Null when the program was started by itself. Only one of mpi_ranks.cpp and no_mpi_ranks.cpp is built.
std::unique_ptr<ProgramRanks> join_ranks();
// For one who was started as one of several, and whose MPI knows of no others.
const char* hint_for_lone_ranks();

// Those of this process, null when alone: for commands.
ProgramRanks* program_ranks();
constexpr double kRankTimeout = 600;  // the patience of commands that are not told any other

// An Error on all ranks when they have not read the same model.
void check_same_model(Ranks& ranks, const Model& model);

// main() between joining and leaving: prints on rank 0 alone, refuses ranks that are not alike, and makes the exit code
// that of rank 0. `work` runs one command.
int as_rank(int argc, char** argv, int (*work)(int argc, char** argv));

}  // namespace espalier::app
