// Resubstitution on complete truth tables, gate by gate from the outputs down. See resub_search.hpp for the search.
#include <algorithm>

#include "espalier/random.hpp"
#include "synth/passes.hpp"
#include "synth/resub_search.hpp"

namespace espalier {
namespace {

constexpr std::size_t kMaxOffers = 300;  // recipes weighed for one gate

class Resubstituter {
 public:
  using Table = ResubSearch::Table;
  Resubstituter(const Netlist& netlist, const ResubstituteOptions& options, ResubstituteReport& report)
      : netlist_(netlist), options_(options), report_(report), random_(options.seed, Purpose::kSweep, 1) {
    const std::vector<bool> live = live_nets(netlist);
    for (Net net = 0; net < netlist.inputs.size(); ++net)
      if (live[net]) inputs_.push_back(net);
  }

  Netlist run() {
    if (inputs_.size() > static_cast<std::size_t>(options_.table_inputs)) return netlist_;
    words_ = inputs_.size() > 6 ? std::size_t{1} << (inputs_.size() - 6) : 1;
    descend();
    // At the bottom of one valley: walk sideways, over rewrites that cost nothing, and descend again.
    Netlist best = netlist_;
    for (int walk = 0; walk < options_.walks && !exhausted() && !netlist_.gates.empty(); ++walk) {
      sideways_ = true;
      simulate();
      const std::size_t moves = std::max<std::size_t>(4, netlist_.gates.size() / 2);
      for (std::size_t move = 0; move < moves && !exhausted(); ++move)
        if (improve(netlist_.net_of_gate(random_.choice(draws_++, netlist_.gates.size())))) simulate();
      sideways_ = false;
      descend();
      if (netlist_.gates.size() < best.gates.size()) best = netlist_;
    }
    return best;
  }

 private:
  bool exhausted() const { return report_.spent >= options_.effort; }

  // Strict improvements until there are none.
  void descend() {
    bool improved = true;
    while (improved && !exhausted()) {
      improved = false;
      simulate();
      for (std::size_t g = netlist_.gates.size(); g-- > 0 && !exhausted();) {
        if (g >= netlist_.gates.size()) continue;  // the netlist shrank
        if (improve(netlist_.net_of_gate(g))) {
          improved = true;
          simulate();
        }
      }
    }
  }

  std::uint64_t* table(Net net) { return &tables_[net * words_]; }

  void simulate() {
    tables_.assign((netlist_.nets() + 1) * words_, 0);
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      for (std::size_t w = 0; w < words_; ++w) table(inputs_[i])[w] = counting_word(i, w);
    readers_.assign(netlist_.nets(), 0);
    for (const NetlistOutput& output : netlist_.outputs) ++readers_[output.net];
    for (std::size_t g = 0; g < netlist_.gates.size(); ++g) {
      const auto& [gate, a, b] = netlist_.gates[g];
      std::uint64_t* own = table(netlist_.net_of_gate(g));
      for (std::size_t w = 0; w < words_; ++w) own[w] = apply_gate(gate, table(a)[w], table(b)[w]);
      if (reads_a(gate)) ++readers_[a];
      if (reads_b(gate)) ++readers_[b];
    }
    report_.spent += netlist_.gates.size() * words_;
  }

  // Patterns on which some output changes when `net` does; `above_` marks what depends on it, itself included.
  Table care_of(Net net) {
    above_.assign(netlist_.nets(), false);
    above_[net] = true;
    std::vector<Table> changed(netlist_.nets());
    changed[net].assign(table(net), table(net) + words_);
    for (std::uint64_t& word : changed[net]) word = ~word;
    for (std::size_t g = 0; g < netlist_.gates.size(); ++g) {
      const auto& [gate, a, b] = netlist_.gates[g];
      const bool from_a = reads_a(gate) && above_[a], from_b = reads_b(gate) && above_[b];
      if (!from_a && !from_b) continue;
      const Net own = netlist_.net_of_gate(g);
      above_[own] = true;
      const std::uint64_t *x = from_a ? changed[a].data() : table(a), *y = from_b ? changed[b].data() : table(b);
      changed[own].resize(words_);
      for (std::size_t w = 0; w < words_; ++w) changed[own][w] = apply_gate(gate, x[w], y[w]);
      report_.spent += words_;
    }
    Table care(words_);
    for (const NetlistOutput& output : netlist_.outputs)
      if (above_[output.net])
        for (std::size_t w = 0; w < words_; ++w) care[w] |= changed[output.net][w] ^ table(output.net)[w];
    return care;
  }

  // Gates that fall away when nobody reads `net` any more but `kept` nets gain a reader.
  std::size_t freed(Net net, const std::vector<Net>& kept) {
    std::vector<Net> touched = kept, stack{net};
    for (const Net k : kept) ++readers_[k];
    std::size_t count = 0;
    while (!stack.empty()) {
      const Net top = stack.back();
      stack.pop_back();
      ++count;
      const auto& [gate, a, b] = netlist_.gate_of_net(top);
      const auto drop = [&](Net source) {
        --readers_[source];
        dropped_.push_back(source);
        if (readers_[source] == 0 && !netlist_.is_input(source)) stack.push_back(source);
      };
      if (reads_a(gate)) drop(a);
      if (reads_b(gate)) drop(b);
    }
    for (const Net d : dropped_) ++readers_[d];
    dropped_.clear();
    for (const Net k : kept) --readers_[k];
    return count;
  }

  bool improve(Net net) {
    const Table care = care_of(net);
    Table on(words_), off(words_);
    for (std::size_t w = 0; w < words_; ++w) {
      on[w] = table(net)[w] & care[w];
      off[w] = ~table(net)[w] & care[w];
    }
    const auto empty = [](const Table& t) { return std::all_of(t.begin(), t.end(), [](auto x) { return x == 0; }); };
    if (empty(on) || empty(off)) {
      if (is_constant(netlist_.gate_of_net(net).gate)) return false;  // nothing to gain
      return accept(net, {}, {}, empty(on) ? Gate::kFalse : Gate::kTrue);
    }
    ++report_.tried;
    std::vector<Net> divisors;
    std::vector<const std::uint64_t*> tables;
    for (const Net input : inputs_) divisors.push_back(input);
    for (std::size_t g = 0; g < netlist_.gates.size(); ++g)
      if (const Net d = netlist_.net_of_gate(g); !above_[d]) divisors.push_back(d);
    for (const Net d : divisors) tables.push_back(table(d));

    const std::size_t all = freed(net, {});
    const int steps = static_cast<int>(std::min<std::size_t>(sideways_ ? all : all - 1, 2));
    Recipe best;
    std::size_t best_gain = 0, offers = 0, level = 0;
    ResubSearch search(std::move(tables), words_);
    search.run(on, off, steps, [&](const Recipe& recipe) {
      std::vector<Net> kept;
      const auto keep = [&](std::uint32_t literal) {
        if (literal / 2 < divisors.size()) kept.push_back(divisors[literal / 2]);
      };
      for (const Recipe::Step& step : recipe.steps) {
        keep(step.a);
        keep(step.b);
      }
      keep(recipe.result);
      const std::size_t gone = freed(net, kept);
      if (gone > recipe.steps.size() + best_gain) {
        best_gain = gone - recipe.steps.size();
        best = recipe;
      } else if (sideways_ && best_gain == 0 && gone == recipe.steps.size() && random_.choice(draws_++, ++level) == 0) {
        best = recipe;  // each of the recipes that cost nothing with the same chance
      }
      return ++offers < kMaxOffers && best_gain + recipe.steps.size() < all;
    });
    report_.spent += search.spent();
    return (best_gain > 0 || level > 0) && accept(net, best, divisors, Gate::kA);
  }

  // Rewires `net`; kept only when the tidied netlist really is smaller.
  bool accept(Net net, const Recipe& recipe, const std::vector<Net>& divisors, Gate constant) {
    Netlist next = netlist_;
    NetlistGate& target = next.gates[net - next.inputs.size()];
    if (is_constant(constant)) {
      target = {constant, 0, 0};
    } else {
      std::vector<Net> nets = divisors;
      for (const Recipe::Step& step : recipe.steps) {
        Gate gate = step.gate;
        if (step.a & 1) gate = invert_a(gate);
        if (step.b & 1) gate = invert_b(gate);
        nets.push_back(next.add_gate(gate, nets[step.a / 2], nets[step.b / 2]));
      }
      const Net source = nets[recipe.result / 2];
      next.gates[net - next.inputs.size()] = {recipe.result & 1 ? Gate::kNotA : Gate::kA, source, source};
    }
    next = sort_netlist(next, "resubstitute", true);
    next = remove_dead(absorb_nots(bypass_wires(fold_constants(next))));
    next = remove_dead(absorb_nots(bypass_wires(hash_gates(next))));
    if (next.gates.size() > netlist_.gates.size()) return false;
    if (next.gates.size() == netlist_.gates.size() && (!sideways_ || next == netlist_)) return false;
    netlist_ = std::move(next);
    if (recipe.steps.empty())
      ++report_.by_one;
    else
      ++report_.by_two;
    return true;
  }

  Netlist netlist_;
  const ResubstituteOptions& options_;
  ResubstituteReport& report_;
  std::vector<Net> inputs_;  // live ones
  std::size_t words_ = 1;
  std::vector<std::uint64_t> tables_;   // [net][word]
  std::vector<std::uint32_t> readers_;  // [net]
  std::vector<bool> above_;
  std::vector<Net> dropped_;
  std::uint64_t draws_ = 0;
  bool sideways_ = false;
  Random random_;
};

}  // namespace

Netlist resubstitute(const Netlist& netlist, const ResubstituteOptions& options, ResubstituteReport* report) {
  ResubstituteReport local;
  Resubstituter work(netlist, options, report ? *report : local);
  return work.run();
}

}  // namespace espalier
