// The cells that fire in each step of an asynchronous rollout, dealt into blocks of their own: a step then costs what
// the cells cost that fire. Cells keep to their group of samples, in its order; its blocks are shared out to its
// chunks.
#pragma once

#include <vector>

#include "espalier/random.hpp"
#include "espalier/thread_pool.hpp"
#include "models/lattice/geometry.hpp"

namespace espalier {

class Firing {
 public:
  Firing(const Geometry& geometry, int steps);

  // Draws who fires, for all steps of groups first to last - 1. The number drawn for a cell depends on step and cell
  // alone.
  void draw(const Random& random, float rate, int first, int last, const ThreadPool& pool);

  // visit(block) for a chunk's part of the cells that fire in step t, and of those that do not.
  template <class Visit>
  void each_firing(int t, int chunk, Visit visit) const {
    each(at(t, chunk).firing, chunk, visit);
  }
  template <class Visit>
  void each_still(int t, int chunk, Visit visit) const {
    each(at(t, chunk).still, chunk, visit);
  }

  std::size_t bytes() const;

 private:
  // Cells in blocks of 32, as a Geometry deals them.
  struct Dealt {
    std::vector<Geometry::Run> runs;
    std::vector<Geometry::Copy> rim;
    std::vector<std::uint32_t> first_run, first_rim;  // [blocks]
    int cells = 0;

    void clear();
    void add(std::int32_t position, std::span<const Geometry::Copy> copies);
    int blocks() const { return static_cast<int>(first_run.size()); }
    Geometry::Block block(int b) const;
  };
  struct Group {
    Dealt firing, still;
  };

  const Group& at(int t, int chunk) const {
    return dealt_[static_cast<std::size_t>(t) * geometry_.groups() + chunk / geometry_.chunks_per_group()];
  }
  template <class Visit>
  void each(const Dealt& dealt, int chunk, Visit visit) const {
    const int parts = geometry_.chunks_per_group(), part = chunk % parts;
    for (int b = dealt.blocks() * part / parts; b < dealt.blocks() * (part + 1) / parts; ++b) visit(dealt.block(b));
  }

  const Geometry& geometry_;
  int steps_;
  std::vector<Group> dealt_;  // [steps][groups]
};

}  // namespace espalier
