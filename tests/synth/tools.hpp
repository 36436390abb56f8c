// Runs the real tools that the exports are made for. A missing tool fails the test: script/bootstrap installs them all.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <string>

#include "espalier/synth.hpp"

namespace espalier::test {

struct Ran {
  int code = -1;
  std::string output;  // both streams
};

inline Ran run(const std::string& command) {
  Ran ran;
  FILE* pipe = popen(("{ " + command + "; } 2>&1").c_str(), "r");
  if (!pipe) return ran;
  std::array<char, 4096> buffer;
  while (const std::size_t n = fread(buffer.data(), 1, buffer.size(), pipe)) ran.output.append(buffer.data(), n);
  const int status = pclose(pipe);
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ran;
}

inline void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  ASSERT_TRUE(file.good()) << path;
}

// Without most of the walks of resubstitution: for tests that need some simplified circuit.
inline SimplifyOptions quick_simplification() {
  SimplifyOptions options;
  options.resubstitute_options.walks = 3;
  options.resubstitute_options.effort = 20'000'000;
  options.resubstitute_options.effort_per_gate = 0;
  return options;
}
inline Netlist simplify_quickly(const Netlist& n) { return simplify(n, quick_simplification()); }

}  // namespace espalier::test
