// Named float32 tensors in one allocation, their gradients in a second one of the same shape.
// Every trainable thing hands out its Parameters; whatever acts on weights is written once, over flat arrays.
// Example:
//   const ThreadPool pool;
//   Parameters parameters;
//   const std::size_t bias = parameters.add("bias", {8});
//   parameters.values(bias)[0] = 0.5f;
//   GradientSlots slots(4, parameters.num_parameters());  // one for each chunk, however many threads there are
//   slots.zero(pool);
//   pool.for_chunks(4, 1, 1e3, [&](Chunk c) { slots.slot(c.index)[0] += 1.0f; });
//   parameters.zero_grad(pool);
//   slots.add_to(parameters.gradients(), pool);  // the same bits for any pool
//   const double norm = parameters.clip_gradients(1.0, pool);
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "espalier/thread_pool.hpp"

namespace espalier {

class SafetensorsFile;

struct TensorInfo {
  std::string name;
  std::vector<std::size_t> shape;
  std::size_t offset, size;  // in floats, within the flat arrays
  bool frozen = false;
};

class Parameters {
 public:
  // Appends a tensor of zeros; its index names it from then on. Spans handed out before are invalid after.
  std::size_t add(std::string name, std::vector<std::size_t> shape);

  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  // Index of the tensor with this name; an Error that lists the names when there is none.
  std::size_t find(std::string_view name) const;
  std::size_t num_parameters() const { return values_.size(); }

  // From now on add() is an Error: the owner lays out these tensors by itself.
  void close(std::string owner) { owner_ = std::move(owner); }

  std::span<float> values() { return values_; }
  std::span<const float> values() const { return values_; }
  std::span<float> gradients() { return gradients_; }
  std::span<const float> gradients() const { return gradients_; }
  std::span<float> values(std::size_t tensor) { return part<float>(values_, tensor); }
  std::span<const float> values(std::size_t tensor) const { return part<const float>(values_, tensor); }
  std::span<float> gradients(std::size_t tensor) { return part<float>(gradients_, tensor); }
  std::span<const float> gradients(std::size_t tensor) const { return part<const float>(gradients_, tensor); }

  // A frozen tensor keeps its values: no optimizer moves it, nor its state, and its gradients count for nothing.
  void freeze(std::size_t tensor, bool on = true);
  // body(begin, end) for the parts of [begin, end) of the flat arrays that are not frozen, ascending.
  template <class Body>
  void for_trainable(std::size_t begin, std::size_t end, Body&& body) const {
    for (const auto& [first, last] : trainable_)
      if (first < end && last > begin) body(first > begin ? first : begin, last < end ? last : end);
  }

  void zero_grad(const ThreadPool& pool = calling_thread());
  // True when any gradient is not zero.
  bool has_gradients() const;
  // Global L2 norm, summed in double in a fixed order.
  double gradient_norm(const ThreadPool& pool = calling_thread()) const;
  // Scales all gradients so that the global norm is at most max_norm (0 or more); returns the norm before. A gradient
  // that is infinite or no number is an Error that names its tensor, here and below; nothing has changed then.
  double clip_gradients(double max_norm, const ThreadPool& pool = calling_thread());
  // Limits every gradient element to [-limit, limit].
  void clip_gradient_values(float limit, const ThreadPool& pool = calling_thread());
  // The global norm, an Error when it is not finite: what to ask before anything is clipped.
  double finite_gradient_norm(const char* op, const ThreadPool& pool = calling_thread()) const;

  // XXH3-128 over names, shapes and the bytes of the values.
  std::string hash() const;

 private:
  template <class T>
  std::span<T> part(std::span<T> array, std::size_t tensor) const {
    const TensorInfo& info = checked(tensor);
    return array.subspan(info.offset, info.size);
  }

  const TensorInfo& checked(std::size_t tensor) const;  // an Error when there is none
  void join_trainable();

  std::vector<TensorInfo> tensors_;
  std::vector<std::pair<std::size_t, std::size_t>> trainable_;  // [begin, end), neighbours joined
  AlignedVector<float> values_, gradients_;
  std::string owner_;  // not empty: closed
};

// The name of a forward pass. A backward pass takes it, so that gradients never belong to another pass than was meant.
// Passes differ, whichever object made them; a copy of that object has gone through the same ones.
class ForwardPass {
 public:
  ForwardPass() = default;  // of none
  static ForwardPass next();
  explicit operator bool() const { return id_ != nullptr; }
  bool operator==(const ForwardPass&) const = default;

 private:
  std::shared_ptr<const char> id_;
};

// For what has room for the traces of one forward pass: which that is, and how many have not been gone back through.
class LastPass {
 public:
  // A new pass takes the place of the last one, or nothing does (cancelled, or weights and shape have changed).
  const ForwardPass& begin();
  void forget() { last_ = {}; }
  const ForwardPass& get() const { return last_; }
  // Before a backward pass. With a name: an Error unless it is that of the last forward pass. Without: an Error unless
  // it is clear which is meant, as there was one forward pass since the last backward pass, or none; after that Error
  // no pass waits any more. `how` says how to name one.
  void check(std::string_view op, std::string_view how);
  void check(std::string_view op, const ForwardPass& pass) const;
  void went_back();  // after it

 private:
  ForwardPass last_;
  std::size_t waiting_ = 0;  // forward passes without a backward pass, this one among them unless `used_`
  bool used_ = false;
};

// Copies the tensors named as the parameters out of a file; shapes must agree and values be finite.
void load_parameters(Parameters& parameters, const SafetensorsFile& file);

// How many floats one chunk of a flat pass handles: 64 KiB an array, so that a chunk's arrays stay in L2.
inline constexpr std::size_t kFlatChunk = 16 * 1024;

// Private gradient arrays for chunks that run in parallel, summed afterwards in a fixed tree over slot numbers: the one
// reduction of gradients in the library. The number of slots comes from the problem, never from the number of threads,
// and a slot never holds parts of two samples, or of two groups of whole samples where samples are small.
//
//   GradientSlots slots(count, parameters.num_parameters());
//   slots.zero(pool);
//   pool.for_chunks(count, 1, 1e5, [&](Chunk c) { backward(sample[c.index], slots.slot(c.index)); });
//   slots.add_to(parameters.gradients(), pool);
class GradientSlots {
 public:
  GradientSlots(std::size_t slots, std::size_t floats);

  std::size_t count() const { return slots_; }
  std::span<float> slot(std::size_t index);  // an Error when there is none

  void zero(const ThreadPool& pool = calling_thread());
  // total[i] += tree sum over slots of slot[i]: neighbouring slots first, then pairs of pairs, and so on.
  // `total` lies outside the slots.
  void add_to(std::span<float> total, const ThreadPool& pool = calling_thread()) const;

  // Slots over the ranks of a pool, in units of so many neighbours: which are this one's, all of them without ranks or
  // when there is only one unit. Slots of others need not be filled in for add_shared(), which is add_to() to the bit:
  // ranks give each other the sums of whole subtrees, and everyone completes the same tree.
  struct Share {
    std::size_t begin, end, unit;
    bool shared;  // others have the rest
  };
  Share share(const ThreadPool& pool, std::size_t unit = 1) const;
  void zero(const Share& share, const ThreadPool& pool = calling_thread());
  void add_shared(std::span<float> total, const Share& share, const ThreadPool& pool = calling_thread());

 private:
  void check_share(const Share& share) const;
  void check_total(std::span<const float> total) const;

  std::size_t slots_, floats_, stride_;
  AlignedVector<float> data_;         // [slots][stride]
  AlignedVector<float> shared_sums_;  // [nodes][floats], of add_shared()
};

}  // namespace espalier
