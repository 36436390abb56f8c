// One layer of message passing over R kinds of edges (R = 1 is the plain layer):
//   h'_v = act(norm(W_self h_v + sum_r (W_in^r agg_{u->v} h_u + W_out^r agg_{v->w} h_w) + b))
// agg is mean, sum or max over the edges of kind r; norm is layer norm or nothing.
// A layer is a description and places in a Parameters object: many threads may use one layer at once, each with
// its own state and gradients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "espalier/activation.hpp"
#include "espalier/aligned.hpp"
#include "espalier/message_graph.hpp"
#include "espalier/parameters.hpp"
#include "espalier/thread_pool.hpp"

namespace espalier {

enum class Aggregation : std::uint8_t { kMean = 0, kSum = 1, kMax = 2 };
Aggregation aggregation_named(std::string_view name);  // "mean", "sum", "max"

struct MessagePassingOptions {
  std::size_t in = 0, out = 0;  // features
  std::size_t relations = 1;
  Aggregation aggregation = Aggregation::kMean;
  bool layer_norm = false;
  Activation activation = Activation::kRelu;  // linear, relu, leaky relu or tanh
};
inline constexpr float kLayerNormEpsilon = 1e-5f;

// What forward_batch keeps for backward, and room to work in; reused from call to call.
struct MessageState {
  AlignedVector<float> normed, inverse_deviation;          // [N][out] and [N], with layer norm
  AlignedVector<float> maxima;                             // [2R][N][in], with max
  AlignedVector<std::uint32_t> winners;                    // [2R][N][in], with max: who is the largest
  AlignedVector<float> packed, dz, routed, pieces, heavy;  // scratch
  AlignedVector<std::uint32_t> piece_winners;              // scratch
  std::unique_ptr<GradientSlots> slots;
};

class MessagePassingLayer {
 public:
  // Adds the tensors name.self [in][out], name.in and name.out [R][in][out], name.bias [out], and with layer
  // norm name.gain and name.shift [out].
  MessagePassingLayer(Parameters& parameters, const std::string& name, const MessagePassingOptions& options);

  const MessagePassingOptions& options() const { return options_; }
  // Weights normal with variance gain/(in (1 + 2R)), biases 0, gains 1.
  void initialize(Parameters& parameters, std::uint64_t seed) const;

  // One node by the formula, in plain loops: the readable reference. h [N][in], out [out].
  void forward(const Parameters& parameters, const MessageGraph& graph, std::span<const float> h, std::size_t node,
               std::span<float> out) const;

  // All nodes: h [N][in] -> y [N][out]. Reads h only, writes every row of y once; h and y must not overlap.
  void forward_batch(const Parameters& parameters, const MessageGraph& graph, std::span<const float> h,
                     std::span<float> y, MessageState& state, const ThreadPool& pool) const;

  // After forward_batch with the same h, y and state: adds the layer's gradients to `gradients` (laid out as
  // parameters.gradients()) and, unless dh is empty, writes dh [N][in].
  void backward(const Parameters& parameters, const MessageGraph& graph, std::span<const float> h,
                std::span<const float> y, std::span<const float> dy, MessageState& state, std::span<float> gradients,
                std::span<float> dh, const ThreadPool& pool) const;

  void zero_grad(Parameters& parameters, const ThreadPool& pool) const;       // this layer's tensors
  void step(Parameters& parameters, float lr, const ThreadPool& pool) const;  // plain SGD on them

 private:
  void check(const MessageGraph& graph, std::span<const float> h, std::size_t y_size) const;
  const float* panel(const Parameters& parameters, std::size_t index) const;  // self, then the sides
  double chunk_ns(const MessageGraph& graph) const;                           // a rough cost

  MessagePassingOptions options_;
  std::size_t first_offset_ = 0, self_, in_, out_, bias_, gain_ = 0, shift_ = 0, size_ = 0;
};

}  // namespace espalier
