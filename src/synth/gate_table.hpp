// Which gate computes (kind, a, b), if any: a hash table of nodes by key, with linear probing. Rewriting asks it more
// often than it does anything else.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace espalier {

class GateTable {
 public:
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};

  void reserve(std::size_t gates) { resize(std::bit_ceil(2 * gates + 16)); }
  // Keys are never 0.
  std::uint32_t find(std::uint64_t key) const {
    if (slots_.empty()) return kNobody;
    const Slot& slot = slots_[place_of(key)];
    return slot.key == key ? slot.node : kNobody;
  }
  // The key is new.
  void insert(std::uint64_t key, std::uint32_t node) {
    if (2 * (count_ + 1) > slots_.size()) resize(std::max<std::size_t>(32, 2 * slots_.size()));
    slots_[place_of(key)] = {key, node};
    ++count_;
  }
  // The key is there. What lies behind it moves up, so that no search ends too early.
  void erase(std::uint64_t key) {
    std::size_t hole = place_of(key);
    for (std::size_t at = next(hole); slots_[at].key != 0; at = next(at)) {
      const std::size_t wish = home_of(slots_[at].key);
      if (((at - wish) & (slots_.size() - 1)) < ((at - hole) & (slots_.size() - 1))) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole] = {};
    --count_;
  }

 private:
  struct Slot {
    std::uint64_t key = 0;  // 0: empty
    std::uint32_t node = 0;
  };
  std::size_t next(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }
  std::size_t home_of(std::uint64_t key) const {
    return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15u) >> 32) & (slots_.size() - 1);
  }
  std::size_t place_of(std::uint64_t key) const {
    std::size_t at = home_of(key);
    while (slots_[at].key != 0 && slots_[at].key != key) at = next(at);
    return at;
  }
  void resize(std::size_t size) {
    std::vector<Slot> old(size);
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.key != 0) slots_[place_of(slot.key)] = slot;
  }

  std::vector<Slot> slots_;  // a power of two, at most half of them full
  std::size_t count_ = 0;
};

}  // namespace espalier
