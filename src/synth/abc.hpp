// Berkeley ABC as an optional helper: the netlist goes out as BLIF, comes back rewritten, is proved equal and
// simplified again, and is kept only when it is smaller.
#pragma once

#include <string>

#include "espalier/simplify.hpp"

namespace espalier {

struct AbcOptions {
  std::string program;  // empty: berkeley-abc or abc from $PATH
  double seconds = 60;  // for one run of the program
  int rounds = 3;       // each starts from the best so far
  SimplifyOptions simplify;
};
struct AbcReport {
  std::string program;
  std::size_t runs = 0, kept = 0, failed = 0, unproved = 0;
};

// The program's full path; empty when there is none.
std::string find_abc(const std::string& program = {});

// `start`: where else to begin from, such as the circuit as trained (its other minima are others). An Error when ABC is
// not installed.
Netlist simplify_with_abc(const Netlist& simplified, const Netlist& start, const AbcOptions& options = {},
                          AbcReport* report = nullptr);

}  // namespace espalier
