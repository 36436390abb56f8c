// The exact search on graphs too large for brute force: against the plain search, within budgets, on any number of
// threads; and the assignment problem it rests on.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "espalier/graph.hpp"
#include "espalier/random.hpp"
#include "graph/assignment.hpp"
#include "graph/edit_reference.hpp"
#include "graph/random_molecule.hpp"
#include "thread_counts.hpp"

namespace espalier {
namespace {

TEST(Assignment, IsTheBestOfAllAndItsPricesProveIt) {
  AssignmentSolver solver;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Random random(seed, Purpose::kData);
    const std::size_t rows = 1 + seed % 5, columns = rows + seed / 5 % 3, stride = columns + seed % 2;
    std::vector<double> cost(rows * stride, -1e6);  // what lies between rows is never read
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j)
        cost[i * stride + j] =
            seed % 3 ? static_cast<double>(random.choice(i * 9 + j, 4)) : static_cast<double>(random.normal(i * 9 + j));
    const double found = solver.solve(cost.data(), rows, columns, stride);
    std::vector<std::size_t> order(columns);
    std::iota(order.begin(), order.end(), 0u);
    double best = 1e300;
    do {
      double sum = 0;
      for (std::size_t i = 0; i < rows; ++i) sum += cost[i * stride + order[i]];
      best = std::min(best, sum);
    } while (std::next_permutation(order.begin(), order.end()));
    ASSERT_NEAR(found, best, 1e-9) << seed;
    double prices = 0;
    for (std::size_t i = 0; i < rows; ++i) prices += solver.u()[i];
    for (std::size_t j = 0; j < columns; ++j) {
      prices += solver.v()[j];
      ASSERT_LE(solver.v()[j], 1e-12) << seed;
      for (std::size_t i = 0; i < rows; ++i)
        ASSERT_LE(solver.u()[i] + solver.v()[j], cost[i * stride + j] + 1e-9) << seed;
    }
    ASSERT_NEAR(prices, best, 1e-9) << seed;
  }
}

TEST(EditSearch, EqualsThePlainSearchOnAThousandMolecules) {
  const EditCosts odd{1.5, 0.7, 0.4, 0.9, 1.1, 3.0};
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const bool directed = i % 4 == 3;
    const std::uint32_t most = i % 20 == 0 ? 12 : 10;
    const LabelledGraph a = random_molecule(2 * i, most - static_cast<std::uint32_t>(i % 3), directed),
                        b = random_molecule(2 * i + 1, most - static_cast<std::uint32_t>(i / 3 % 4), directed);
    EditDistanceOptions options;
    if (i % 5 == 4) options.costs = odd;
    const EditDistanceReport r = edit_distance(a, b, options);
    ASSERT_TRUE(r.exact) << i;
    const EditProblem problem(a, b, options.costs);
    ASSERT_NEAR(problem.mapping_cost(r.mapping), r.distance, 1e-9) << i;  // so it is no less than the least
    ASSERT_NEAR(reference::EditSearch(problem).run(r.distance + 0.5), r.distance, 1e-9) << i;
  }
}

// The pairs of the bench case graph/edit-12, and a hundred more.
TEST(EditSearch, EqualsThePlainSearchOnPairsOfTwelveNodesWithFewStates) {
  std::uint64_t states = 0, pairs = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const LabelledGraph a = random_molecule(2 * i, 12), b = random_molecule(2 * i + 1, 12);
    const EditDistanceReport r = edit_distance(a, b);
    ASSERT_TRUE(r.exact) << i;
    ASSERT_NEAR(reference::EditSearch(EditProblem(a, b, {})).run(r.distance + 0.5), r.distance, 1e-9) << i;
    states += r.searched;
    ++pairs;
  }
  RecordProperty("states_per_pair", std::to_string(states / pairs));
  EXPECT_LT(states / pairs, 400u) << "states per pair";
}

TEST(EditSearch, ABudgetIsCountedInStatesAndBoundsHoldWhereverItEnds) {
  for (std::uint64_t i = 0; i < 40; ++i) {
    const LabelledGraph a = random_molecule(i, 11), b = random_molecule(i + 100, 12);
    const EditDistanceReport whole = edit_distance(a, b);
    for (const std::uint64_t budget : {0, 1, 2, 10, 50, 200}) {
      const EditDistanceReport cut = edit_distance(a, b, {.max_nodes = budget});
      EXPECT_LE(cut.searched, budget);
      EXPECT_LE(cut.lower, whole.distance);
      EXPECT_GE(cut.upper, whole.distance);
      EXPECT_EQ(cut.exact, cut.lower == cut.upper);
    }
  }
}

// Equal labels of nodes and edges, so counting gives 0; the assignment problem sees that degrees differ.
TEST(EditSearch, ThousandsOfNodesGetBoundsByCountingWhateverTheBudget) {
  constexpr std::uint32_t kNodes = 5000;
  LabelledGraph path{.labels = std::vector<std::string>(kNodes, "C")}, tree = path;
  for (std::uint32_t i = 1; i < kNodes; ++i) {
    path.edges.push_back({i - 1, i, ""});
    tree.edges.push_back({i / 2, i, ""});
  }
  const EditDistanceReport r = edit_distance(path, tree, {.max_nodes = 1});
  EXPECT_EQ(r.searched, 0u);
  EXPECT_EQ(r.lower, 0);
  EXPECT_FALSE(r.exact);
  double sum = 0;
  for (const GraphEdit& e : r.edits) sum += e.cost;
  EXPECT_EQ(sum, r.upper);
  // A large graph against itself with its nodes in another order: the greedy mapping finds most of it.
  const LabelledGraph a = random_molecule(1, 2000);
  LabelledGraph b = a;
  std::reverse(b.labels.begin(), b.labels.end());
  for (LabelledEdge& e : b.edges) e = {1999 - e.from, 1999 - e.to, e.label};
  EXPECT_LT(edit_distance(a, b).upper, 0.5 * static_cast<double>(a.edges.size()));
}

TEST(EditSearch, SameBitsForAnyNumberOfThreads) {
  std::vector<LabelledGraph> graphs;
  for (std::uint64_t i = 0; i < 60; ++i) graphs.push_back(random_molecule(i, 7 + static_cast<std::uint32_t>(i % 4)));
  std::vector<GraphPair> pairs;
  for (std::size_t i = 0; i + 1 < graphs.size(); ++i) pairs.push_back({&graphs[i], &graphs[i + 1]});
  std::vector<EditDistanceReport> first;
  const Oversubscribe more_workers_than_cores;
  for (const int threads : kThreadCounts) {
    const ThreadPool pool(threads);
    const std::vector<EditDistanceReport> reports = edit_distances(pairs, {.max_nodes = 40}, pool);
    if (first.empty()) first = reports;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      EXPECT_EQ(reports[i].lower, first[i].lower);
      EXPECT_EQ(reports[i].upper, first[i].upper);
      EXPECT_EQ(reports[i].mapping, first[i].mapping);
      EXPECT_EQ(reports[i].searched, first[i].searched);
    }
  }
}

}  // namespace
}  // namespace espalier
