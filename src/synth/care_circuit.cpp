#include "synth/care_circuit.hpp"

#include <algorithm>

namespace espalier {
namespace {

using Cases = std::vector<CareCase>;

// Beyond so many patterns, inputs are taken in order, and nothing is remembered: each look costs as much as the list.
constexpr std::size_t kCareful = 2048;

bool constant(const Cases& cases) {
  return std::ranges::all_of(cases, [&](const CareCase& c) { return c.value == cases.front().value; });
}

// Those in which input is 0 or 1, without it; still sorted.
Cases half(const Cases& cases, int input, bool value) {
  const std::uint64_t bit = std::uint64_t{1} << input;
  Cases part;
  for (const CareCase& c : cases)
    if (((c.bits & bit) != 0) == value) part.push_back({c.bits & ~bit, c.value});
  return part;
}

// Both lists in one, the second perhaps inverted; empty when they contradict each other.
Cases merged(const Cases& x, const Cases& y, bool invert) {
  Cases both;
  both.reserve(x.size() + y.size());
  std::size_t i = 0, j = 0;
  while (i < x.size() || j < y.size()) {
    const bool left = j == y.size() || (i < x.size() && x[i].bits <= y[j].bits);
    const bool right = i == x.size() || (j < y.size() && y[j].bits <= x[i].bits);
    if (left && right && x[i].value != (y[j].value != invert)) return {};
    both.push_back(left ? x[i] : CareCase{y[j].bits, y[j].value != invert});
    i += left;
    j += right;
  }
  return both;
}

std::uint64_t hash_of(const Cases& cases) {
  std::uint64_t hash = cases.size();
  for (const CareCase& c : cases)
    hash = (hash ^ (c.bits << 1 | (c.value ? 1u : 0u))) * 0x9e3779b97f4a7c15u + (hash >> 29);
  return hash;
}

}  // namespace

Literal CareCircuit::build(Cases cases) {
  std::ranges::sort(cases, {}, &CareCase::bits);
  return sorted(std::move(cases));
}

Literal CareCircuit::sorted(Cases cases) {
  if (cases.empty()) return {};
  if (constant(cases)) return Literal{kNoNet, cases.front().value};
  // A function and its inverse are one, and inputs that never change are none.
  const bool inverted = cases.front().value;
  std::uint64_t ever = 0, always = ~std::uint64_t{0};
  for (const CareCase& c : cases) {
    ever |= c.bits;
    always &= c.bits;
  }
  const std::uint64_t changing = ever & ~always;
  for (CareCase& c : cases) c = {c.bits & changing, c.value != inverted};

  const bool careful = cases.size() <= kCareful;
  const std::uint64_t hash = careful ? hash_of(cases) : 0;
  if (careful)
    for (const Known& known : known_[hash])
      if (known.cases == cases) return known.literal ^ inverted;

  int chosen = -1;
  Split how = Split::kMux;
  for (const int input : order_) {
    if (!(changing >> input & 1)) continue;
    const Split kind_here = kind(cases, input);
    if (chosen < 0 || kind_here < how) {
      chosen = input;
      how = kind_here;
    }
    if (how == Split::kLiteral || !careful) break;
  }
  const Literal result = split(cases, chosen, how);
  if (careful) known_[hash].push_back({std::move(cases), result});
  return result ^ inverted;
}

CareCircuit::Split CareCircuit::kind(const Cases& cases, int input) const {
  const Cases zero = half(cases, input, false), one = half(cases, input, true);
  const bool constant_zero = constant(zero), constant_one = constant(one);
  if (constant_zero && constant_one) return Split::kLiteral;
  if (!merged(zero, one, false).empty()) return Split::kUnread;
  if (constant_zero || constant_one) return Split::kAnd;
  return merged(zero, one, true).empty() ? Split::kMux : Split::kXor;
}

Literal CareCircuit::split(const Cases& cases, int input, Split how) {
  const Cases zero = half(cases, input, false), one = half(cases, input, true);
  const Literal choose = inputs_[static_cast<std::size_t>(input)];
  switch (how) {
    case Split::kUnread: return sorted(merged(zero, one, false));
    case Split::kXor: return builder_.gate(Gate::kXor, choose, sorted(merged(zero, one, true)));
    case Split::kLiteral:
    case Split::kAnd:
    case Split::kMux: break;
  }
  const Literal if_zero = sorted(zero);
  return mux(choose, if_zero, sorted(one));
}

Literal CareCircuit::mux(Literal choose, Literal zero, Literal one) {
  if (zero == one) return zero;
  if (zero == (one ^ true)) return builder_.gate(Gate::kXor, choose, zero);
  return builder_.gate(Gate::kOr, builder_.gate(Gate::kAnd, choose, one), builder_.gate(Gate::kNotAAndB, choose, zero));
}

}  // namespace espalier
