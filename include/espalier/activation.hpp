// The activation functions of DagNN nodes and message-passing layers.
#pragma once

#include <cstdint>
#include <string_view>

namespace espalier {

// Values are part of the file format: append, never renumber.
enum class Activation : std::uint8_t { kLinear = 0, kRelu = 1, kLeakyRelu = 2, kSigmoid = 3, kTanh = 4 };
inline constexpr int kNumActivations = 5;
inline constexpr float kLeak = 0.01f;  // slope of leaky relu below zero

Activation activation_named(std::string_view name);  // "linear", "relu", "leaky-relu", "sigmoid", "tanh"
std::string_view name_of(Activation activation);

}  // namespace espalier
