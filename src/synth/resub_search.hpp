// Finds ways to build a wanted function out of nets that exist already (divisors): one literal, one gate of two,
// or two gates of three. "Wanted" is a pair of disjoint sets of patterns: where the value must be 1 and where 0.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "espalier/netlist.hpp"

namespace espalier {

// Literals are 2 x index + inverted; an index below divisors.size() is a divisor, the ones after it earlier steps.
struct Recipe {
  struct Step {
    Gate gate;
    std::uint32_t a, b;  // literals
  };
  std::vector<Step> steps;
  std::uint32_t result = 0;  // literal
};

class ResubSearch {
 public:
  using Table = std::vector<std::uint64_t>;
  // tables[d]: the words of divisor d.
  // `xors`: recipes may hold XORs. About `limit` word operations are spent, whatever was found by then.
  ResubSearch(std::vector<const std::uint64_t*> tables, std::size_t words, bool xors = true,
              std::uint64_t limit = ~std::uint64_t{0})
      : tables_(std::move(tables)), words_(words), xors_(xors), limit_(limit) {}

  // Every recipe of at most `steps` new gates is offered, cheapest kinds first, until offer() returns false.
  void run(const Table& on, const Table& off, int steps, const std::function<bool(const Recipe&)>& offer);
  std::uint64_t spent() const { return spent_; }

 private:
  bool one_literal(const Table& on, const Table& off, const std::function<bool(const Recipe&)>& offer);
  bool one_gate(const Table& on, const Table& off, const std::function<bool(const Recipe&)>& offer);
  bool one_xor(const Table& on, const Table& off, const std::function<bool(const Recipe&)>& offer);
  bool two_gates(const Table& on, const Table& off, const std::function<bool(const Recipe&)>& offer);
  std::uint64_t word(std::uint32_t literal, std::size_t w) const {
    return tables_[literal / 2][w] ^ (literal & 1 ? ~std::uint64_t{0} : 0);
  }
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  struct Known {
    std::uint64_t hash;
    std::uint32_t divisor;
  };
  std::uint64_t linear_hash(const std::uint64_t* table, const Table& care) const;
  std::uint64_t normal_hash(const std::uint64_t* table) const;
  void know_divisors(const Table& care);
  Known& slot_of(std::uint64_t hash);
  bool meets(std::uint32_t literal, const Table& set);                 // some pattern in both
  bool both_meet(std::uint32_t x, std::uint32_t y, const Table& set);  // some pattern in all three

  std::vector<const std::uint64_t*> tables_;
  std::size_t words_;
  bool xors_;
  std::uint64_t limit_;
  std::vector<Known> known_;           // open addressing
  std::vector<std::uint64_t> hashes_;  // [divisor]
  Table care_, known_care_;            // the patterns that known_ is about
  std::size_t first_word_ = 0;         // of those
  std::uint64_t first_bit_ = 0, everywhere_ = 0;
  std::uint64_t spent_ = 0;
};

}  // namespace espalier
