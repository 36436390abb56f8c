// What the bindings of networks share: tapes, lists of edges, checks of arrays.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "common.hpp"
#include "espalier/message_passing.hpp"

namespace espalier::python {

// What one forward pass of a MessagePassing leaves behind.
struct MessagePass {
  std::shared_ptr<MessageGraph> graph;
  AlignedVector<float> h, y;
  MessageTape tape;
  ForwardPass layer;        // whose
  std::uint64_t round = 0;  // of that layer
  std::thread::id by = std::this_thread::get_id();
  bool used = false;  // a backward pass went through it
};

// A forward pass by name: of a DagNN, or of a MessagePassing with what it left behind.
struct PyTape {
  ForwardPass dag;
  std::shared_ptr<MessagePass> message;
};

// Without a tape a backward pass goes through the forward pass of its own thread: another thread's may have come
// between.
void check_thread(const char* what, std::thread::id by);
void check_finite(std::span<const float> values, const char* what);
// edges: [E][2] of node numbers.
std::vector<Edge> edges_of(const InArray<std::int64_t>& edges, std::size_t nodes, const char* what);
void bind_message_passing(nb::module_& m);

}  // namespace espalier::python
