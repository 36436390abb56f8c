// Whether two circuits are equal: by structure, by complete tables, by sweeping and SAT.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <optional>
#include <set>

#include "base/clock.hpp"
#include "espalier/error.hpp"
#include "espalier/random.hpp"
#include "espalier/synth.hpp"
#include "synth/cnf.hpp"
#include "synth/literal_builder.hpp"
#include "synth/names.hpp"
#include "synth/passes.hpp"

namespace espalier {
namespace {

constexpr std::size_t kWords = 16;  // words of one net evaluated together
using Row = std::array<std::uint64_t, kWords>;
constexpr std::uint64_t kTableEffort = 20'000'000'000;  // gate words of complete tables in all, about
// Rounds of sweeping, while outputs are open: conflicts of SAT for one pair of nets; 0: only what lies nearby is
// compared.
constexpr std::array<int, 4> kSweepConflicts{0, 100, 1'000, 10'000};
constexpr int kOutputConflicts = 300;  // for one output between them

std::vector<Net> cone_of(const Netlist& n, Net x, Net y) {
  std::vector<bool> seen(n.nets());
  std::vector<Net> cone;
  const auto visit = [&](Net net) {
    if (!seen[net]) cone.push_back(net);
    seen[net] = true;
  };
  visit(x);
  visit(y);
  for (std::size_t i = 0; i < cone.size(); ++i) {
    if (n.is_input(cone[i])) continue;
    const NetlistGate gate = n.gate_of_net(cone[i]);
    if (reads_a(gate.gate)) visit(gate.a);
    if (reads_b(gate.gate)) visit(gate.b);
  }
  std::sort(cone.begin(), cone.end());
  return cone;
}

// The inputs that each net depends on structurally, ascending, for nets of at most `most` of them.
class Supports {
 public:
  Supports(const Netlist& n, std::size_t most) : most_(most), of_(n.nets()) {
    for (Net net = 0; net < n.nets(); ++net) {
      if (n.is_input(net)) {
        of_[net] = std::vector<Net>{net};
        continue;
      }
      const NetlistGate& gate = n.gate_of_net(net);
      if (reads_a(gate.gate) && reads_b(gate.gate))
        of_[net] = joint(gate.a, gate.b);
      else
        of_[net] = reads_a(gate.gate) ? of_[gate.a] : reads_b(gate.gate) ? of_[gate.b] : std::vector<Net>{};
    }
  }
  std::optional<std::vector<Net>> joint(Net x, Net y) const {
    if (!of_[x] || !of_[y]) return std::nullopt;
    std::vector<Net> both;
    std::set_union(of_[x]->begin(), of_[x]->end(), of_[y]->begin(), of_[y]->end(), std::back_inserter(both));
    if (both.size() > most_) return std::nullopt;
    return both;
  }

 private:
  std::size_t most_;
  std::vector<std::optional<std::vector<Net>>> of_;
};

// A pattern of all inputs on which the nets differ, or nothing after all 2^support have been tried: complete truth
// tables of both, side by side. The cone is that of both, inputs first.
std::optional<std::vector<bool>> first_difference(const Netlist& n, Net x, Net y, const std::vector<Net>& support,
                                                  const std::vector<Net>& cone) {
  struct Step {
    Gate gate;
    std::uint32_t a, b;
  };
  std::vector<std::uint32_t> place(n.nets());
  std::vector<Step> steps;
  for (std::uint32_t i = 0; i < cone.size(); ++i) {
    place[cone[i]] = i;
    if (n.is_input(cone[i])) continue;
    const NetlistGate& g = n.gate_of_net(cone[i]);
    steps.push_back({g.gate, is_constant(g.gate) ? 0 : place[g.a], is_constant(g.gate) ? 0 : place[g.b]});
  }
  std::vector<Row> rows(cone.size());
  const std::uint64_t blocks = support.size() > 6 ? std::uint64_t{1} << (support.size() - 6) : 1;
  for (std::uint64_t block = 0; block < blocks; block += kWords) {
    for (std::size_t i = 0; i < support.size(); ++i)
      for (std::size_t w = 0; w < kWords; ++w) rows[i][w] = counting_word(i, block + w);
    Row* out = rows.data() + support.size();
    for (const Step& step : steps) {
      const Row &a = rows[step.a], &b = rows[step.b];
      for (std::size_t w = 0; w < kWords; ++w) (*out)[w] = apply_gate(step.gate, a[w], b[w]);
      ++out;
    }
    for (std::size_t w = 0; w < kWords; ++w) {
      const std::uint64_t different = rows[place[x]][w] ^ rows[place[y]][w];
      if (!different) continue;
      std::vector<bool> pattern(n.inputs.size());
      for (std::size_t i = 0; i < support.size(); ++i)
        pattern[support[i]] = counting_word(i, block + w) >> std::countr_zero(different) & 1;
      return pattern;
    }
  }
  return std::nullopt;
}

// place[i]: where name i of the first list stands in the second; by position when the names are not the same set.
std::vector<std::size_t> match(const std::vector<std::string>& first, const std::vector<std::string>& second,
                               const char* what, bool& by_name) {
  if (first.size() != second.size())
    fail("verify", fmt::format("circuits of {} and {} {}", first.size(), second.size(), what), "the same number");
  std::map<std::string, std::size_t> at;
  for (std::size_t i = 0; i < second.size(); ++i) at.emplace(second[i], i);
  std::vector<std::size_t> place;
  std::vector<bool> used(second.size());
  by_name = at.size() == second.size();
  for (const std::string& name : first) {
    const auto it = by_name ? at.find(name) : at.end();
    if (it == at.end() || used[it->second])
      by_name = false;
    else
      used[it->second] = true;
    if (by_name) place.push_back(it->second);
  }
  if (!by_name) {
    place.resize(first.size());
    for (std::size_t i = 0; i < place.size(); ++i) place[i] = i;
  }
  return place;
}

std::vector<std::string> output_names(const Netlist& n) {
  std::vector<std::string> names;
  for (const NetlistOutput& output : n.outputs) names.push_back(output.name);
  return names;
}

class Deadline : public CaDiCaL::Terminator {
 public:
  explicit Deadline(double seconds) : end_(seconds > 0 ? seconds_now() + seconds : 0) {}
  bool terminate() override { return end_ > 0 && seconds_now() > end_; }

 private:
  double end_;
};

// Both circuits over the first one's inputs; outputs 0..O-1 of the first, O..2O-1 of the second in matched order.
Netlist join(const Netlist& first, const Netlist& second, const std::vector<std::size_t>& input_place,
             const std::vector<std::size_t>& output_place) {
  Netlist joint;
  joint.inputs = first.inputs;
  LiteralBuilder builder(joint);
  std::vector<Literal> same(first.inputs.size()), moved(second.inputs.size());
  for (std::size_t i = 0; i < first.inputs.size(); ++i) {
    same[i] = moved[input_place[i]] = {static_cast<Net>(i), false};
  }
  const std::vector<Literal> ours = builder.copy(first, same), theirs = builder.copy(second, moved);
  for (std::size_t o = 0; o < ours.size(); ++o) joint.add_output(first.outputs[o].name, builder.net(ours[o]));
  for (std::size_t o = 0; o < ours.size(); ++o)
    joint.add_output(first.outputs[o].name, builder.net(theirs[output_place[o]]));
  return joint;
}

// A net as constant + a u + b v modulo 2, where it is such a sum of the nets that it reads, or of the two that these
// read (an XOR made of ANDs).
struct Sum {
  bool constant, has_u, has_v;
  Net u, v;
};

std::optional<Sum> as_sum(const Netlist& n, Net net) {
  if (n.is_input(net)) return std::nullopt;
  const auto linear = [](Net u, Net v, bool f00, bool f01, bool f10, bool f11) -> std::optional<Sum> {
    if (f00 ^ f01 ^ f10 ^ f11) return std::nullopt;
    return Sum{f00, f00 != f10, f00 != f01, u, v};
  };
  const NetlistGate top = n.gate_of_net(net);
  const auto f = [&](bool a, bool b) { return gate_value(top.gate, a, b); };
  if (const auto sum = linear(top.a, top.b, f(false, false), f(false, true), f(true, false), f(true, true))) return sum;
  for (const Net below : {top.a, top.b}) {
    if (n.is_input(below)) continue;
    const Net u = n.gate_of_net(below).a, v = n.gate_of_net(below).b;
    const auto reads_others = [&](Net m) {
      if (m == u || m == v) return false;
      if (n.is_input(m)) return true;
      const NetlistGate g = n.gate_of_net(m);
      return (reads_a(g.gate) && g.a != u && g.a != v) || (reads_b(g.gate) && g.b != u && g.b != v);
    };
    if (u == v || reads_others(top.a) || reads_others(top.b)) continue;
    const auto value = [&](Net m, bool at_u, bool at_v) {
      if (m == u) return at_u;
      if (m == v) return at_v;
      const NetlistGate g = n.gate_of_net(m);
      return gate_value(g.gate, g.a == u ? at_u : at_v, g.b == u ? at_u : at_v);
    };
    const auto over = [&](bool at_u, bool at_v) { return f(value(top.a, at_u, at_v), value(top.b, at_u, at_v)); };
    if (const auto sum = linear(u, v, over(false, false), over(false, true), over(true, false), over(true, true)))
      return sum;
  }
  return std::nullopt;
}

// Whether x + y, taken apart from the top, comes to 0 modulo 2: so XORs are compared whatever their order, in which SAT
// gets lost. What is read lies below, so a net that cannot be taken apart would stay.
bool same_parity(const Netlist& n, Net x, Net y) {
  bool constant = false;
  std::set<Net> sum;
  const auto add = [&](Net net) {
    if (!sum.insert(net).second) sum.erase(net);
  };
  add(x);
  add(y);
  while (!sum.empty()) {
    const Net top = *sum.rbegin();
    const std::optional<Sum> parts = as_sum(n, top);
    if (!parts) return false;
    sum.erase(top);
    constant ^= parts->constant;
    if (parts->has_u) add(parts->u);
    if (parts->has_v) add(parts->v);
  }
  return !constant;
}

class Verifier {
 public:
  Verifier(const Netlist& joint, const VerifyOptions& options, VerifyReport& report)
      : joint_(joint), options_(options), report_(report), deadline_(options.seconds) {}

  void run() {
    const std::size_t O = joint_.outputs.size() / 2;
    if (sample()) return;
    std::vector<std::size_t> open;
    const Supports supports(joint_, static_cast<std::size_t>(options_.table_inputs));
    std::uint64_t spent = 0;
    for (std::size_t o = 0; o < O; ++o) {
      const Net x = joint_.outputs[o].net, y = joint_.outputs[o + O].net;
      if (x == y) {
        ++report_.by_structure;
        continue;
      }
      const std::optional<std::vector<Net>> support = supports.joint(x, y);
      if (!support || spent > kTableEffort) {
        open.push_back(o);
        continue;
      }
      const std::vector<Net> cone = cone_of(joint_, x, y);
      spent += cone.size() << (support->size() > 6 ? support->size() - 6 : 0);
      if (const auto pattern = first_difference(joint_, x, y, *support, cone)) return differ(o, *pattern);
      ++report_.by_table;
    }
    if (!open.empty() && !by_sat(open)) return;
    report_.verdict = report_.undecided.empty() ? VerifyReport::Verdict::kEqual : VerifyReport::Verdict::kUndecided;
  }

 private:
  void differ(std::size_t output, const std::vector<bool>& inputs) {
    const std::vector<bool> values = evaluate(joint_, inputs);
    const std::size_t O = joint_.outputs.size() / 2;
    report_.verdict = VerifyReport::Verdict::kDifferent;
    report_.counter_example = CounterExample{inputs, joint_.outputs[output].name, values[output], values[output + O]};
  }

  // Random patterns first: most differences show at once.
  bool sample() {
    const Random random(options_.seed, Purpose::kValidation);
    const std::size_t I = joint_.inputs.size(), O = joint_.outputs.size() / 2;
    for (std::uint64_t round = 0; round < 32; ++round) {
      std::vector<std::uint64_t> words(I);
      for (std::size_t i = 0; i < I; ++i) words[i] = random.bits64(round * I + i);
      const std::vector<std::uint64_t> nets = evaluate_words(joint_, words);
      for (std::size_t o = 0; o < O; ++o) {
        const std::uint64_t different = nets[joint_.outputs[o].net] ^ nets[joint_.outputs[o + O].net];
        if (!different) continue;
        std::vector<bool> inputs(I);
        for (std::size_t i = 0; i < I; ++i) inputs[i] = words[i] >> std::countr_zero(different) & 1;
        differ(o, inputs);
        return true;
      }
    }
    return false;
  }

  // False once a difference is found. Sweeping first merges what agrees inside, so that most outputs become one net;
  // what is still open goes to SAT, with little effort before the next round of sweeping and with all of it in the end.
  bool by_sat(std::vector<std::size_t> open) {
    const std::size_t O = joint_.outputs.size() / 2;
    Netlist part = without_gates(joint_);
    part.gates = joint_.gates;
    part.outputs.clear();
    for (const std::size_t o : open) part.outputs.push_back(joint_.outputs[o]);
    for (const std::size_t o : open) part.outputs.push_back(joint_.outputs[o + O]);
    part = remove_dead(part);
    SweepReport swept;  // patterns that told nets apart serve the next round
    for (const int conflicts : kSweepConflicts) {
      if (open.empty() || deadline_.terminate()) break;
      SweepOptions sweeping;
      sweeping.conflicts = conflicts;
      if (conflicts == 0) sweeping.effort = 0;
      sweeping.stop = [this] { return deadline_.terminate(); };
      part = sweep(part, sweeping, &swept);
      if (!compare(part, open, kOutputConflicts)) return false;
    }
    if (!open.empty() && !compare(part, open, -1)) return false;
    for (const std::size_t o : open) report_.undecided.push_back(joint_.outputs[o].name);
    return true;
  }

  // Outputs that are proved equal are open no more, and their cones go. False: different.
  bool compare(Netlist& part, std::vector<std::size_t>& open, int conflicts) {
    CnfCone solver(part, false);
    solver.connect(&deadline_);
    std::vector<std::size_t> left;
    std::vector<NetlistOutput> first, second;
    for (std::size_t i = 0; i < open.size(); ++i) {
      const NetlistOutput &x = part.outputs[i], &y = part.outputs[i + open.size()];
      CnfCone::Answer answer = CnfCone::Answer::kUnsatisfiable;
      if (x.net != y.net && same_parity(part, x.net, y.net)) {
        ++report_.by_structure;
        continue;
      }
      if (x.net != y.net)
        answer = deadline_.terminate() ? CnfCone::Answer::kUnknown : solver.differ(x.net, y.net, false, conflicts);
      if (answer == CnfCone::Answer::kSatisfiable) {
        std::vector<bool> inputs(part.inputs.size());
        for (Net net = 0; net < inputs.size(); ++net) inputs[net] = solver.knows(net) && solver.input_value(net);
        differ(open[i], inputs);
        return false;
      }
      if (answer == CnfCone::Answer::kUnsatisfiable) {
        ++report_.by_sat;
        continue;
      }
      left.push_back(open[i]);
      first.push_back(x);
      second.push_back(y);
    }
    open = std::move(left);
    part.outputs = std::move(first);
    part.outputs.insert(part.outputs.end(), second.begin(), second.end());
    part = remove_dead(part);
    return true;
  }

  const Netlist& joint_;
  const VerifyOptions& options_;
  VerifyReport& report_;
  Deadline deadline_;
};

}  // namespace

VerifyReport verify(const Netlist& first, const Netlist& second, const VerifyOptions& options) {
  if (options.table_inputs < 0 || options.table_inputs > 30)
    fail("verify", fmt::format("tables of {} inputs", options.table_inputs), "0 to 30");
  if (!(options.seconds >= 0)) fail("verify", fmt::format("{} s", options.seconds), "0 or more");
  check_netlist(first, "verify, first circuit");
  check_netlist(second, "verify, second circuit");
  VerifyReport report;
  report.outputs = first.outputs.size();
  const auto inputs = match(first.inputs, second.inputs, "inputs", report.inputs_by_name);
  const auto outputs = match(output_names(first), output_names(second), "outputs", report.outputs_by_name);
  const Netlist joint = join(first, second, inputs, outputs);
  Verifier(joint, options, report).run();
  return report;
}

VerifyReport verify_simplified(const Netlist& netlist, const Netlist& simplified, const SimplifyReport& report,
                               const VerifyOptions& options) {
  constexpr double kDirectly = 60, kPart = 3;  // seconds, or a part of those that there are, before stages are tried
  if (report.stages.empty()) return verify(netlist, simplified, options);
  const double start = seconds_now();
  VerifyOptions limits = options;
  limits.seconds = options.seconds > 0 ? options.seconds / kPart : kDirectly;
  const VerifyReport direct = verify(netlist, simplified, limits);
  if (direct.verdict != VerifyReport::Verdict::kUndecided) return direct;
  VerifyReport whole;
  const Netlist* from = &netlist;
  for (std::size_t s = 0; s <= report.stages.size(); ++s) {
    const Netlist& to = s < report.stages.size() ? report.stages[s] : simplified;
    limits.seconds = options.seconds > 0 ? std::max(0.001, options.seconds - (seconds_now() - start)) : 0;
    const VerifyReport part = verify(*from, to, limits);
    if (part.verdict != VerifyReport::Verdict::kEqual) return direct;
    // An output counts by the hardest of its proofs, as far as numbers tell.
    const std::size_t by_sat = std::max(whole.by_sat, part.by_sat), by_table = std::max(whole.by_table, part.by_table);
    whole = part;
    whole.by_sat = by_sat;
    whole.by_table = std::min(by_table, whole.outputs - by_sat);
    whole.by_structure = whole.outputs - whole.by_sat - whole.by_table;
    from = &to;
  }
  whole.stages = report.stages.size();
  return whole;
}

std::string order_warning(const VerifyReport& report) {
  if (report.inputs_by_name && report.outputs_by_name) return {};
  const char* what = report.inputs_by_name ? "outputs" : report.outputs_by_name ? "inputs" : "inputs and outputs";
  std::string text = fmt::format("the {} have different names in the two circuits and were matched by position", what);
  if (report.verdict == VerifyReport::Verdict::kDifferent) text += "; their order may be all that differs";
  return text;
}

std::string describe(const VerifyReport& report, const Netlist& first) {
  const auto matched = [](bool by_name) { return by_name ? "name" : "position"; };
  std::string text;
  if (report.verdict == VerifyReport::Verdict::kDifferent) {
    const CounterExample& e = *report.counter_example;
    if (e.inputs.size() != first.inputs.size())
      fail("verify", fmt::format("a report on {} inputs", e.inputs.size()),
           fmt::format("one on the {} of the circuit", first.inputs.size()));
    text = fmt::format("different: output {} is {} in the first and {} in the second for inputs", shown_name(e.output),
                       int{e.first}, int{e.second});
    std::string ones;
    for (std::size_t i = 0; i < e.inputs.size(); ++i)
      if (e.inputs[i]) ones += fmt::format(" {}", shown_name(first.inputs[i]));
    text += ones.empty() ? " all 0" : fmt::format("{} = 1, all others 0", ones);
  } else {
    text = report.verdict == VerifyReport::Verdict::kEqual ? "equal" : "undecided";
    text +=
        fmt::format(": {} of {} outputs proved", report.by_structure + report.by_table + report.by_sat, report.outputs);
    if (report.by_structure) text += fmt::format(", {} by structure", report.by_structure);
    if (report.by_table) text += fmt::format(", {} by complete table", report.by_table);
    if (report.by_sat) text += fmt::format(", {} by SAT", report.by_sat);
    if (report.stages) text += fmt::format(", by way of {} circuits between", report.stages);
    if (!report.undecided.empty())
      text += fmt::format("; no answer in time for {} and {} more", shown_name(report.undecided[0]),
                          report.undecided.size() - 1);
  }
  return text + fmt::format(" (inputs matched by {}, outputs by {})", matched(report.inputs_by_name),
                            matched(report.outputs_by_name));
}

}  // namespace espalier
