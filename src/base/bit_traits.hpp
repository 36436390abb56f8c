// What the bits of a training depend on beside its seed and its settings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace espalier {

struct Trait {
  std::string what;
  std::string value;  // as words for whoever reads that it is not the same
};

// Of this process: what it was built by and for, the libraries that it computes with, and the kind of vector
// instructions among `targets`, a set of hwy::SupportedTargets().
std::vector<Trait> bit_traits(std::int64_t targets);
// With those that this processor has.
std::vector<Trait> bit_traits();

// One line about the traits that are not as they were: "vector instructions: X, before: Y"; empty when all are alike.
std::string difference(const std::vector<Trait>& before, const std::vector<Trait>& now);

// XXH3-128 of a file.
std::string hash_of_file(const std::string& path);

}  // namespace espalier
