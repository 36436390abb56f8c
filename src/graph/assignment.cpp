#include "graph/assignment.hpp"

#include <algorithm>
#include <limits>

namespace espalier {

// rows <= columns, matrix_ [rows][columns]. Index 0 of u_, v_, row_of_ is a sentinel; rows and columns count
// from 1. Column minima as first prices let most rows find a free column at once.
void AssignmentSolver::solve_wide(std::size_t rows, std::size_t columns) {
  u_.assign(rows + 1, 0.0);
  v_.assign(columns + 1, 0.0);
  row_of_.assign(columns + 1, 0);
  way_.assign(columns + 1, 0);
  least_.resize(columns + 1);
  used_.resize(columns + 1);
  if (rows == columns) {
    // Prices may start at the column minima only when every column is matched in the end.
    for (std::size_t j = 1; j <= columns; ++j) {
      double least = matrix_[j - 1];
      for (std::size_t i = 1; i < rows; ++i) least = std::min(least, matrix_[i * columns + j - 1]);
      v_[j] = least;
    }
  }
  for (std::size_t row = 1; row <= rows; ++row) {
    row_of_[0] = static_cast<std::int32_t>(row);
    std::size_t at = 0;
    std::fill(least_.begin(), least_.end(), std::numeric_limits<double>::infinity());
    std::fill(used_.begin(), used_.end(), char{0});
    do {
      used_[at] = 1;
      const auto i = static_cast<std::size_t>(row_of_[at]);
      const double* costs = &matrix_[(i - 1) * columns];
      double delta = std::numeric_limits<double>::infinity();
      std::size_t next = 0;
      for (std::size_t j = 1; j <= columns; ++j) {
        if (used_[j]) continue;
        const double reduced = costs[j - 1] - u_[i] - v_[j];
        if (reduced < least_[j]) {
          least_[j] = reduced;
          way_[j] = static_cast<std::int32_t>(at);
        }
        if (least_[j] < delta) {
          delta = least_[j];
          next = j;
        }
      }
      for (std::size_t j = 0; j <= columns; ++j) {
        if (used_[j]) {
          u_[static_cast<std::size_t>(row_of_[j])] += delta;
          v_[j] -= delta;
        } else {
          least_[j] -= delta;
        }
      }
      at = next;
    } while (row_of_[at] != 0);
    do {
      const auto from = static_cast<std::size_t>(way_[at]);
      row_of_[at] = row_of_[from];
      at = from;
    } while (at != 0);
  }
}

double AssignmentSolver::solve(const double* cost, std::size_t rows, std::size_t columns,
                               std::vector<std::int32_t>& column_of) {
  column_of.assign(rows, -1);
  if (rows == 0 || columns == 0) return 0;
  const bool wide = rows <= columns;
  const std::size_t height = std::min(rows, columns), width = std::max(rows, columns);
  matrix_.resize(rows * columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      matrix_[wide ? i * columns + j : j * rows + i] = std::min(0.0, cost[i * columns + j]);
  solve_wide(height, width);
  double total = 0;
  for (std::size_t j = 1; j <= width; ++j) {
    if (row_of_[j] == 0) continue;
    const auto i = static_cast<std::size_t>(row_of_[j]) - 1;
    const std::size_t row = wide ? i : j - 1, column = wide ? j - 1 : i;
    if (cost[row * columns + column] >= 0) continue;  // staying alone is as good
    column_of[row] = static_cast<std::int32_t>(column);
    total += cost[row * columns + column];
  }
  return total;
}

}  // namespace espalier
