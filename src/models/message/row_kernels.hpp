// What happens to a row of a message-passing layer after the products: bias, layer norm, activation; and back.
#pragma once

#include <cstddef>

#include "espalier/activation.hpp"

namespace espalier {

struct RowArgs {
  std::size_t features;
  Activation activation;
  const float* bias;   // [features]
  const float* gain;   // [features]; null without layer norm
  const float* shift;  // [features]
};

// z [rows][features] becomes y in place. With layer norm, normed [rows][features] and inverse_deviation [rows]
// are kept.
void finish_rows(const RowArgs& args, std::size_t rows, float* z, float* normed, float* inverse_deviation);

// dz [rows][features] from dy and y; dbias, dgain and dshift [features] are added to.
void unfinish_rows(const RowArgs& args, std::size_t rows, const float* y, const float* dy, const float* normed,
                   const float* inverse_deviation, float* dz, float* dbias, float* dgain, float* dshift);

}  // namespace espalier
