// A circuit for a function of which only some values matter, given as a list: for functions of many inputs that few
// patterns can reach. (TableCircuit wants complete tables, and reuses nets in exchange.)
#pragma once

#include "synth/literal_builder.hpp"

namespace espalier {

struct CareCase {
  std::uint64_t bits = 0;  // bit i: input i
  bool value = false;
  bool operator==(const CareCase&) const = default;
};

class CareCircuit {
 public:
  // At most 64 inputs. `order`: all of them, those to split by first in front.
  CareCircuit(LiteralBuilder& builder, std::vector<Literal> inputs, std::vector<int> order)
      : builder_(builder), inputs_(std::move(inputs)), order_(std::move(order)) {}

  // A literal that has these values; patterns are distinct. Whatever an earlier call built is shared where it fits.
  Literal build(std::vector<CareCase> cases);

 private:
  enum class Split { kLiteral, kUnread, kAnd, kXor, kMux };
  Literal sorted(std::vector<CareCase> cases);
  Literal split(const std::vector<CareCase>& cases, int input, Split how);
  Split kind(const std::vector<CareCase>& cases, int input) const;
  Literal mux(Literal choose, Literal zero, Literal one);

  struct Known {
    std::vector<CareCase> cases;
    Literal literal;
  };
  LiteralBuilder& builder_;
  std::vector<Literal> inputs_;
  std::vector<int> order_;
  std::unordered_map<std::uint64_t, std::vector<Known>> known_;  // looked up, never iterated over
};

}  // namespace espalier
