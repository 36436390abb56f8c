// A few gates to be built upon nets that exist: what they would cost, and building them.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "synth/gate_graph.hpp"

namespace espalier {

// As many as a plan may have, in place: plans are made by the million.
template <class T, std::size_t kMost>
class Few {
 public:
  void push_back(const T& item) { items_[size_++] = item; }
  void clear() { size_ = 0; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T& operator[](std::size_t i) const { return items_[i]; }
  T& operator[](std::size_t i) { return items_[i]; }
  const T* begin() const { return items_.data(); }
  const T* end() const { return items_.data() + size_; }

 private:
  std::array<T, kMost> items_{};
  std::size_t size_ = 0;
};

// Literals are 2 * index + inverted: indices below `base.size()` are the edges of `base`, the ones after it steps.
struct GatePlan {
  struct Step {
    bool is_xor = false;
    std::uint32_t a = 0, b = 0;
  };
  Few<Edge, 4> base;
  Few<Step, 7> steps;
  std::uint32_t result = 0;  // literal; not used when there is a constant
  Edge constant = kNoEdge;   // 0 or 1
};

// What a plan in the place of `n` frees, less what it adds; in levels, how deep its result would be. Gates that are
// there already cost nothing, unless only `n` keeps them.
class PlanWeigher {
 public:
  explicit PlanWeigher(GateGraph& graph) : graph_(graph) {}
  struct Weight {
    int gain = 0;
    std::uint32_t level = 0;
    bool possible = true;  // false: the plan would read `n` itself
  };
  Weight weigh(std::uint32_t n, const GatePlan& plan);
  // The same for several plans over the same nets: begin, any number of them, end.
  void begin(std::uint32_t n, std::span<const Edge> base);
  // A plan that adds more than so many gates is not possible.
  Weight weigh_next(const GatePlan& plan, int most_added = 1 << 20);
  int freed() const { return freed_; }  // gates that go with the target
  void end(std::span<const Edge> base);
  // Builds it and lets all readers of `n` read the result.
  void carry_out(std::uint32_t n, const GatePlan& plan);

 private:
  struct Value {
    Edge edge = kNoEdge;  // kNoEdge: would be new
    std::uint32_t level = 0;
  };
  Value step(bool is_xor, Value a, Value b, int& added);

  GateGraph& graph_;
  std::vector<Value> values_;
  std::uint32_t target_ = 0;
  int freed_ = 0;
  bool meets_target_ = false;
};

}  // namespace espalier
