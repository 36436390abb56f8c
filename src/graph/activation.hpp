// Activation functions for one number, float or double: the specification of the vector forms in activation-inl.hpp.
#pragma once

#include <cmath>

#include "espalier/graph.hpp"

namespace espalier::reference {

template <class T>
T activate(Activation f, T z) {
  switch (f) {
    case Activation::kRelu: return z > 0 ? z : T(0);
    case Activation::kLeakyRelu: return z > 0 ? z : T(kLeak) * z;
    case Activation::kSigmoid: return T(1) / (T(1) + std::exp(-z));
    case Activation::kTanh: return std::tanh(z);
    case Activation::kLinear: break;
  }
  return z;
}

// f'(z)
template <class T>
T slope(Activation f, T z) {
  switch (f) {
    case Activation::kRelu: return z > 0 ? T(1) : T(0);
    case Activation::kLeakyRelu: return z > 0 ? T(1) : T(kLeak);
    case Activation::kSigmoid: return activate(f, z) * (T(1) - activate(f, z));
    case Activation::kTanh: return T(1) - std::tanh(z) * std::tanh(z);
    case Activation::kLinear: break;
  }
  return T(1);
}

}  // namespace espalier::reference
