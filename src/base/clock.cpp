#include "base/clock.hpp"

#include <sys/resource.h>

namespace espalier {

double peak_rss_mb() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;  // Linux counts in KiB
}

}  // namespace espalier
