#include "synth/resub_search.hpp"

#include <algorithm>
#include <bit>

namespace espalier {
namespace {

constexpr std::size_t kMaxLiterals = 400;  // unate literals paired with each other
constexpr std::size_t kMaxSplits = 24;     // first literals of a two-gate recipe

std::size_t popcount(const ResubSearch::Table& table) {
  std::size_t count = 0;
  for (const std::uint64_t word : table) count += static_cast<std::size_t>(std::popcount(word));
  return count;
}

}  // namespace

bool ResubSearch::meets(std::uint32_t literal, const Table& set) {
  for (std::size_t w = 0; w < words_; ++w)
    if (word(literal, w) & set[w]) {
      spent_ += w + 4;
      return true;
    }
  spent_ += words_ + 4;
  return false;
}

bool ResubSearch::both_meet(std::uint32_t x, std::uint32_t y, const Table& set) {
  for (std::size_t w = 0; w < words_; ++w)
    if (word(x, w) & word(y, w) & set[w]) {
      spent_ += w + 4;
      return true;
    }
  spent_ += words_ + 4;
  return false;
}

void ResubSearch::run(const Table& on, const Table& off, int steps, const std::function<bool(const Recipe&)>& offer) {
  if (!one_literal(on, off, offer) || steps < 1) return;
  if (!one_gate(on, off, offer) || !one_xor(on, off, offer) || steps < 2) return;
  two_gates(on, off, offer);
}

bool ResubSearch::one_literal(const Table& on, const Table& off, const std::function<bool(const Recipe&)>& offer) {
  for (std::uint32_t literal = 0; literal < 2 * tables_.size(); ++literal)
    if (!meets(literal ^ 1, on) && !meets(literal, off) && !offer({{}, literal})) return false;
  return true;
}

// AND: both literals hold on all of `on`, and never together on `off`. OR: the same for the inverses, on and off
// exchanged.
bool ResubSearch::one_gate(const Table& on, const Table& off, const std::function<bool(const Recipe&)>& offer) {
  for (const bool is_or : {false, true}) {
    const Table &keep = is_or ? off : on, &drop = is_or ? on : off;
    std::vector<std::uint32_t> covering;
    for (std::uint32_t l = 0; l < 2 * tables_.size() && covering.size() < kMaxLiterals; ++l)
      if (!meets(l ^ 1, keep)) covering.push_back(l);
    for (std::size_t i = 0; i < covering.size(); ++i) {
      if (spent_ > limit_) return false;
      for (std::size_t j = i + 1; j < covering.size(); ++j) {
        const std::uint32_t x = covering[i], y = covering[j];
        if (both_meet(x, y, drop)) continue;
        const auto first = static_cast<std::uint32_t>(2 * tables_.size());
        if (!offer({{{Gate::kAnd, x, y}}, first | (is_or ? 1u : 0u)})) return false;
      }
    }
  }
  return true;
}

// A hash of table & care that is linear: that of an XOR is the XOR of the hashes.
std::uint64_t ResubSearch::linear_hash(const std::uint64_t* table, const Table& care) const {
  std::uint64_t h = 0;
  for (std::size_t w = 0; w < words_; ++w) {
    h ^= h << 13;
    h ^= h >> 7;
    h ^= h << 17;
    h ^= table[w] & care[w];
  }
  return h;
}

// Fills `known_`: divisors by their hash on the patterns of `care`, the first of equal ones, each in the polarity in
// which the first pattern of `care` is 0.
void ResubSearch::know_divisors(const Table& care) {
  if (care == known_care_) return;
  known_care_ = care;
  first_word_ = 0;
  while (!care[first_word_]) ++first_word_;
  first_bit_ = care[first_word_] & -care[first_word_];
  everywhere_ = linear_hash(care.data(), care);
  known_.assign(std::bit_ceil(2 * tables_.size() + 1), {0, kNobody});
  hashes_.resize(tables_.size());
  for (std::uint32_t d = 0; d < tables_.size(); ++d) {
    hashes_[d] = normal_hash(tables_[d]);
    Known& slot = slot_of(hashes_[d]);
    if (slot.divisor == kNobody) slot = {hashes_[d], d};
  }
  spent_ += words_ * tables_.size();
}

std::uint64_t ResubSearch::normal_hash(const std::uint64_t* table) const {
  return linear_hash(table, known_care_) ^ (table[first_word_] & first_bit_ ? everywhere_ : 0);
}

// Where the hash is, or would be.
ResubSearch::Known& ResubSearch::slot_of(std::uint64_t hash) {
  std::size_t at = (hash * 0x9E3779B97F4A7C15u) >> 32 & (known_.size() - 1);
  while (known_[at].divisor != kNobody && known_[at].hash != hash) at = (at + 1) & (known_.size() - 1);
  return known_[at];
}

// XOR: d xor wanted must be another divisor, on the patterns that matter.
bool ResubSearch::one_xor(const Table& on, const Table& off, const std::function<bool(const Recipe&)>& offer) {
  if (!xors_) return true;
  if (spent_ > limit_) return false;
  care_.resize(words_);
  std::uint64_t any = 0;
  for (std::size_t w = 0; w < words_; ++w) any |= care_[w] = on[w] | off[w];
  if (!any) return true;
  know_divisors(care_);
  const std::uint64_t wanted = normal_hash(on.data());
  spent_ += 2 * words_ + 4 * tables_.size();
  for (std::uint32_t d = 0; d < tables_.size(); ++d) {
    const std::uint32_t e = slot_of(hashes_[d] ^ wanted).divisor;
    if (e == kNobody || e <= d) continue;
    const bool flip = ((tables_[d][first_word_] ^ tables_[e][first_word_] ^ on[first_word_]) & first_bit_) != 0;
    bool right = true;
    for (std::size_t w = 0; w < words_ && right; ++w)
      right = ((tables_[d][w] ^ tables_[e][w] ^ on[w] ^ (flip ? ~std::uint64_t{0} : 0)) & care_[w]) == 0;
    const auto first = static_cast<std::uint32_t>(2 * tables_.size());
    if (right && !offer({{{Gate::kXor, 2 * d, 2 * e}}, first | (flip ? 1u : 0u)})) return false;
  }
  return true;
}

// A literal settles part of the patterns; one gate must settle the rest.
bool ResubSearch::two_gates(const Table& on, const Table& off, const std::function<bool(const Recipe&)>& offer) {
  const auto step = static_cast<std::uint32_t>(2 * tables_.size());
  bool go_on = true;
  const auto with = [&](Gate gate, std::uint32_t literal, bool invert, const Table& rest_on, const Table& rest_off) {
    const auto extend = [&](const Recipe& inner) {
      Recipe whole = inner;
      whole.steps.push_back({gate, literal, inner.result});
      whole.result = (step + 2) | (invert ? 1u : 0u);
      return go_on = offer(whole);
    };
    return one_gate(rest_on, rest_off, extend) && one_xor(rest_on, rest_off, extend) && go_on;
  };
  struct Split {
    std::size_t left;
    std::uint32_t literal;
    bool is_or;
  };
  std::vector<Split> splits;
  for (const bool is_or : {false, true})
    for (std::uint32_t l = 0; l < step; ++l) {
      if (meets(l ^ 1, is_or ? off : on)) continue;  // as in one_gate: l covers what must be kept
      Table left = is_or ? on : off;
      for (std::size_t w = 0; w < words_; ++w) left[w] &= word(l, w);
      splits.push_back({popcount(left), l, is_or});
    }
  std::sort(splits.begin(), splits.end(), [](const Split& x, const Split& y) {
    return std::tie(x.left, x.is_or, x.literal) < std::tie(y.left, y.is_or, y.literal);
  });
  if (splits.size() > kMaxSplits) splits.resize(kMaxSplits);
  for (const Split& split : splits) {
    Table rest = split.is_or ? on : off;
    for (std::size_t w = 0; w < words_; ++w) rest[w] &= word(split.literal, w);
    // AND(l, inner): inner is 1 on `on`, 0 on what l leaves of `off`. OR: NOT AND(l, inner) with the roles exchanged.
    if (split.is_or ? !with(Gate::kAnd, split.literal, true, off, rest)
                    : !with(Gate::kAnd, split.literal, false, on, rest))
      return false;
  }
  for (std::uint32_t d = 0; xors_ && d < tables_.size(); ++d) {
    Table flipped_on(words_), flipped_off(words_);
    for (std::size_t w = 0; w < words_; ++w) {
      const std::uint64_t t = tables_[d][w];
      flipped_on[w] = (on[w] & ~t) | (off[w] & t);
      flipped_off[w] = (on[w] & t) | (off[w] & ~t);
    }
    if (!with(Gate::kXor, 2 * d, false, flipped_on, flipped_off)) return false;
  }
  return true;
}

}  // namespace espalier
