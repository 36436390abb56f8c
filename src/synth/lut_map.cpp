#include "synth/lut_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

#include "espalier/error.hpp"

namespace espalier {
namespace {

constexpr std::size_t kCuts = 12;  // kept for each gate
constexpr int kPasses = 4;         // of area recovery

struct Cut {
  std::vector<Net> leaves;  // ascending
  std::size_t depth = 0;
  double flow = 0;  // tables that it costs, shared among its readers
};

class Mapper {
 public:
  Mapper(const Netlist& n, int inputs)
      : n_(n), inputs_(static_cast<std::size_t>(inputs)), cuts_(n.nets()), best_(n.nets()), readers_(n.nets(), 0) {
    for (const auto& [gate, a, b] : n.gates) {
      if (reads_a(gate)) ++readers_[a];
      if (reads_b(gate)) ++readers_[b];
    }
    for (const NetlistOutput& output : n.outputs) ++readers_[output.net];
  }

  LutMapping run() {
    // First the least depth; then, with the slack that leaves, less area, for what the cover really uses.
    for (int pass = 0; pass <= kPasses; ++pass) {
      for (std::size_t g = 0; g < n_.gates.size(); ++g) choose(n_.net_of_gate(g), pass == 0);
      find_required();
    }
    return cover();
  }

 private:
  bool is_leaf(Net net) const { return n_.is_input(net) || is_constant(n_.gate_of_net(net).gate); }

  void rate(Cut& cut, Net own) const {
    cut.depth = 1;
    cut.flow = 1;
    for (const Net leaf : cut.leaves)
      if (!is_leaf(leaf)) {
        cut.depth = std::max(cut.depth, best_[leaf].depth + 1);
        cut.flow += best_[leaf].flow;
      }
    cut.flow /= std::max(1.0, readers_[own]);
  }

  // Cuts of a gate: one of its first operand joined with one of its second, each operand itself among them.
  void choose(Net own, bool for_depth) {
    const auto& [gate, a, b] = n_.gate_of_net(own);
    if (is_constant(gate)) return;
    std::vector<Cut> found;
    if (!for_depth) {  // what was in time in the last pass still is
      found.push_back(best_[own]);
      rate(found.back(), own);
    }
    const auto choices = [&](Net net, bool read) {
      std::vector<std::vector<Net>> list;
      if (!read || (!n_.is_input(net) && is_constant(n_.gate_of_net(net).gate)))
        return std::vector<std::vector<Net>>{{}};
      list.push_back({net});
      for (const Cut& cut : cuts_[net]) list.push_back(cut.leaves);
      return list;
    };
    for (const auto& left : choices(a, reads_a(gate)))
      for (const auto& right : choices(b, reads_b(gate))) {
        Cut cut;
        std::ranges::set_union(left, right, std::back_inserter(cut.leaves));
        if (cut.leaves.size() > inputs_) continue;
        if (std::ranges::any_of(found, [&](const Cut& other) { return other.leaves == cut.leaves; })) continue;
        rate(cut, own);
        found.push_back(std::move(cut));
      }
    const auto by_depth = [](const Cut& x, const Cut& y) {
      return std::tuple(x.depth, x.flow, x.leaves.size()) < std::tuple(y.depth, y.flow, y.leaves.size());
    };
    const auto by_area = [](const Cut& x, const Cut& y) {
      return std::tuple(x.flow, x.depth, x.leaves.size()) < std::tuple(y.flow, y.depth, y.leaves.size());
    };
    std::ranges::sort(found, by_depth);
    best_[own] = found.front();
    if (!for_depth && required_[own] != SIZE_MAX) {
      const Cut quickest = found.front();
      std::ranges::sort(found, by_area);
      const auto in_time = std::ranges::find_if(found, [&](const Cut& cut) { return cut.depth <= required_[own]; });
      best_[own] = in_time == found.end() ? quickest : *in_time;
      if (std::ranges::find(found, quickest.leaves, &Cut::leaves) - found.begin() >= static_cast<std::ptrdiff_t>(kCuts))
        found[kCuts - 1] = quickest;  // the quickest is never lost
    }
    if (found.size() > kCuts) found.resize(kCuts);
    cuts_[own] = std::move(found);
  }

  // How late each gate may be without making the circuit deeper; and how often the cover reads it.
  void find_required() {
    std::size_t deepest = 0;
    for (const NetlistOutput& output : n_.outputs)
      if (!is_leaf(output.net)) deepest = std::max(deepest, best_[output.net].depth);
    if (required_.empty()) depth_ = deepest;
    required_.assign(n_.nets(), SIZE_MAX);
    std::vector<double> used(n_.nets(), 0);
    for (const NetlistOutput& output : n_.outputs) {
      required_[output.net] = depth_;
      ++used[output.net];
    }
    for (std::size_t g = n_.gates.size(); g-- > 0;) {
      const Net own = n_.net_of_gate(g);
      if (used[own] == 0 || is_leaf(own)) continue;
      for (const Net leaf : best_[own].leaves) {
        ++used[leaf];
        required_[leaf] = std::min(required_[leaf], required_[own] - 1);
      }
    }
    // Half old, half new: what is shared only now and then keeps some of its credit.
    for (Net net = 0; net < n_.nets(); ++net) readers_[net] = (readers_[net] + 2 * used[net]) / 3;
  }

  LutMapping cover() const {
    LutMapping mapping;
    std::vector<bool> wanted(n_.nets());
    for (const NetlistOutput& output : n_.outputs) wanted[output.net] = true;
    std::vector<std::size_t> depth(n_.nets(), 0);
    for (std::size_t g = n_.gates.size(); g-- > 0;) {
      const Net own = n_.net_of_gate(g);
      if (!wanted[own] || is_leaf(own)) continue;
      for (const Net leaf : best_[own].leaves) wanted[leaf] = true;
      mapping.luts.push_back({own, best_[own].leaves, table(own, best_[own].leaves)});
    }
    std::ranges::reverse(mapping.luts);
    for (const MappedLut& lut : mapping.luts) {
      for (const Net leaf : lut.leaves) depth[lut.root] = std::max(depth[lut.root], depth[leaf]);
      mapping.depth = std::max(mapping.depth, ++depth[lut.root]);
    }
    return mapping;
  }

  std::uint64_t table(Net root, const std::vector<Net>& leaves) const {
    std::map<Net, std::uint64_t> known;
    for (std::size_t j = 0; j < leaves.size(); ++j) known[leaves[j]] = counting_word(j, 0);
    const auto value = [&](const auto& self, Net net) -> std::uint64_t {
      if (const auto found = known.find(net); found != known.end()) return found->second;
      const auto& [gate, a, b] = n_.gate_of_net(net);
      const std::uint64_t x = reads_a(gate) ? self(self, a) : 0, y = reads_b(gate) ? self(self, b) : 0;
      return known[net] = apply_gate(gate, x, y);
    };
    return value(value, root);
  }

  const Netlist& n_;
  std::size_t inputs_, depth_ = 0;
  std::vector<std::vector<Cut>> cuts_;
  std::vector<Cut> best_;
  std::vector<double> readers_;
  std::vector<std::size_t> required_;
};

}  // namespace

LutMapping map_luts(const Netlist& netlist, int inputs) {
  if (inputs < 2 || inputs > 6) fail("lut", fmt::format("tables of {} inputs", inputs), "2 to 6");
  check_netlist(netlist, "lut");
  return Mapper(netlist, inputs).run();
}

}  // namespace espalier
