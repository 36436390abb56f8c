// Steps over chunks that need only their neighbours' results of the step before, as cells of a lattice do. Where one
// loop per step would make all wait for the slowest at the end of each, here a chunk goes on as soon as its neighbours
// allow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "espalier/thread_pool.hpp"

namespace espalier {

class Wavefront {
 public:
  // neighbours[chunk], without the chunk itself; symmetric: if a is named by b, b is named by a.
  explicit Wavefront(std::vector<std::vector<std::uint32_t>> neighbours);

  std::size_t chunks() const { return neighbours_.size(); }

  // body(step, chunk) for steps 0, 1, ... of every chunk, in order; called when the chunk and all its neighbours have
  // done the step before, and before any of them has begun the step after. `chunk_ns`: rough cost of one call.
  // Like ThreadPool::for_chunks in all else.
  void run(std::size_t steps, double chunk_ns, const ThreadPool& pool,
           const std::function<void(std::size_t step, std::size_t chunk)>& body) const {
    run(0, chunks(), steps, chunk_ns, pool, body);
  }
  // Chunks first to last - 1 alone, which wait for none of the others.
  void run(std::size_t first, std::size_t last, std::size_t steps, double chunk_ns, const ThreadPool& pool,
           const std::function<void(std::size_t step, std::size_t chunk)>& body) const;

 private:
  std::vector<std::vector<std::uint32_t>> neighbours_;
};

}  // namespace espalier
