// Runs a lattice model step by step, hard (the circuit) or soft (as trained), behind one interface.
#pragma once

#include <memory>

#include "espalier/simulator.hpp"
#include "models/lattice/board_view.hpp"

namespace espalier {

class Stepper {
 public:
  virtual ~Stepper() = default;
  virtual void advance(std::uint64_t steps, const ThreadPool& pool) = 0;
  virtual BoardState state() const = 0;
};

std::unique_ptr<Stepper> make_hard_stepper(const LatticeModel& model, const BoardState& start,
                                           const SimulatorOptions& options);
// Soft gates as trained; damage and asynchronous updates follow the same masks as the hard one.
std::unique_ptr<Stepper> make_soft_stepper(const LatticeModel& model, const BoardState& start,
                                           const SimulatorOptions& options);

}  // namespace espalier
