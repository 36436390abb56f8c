// The order of the passes, and Berkeley ABC where it is wanted.
#include <fmt/format.h>

#include <array>
#include <optional>
#include <vector>

#include "espalier/error.hpp"
#include "espalier/synth.hpp"
#include "synth/external_tool.hpp"
#include "synth/formats.hpp"
#include "synth/lut_map.hpp"
#include "synth/passes.hpp"

namespace espalier {

Fields fields_of(SimplifyOptions& o) {
  Fields f;
  f.add("for", o.goal, "what to make small; an XOR counts as one gate, or as three ands",
        {kCircuitGoalNames.begin(), kCircuitGoalNames.end()});
  f.add("sweep", o.sweep, "merge gates that are proved equal or opposite");
  f.add("resubstitute", o.resubstitute, "rebuild gates from others wherever no output can tell the difference");
  f.add("search", o.search, "mutants to try for fewer gates; the result is proved", 0, 1e12);
  f.add("with-abc", o.with_abc, "let Berkeley ABC rewrite it too");
  return f;
}

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

  // For goals other than gates, which may take more of them.
  void become(const char* name, Netlist netlist) {
    best_ = std::move(netlist);
    note(name);
  }

  // What is large is proved by way of what it was; the rest in one go.
  void keep_stage() {
    constexpr std::size_t kLarge = 10'000;  // gates
    if (best_.gates.size() >= kLarge && (report_.stages.empty() || report_.stages.back() != best_))
      report_.stages.push_back(best_);
  }

  Netlist take() { return std::move(best_); }
  const Netlist& best() const { return best_; }

 private:
  void note(const char* name) {
    const NetlistCounts counts = count_netlist(best_);
    if (!report_.steps.empty() && report_.steps.back().gates == counts.gates() &&
        report_.steps.back().active == counts.active && report_.steps.back().depth == counts.depth)
      return;
    report_.steps.push_back({name, counts.gates(), counts.active, counts.depth});
  }

  Netlist best_;
  SimplifyReport& report_;
};

// Each ends in a mapping to two-input look-up tables, which is what we count. Collapsing to a two-level form forgets
// the structure altogether: only for circuits of few inputs.
constexpr const char* kScripts[] = {
    "strash; ifraig; dc2; dc2; dch; if -K 2 -a; mfs2 -a -e",
    "strash; balance; rewrite; refactor; balance; rewrite; rewrite -z; balance; refactor -z; rewrite -z; balance; "
    "resub -K 8; dch; if -K 2 -a; mfs2 -a -e",
};
constexpr const char* kCollapsing[] = {
    "collapse; sop; fx; strash; dc2; dch; if -K 2 -a; mfs2 -a -e",
    "collapse; muxes; strash; dc2; dc2; dch; if -K 2 -a; mfs2 -a -e",
};
constexpr std::size_t kMaxCollapsed = 14;  // live inputs
constexpr double kProofSeconds = 60;

// What ABC makes of it, under the old names; nothing when the run failed.
std::optional<Netlist> rewritten(const Netlist& netlist, const char* script, const std::string& program,
                                 double seconds) {
  const MemoryFile in(export_blif(netlist)), out;
  const std::string commands = fmt::format("read_blif {}; {}; write_blif {}", in.path(), script, out.path());
  if (run_program({program, "-c", commands}, seconds, {&in, &out}) != 0) return std::nullopt;
  try {
    Netlist result = import_blif(out.content(), "abc's answer");
    if (result.inputs.size() != netlist.inputs.size() || result.outputs.size() != netlist.outputs.size())
      return std::nullopt;
    result.name = netlist.name;
    result.inputs = netlist.inputs;
    for (std::size_t o = 0; o < result.outputs.size(); ++o) result.outputs[o].name = netlist.outputs[o].name;
    return result;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// `start`: where else to begin from, such as the circuit as trained (its other minima are others). `options` are those
// of the simplification that follows each run.
Netlist rewrite_with_abc(const Netlist& simplified, const Netlist& start, const SimplifyOptions& options,
                         AbcReport& report) {
  const AbcOptions& abc = options.abc_options;
  report.program = find_abc(abc.program);
  if (report.program.empty())
    fail("abc", abc.program.empty() ? "no berkeley-abc or abc in $PATH" : "no program " + abc.program, "Berkeley ABC",
         "install it, or do without");
  VerifyOptions proof;
  proof.seconds = kProofSeconds;
  SimplifyOptions quick_look = options;
  quick_look.resubstitute_options.walks = 0;
  Netlist best = simplified;
  const auto try_script = [&](const Netlist& from, const char* script) {
    ++report.runs;
    const std::optional<Netlist> answer = rewritten(from, script, report.program, abc.seconds);
    if (!answer) {
      ++report.failed;
      return;
    }
    // A quick look first: what is far from the best is not worth the long walks.
    Netlist candidate = simplify(*answer, quick_look);
    if (4 * candidate.gates.size() > 5 * best.gates.size()) return;
    candidate = simplify(candidate, options);
    if (candidate.gates.size() >= best.gates.size()) return;
    if (verify(simplified, candidate, proof).verdict != VerifyReport::Verdict::kEqual) {
      ++report.unproved;
      return;
    }
    ++report.kept;
    best = candidate;
  };
  SimplifyOptions quick = options;
  quick.sweep = quick.resubstitute = false;
  const Netlist tidy_start = simplify(start, quick);
  for (int round = 0; round < abc.rounds; ++round) {
    const std::size_t before = best.gates.size();
    const Netlist from = best;
    for (const char* script : kScripts) try_script(from, script);
    if (round == 0) {
      for (const char* script : kScripts) try_script(tidy_start, script);
      if (count_netlist(simplified).live_inputs <= kMaxCollapsed)
        for (const char* script : kCollapsing) try_script(from, script);
    }
    if (best.gates.size() == before) break;
  }
  if (report.runs > 0 && report.failed == report.runs)
    fail("abc", fmt::format("no circuit from {} in {} runs", report.program, report.runs), "Berkeley ABC's answer",
         "try the program by hand, or do without");
  return best;
}

// What a goal counts, the smaller the better.
std::array<std::size_t, 2> cost_for(CircuitGoal goal, const Netlist& n) {
  const NetlistCounts counts = count_netlist(n);
  switch (goal) {
    case CircuitGoal::kDepth: return {counts.depth, counts.raw};
    case CircuitGoal::kLut6: return {map_luts(n, 6).luts.size(), counts.raw};
    case CircuitGoal::kAnds:  // only circuits without XORs are compared
    case CircuitGoal::kGates: break;
  }
  return {counts.raw, counts.depth};
}

// The best for a goal that comes of circuits of the same function: each as it stands, and restructured for the goal.
Netlist best_for(CircuitGoal goal, const std::vector<Netlist>& starts, const SimplifyOptions& options) {
  ResubstituteOptions restructuring = options.resubstitute_options;
  std::optional<Netlist> best;
  const auto take = [&](Netlist candidate) {
    if (!best || cost_for(goal, candidate) < cost_for(goal, *best)) best = std::move(candidate);
  };
  for (const Netlist& start : starts) {
    if (goal != CircuitGoal::kAnds) take(start);
    // Shallow circuits, and those without XORs, are where tables begin to pay.
    for (const CircuitGoal inner : {CircuitGoal::kAnds, CircuitGoal::kDepth}) {
      if (goal != CircuitGoal::kLut6 && goal != inner) continue;
      restructuring.goal = inner;
      if (!options.resubstitute) restructuring.walks = 0;
      ResubstituteReport spent;  // each start has the whole effort
      const bool shallow = inner == CircuitGoal::kDepth;
      take(resubstitute(shallow ? balance(start) : start, restructuring, &spent));
    }
  }
  return *best;
}

void check_options(const SimplifyOptions& o) {
  const auto check = [](const char* what, int got, int least, int most) {
    if (got < least || got > most)
      fail("simplify", fmt::format("{} of {}", what, got), fmt::format("{} to {}", least, most));
  };
  constexpr int kMaxTable = 20;  // 2^20 patterns of each net
  check("a number of rounds", o.max_rounds, 0, 1 << 20);
  check("random words of sweeping", o.sweep_options.random_words, 1, 1 << 16);
  check("table inputs of sweeping", o.sweep_options.table_inputs, 0, kMaxTable);
  check("window inputs of sweeping", o.sweep_options.window_inputs, 0, kMaxTable);
  check("conflicts of sweeping", o.sweep_options.conflicts, 0, 1 << 30);
  check("table inputs of resubstitution", o.resubstitute_options.table_inputs, 0, kMaxTable);
  check("leaves of resubstitution", o.resubstitute_options.leaves, 2, kMaxTable);
  check("walks of resubstitution", o.resubstitute_options.walks, 0, 1 << 30);
  check("rounds of ABC", o.abc_options.rounds, 0, 1 << 20);
  if (!(o.abc_options.seconds > 0)) fail("simplify", fmt::format("{} s for ABC", o.abc_options.seconds), "more than 0");
}

}  // namespace

std::string find_abc(const std::string& program) {
  if (!program.empty()) return find_program(program);
  const std::string debian = find_program("berkeley-abc");
  return debian.empty() ? find_program("abc") : debian;
}

Netlist simplify(const Netlist& netlist, const SimplifyOptions& options, SimplifyReport* report) {
  SimplifyReport local;
  SimplifyReport& told = report ? *report : local;
  check_options(options);
  check_netlist(netlist, "simplify");
  Simplifier work(netlist, told);
  work.tidy(options.max_rounds);
  work.keep_stage();
  std::optional<Netlist> swept;  // before anything but gates was looked at
  for (int round = 0; round < options.max_rounds; ++round) {
    const std::size_t before = work.best().gates.size();
    if (options.sweep) {
      work.apply("sweep", [&](const Netlist& n) { return sweep(n, options.sweep_options, &told.sweep); });
      work.keep_stage();
      work.tidy(options.max_rounds);
    }
    if (!swept) swept = work.best();
    if (options.resubstitute) {
      ResubstituteOptions for_gates = options.resubstitute_options;
      for_gates.goal = CircuitGoal::kGates;
      work.apply("resubstitute", [&](const Netlist& n) { return resubstitute(n, for_gates, &told.resubstitute); });
      work.tidy(options.max_rounds);
      work.keep_stage();
    }
    if (work.best().gates.size() == before) break;
  }
  if (options.search) {
    work.apply("search", [&](const Netlist& n) {
      return search_smaller(n, options.search, options.pool ? *options.pool : calling_thread());
    });
    work.tidy(options.max_rounds);
  }
  if (options.with_abc) {
    SimplifyOptions after = options;
    after.search = 0;
    after.with_abc = false;
    after.resubstitute_options.effort /= 8;  // for each of its answers
    after.resubstitute_options.effort_per_gate /= 8;
    after.goal = CircuitGoal::kGates;
    work.become("abc", rewrite_with_abc(work.best(), netlist, after, told.abc));
  }
  if (options.goal != CircuitGoal::kGates) {
    std::vector<Netlist> starts{swept ? *swept : work.best(), work.best()};
    if (options.goal == CircuitGoal::kAnds) starts.push_back(netlist);  // before XORs were looked for
    work.become(kCircuitGoalNames[static_cast<std::size_t>(options.goal)].data(),
                best_for(options.goal, starts, options));
  }
  return work.take();
}

}  // namespace espalier
