// Cut rewriting: each gate, seen as a function of up to four nets below it, is replaced by the smallest circuit of that
// function when that frees gates, those counted that are there already.
#include <algorithm>

#include "espalier/random.hpp"
#include "synth/four_inputs.hpp"
#include "synth/gate_plan.hpp"
#include "synth/passes.hpp"

namespace espalier {
namespace {

constexpr std::size_t kMaxCuts = 12;       // of one node, beside itself
constexpr std::size_t kChainsOfAWalk = 5;  // circuits of one function that are weighed when any will do
constexpr int kDearestLevel = 4;           // gates that may be paid for a gate that is shallower, on a longest path
constexpr std::uint64_t kWeighing = 50;    // word operations that weighing a plan is like, about

struct Cut {
  std::array<std::uint32_t, 4> leaves{};  // ascending
  std::uint8_t size = 0;
  std::uint16_t table = 0;  // of the leaves; the inputs after them do not matter
};

// A function of `from.leaves` as one of `leaves`, which hold them.
std::uint16_t stretched(const Cut& from, const std::array<std::uint32_t, 4>& leaves) {
  std::array<unsigned, 4> place{};
  bool same = true;
  for (unsigned i = 0, at = 0; i < from.size; ++i) {
    while (leaves[at] != from.leaves[i]) ++at;
    place[i] = at;
    same = same && at == i;
  }
  if (same) return from.table;
  unsigned table = 0;
  for (unsigned x = 0; x < 16; ++x) {
    unsigned y = 0;
    for (unsigned i = 0; i < from.size; ++i) y |= (x >> place[i] & 1u) << i;
    table |= (from.table >> y & 1u) << x;
  }
  return static_cast<std::uint16_t>(table);
}

bool join(const Cut& x, const Cut& y, Cut& both) {
  std::size_t i = 0, j = 0;
  both.size = 0;
  both.leaves = {};
  while (i < x.size || j < y.size) {
    if (both.size == 4) return false;
    const bool from_x = j == y.size || (i < x.size && x.leaves[i] <= y.leaves[j]);
    const std::uint32_t leaf = from_x ? x.leaves[i] : y.leaves[j];
    if (i < x.size && x.leaves[i] == leaf) ++i;
    if (j < y.size && y.leaves[j] == leaf) ++j;
    both.leaves[both.size++] = leaf;
  }
  return true;
}

bool within(const Cut& small, const Cut& large) {
  return std::includes(large.leaves.begin(), large.leaves.begin() + large.size, small.leaves.begin(),
                       small.leaves.begin() + small.size);
}

class Rewriter {
 public:
  Rewriter(const Netlist& netlist, const RewriteOptions& options, std::uint64_t& spent)
      : graph_(netlist, options.goal == CircuitGoal::kAnds),
        options_(options),
        spent_(spent),
        random_(options.seed, Purpose::kSweep, 3),
        weigher_(graph_) {}

  Netlist run() {
    const std::vector<std::uint32_t> order = graph_.topological_order();
    if (options_.goal == CircuitGoal::kAnds) cost_ = ChainCost::kAnds;
    if (options_.goal == CircuitGoal::kDepth) find_critical(order);
    for (const std::uint32_t n : order) {
      if (!graph_.is_gate(n)) continue;
      graph_.settle(n);
      find_cuts(n);
      improve(n);
    }
    return graph_.netlist();
  }

 private:
  const std::vector<Cut>& cuts_of(std::uint32_t n) {
    if (cuts_.size() < graph_.size()) cuts_.resize(graph_.size());
    if (cuts_[n].empty()) {
      if (graph_.is_gate(n))
        find_cuts(n);
      else
        cuts_[n].push_back(itself(n));
    }
    return cuts_[n];
  }

  static Cut itself(std::uint32_t n) { return {{n, 0, 0, 0}, 1, 0xAAAA}; }

  // Those of the two sources, joined; the net itself comes last. Few leaves first.
  void find_cuts(std::uint32_t n) {
    const GraphNode node = {graph_.node(n).a, graph_.node(n).b, graph_.node(n).is_xor, false, 0, 0, {}};
    const std::vector<Cut> from_a = cuts_of(node_of(node.a)), from_b = cuts_of(node_of(node.b));
    std::vector<Cut> found;
    for (const Cut& x : from_a)
      for (const Cut& y : from_b) {
        Cut both;
        if (!join(x, y, both)) continue;
        if (std::any_of(found.begin(), found.end(), [&](const Cut& c) { return within(c, both); })) continue;
        const unsigned f = stretched(x, both.leaves) ^ (inverted(node.a) ? 0xFFFFu : 0u);
        const unsigned g = stretched(y, both.leaves) ^ (inverted(node.b) ? 0xFFFFu : 0u);
        both.table = static_cast<std::uint16_t>(node.is_xor ? f ^ g : f & g);
        std::erase_if(found, [&](const Cut& c) { return within(both, c); });
        found.push_back(both);
      }
    std::stable_sort(found.begin(), found.end(), [](const Cut& x, const Cut& y) { return x.size < y.size; });
    if (found.size() > kMaxCuts) found.resize(kMaxCuts);
    found.push_back(itself(n));
    if (cuts_.size() < graph_.size()) cuts_.resize(graph_.size());
    cuts_[n] = std::move(found);
  }

  static void fill(GatePlan& plan, const Cut& cut, const FourInputLibrary::Match& match, const SmallChain& chain) {
    plan.base.assign(4, 0);
    plan.steps.clear();
    plan.constant = kNoEdge;
    for (unsigned i = 0; i < 4; ++i) plan.base[match.place[i]] = (2 * cut.leaves[i]) ^ (match.inputs >> i & 1u);
    for (std::size_t s = 0; s < chain.size; ++s)
      plan.steps.push_back({chain.steps[s].is_xor, chain.steps[s].a, chain.steps[s].b});
    if (chain.result >= SmallChain::kConstant)
      plan.constant = (chain.result & 1u) ^ Edge { match.output };
    else
      plan.result = chain.result ^ std::uint32_t{match.output};
  }

  // Of the circuits of all its cuts the best in the place of `n`, if that is one.
  void improve(std::uint32_t n) {
    const FourInputLibrary& library = FourInputLibrary::get();
    Choice choice{n, options_.kicks > 0 && draw(static_cast<std::uint64_t>(options_.kicks)) == 0};
    for (const Cut& cut : cuts_[n]) {
      if (cut.size == 1 && cut.leaves[0] == n) continue;
      if (std::any_of(cut.leaves.begin(), cut.leaves.begin() + cut.size,
                      [&](std::uint32_t leaf) { return graph_.node(leaf).dead; }))
        continue;
      const FourInputLibrary::Match& match = library.match(cut.table);
      std::array<Edge, 4> base;
      for (std::size_t i = 0; i < 4; ++i) base[i] = 2 * cut.leaves[i];
      weigher_.begin(n, base);
      const auto consider_some = [&](std::span<const SmallChain> chains) {
        // By chance, some are enough: others come in other rounds.
        const std::size_t most = options_.sideways ? std::min(chains.size(), kChainsOfAWalk) : chains.size();
        const std::size_t first = most < chains.size() ? draw(chains.size()) : 0;
        for (std::size_t i = 0; i < most; ++i) consider(choice, cut, match, chains[(first + i) % chains.size()]);
      };
      consider_some(library.chains(match.form, cost_));
      if (critical(n)) consider_some(library.chains(match.form, ChainCost::kDepth));
      weigher_.end(base);
    }
    if (!choice.plan.base.empty()) weigher_.carry_out(n, choice.plan);
  }

  struct Choice {
    std::uint32_t n;
    bool kick;  // at a loss of one gate, whatever comes
    GatePlan plan = {};
    int gain = 0;
    std::uint32_t level = 0;
    std::uint64_t equals = 0;
  };

  std::uint64_t draw(std::uint64_t of) { return random_.choice(draws_++, of); }

  void consider(Choice& choice, const Cut& cut, const FourInputLibrary::Match& match, const SmallChain& chain) {
    fill(plan_, cut, match, chain);
    const PlanWeigher::Weight weight = weigher_.weigh_next(plan_);
    spent_ += kWeighing;
    if (!weight.possible) return;
    const std::uint32_t level = graph_.node(choice.n).level;
    const bool any = !choice.plan.base.empty();
    bool better = false;
    if (choice.kick) {
      better = weight.gain >= -1 && draw(++choice.equals) == 0;
    } else if (options_.goal == CircuitGoal::kDepth) {
      if (weight.level > level) return;
      const bool shallower = weight.level < level && critical(choice.n) && weight.gain >= -kDearestLevel;
      const bool was = any && choice.level < level && critical(choice.n);
      if (shallower || was)
        better = shallower && (!was || std::pair(weight.level, -weight.gain) < std::pair(choice.level, -choice.gain));
      else
        better = weight.gain > choice.gain ||
                 (weight.gain == choice.gain && options_.sideways && draw(++choice.equals) == 0);
    } else if (weight.gain != choice.gain) {
      better = weight.gain > choice.gain;
      if (better) choice.equals = 1;
    } else {
      better = options_.sideways ? draw(++choice.equals) == 0 : any && weight.level < choice.level;
    }
    if (!better) return;
    choice.gain = weight.gain;
    choice.level = weight.level;
    choice.plan = plan_;
  }

  bool critical(std::uint32_t n) const { return n < critical_.size() && critical_[n]; }

  // On a longest path, when the pass begins.
  void find_critical(const std::vector<std::uint32_t>& order) {
    std::vector<std::uint32_t> height(graph_.size(), 0);
    critical_.assign(graph_.size(), false);
    std::uint32_t depth = 0;
    for (const std::uint32_t n : order) depth = std::max(depth, graph_.node(n).level);
    for (std::size_t i = order.size(); i-- > 0;) {
      const GraphNode& node = graph_.node(order[i]);
      critical_[order[i]] = node.level + height[order[i]] == depth;
      for (const Edge edge : {node.a, node.b})
        height[node_of(edge)] = std::max(height[node_of(edge)], height[order[i]] + 1);
    }
  }

  GateGraph graph_;
  const RewriteOptions& options_;
  std::uint64_t& spent_;
  Random random_;
  PlanWeigher weigher_;
  ChainCost cost_ = ChainCost::kGates;
  std::vector<std::vector<Cut>> cuts_;  // [node]
  std::vector<bool> critical_;          // [node]; empty when depth is no goal
  GatePlan plan_;
  std::uint64_t draws_ = 0;
};

}  // namespace

Netlist rewrite(const Netlist& netlist, const RewriteOptions& options, std::uint64_t* spent) {
  std::uint64_t local = 0;
  return Rewriter(netlist, options, spent ? *spent : local).run();
}

}  // namespace espalier
