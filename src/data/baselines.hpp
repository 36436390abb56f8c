// What a model of tables is held against: guesses, and the linear model. The linear model of classes is a network, and
// therefore in the DAG room.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace espalier {

// Whether so many rows, all right, say more than that somebody was lucky: guesses by what the rows of `fit` have would
// be right on all of them less than once in ten thousand times. Numbers need ten rows.
bool enough_rows(bool classifies, std::span<const float> fit, std::size_t rows);

// Weights and, last, the bias of the linear model with the least squared error on rows x [rows][inputs].
std::vector<double> least_squares(std::size_t inputs, std::span<const float> x, std::span<const float> y);
std::vector<float> linear_outputs(std::span<const double> linear, std::span<const float> x);

}  // namespace espalier
