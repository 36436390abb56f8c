// Successive halving over seeds: which of them go on. All are trained for a few steps, then the better half for twice
// as many, and so on until one is left, or the training has no more steps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/run.hpp"

namespace espalier {

// Whether `a` is the better one of two seeds that have ended; a strict order.
bool wins(const SeedReport& a, const SeedReport& b);
// seeds.csv: how every seed of a run ended.
std::string seeds_table(const std::vector<SeedReport>& seeds);

class Halving {
 public:
  // `first`: steps of the first round, of `steps` in all. Seeds are told by their place among `seeds`.
  Halving(std::uint64_t first, std::uint64_t steps, std::size_t seeds);

  bool decided() const { return alive_.size() <= 1 || round_steps_ >= steps_; }  // no more rounds
  // The step at which the round ends: that of the whole training once all is decided.
  std::uint64_t round_end() const { return decided() ? steps_ : round_steps_; }
  const std::vector<std::size_t>& alive() const { return alive_; }  // ascending
  // Ends a round: the better half goes on, of an odd number the larger one.
  void decide(const std::vector<SeedReport>& rows);

  // All rounds so far: one line for each seed in each. read() goes through them again; an Error for what is no such
  // table of these seeds.
  const std::string& table() const { return table_; }
  void read(std::string_view table, const std::string& name, const std::vector<SeedReport>& rows);

 private:
  void keep(std::vector<std::size_t> kept);

  std::uint64_t round_steps_, steps_;
  std::uint64_t round_ = 1;
  std::vector<std::size_t> alive_;
  std::string table_;
};

}  // namespace espalier
