#include "synth/four_inputs.hpp"

#include <algorithm>
#include <bit>

namespace espalier {
namespace {

constexpr std::size_t kMaxChains = 48;  // of one class and cost; more find more to share, and take longer to try
constexpr std::size_t kMaxAlike = 24;   // of those, that differ only in how inputs are named
constexpr std::uint16_t kInputs[] = {0xAAAA, 0xCCCC, 0xF0F0, 0xFF00};
constexpr int kMaxSize = 6;  // of chains that are enumerated; no function needs more than one gate more

unsigned cost_of(const SmallChain& chain, ChainCost cost) {
  switch (cost) {
    case ChainCost::kGates: return chain.size;
    case ChainCost::kAnds: return chain.ands;
    case ChainCost::kDepth: return 16u * chain.depth + chain.size;
  }
  return 0;
}

// The operations on two functions that are 0 where all inputs are: inversions of a and b, of the output, or XOR.
struct Operation {
  bool is_xor, not_a, not_b, not_out;
};
constexpr Operation kOperations[] = {
    {false, false, false, false}, {true, false, false, false}, {false, false, true, false},
    {false, true, false, false},  {false, true, true, true},
};
constexpr int kOperationCount = 5;

std::uint16_t apply(const Operation& op, std::uint16_t a, std::uint16_t b) {
  if (op.is_xor) return a ^ b;
  const unsigned x = op.not_a ? ~a : a, y = op.not_b ? ~b : b;
  return static_cast<std::uint16_t>(op.not_out ? ~(x & y) : x & y);
}

// Every chain of up to six gates that all matter, but for those that differ only in how inputs are named or inverted.
// Of chains that are alike the one whose codes come first will do, and that one has its gates in ascending order of
// what they are made of, reads input 2 before 3, either of them first in the polarity of the lower code, and, after a
// first gate that does not tell inputs 0 and 1 apart, reads 0 alone before 1 alone.
class Enumeration {
 public:
  template <class Offer>
  explicit Enumeration(Offer offer) {
    std::copy(std::begin(kInputs), std::end(kInputs), function_);
    for (const int first : {0, 1}) {
      push(0, 1, first);
      offer(function_[4], *this);
      grow(first, offer);
      pop();
    }
  }

  // Of the chain that is offered.
  unsigned size() const { return static_cast<unsigned>(size_); }
  unsigned ands() const { return made_[size_ - 1].ands; }
  unsigned depth() const { return depth_[4 + size_ - 1]; }
  SmallChain chain() const {
    SmallChain c;
    std::uint8_t literal[4 + kMaxSize] = {0, 2, 4, 6};
    for (int s = 0; s < size_; ++s) {
      const Made& made = made_[s];
      const Operation& o = kOperations[made.op];
      c.steps[static_cast<std::size_t>(s)] = {o.is_xor, static_cast<std::uint8_t>(literal[made.a] ^ o.not_a),
                                              static_cast<std::uint8_t>(literal[made.b] ^ o.not_b)};
      literal[4 + s] = static_cast<std::uint8_t>(2 * (4 + s) + o.not_out);
    }
    c.size = static_cast<std::uint8_t>(size_);
    c.result = literal[4 + size_ - 1];
    c.depth = static_cast<std::uint8_t>(depth());
    c.ands = static_cast<std::uint8_t>(ands());
    return c;
  }

 private:
  struct Made {
    std::uint8_t a, b, op, ands;
    std::uint16_t unused_before, read_before;
    bool told_apart_before;
  };

  bool push(int a, int b, int op) {
    const std::uint16_t f = apply(kOperations[op], function_[a], function_[b]);
    if (f == 0) return false;
    for (int i = 0; i < 4 + size_; ++i)
      if (function_[i] == f) return false;
    function_[4 + size_] = f;
    const int ands = (size_ > 0 ? made_[size_ - 1].ands : 0) + (kOperations[op].is_xor ? 3 : 1);
    made_[size_] = {static_cast<std::uint8_t>(a),
                    static_cast<std::uint8_t>(b),
                    static_cast<std::uint8_t>(op),
                    static_cast<std::uint8_t>(ands),
                    unused_,
                    read_,
                    told_apart_};
    depth_[4 + size_] = static_cast<std::uint8_t>(1 + std::max(depth_[a], depth_[b]));
    unused_ = static_cast<std::uint16_t>((unused_ & ~(1u << a) & ~(1u << b)) | 1u << (4 + size_));
    read_ = static_cast<std::uint16_t>(read_ | 1u << a | 1u << b);
    told_apart_ = told_apart_ || (size_ > 0 && a < 2);
    ++size_;
    return true;
  }
  void pop() {
    --size_;
    unused_ = made_[size_].unused_before;
    read_ = made_[size_].read_before;
    told_apart_ = made_[size_].told_apart_before;
  }

  bool reads_first(int input) const { return input < 4 && !(read_ >> input & 1u); }
  bool in_order(int a, int b) const {
    if (reads_first(3) && (a == 3 || b == 3) && reads_first(2) && a != 2) return false;
    return a != 1 || told_apart_;
  }
  // An input that is read for the first time could as well be read inverted.
  bool plain(int a, int b, int op) const {
    const Operation& o = kOperations[op];
    return o.is_xor || !((reads_first(a) && (o.not_out || (o.not_a && !o.not_b))) ||
                         (reads_first(b) && (o.not_out || (o.not_b && !o.not_a))));
  }

  // One more gate, of a code above `last`. A gate takes in two at most of those that nothing reads yet.
  template <class Offer>
  void grow(int last, Offer& offer) {
    const int nodes = 4 + size_;
    if (size_ == kMaxSize - 1) {
      // The last gate reads the one before it and, if there is another that nothing reads, that one.
      const unsigned other = unused_ & ~(1u << (nodes - 1));
      const int from = other ? std::countr_zero(other) : 0, to = other ? from + 1 : nodes - 1;
      for (int a = from; a < to; ++a)
        for (int op = 0; op < kOperationCount && in_order(a, nodes - 1); ++op)
          if (plain(a, nodes - 1, op) && push(a, nodes - 1, op)) {
            offer(function_[nodes], *this);
            pop();
          }
      return;
    }
    for (int b = 1; b < nodes; ++b)
      for (int a = 0; a < b; ++a) {
        const int base = (b * (b - 1) / 2 + a) * kOperationCount;
        if (base + kOperationCount - 1 <= last) continue;
        int open = 1;
        for (unsigned left = unused_ & ~(1u << a) & ~(1u << b); left; left &= left - 1) ++open;
        if (open > kMaxSize - size_) continue;
        if (!in_order(a, b)) continue;
        for (int op = 0; op < kOperationCount; ++op) {
          if (base + op <= last || !plain(a, b, op) || !push(a, b, op)) continue;
          if (open == 1) offer(function_[4 + size_ - 1], *this);
          grow(base + op, offer);
          pop();
        }
      }
  }

  std::uint16_t function_[4 + kMaxSize] = {};
  std::uint8_t depth_[4 + kMaxSize] = {};
  Made made_[kMaxSize] = {};
  int size_ = 0;
  std::uint16_t unused_ = 0;  // gates that nothing reads yet
  std::uint16_t read_ = 0;    // what some gate reads
  bool told_apart_ = false;   // inputs 0 and 1
};

}  // namespace

const FourInputLibrary& FourInputLibrary::get() {
  static const FourInputLibrary library;
  return library;
}

FourInputLibrary::FourInputLibrary() {
  find_forms();
  for (auto& lists : chains_) lists.resize(forms());
  SmallChain trivial;
  trivial.result = SmallChain::kConstant;
  offer(0, trivial);
  trivial.result = 0;
  offer(kInputs[0], trivial);
  enumerate();
  combine();
}

void FourInputLibrary::find_forms() {
  matches_.resize(1 << 16);
  std::vector<bool> seen(1 << 16);
  for (unsigned f = 0; f < 1 << 16; ++f) {
    if (seen[f]) continue;
    const auto form = static_cast<std::uint8_t>(representatives_.size());
    representatives_.push_back(static_cast<std::uint16_t>(f));
    automorphisms_.emplace_back();
    std::array<std::uint8_t, 4> place{0, 1, 2, 3};
    do {
      for (unsigned inputs = 0; inputs < 16; ++inputs) {
        unsigned g = 0;
        for (unsigned x = 0; x < 16; ++x) {
          unsigned y = 0;
          for (unsigned i = 0; i < 4; ++i) y |= ((x ^ inputs) >> i & 1u) << place[i];
          g |= (f >> y & 1u) << x;
        }
        for (const bool output : {false, true}) {
          const unsigned h = (output ? ~g : g) & 0xFFFFu;
          if (h == f) automorphisms_.back().push_back({form, place, static_cast<std::uint8_t>(inputs), output});
          if (seen[h]) continue;
          seen[h] = true;
          matches_[h] = {form, place, static_cast<std::uint8_t>(inputs), output};
        }
      }
    } while (std::next_permutation(place.begin(), place.end()));
  }
}

// The chain with other literals for its inputs, operands in ascending order and no inverted operands of XORs.
SmallChain FourInputLibrary::renamed(const SmallChain& chain, const std::array<std::uint8_t, 4>& inputs, bool turn) {
  SmallChain own = chain;
  std::array<std::uint8_t, 7> turned{};  // [step]
  const auto moved = [&](std::uint8_t literal) {
    return static_cast<std::uint8_t>(literal < 8 ? inputs[literal / 2] ^ (literal & 1u)
                                                 : literal ^ turned[static_cast<std::size_t>(literal / 2 - 4)]);
  };
  for (std::size_t s = 0; s < own.size; ++s) {
    const bool is_xor = own.steps[s].is_xor;
    auto [a, b] = std::minmax({moved(own.steps[s].a), moved(own.steps[s].b)});
    if (is_xor) {
      turned[s] = (a ^ b) & 1u;
      a &= 0xFEu;
      b &= 0xFEu;
    }
    own.steps[s] = {is_xor, a, b};
  }
  own.result = static_cast<std::uint8_t>((own.result >= SmallChain::kConstant ? own.result : moved(own.result)) ^ turn);
  return own;
}

// A chain for `function`, kept as one of its class if it is among the cheapest, and with it those that come of the
// names of inputs that the class cannot tell apart: they meet other gates that are there already.
void FourInputLibrary::offer(std::uint16_t function, const SmallChain& chain) {
  const Match& m = matches_[function];
  std::array<std::uint8_t, 4> inputs{};
  for (unsigned i = 0; i < 4; ++i) inputs[i] = static_cast<std::uint8_t>((2 * m.place[i]) | (m.inputs >> i & 1u));
  const SmallChain own = renamed(chain, inputs, m.output);
  for (const ChainCost cost : {ChainCost::kGates, ChainCost::kAnds, ChainCost::kDepth}) {
    std::vector<SmallChain>& list = chains_[static_cast<std::size_t>(cost)][m.form];
    if (!list.empty() && cost_of(chain, cost) > cost_of(list.front(), cost)) continue;
    if (!list.empty() && cost_of(chain, cost) < cost_of(list.front(), cost)) list.clear();
    const std::size_t most = std::min(kMaxChains, list.size() + kMaxAlike);
    for (const Match& same : automorphisms_[m.form]) {
      if (list.size() >= most) break;
      for (unsigned i = 0; i < 4; ++i)
        inputs[same.place[i]] = static_cast<std::uint8_t>((2 * i) | (same.inputs >> i & 1u));
      const SmallChain other = renamed(own, inputs, same.output);
      if (std::find(list.begin(), list.end(), other) == list.end()) list.push_back(other);
    }
  }
}

void FourInputLibrary::enumerate() {
  // Most chains are dearer than what is known: told without making them.
  std::vector<std::uint8_t> form_of;
  for (const Match& m : matches_) form_of.push_back(m.form);
  std::vector<std::array<unsigned, 3>> most(forms(), {99, 99, 999});  // costs below which a chain is of interest
  Enumeration([&](std::uint16_t f, const Enumeration& made) {
    const std::uint8_t form = form_of[f];
    const auto& [gates, ands, depth] = most[form];
    if (made.size() >= gates && made.ands() >= ands && 16 * made.depth() + made.size() >= depth) return;
    offer(f, made.chain());
    for (const ChainCost cost : {ChainCost::kGates, ChainCost::kAnds, ChainCost::kDepth}) {
      const auto& list = chains_[static_cast<std::size_t>(cost)][form];
      most[form][static_cast<std::size_t>(cost)] = cost_of(list.front(), cost) + (list.size() < kMaxChains);
    }
  });
}

// What six gates cannot do takes seven: two smaller functions and a gate.
void FourInputLibrary::combine() {
  const auto smallest = [&](unsigned f) -> const SmallChain* {
    const auto& list = chains_[0][matches_[f].form];
    return list.empty() ? nullptr : &list.front();
  };
  // The class's chain for the function f itself, appended to `whole`; the literal of the result.
  const auto append = [&](SmallChain& whole, unsigned f, const SmallChain& part) {
    const Match& m = matches_[f];
    const std::uint8_t base = whole.size;
    std::uint8_t leaf[4];
    for (unsigned i = 0; i < 4; ++i) leaf[m.place[i]] = static_cast<std::uint8_t>((2 * i) | (m.inputs >> i & 1u));
    const auto moved = [&](std::uint8_t literal) {
      return static_cast<std::uint8_t>(literal < 8 ? leaf[literal / 2] ^ (literal & 1u) : literal + 2 * base);
    };
    for (std::size_t s = 0; s < part.size; ++s)
      whole.steps[whole.size++] = {part.steps[s].is_xor, moved(part.steps[s].a), moved(part.steps[s].b)};
    return static_cast<std::uint8_t>(moved(part.result) ^ m.output);
  };
  std::vector<unsigned> few;  // functions of at most two gates
  for (unsigned f = 1; f < 0xFFFF; ++f)
    if (const SmallChain* chain = smallest(f); chain && chain->size <= 2) few.push_back(f);
  for (std::size_t form = 0; form < forms(); ++form) {
    if (!chains_[0][form].empty()) continue;
    const unsigned whole = representatives_[form];
    const auto join = [&](bool is_xor, unsigned g, unsigned h, bool invert) {
      const SmallChain *x = smallest(g), *y = smallest(h);
      if (!x || !y || x->size + y->size > kMaxSize) return;
      SmallChain chain;
      const std::uint8_t a = append(chain, g, *x), b = append(chain, h, *y);
      chain.steps[chain.size] = {is_xor, a, b};
      chain.result = static_cast<std::uint8_t>((2 * (4 + chain.size)) | invert);
      ++chain.size;
      chain.ands = static_cast<std::uint8_t>(x->ands + y->ands + (is_xor ? 3 : 1));
      chain.depth = static_cast<std::uint8_t>(1 + std::max(x->depth, y->depth));
      offer(static_cast<std::uint16_t>(whole), chain);
    };
    // The candidates are gathered first: offering changes what is smallest, though never for smaller functions.
    for (const unsigned g : few) {
      join(true, g, whole ^ g, false);
      for (const bool invert : {false, true}) {
        const unsigned f = invert ? ~whole & 0xFFFFu : whole;
        if (f & ~g) continue;  // f = g AND h: h is f, and anything outside g
        const unsigned free = ~g & 0xFFFFu;
        for (unsigned some = free;; some = (some - 1) & free) {
          join(false, g, f | some, invert);
          if (some == 0) break;
        }
      }
    }
  }
}

}  // namespace espalier
