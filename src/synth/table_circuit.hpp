// A circuit for a function that is given by its table, not by a circuit: split by one variable after the other, with
// whatever freedom the patterns leave that do not matter, and with nets that exist already wherever they fit.
#pragma once

#include <optional>

#include "synth/resub_search.hpp"

namespace espalier {

class TableCircuit {
 public:
  using Table = ResubSearch::Table;
  // Tables have 2^variables patterns, at least one word. `order`: all variables, those to split by first in front.
  // `eager`: one that splits cheaply is taken before them.
  TableCircuit(std::size_t variables, std::vector<std::uint32_t> order, bool eager, std::size_t max_steps);

  // Another net that may be read, after the variables themselves and before the first step.
  void know(Table table) { known_.push_back(std::move(table)); }
  // The literal of a net that is 1 on all of `on` and 0 on all of `off`, neither of them empty; nothing when that takes
  // too many steps. Literals as in a Recipe: variables, then known nets, then steps.
  std::optional<std::uint32_t> build(const Table& on, const Table& off);
  const std::vector<Recipe::Step>& steps() const { return steps_; }
  std::uint64_t spent() const { return spent_; }  // word operations, about

 private:
  enum class Split { kNone, kUnread, kAnd, kXor, kOneBelow, kMux };
  struct Wanted {
    Table on, off;
    std::uint32_t left;  // variables that it may be split by, a bit each
  };
  std::uint32_t any(const Wanted& wanted);
  std::uint32_t split(const Wanted& wanted, std::uint32_t v, Split how);
  Split kind(const Wanted& wanted, std::uint32_t v);
  std::optional<std::uint32_t> find(const Wanted& wanted);
  std::uint32_t gate(Gate gate, std::uint32_t a, std::uint32_t b);
  Table merged(const Table& table, std::uint32_t v) const;  // of both values of v
  Table half(const Table& table, std::uint32_t v, bool value) const;
  std::uint64_t word(std::uint32_t literal, std::size_t w) const {
    return known_[literal / 2][w] ^ (literal & 1 ? ~std::uint64_t{0} : 0);
  }

  std::size_t variables_, words_;
  std::vector<std::uint32_t> order_;
  bool eager_, failed_ = false;
  std::size_t max_steps_;
  std::vector<Table> known_;  // variables, nets, steps
  std::vector<Recipe::Step> steps_;
  std::uint64_t spent_ = 0;
};

}  // namespace espalier
