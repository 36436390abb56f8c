// Chunks that all write one variable: what the thread sanitizer must report (ctest case of the tsan build only).
#include <cstdio>
#include <cstdlib>

#include "espalier/core/pool.hpp"

int main() {
  setenv("ESPALIER_OVERSUBSCRIBE", "1", 1);
  const espalier::Pool pool(4);
  long total = 0;
  pool.for_chunks(1000, 1, 1e6, [&](espalier::Chunk c) { total += static_cast<long>(c.index); });
  std::printf("%ld\n", total);
}
