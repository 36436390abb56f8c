// Functional sweeping. The netlist is rebuilt gate by gate; a new net whose simulated words equal (or invert) those
// of an earlier one is proved to be that net and dropped, or the proof's counter-example joins the patterns.
#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <unordered_map>

#include "espalier/random.hpp"
#include "synth/cnf.hpp"
#include "synth/literal_builder.hpp"
#include "synth/passes.hpp"
#include "synth/window_proof.hpp"

namespace espalier {
namespace {

constexpr std::size_t kSpareVariables = 500;   // a solver is kept while most of what it holds is of use
constexpr std::uint64_t kSatCost = 200;        // gate words that one encoded net costs in a SAT call, roughly
constexpr std::uint64_t kConflictCost = 1000;  // and a conflict

// Decides for two nets of a growing netlist whether they are equal or complementary: by complete truth table when they
// depend on few inputs, by SAT otherwise. Refutations come with an input pattern.
class SweepProver {
 public:
  enum class Verdict { kEqual, kDifferent, kUndecided };

  SweepProver(const Netlist& netlist, const SweepOptions& options, SweepReport& report);

  // Call once for every net, in order, inputs too: keeps its support.
  void add_net();
  // Net x against y (kNoNet: the constant 0), or against its inverse, by what lies just below both: costs little,
  // whatever the size of the netlist, and refutes nothing.
  bool proved_nearby(Net x, Net y, bool inverted);
  // The same, refutations included.
  Verdict prove(Net x, Net y, bool inverted);
  // After kDifferent: values of some inputs that show it.
  const std::vector<std::pair<Net, bool>>& witness() const { return witness_; }
  bool exhausted() const { return spent_ > options_.effort; }

 private:
  using Support = std::vector<Net>;  // ascending
  std::optional<Support> joint_support(Net x, Net y) const;
  void collect_cone(Net x, Net y);
  Verdict by_table(Net x, Net y, bool inverted, const Support& support);
  Verdict by_sat(Net x, Net y, bool inverted);
  bool told_apart_by_samples(Net x, Net y, bool inverted);

  const Netlist& netlist_;
  const SweepOptions& options_;
  SweepReport& report_;
  std::vector<std::optional<Support>> supports_;  // [net]; none: more inputs than a table may have
  std::vector<std::pair<Net, bool>> witness_;
  std::vector<Net> cone_;             // gates, ascending
  std::vector<std::uint32_t> seen_;   // [net], the mark of the last cone that held it
  std::vector<std::uint32_t> place_;  // [net], its row in `words_` during a table
  std::vector<std::uint64_t> words_;
  std::uint32_t mark_ = 0;
  std::unique_ptr<CnfCone> solver_;
  WindowProof window_;
  std::uint64_t spent_ = 0, draws_ = 0;
};

SweepProver::SweepProver(const Netlist& netlist, const SweepOptions& options, SweepReport& report)
    : netlist_(netlist),
      options_(options),
      report_(report),
      window_(netlist, static_cast<std::size_t>(options.window_inputs)) {}

void SweepProver::add_net() {
  const Net net = static_cast<Net>(supports_.size());
  seen_.push_back(0);
  place_.push_back(0);
  if (netlist_.is_input(net)) {
    supports_.push_back(Support{net});
  } else {
    const NetlistGate& gate = netlist_.gate_of_net(net);
    supports_.push_back(is_constant(gate.gate) ? Support{} : joint_support(gate.a, gate.b));
  }
}

std::optional<SweepProver::Support> SweepProver::joint_support(Net x, Net y) const {
  if (!supports_[x] || (y != kNoNet && !supports_[y])) return std::nullopt;
  if (y == kNoNet) return supports_[x];
  Support both;
  std::set_union(supports_[x]->begin(), supports_[x]->end(), supports_[y]->begin(), supports_[y]->end(),
                 std::back_inserter(both));
  if (both.size() > static_cast<std::size_t>(options_.table_inputs)) return std::nullopt;
  return both;
}

void SweepProver::collect_cone(Net x, Net y) {
  ++mark_;
  cone_.clear();
  const auto visit = [&](Net net) {
    if (net == kNoNet || netlist_.is_input(net) || seen_[net] == mark_) return;
    seen_[net] = mark_;
    cone_.push_back(net);
  };
  visit(x);
  visit(y);
  for (std::size_t i = 0; i < cone_.size(); ++i) {
    const NetlistGate& gate = netlist_.gate_of_net(cone_[i]);
    if (reads_a(gate.gate)) visit(gate.a);
    if (reads_b(gate.gate)) visit(gate.b);
  }
  std::sort(cone_.begin(), cone_.end());
}

bool SweepProver::proved_nearby(Net x, Net y, bool inverted) {
  if (options_.window_inputs == 0 || !window_.equal(x, y, inverted)) return false;
  ++report_.candidates;
  ++report_.merged;
  ++report_.by_table;
  return true;
}

SweepProver::Verdict SweepProver::prove(Net x, Net y, bool inverted) {
  ++report_.candidates;
  const std::optional<Support> support = joint_support(x, y);
  const Verdict verdict = support ? by_table(x, y, inverted, *support) : by_sat(x, y, inverted);
  if (verdict == Verdict::kEqual) ++report_.merged;
  if (verdict == Verdict::kDifferent) ++report_.refuted;
  if (verdict == Verdict::kUndecided) ++report_.undecided;
  return verdict;
}

SweepProver::Verdict SweepProver::by_table(Net x, Net y, bool inverted, const Support& support) {
  collect_cone(x, y);
  const std::uint64_t blocks = support.size() > 6 ? std::uint64_t{1} << (support.size() - 6) : 1;
  spent_ += blocks * (cone_.size() + support.size() + 1);
  std::uint32_t rows = 0;
  for (const Net input : support) place_[input] = rows++;
  for (const Net net : cone_) place_[net] = rows++;
  words_.assign(rows + 1, 0);
  for (std::uint64_t block = 0; block < blocks; ++block) {
    for (std::size_t i = 0; i < support.size(); ++i) words_[i] = counting_word(i, block);
    for (const Net net : cone_) {
      const NetlistGate& gate = netlist_.gate_of_net(net);
      words_[place_[net]] = is_constant(gate.gate)
                                ? apply_gate(gate.gate, std::uint64_t{0}, std::uint64_t{0})
                                : apply_gate(gate.gate, words_[place_[gate.a]], words_[place_[gate.b]]);
    }
    std::uint64_t different = words_[place_[x]] ^ (y == kNoNet ? 0 : words_[place_[y]]);
    if (inverted) different = ~different;
    if (!different) continue;
    const int bit = std::countr_zero(different);
    witness_.clear();
    for (std::size_t i = 0; i < support.size(); ++i)
      witness_.emplace_back(support[i], counting_word(i, block) >> bit & 1);
    return Verdict::kDifferent;
  }
  ++report_.by_table;
  return Verdict::kEqual;
}

// Rare values hide from fair coins: inputs that are mostly 0 or mostly 1 find differences that would cost a SAT call.
bool SweepProver::told_apart_by_samples(Net x, Net y, bool inverted) {
  constexpr std::uint64_t kWords = 12;
  std::vector<Net> inputs;
  ++mark_;
  const auto read = [&](Net net) {
    if (net == kNoNet || !netlist_.is_input(net) || seen_[net] == mark_) return;
    seen_[net] = mark_;
    inputs.push_back(net);
  };
  read(x);
  read(y);
  for (const Net net : cone_) {
    const NetlistGate& gate = netlist_.gate_of_net(net);
    if (reads_a(gate.gate)) read(gate.a);
    if (reads_b(gate.gate)) read(gate.b);
  }
  std::uint32_t rows = 0;
  for (const Net input : inputs) place_[input] = rows++;
  for (const Net net : cone_) place_[net] = rows++;
  words_.assign(rows + 1, 0);
  const Random random(options_.seed, Purpose::kSweep, 2);
  for (std::uint64_t w = 0; w < kWords; ++w) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const PhiloxBlock block = random.block(draws_++);
      const std::uint64_t u = block[0] | std::uint64_t{block[1]} << 32, v = block[2] | std::uint64_t{block[3]} << 32;
      words_[i] = w % 4 == 0 ? u : w % 4 == 1 ? u & v : w % 4 == 2 ? u | v : u & v & (u >> 7 | u << 57);
    }
    for (const Net net : cone_) {
      const NetlistGate& gate = netlist_.gate_of_net(net);
      words_[place_[net]] = is_constant(gate.gate)
                                ? apply_gate(gate.gate, std::uint64_t{0}, std::uint64_t{0})
                                : apply_gate(gate.gate, words_[place_[gate.a]], words_[place_[gate.b]]);
    }
    spent_ += cone_.size() + 8 * inputs.size();
    std::uint64_t different = words_[place_[x]] ^ (y == kNoNet ? 0 : words_[place_[y]]);
    if (inverted) different = ~different;
    if (!different) continue;
    witness_.clear();
    for (std::size_t i = 0; i < inputs.size(); ++i)
      witness_.emplace_back(inputs[i], words_[i] >> std::countr_zero(different) & 1);
    return true;
  }
  return false;
}

SweepProver::Verdict SweepProver::by_sat(Net x, Net y, bool inverted) {
  collect_cone(x, y);
  if (told_apart_by_samples(x, y, inverted)) return Verdict::kDifferent;
  if (!solver_ || solver_->encoded() > 3 * cone_.size() + kSpareVariables)
    solver_ = std::make_unique<CnfCone>(netlist_, true);
  const CnfCone::Answer answer = y == kNoNet ? solver_->solve(x, !inverted, options_.conflicts)
                                             : solver_->differ(x, y, inverted, options_.conflicts);
  spent_ += kSatCost * (solver_->encoded() + 100);
  if (answer == CnfCone::Answer::kUnknown) {
    spent_ += kConflictCost * static_cast<std::uint64_t>(options_.conflicts);
    return Verdict::kUndecided;
  }
  if (answer == CnfCone::Answer::kUnsatisfiable) {
    ++report_.by_sat;
    return Verdict::kEqual;
  }
  witness_.clear();
  ++mark_;
  const auto read = [&](Net net) {
    if (!netlist_.is_input(net) || seen_[net] == mark_) return;
    seen_[net] = mark_;
    witness_.emplace_back(net, solver_->input_value(net));
  };
  read(x);
  if (y != kNoNet) read(y);
  for (const Net net : cone_) {
    const NetlistGate& gate = netlist_.gate_of_net(net);
    if (reads_a(gate.gate)) read(gate.a);
    if (reads_b(gate.gate)) read(gate.b);
  }
  return Verdict::kDifferent;
}

constexpr std::size_t kMaxTries = 2;    // members of a class tried before a net stands for itself
constexpr std::size_t kMaxNearby = 16;  // and compared by what lies nearby
constexpr std::size_t kMaxWords = 96;   // of patterns; each costs a word a net

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 32);
}

class Sweeper {
 public:
  Sweeper(const Netlist& source, const SweepOptions& options, SweepReport& report)
      : source_(source),
        options_(options),
        result_(without_gates(source)),
        builder_(result_),
        report_(report),
        prover_(result_, options, report),
        random_(options.seed, Purpose::kSweep),
        pending_(source.inputs.size()) {}

  Netlist run() {
    result_.gates.reserve(source_.gates.size());
    for (int w = 0; w < options_.random_words; ++w) add_random_pattern_word();
    for (const std::vector<std::uint64_t>& word : report_.patterns)
      if (word.size() == result_.inputs.size() && words_.size() < kMaxWords) words_.push_back(word);
    classes_[hash_of_zero()].push_back(kNoNet);
    std::vector<Literal> now(source_.nets() + 1);
    for (Net net = 0; net < source_.inputs.size(); ++net) {
      register_net(net);
      now[net] = {net, false};
      alias_.push_back(now[net]);
    }
    for (std::size_t g = 0; g < source_.gates.size(); ++g) {
      const auto& [gate, a, b] = source_.gates[g];
      const Net own = source_.net_of_gate(g);
      bool fresh = false;
      if (is_constant(gate))
        now[own] = {kNoNet, gate == Gate::kTrue};
      else
        now[own] = builder_.gate(gate, now[a], now[b], &fresh);
      if (fresh) alias_.push_back(place(now[own].net));
      // A gate met again may be one that was merged: read what it was merged into.
      if (!now[own].constant()) now[own] = alias_[now[own].net] ^ now[own].inverted;
    }
    for (NetlistOutput& output : result_.outputs) output.net = builder_.net(now[output.net]);
    return remove_dead(absorb_nots(result_));
  }

 private:
  // Words [pattern word][net]; a net's class is a hash of its words in the polarity where the first bit is 0.
  void add_random_pattern_word() {
    std::vector<std::uint64_t> word(result_.inputs.size());
    for (std::size_t i = 0; i < word.size(); ++i) word[i] = random_.bits64(words_.size() * result_.inputs.size() + i);
    words_.push_back(std::move(word));
  }

  std::uint64_t value(std::size_t w, Net net) const {
    const std::uint64_t word = words_[w][net];
    return words_[0][net] & 1 ? ~word : word;
  }
  std::uint64_t hash_of(Net net) const {
    std::uint64_t hash = 1;
    for (std::size_t w = 0; w < words_.size(); ++w) hash = mix(hash, value(w, net));
    return hash;
  }
  std::uint64_t hash_of_zero() const {
    std::uint64_t hash = 1;
    for (std::size_t w = 0; w < words_.size(); ++w) hash = mix(hash, 0);
    return hash;
  }

  void register_net(Net net) {
    prover_.add_net();
    hashes_.push_back(hash_of(net));
    classes_[hashes_[net]].push_back(net);
  }

  // The newest net of the result: simulated, compared, and merged into an earlier one where that is proved.
  Literal place(Net net) {
    for (std::vector<std::uint64_t>& word : words_) {
      const NetlistGate& gate = result_.gate_of_net(net);
      if (word.size() <= net) word.resize(net + 1);
      word[net] = apply_gate(gate.gate, word[gate.a], word[gate.b]);
    }
    prover_.add_net();
    hashes_.push_back(hash_of(net));
    const auto opposite = [&](Net other) {
      return ((words_[0][net] ^ (other == kNoNet ? 0 : words_[0][other])) & 1) != 0;
    };
    stopped_ = stopped_ || (options_.stop && options_.stop());
    if (stopped_) return {net, false};
    const std::vector<Net>& alike = classes_[hashes_[net]];
    for (std::size_t i = 0; i < std::min(alike.size(), kMaxNearby); ++i)
      if (prover_.proved_nearby(net, alike[i], opposite(alike[i]))) return {alike[i], opposite(alike[i])};
    std::size_t tries = 0;
    while (!prover_.exhausted()) {
      const std::vector<Net>& members = classes_[hashes_[net]];
      if (tries >= std::min(members.size(), kMaxTries)) break;
      const Net other = members[tries++];
      const bool inverted = opposite(other);
      switch (prover_.prove(net, other, inverted)) {
        case SweepProver::Verdict::kEqual: return {other, inverted};
        case SweepProver::Verdict::kDifferent:
          if (add_witness()) tries = 0;  // classes were split; look again
          break;
        case SweepProver::Verdict::kUndecided: break;
      }
    }
    classes_[hashes_[net]].push_back(net);
    return {net, false};
  }

  // A pattern that told two nets apart fills eight bits of a word: itself, and neighbours with some inputs turned
  // over, which often tell apart what is close by. A full word splits the classes.
  bool add_witness() {
    std::vector<std::uint64_t> exact(pending_.size());
    for (std::size_t i = 0; i < pending_.size(); ++i)
      exact[i] = random_.bits((std::uint64_t{1} << 40) + witnesses_ * pending_.size() + i) & 255u;
    for (const auto& [input, high] : prover_.witness()) {
      const std::uint32_t r = random_.bits((std::uint64_t{1} << 41) + witnesses_ * pending_.size() + input);
      const std::uint64_t turned = r & (r >> 8) & (r >> 16) & 254u;  // one in eight, never in the pattern itself
      exact[input] = (high ? 255u : 0u) ^ turned;
    }
    for (std::size_t i = 0; i < pending_.size(); ++i) pending_[i] |= exact[i] << pending_bits_;
    ++witnesses_;
    pending_bits_ += 8;
    if (pending_bits_ < 64) return false;
    pending_bits_ = 0;
    if (words_.size() >= kMaxWords) {
      pending_.assign(pending_.size(), 0);
      return false;
    }
    report_.patterns.push_back(pending_);
    std::vector<std::uint64_t> word = pending_;
    for (const NetlistGate& gate : result_.gates) word.push_back(apply_gate(gate.gate, word[gate.a], word[gate.b]));
    words_.push_back(std::move(word));
    pending_.assign(pending_.size(), 0);
    for (Net net = 0; net < hashes_.size(); ++net) hashes_[net] = mix(hashes_[net], value(words_.size() - 1, net));
    split_classes();
    return true;
  }

  void split_classes() {
    classes_.clear();
    classes_[hash_of_zero()].push_back(kNoNet);
    // The newest net is still being placed: it joins later.
    for (Net net = 0; net + 1 < result_.nets(); ++net) classes_[hashes_[net]].push_back(net);
  }

  const Netlist& source_;
  const SweepOptions& options_;
  Netlist result_;
  LiteralBuilder builder_;
  SweepReport& report_;
  SweepProver prover_;
  Random random_;
  std::vector<std::vector<std::uint64_t>> words_;
  std::unordered_map<std::uint64_t, std::vector<Net>> classes_;  // looked up, never iterated over
  std::vector<Literal> alias_;  // [net of the result]: itself, or what it was merged into
  std::vector<std::uint64_t> pending_;
  std::vector<std::uint64_t> hashes_;  // [net of the result]
  std::size_t pending_bits_ = 0, witnesses_ = 0;
  bool stopped_ = false;
};

}  // namespace

Netlist sweep(const Netlist& netlist, const SweepOptions& options, SweepReport* report) {
  SweepReport local;
  return Sweeper(netlist, options, report ? *report : local).run();
}

}  // namespace espalier
