// Arrays that start on a cache line, so that vector loads never straddle one. Large ones ask for huge pages: rows
// gathered from all over such an array would otherwise wait for page tables as often as for memory.
// Example:
//   AlignedVector<float> values(1000);  // a std::vector in all else
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace espalier {

inline constexpr std::size_t kCacheLine = 64;

void* allocate_aligned(std::size_t bytes);
void free_aligned(void* memory, std::size_t bytes);

template <class T>
struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}
  T* allocate(std::size_t n) {
    if (n > static_cast<std::size_t>(-1) / 2 / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(allocate_aligned(n * sizeof(T)));
  }
  void deallocate(T* p, std::size_t n) { free_aligned(p, n * sizeof(T)); }
  bool operator==(const AlignedAllocator&) const { return true; }
};

template <class T>
using AlignedVector = std::vector<T, AlignedAllocator<T>>;

}  // namespace espalier
