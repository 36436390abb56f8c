#include "espalier/activation.hpp"

#include <fmt/format.h>

#include "espalier/error.hpp"

namespace espalier {
namespace {
constexpr std::string_view kNames[kNumActivations] = {"linear", "relu", "leaky-relu", "sigmoid", "tanh"};
}

Activation activation_named(std::string_view name) {
  for (int i = 0; i < kNumActivations; ++i)
    if (kNames[i] == name) return static_cast<Activation>(i);
  fail("activation", fmt::format("\"{}\"", name), "linear, relu, leaky-relu, sigmoid or tanh");
}

std::string_view name_of(Activation activation) { return kNames[static_cast<int>(activation)]; }

}  // namespace espalier
