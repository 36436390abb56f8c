// The assignment problem: every row gets a column of its own, at the least cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace espalier {

// Shortest augmenting paths from a greedy start (Jonker and Volgenant, 1987). Work space is kept from call to call.
class AssignmentSolver {
 public:
  // rows <= columns; cost of row i and column j at cost[i * stride + j]. The least cost of all assignments.
  double solve(const double* cost, std::size_t rows, std::size_t columns, std::size_t stride);

  // Of the last call. Prices: u[i] + v[j] <= cost[i][j] everywhere, equal for assigned pairs; v[j] <= 0, and 0 for
  // columns that got no row. So the sum of all u and v is the optimum, and any row forced to another column costs at
  // least cost[i][j] - u[i] - v[j] more.
  const std::vector<std::int32_t>& column_of() const { return column_of_; }
  const std::vector<double>& u() const { return u_; }
  const std::vector<double>& v() const { return v_; }

 private:
  void augment(const double* cost, std::size_t columns, std::size_t stride, std::size_t row);

  std::vector<std::int32_t> column_of_, row_of_, way_;
  std::vector<double> u_, v_, distance_;
  std::vector<std::uint32_t> waiting_, done_, free_;
};

}  // namespace espalier
