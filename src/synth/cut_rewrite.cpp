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
constexpr std::uint64_t kWeighing = 40;    // word operations that weighing a plan is like, about
constexpr std::uint64_t kCutting = 2500;   // and finding the cuts of a gate

struct Cut {
  std::array<std::uint32_t, 4> leaves{};  // ascending
  std::uint32_t signature = 0;            // a bit for each leaf, by chance the same for several
  std::uint16_t table = 0;                // of the leaves; the inputs after them do not matter
  std::uint8_t size = 0;
  std::uint8_t from_a = 0, from_b = 0;  // cuts of the sources that were joined
};

// A function of `from.leaves` as one of `leaves`, which hold them.
std::uint16_t stretched(const Cut& from, const std::array<std::uint32_t, 4>& leaves) {
  std::array<unsigned, 4> place{};
  for (unsigned i = 0, at = 0; i < from.size; ++i) {
    while (leaves[at] != from.leaves[i]) ++at;
    place[i] = at;
  }
  // The last first: each changes places with an input that does not matter.
  constexpr unsigned kOnes[] = {0xAAAA, 0xCCCC, 0xF0F0, 0xFF00};
  unsigned table = from.table;
  for (unsigned i = from.size; i-- > 0;) {
    const unsigned to = place[i];
    if (to == i) continue;
    const unsigned moving = kOnes[i] & ~kOnes[to], shift = (1u << to) - (1u << i);
    table = (table & ~(moving | moving << shift)) | (table & moving) << shift | (table >> shift & moving);
  }
  return static_cast<std::uint16_t>(table);
}

bool join(const Cut& x, const Cut& y, Cut& both) {
  both.signature = x.signature | y.signature;
  std::uint32_t more = both.signature;
  for (int i = 0; i < 4; ++i) more &= more - 1;
  if (more) return false;
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
  return small.size <= large.size && (small.signature & ~large.signature) == 0 &&
         std::includes(large.leaves.begin(), large.leaves.begin() + large.size, small.leaves.begin(),
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
      graph_.update_level(n);
      find_cuts(n);
      improve(n);
    }
    return graph_.netlist(options_.goal == CircuitGoal::kDepth);
  }

 private:
  std::span<const Cut> cuts_of(std::uint32_t n) {
    if (places_.size() < graph_.size()) places_.resize(graph_.size());
    if (places_[n].count == 0) find_missing(n);
    return {&cuts_[places_[n].first], places_[n].count};
  }

  // Those of a net and, before them, of all below it that have none. XORs are made anew above a net that is replaced by
  // its opposite, so these may be a chain as long as the circuit is deep: too deep for calls within calls.
  void find_missing(std::uint32_t n) {
    missing_.assign(1, n);
    while (!missing_.empty()) {
      const std::uint32_t next = missing_.back();
      if (places_[next].count == 0 && graph_.is_gate(next)) {
        const std::size_t before = missing_.size();
        for (const Edge edge : {graph_.node(next).a, graph_.node(next).b})
          if (places_[node_of(edge)].count == 0) missing_.push_back(node_of(edge));
        if (missing_.size() > before) continue;
        find_cuts(next);
      } else if (places_[next].count == 0) {
        keep_cuts(next, {});
      }
      missing_.pop_back();
    }
  }

  static Cut itself(std::uint32_t n) { return {{n, 0, 0, 0}, std::uint32_t{1} << (n * 0x9E3779B9u >> 27), 0xAAAA, 1}; }

  // The net itself comes last.
  void keep_cuts(std::uint32_t n, std::span<const Cut> found) {
    if (places_.size() < graph_.size()) places_.resize(graph_.size());
    places_[n] = {cuts_.size(), found.size() + 1};
    cuts_.insert(cuts_.end(), found.begin(), found.end());
    cuts_.push_back(itself(n));
  }

  // Those of the two sources, joined. Few leaves first.
  void find_cuts(std::uint32_t n) {
    const Edge a = graph_.node(n).a, b = graph_.node(n).b;
    const bool is_xor = graph_.node(n).is_xor;
    cuts_of(node_of(b));
    cuts_of(node_of(a));  // both are there now, and stay where they are while these are joined
    const std::span<const Cut> from_a = cuts_of(node_of(a)), from_b = cuts_of(node_of(b));
    found_.clear();
    Cut both;
    for (std::uint8_t i = 0; i < from_a.size(); ++i)
      for (std::uint8_t j = 0; j < from_b.size(); ++j) {
        if (!join(from_a[i], from_b[j], both)) continue;
        if (std::any_of(found_.begin(), found_.end(), [&](const Cut& c) { return within(c, both); })) continue;
        std::erase_if(found_, [&](const Cut& c) { return within(both, c); });
        both.from_a = i;
        both.from_b = j;
        found_.push_back(both);
      }
    std::stable_sort(found_.begin(), found_.end(), [](const Cut& x, const Cut& y) { return x.size < y.size; });
    if (found_.size() > kMaxCuts) found_.resize(kMaxCuts);
    for (Cut& cut : found_) {
      const unsigned f = stretched(from_a[cut.from_a], cut.leaves) ^ (inverted(a) ? 0xFFFFu : 0u);
      const unsigned g = stretched(from_b[cut.from_b], cut.leaves) ^ (inverted(b) ? 0xFFFFu : 0u);
      cut.table = static_cast<std::uint16_t>(is_xor ? f ^ g : f & g);
    }
    spent_ += kCutting;
    keep_cuts(n, found_);
  }

  static void fill(GatePlan& plan, const Cut& cut, const FourInputLibrary::Match& match, const SmallChain& chain) {
    plan.base.clear();
    for (unsigned i = 0; i < 4; ++i) plan.base.push_back(0);
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
    for (const Cut& cut : cuts_of(n)) {
      if (cut.size == 1 && cut.leaves[0] == n) continue;
      // Rewriting since the cut was found may have done away with a leaf, or made one that depends on `n` itself, which
      // its level would show.
      if (std::any_of(cut.leaves.begin(), cut.leaves.begin() + cut.size, [&](std::uint32_t leaf) {
            return graph_.node(leaf).dead || graph_.node(leaf).level >= graph_.node(n).level;
          }))
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
    // What would not be taken need not be weighed to its end.
    const int least = choice.kick ? -1 : critical(choice.n) ? -kDearestLevel : choice.gain;
    const PlanWeigher::Weight weight = weigher_.weigh_next(plan_, weigher_.freed() - least);
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
  struct Place {
    std::size_t first = 0, count = 0;
  };
  std::vector<Place> places_;  // [node], of its cuts
  std::vector<Cut> cuts_, found_;
  std::vector<std::uint32_t> missing_;
  std::vector<bool> critical_;  // [node]; empty when depth is no goal
  GatePlan plan_;
  std::uint64_t draws_ = 0;
};

}  // namespace

Netlist rewrite(const Netlist& netlist, const RewriteOptions& options, std::uint64_t* spent) {
  std::uint64_t local = 0;
  return Rewriter(netlist, options, spent ? *spent : local).run();
}

}  // namespace espalier
