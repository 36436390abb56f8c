// The bench cases of the edit distance: single pairs of molecules with the plain search beside them, a batch of many
// small pairs, and bounds of large graphs.
#include <memory>

#include "base/hash.hpp"
#include "bench/bench_case.hpp"
#include "espalier/graph.hpp"
#include "graph/edit_reference.hpp"
#include "graph/random_molecule.hpp"

namespace espalier {
namespace {

using Molecules = std::vector<LabelledGraph>;

std::shared_ptr<const Molecules> molecules(std::size_t pairs, std::uint32_t least, std::uint32_t most) {
  auto graphs = std::make_shared<Molecules>();
  for (std::uint64_t i = 0; i < 2 * pairs; ++i)
    graphs->push_back(random_molecule(i, least + static_cast<std::uint32_t>((i * 7) % (most - least + 1))));
  return graphs;
}

std::string hash_of(const std::vector<double>& values) { return Hasher().add(std::span<const double>(values)).hex(); }

BenchBody prepare_exact(std::size_t pairs, std::uint32_t least, std::uint32_t most) {
  const auto graphs = molecules(pairs, least, most);
  const auto distances = [graphs](const ThreadPool& pool) {
    std::vector<GraphPair> list;
    for (std::size_t i = 0; i < graphs->size(); i += 2) list.push_back({&(*graphs)[i], &(*graphs)[i + 1]});
    std::vector<double> values;
    for (const EditDistanceReport& r : edit_distances(list, {}, pool)) values.push_back(r.distance);
    return values;
  };
  return same_work(distances, hash_of);
}

BenchReference prepare_exact_reference(std::size_t pairs, std::uint32_t least, std::uint32_t most) {
  const auto graphs = molecules(pairs, least, most);
  constexpr std::size_t kAnyWork = 1 << 30;
  return {static_cast<double>(pairs), [graphs] {
            for (std::size_t i = 0; i < graphs->size(); i += 2) {
              const EditProblem problem((*graphs)[i], (*graphs)[i + 1], {});
              std::vector<std::int32_t> mapping;
              assignment_bound(problem, kAnyWork, mapping);
              reference::EditSearch(problem).run(problem.mapping_cost(mapping));
            }
          }};
}

BenchBody prepare_bounds() {
  constexpr std::uint32_t kNodes = 1000;
  const auto bounds = [a = random_molecule(1, kNodes), b = random_molecule(2, kNodes)](const ThreadPool&) {
    const EditDistanceReport r = edit_bounds(a, b);
    return std::vector<double>{r.lower, r.upper};
  };
  return same_work(bounds, hash_of);
}

}  // namespace

void add_edit_bench(BenchList& cases) {
  cases.push_back({"graph/edit-12", "pairs/s", 100, 0, 0, [] { return prepare_exact(100, 12, 12); },
                   [] { return prepare_exact_reference(5, 12, 12); }});
  cases.push_back({"graph/edit-molecules", "pairs/s", 100, 0, 0, [] { return prepare_exact(100, 10, 14); },
                   [] { return prepare_exact_reference(5, 10, 14); }});
  cases.push_back({"graph/edit-batch-10000", "pairs/s", 10'000, 0, 0, [] { return prepare_exact(10'000, 5, 7); },
                   [] { return prepare_exact_reference(100, 5, 7); }});
  cases.push_back({"graph/edit-bounds-1000", "pairs/s", 1, 0, 0, prepare_bounds});
}

}  // namespace espalier
