// The real program under the real mpirun, with more ranks than this machine has cores.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "app/program.hpp"

namespace espalier {

inline const int kRankCounts[] = {1, 2, 3, 4, 7, 8};

inline Surroundings ranks(int count, const Arguments& more = {}) {
  Surroundings around;
  around.environment = {
      {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
      {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
      {"OMPI_MCA_btl_vader_single_copy_mechanism", "none"},  // containers forbid it, and mpirun says so
      {"ESPALIER_OVERSUBSCRIBE", "1"}};
  around.launcher = {ESPALIER_MPIEXEC, "--oversubscribe", "--bind-to", "none", "-n", std::to_string(count)};
  around.launcher.insert(around.launcher.end(), more.begin(), more.end());
  return around;
}

inline Surroundings ranks_over_tcp(int count) { return ranks(count, {"--mca", "btl", "tcp,self"}); }

inline Arguments operator+(Arguments a, const Arguments& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// The hash of the weights of a run that must end well.
inline std::string hash_of(const Ended& e) {
  EXPECT_EQ(e.exit_code, 0) << e.err;
  return e.json().value("model_hash", "no hash: " + e.err);
}

inline std::size_t count_of(const std::string& text, const std::string& words) {
  std::size_t found = 0;
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++found;
  return found;
}

}  // namespace espalier
