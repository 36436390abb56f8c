#include "program_traits.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <fstream>

namespace espalier::app {
std::vector<Trait> program_traits(std::span<char* const> options, std::int64_t targets) {
  std::vector<Trait> traits{{"the program", hash_of_file("/proc/self/exe")},
                            {"its options", fmt::format("{}", fmt::join(options, " "))}};
  for (Trait& trait : bit_traits(targets)) traits.push_back(std::move(trait));
  return traits;
}

std::string trait_difference(Ranks& ranks, std::span<const Trait> mine) {
  for (const Trait& trait : mine) {
    const std::vector<std::string> all = ranks.all_gather_text(trait.value);
    const auto other = std::ranges::find_if(all, [&](const std::string& one) { return one != all[0]; });
    if (other == all.end()) continue;
    const auto r = static_cast<int>(other - all.begin());
    return fmt::format("[ranks] got {} on rank {} ({}): {}, expected what rank 0 ({}) has: {}", trait.what, r,
                       ranks.host(r), *other, ranks.host(0), all[0]);
  }
  return "";
}

Place program_place() {
  std::ifstream boot("/proc/sys/kernel/random/boot_id");  // host names are not always different
  Place place;
  std::getline(boot, place.machine);
  cpu_set_t set;
  CPU_ZERO(&set);
  ::sched_getaffinity(0, sizeof set, &set);
  for (int core = 0; core < CPU_SETSIZE; ++core) place.cores += CPU_ISSET(core, &set) ? 'x' : '.';
  return place;
}

int fair_threads(Ranks& ranks, const Place& mine) {
  const std::vector<std::string> machines = ranks.all_gather_text(mine.machine);
  const std::vector<std::string> cores = ranks.all_gather_text(mine.cores);
  double share = 0;
  for (std::size_t core = 0; core < mine.cores.size(); ++core) {
    int users = 0;
    for (std::size_t r = 0; r < cores.size(); ++r)
      users += machines[r] == mine.machine && core < cores[r].size() && cores[r][core] == 'x';
    if (mine.cores[core] == 'x') share += 1.0 / users;
  }
  return std::max(1, static_cast<int>(share + 1e-9));
}

}  // namespace espalier::app
