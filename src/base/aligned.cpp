#include "espalier/aligned.hpp"

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace espalier {
namespace {

constexpr std::size_t kHugePage = std::size_t{1} << 21;
constexpr std::size_t kWorthHugePages = 2 * kHugePage;

std::align_val_t alignment_of(std::size_t bytes) {
  return std::align_val_t{bytes >= kWorthHugePages ? kHugePage : kCacheLine};
}

}  // namespace

void* allocate_aligned(std::size_t bytes) {
  void* memory = ::operator new(bytes, alignment_of(bytes));
#ifdef MADV_HUGEPAGE
  // Whole huge pages only: what lies behind them belongs to others. A refusal costs speed, nothing else.
  if (bytes >= kWorthHugePages) static_cast<void>(madvise(memory, bytes / kHugePage * kHugePage, MADV_HUGEPAGE));
#endif
  return memory;
}

void free_aligned(void* memory, std::size_t bytes) { ::operator delete(memory, alignment_of(bytes)); }

}  // namespace espalier
