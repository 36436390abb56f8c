#include "base/bit_traits.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hwy/targets.h>
#include <link.h>

#include <algorithm>
#include <filesystem>

#include "base/files.hpp"
#include "base/hash.hpp"

namespace espalier {
namespace {

#if defined(__x86_64__)
constexpr const char* kProcessor = "x86-64";
#elif defined(__aarch64__)
constexpr const char* kProcessor = "aarch64";
#else
constexpr const char* kProcessor = "another processor";
#endif

// Shared objects whose answers are part of the bits. The C library's mathematics is not exactly rounded, and one
// version differs from another; those of MPI, of pictures and of text may be what they like.
std::string find_computing_libraries() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* into) {
        const std::string name = std::filesystem::path(info->dlpi_name).filename();
        if (name.starts_with("libm.") || name.starts_with("libm-") || name.starts_with("libhwy."))
          static_cast<std::vector<std::string>*>(into)->push_back(info->dlpi_name);
        return 0;
      },
      &paths);
  std::vector<std::string> words;
  for (const std::string& path : paths)
    words.push_back(fmt::format("{} {}", std::filesystem::path(path).filename().string(), hash_of_file(path)));
  std::ranges::sort(words);
  return fmt::format("{}", fmt::join(words, ", "));
}

const std::string& computing_libraries() {
  static const std::string found = find_computing_libraries();  // they are the same as long as the process runs
  return found;
}

}  // namespace

std::vector<Trait> bit_traits(std::int64_t targets) {
  // Vectors of any width give the same bits, but not with and without fused multiply-adds.
  const bool fused = (targets & ~(HWY_SCALAR | HWY_EMU128 | HWY_SSSE3 | HWY_SSE4)) != 0;
  return {{"build", fmt::format("espalier {} for {}, compiler {}", ESPALIER_VERSION, kProcessor, __VERSION__)},
          {"libraries", computing_libraries()},
          {"vector instructions", fused ? "fused multiply-add" : "no fused multiply-add"}};
}

std::vector<Trait> bit_traits() { return bit_traits(hwy::SupportedTargets()); }

std::string difference(const std::vector<Trait>& before, const std::vector<Trait>& now) {
  std::vector<std::string> words;
  for (const Trait& trait : now) {
    const auto old = std::ranges::find(before, trait.what, &Trait::what);
    if (old != before.end() && old->value != trait.value)
      words.push_back(fmt::format("{}: {}, before: {}", trait.what, trait.value, old->value));
  }
  return fmt::format("{}", fmt::join(words, "; "));
}

std::string hash_of_file(const std::string& path) {
  const std::vector<std::byte> bytes = read_bytes(path);
  return Hasher().add(bytes.data(), bytes.size()).hex();
}

}  // namespace espalier
