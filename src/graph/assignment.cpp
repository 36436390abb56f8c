// Rows take their cheapest column while it is free; each row that is left finds the cheapest chain of exchanges that
// ends at a free column.
#include "graph/assignment.hpp"

#include <limits>

namespace espalier {

double AssignmentSolver::solve(const double* cost, std::size_t rows, std::size_t columns, std::size_t stride) {
  column_of_.assign(rows, -1);
  row_of_.assign(columns, -1);
  u_.resize(rows);
  v_.assign(columns, 0.0);
  way_.resize(columns);
  distance_.resize(columns);
  waiting_.resize(columns);
  free_.clear();
  for (std::size_t i = 0; i < rows; ++i) {
    const double* c = cost + i * stride;
    double least = c[0];
    std::size_t at = 0;
    for (std::size_t j = 1; j < columns; ++j)
      if (c[j] < least || (c[j] == least && row_of_[at] >= 0)) least = c[j], at = j;
    u_[i] = least;
    if (row_of_[at] < 0) {
      row_of_[at] = static_cast<std::int32_t>(i);
      column_of_[i] = static_cast<std::int32_t>(at);
    } else {
      free_.push_back(static_cast<std::uint32_t>(i));
    }
  }
  for (const std::uint32_t row : free_) augment(cost, columns, stride, row);
  double total = 0;
  for (std::size_t i = 0; i < rows; ++i) total += cost[i * stride + static_cast<std::size_t>(column_of_[i])];
  return total;
}

// Dijkstra over columns: the distance of j is the least reduced cost of a chain of exchanges from `row` to j.
void AssignmentSolver::augment(const double* cost, std::size_t columns, std::size_t stride, std::size_t row) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (std::size_t j = 0; j < columns; ++j) {
    distance_[j] = kInfinity;
    waiting_[j] = static_cast<std::uint32_t>(j);
  }
  done_.clear();
  std::size_t i = row, left = columns, end = 0;
  double reached = 0;
  while (true) {
    const double* c = cost + i * stride;
    const double from = reached - u_[i];
    double least = kInfinity;
    std::size_t best = 0;
    for (std::size_t k = 0; k < left; ++k) {
      const std::uint32_t j = waiting_[k];
      const double through = from + c[j] - v_[j];
      if (through < distance_[j]) {
        distance_[j] = through;
        way_[j] = static_cast<std::int32_t>(i);
      }
      if (distance_[j] < least || (distance_[j] == least && row_of_[j] < 0)) {
        least = distance_[j];
        best = k;
      }
    }
    const std::uint32_t column = waiting_[best];
    reached = least;
    if (row_of_[column] < 0) {
      end = column;
      break;
    }
    done_.push_back(column);
    waiting_[best] = waiting_[--left];
    i = static_cast<std::size_t>(row_of_[column]);
  }
  u_[row] += reached;
  for (const std::uint32_t j : done_) {
    u_[static_cast<std::size_t>(row_of_[j])] += reached - distance_[j];
    v_[j] -= reached - distance_[j];
  }
  for (std::size_t j = end;;) {
    const auto through = static_cast<std::size_t>(way_[j]);
    row_of_[j] = static_cast<std::int32_t>(through);
    const std::int32_t before = column_of_[through];
    column_of_[through] = static_cast<std::int32_t>(j);
    if (through == row) break;
    j = static_cast<std::size_t>(before);
  }
}

}  // namespace espalier
