#include "espalier/simplify.hpp"

namespace espalier {
namespace {

class Simplifier {
 public:
  Simplifier(const Netlist& netlist, SimplifyReport& report) : best_(netlist), report_(report) { note("as given"); }

  template <class Pass>
  bool apply(const char* name, Pass pass) {
    Netlist next = pass(best_);
    // Every pass keeps the function; one that would make the netlist larger is not taken.
    if (next == best_ || next.gates.size() > best_.gates.size()) return false;
    const bool smaller = next.gates.size() < best_.gates.size();
    best_ = std::move(next);
    note(name);
    return smaller;
  }

  // The cheap structural passes, to their fixed point.
  void tidy(int max_rounds) {
    for (int round = 0; round < max_rounds; ++round) {
      const std::size_t before = best_.gates.size();
      apply("fold constants", fold_constants);
      apply("bypass wires", bypass_wires);
      apply("absorb nots", absorb_nots);
      apply("hash gates", hash_gates);
      apply("collapse pairs", collapse_pairs);
      apply("remove dead", remove_dead);
      if (best_.gates.size() == before && round > 0) return;
    }
  }

  Netlist take() { return std::move(best_); }
  const Netlist& best() const { return best_; }

 private:
  void note(const char* name) {
    const NetlistCounts counts = count_netlist(best_);
    if (!report_.steps.empty() && report_.steps.back().gates == counts.raw &&
        report_.steps.back().active == counts.active && report_.steps.back().depth == counts.depth)
      return;
    report_.steps.push_back({name, counts.raw, counts.active, counts.depth});
  }

  Netlist best_;
  SimplifyReport& report_;
};

}  // namespace

Netlist simplify(const Netlist& netlist, const SimplifyOptions& options, SimplifyReport* report) {
  SimplifyReport local;
  SimplifyReport& told = report ? *report : local;
  Simplifier work(netlist, told);
  work.tidy(options.max_rounds);
  for (int round = 0; round < options.max_rounds; ++round) {
    const std::size_t before = work.best().gates.size();
    if (options.sweep) {
      work.apply("sweep", [&](const Netlist& n) { return sweep(n, options.sweep_options, &told.sweep); });
      work.tidy(options.max_rounds);
    }
    if (options.resubstitute) {
      work.apply("resubstitute",
                 [&](const Netlist& n) { return resubstitute(n, options.resubstitute_options, &told.resubstitute); });
      work.tidy(options.max_rounds);
    }
    if (work.best().gates.size() == before) break;
  }
  return work.take();
}

}  // namespace espalier
