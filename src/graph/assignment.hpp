// The assignment problem, rows to columns, by shortest augmenting paths (Jonker and Volgenant, 1987).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace espalier {

struct Assignment {
  std::vector<std::int32_t> column_of;  // [rows], -1 where the row stays alone
  double cost = 0;
};

// Work space that is kept from call to call.
class AssignmentSolver {
 public:
  // Least cost over matchings in which any row and column may stay alone, at cost 0: so positive entries are
  // never used. cost [rows][columns]; entries above 0 are taken as 0.
  double solve(const double* cost, std::size_t rows, std::size_t columns, std::vector<std::int32_t>& column_of);

 private:
  void solve_wide(std::size_t rows, std::size_t columns);

  std::vector<double> matrix_, u_, v_, least_;
  std::vector<std::int32_t> row_of_, way_;
  std::vector<char> used_;
};

}  // namespace espalier
