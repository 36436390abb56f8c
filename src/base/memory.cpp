// Memory: arrays that start on a cache line, and how much of it this process has had at most. What is asked of the
// system can be refused without harm: huge pages cost speed only, the figure is for reports.
#ifdef __linux__
#include <sys/mman.h>
#endif
#include <sys/resource.h>

#include "base/clock.hpp"
#include "espalier/thread_pool.hpp"

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

double peak_rss_mb() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;  // Linux counts in KiB
}

}  // namespace espalier
