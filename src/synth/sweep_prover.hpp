// Decides for two nets of a growing netlist whether they are equal or complementary: by complete truth table when
// they depend on few inputs, by SAT otherwise. Refutations come with an input pattern.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "espalier/netlist.hpp"
#include "espalier/simplify.hpp"
#include "synth/cnf.hpp"

namespace espalier {

class SweepProver {
 public:
  enum class Verdict { kEqual, kDifferent, kUndecided };

  SweepProver(const Netlist& netlist, const SweepOptions& options, SweepReport& report);

  // Call once for every net, in order, inputs too: keeps its support.
  void add_net();
  // Net x against y (kNoNet: the constant 0), or against its inverse.
  Verdict prove(Net x, Net y, bool inverted);
  // After kDifferent: values of some inputs that show it.
  const std::vector<std::pair<Net, bool>>& witness() const { return witness_; }
  bool exhausted() const { return spent_ > options_.effort; }

 private:
  using Support = std::vector<Net>;  // ascending
  std::optional<Support> joint_support(Net x, Net y) const;
  void collect_cone(Net x, Net y);
  Verdict by_table(Net x, Net y, bool inverted, const Support& support);
  Verdict by_sat(Net x, Net y, bool inverted);
  bool told_apart_by_samples(Net x, Net y, bool inverted);

  const Netlist& netlist_;
  const SweepOptions& options_;
  SweepReport& report_;
  std::vector<std::optional<Support>> supports_;  // [net]; none: more inputs than a table may have
  std::vector<std::pair<Net, bool>> witness_;
  std::vector<Net> cone_;             // gates, ascending
  std::vector<std::uint32_t> seen_;   // [net], the mark of the last cone that held it
  std::vector<std::uint32_t> place_;  // [net], its row in `words_` during a table
  std::vector<std::uint64_t> words_;
  std::uint32_t mark_ = 0;
  std::unique_ptr<CnfCone> solver_;
  std::uint64_t spent_ = 0, draws_ = 0;
};

}  // namespace espalier
