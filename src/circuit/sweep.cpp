// Functional sweeping. The netlist is rebuilt gate by gate; a new net whose simulated words equal (or invert) those
// of an earlier one is proved to be that net and dropped, or the proof's counter-example joins the patterns.
#include <bit>

#include "circuit/literal_builder.hpp"
#include "circuit/sweep_prover.hpp"
#include "espalier/circuit/evaluate.hpp"
#include "espalier/circuit/simplify.hpp"
#include "espalier/core/random.hpp"

namespace espalier {
namespace {

constexpr std::size_t kMostTries = 3;  // members of a class tried before a net stands for itself

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
        prover_(result_, options, report),
        random_(options.seed, Purpose::kSweep),
        pending_(source.inputs.size()) {}

  Netlist run() {
    result_.gates.reserve(source_.gates.size());
    for (int w = 0; w < options_.random_words; ++w) add_random_pattern_word();
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
    classes_[hash_of(net)].push_back(net);
  }

  // The newest net of the result: simulated, compared, and merged into an earlier one where that is proved.
  Literal place(Net net) {
    for (std::vector<std::uint64_t>& word : words_) {
      const NetlistGate& gate = result_.gate_of_net(net);
      if (word.size() <= net) word.resize(net + 1);
      word[net] = apply_gate(gate.gate, word[gate.a], word[gate.b]);
    }
    prover_.add_net();
    std::size_t tries = 0;
    while (!prover_.exhausted()) {
      const std::vector<Net>& members = classes_[hash_of(net)];
      if (tries >= std::min(members.size(), kMostTries)) break;
      const Net other = members[tries++];
      const bool inverted = (words_[0][net] ^ (other == kNoNet ? 0 : words_[0][other])) & 1;
      switch (prover_.prove(net, other, inverted)) {
        case SweepProver::Verdict::kEqual: return {other, inverted};
        case SweepProver::Verdict::kDifferent:
          if (add_witness()) tries = 0;  // classes were split; look again
          break;
        case SweepProver::Verdict::kUndecided: break;
      }
    }
    classes_[hash_of(net)].push_back(net);
    return {net, false};
  }

  // Patterns that told two nets apart gather 64 to a word; a full word splits the classes.
  bool add_witness() {
    const std::uint64_t bit = std::uint64_t{1} << pending_count_;
    for (std::size_t i = 0; i < pending_.size(); ++i)
      if (random_.coin((std::uint64_t{1} << 40) + witnesses_ * pending_.size() + i)) pending_[i] |= bit;
    for (const auto& [input, high] : prover_.witness())
      pending_[input] = high ? pending_[input] | bit : pending_[input] & ~bit;
    ++witnesses_;
    if (++pending_count_ < 64) return false;
    pending_count_ = 0;
    words_.push_back(evaluate_words(result_, pending_));
    pending_.assign(pending_.size(), 0);
    split_classes();
    return true;
  }

  void split_classes() {
    classes_.clear();
    classes_[hash_of_zero()].push_back(kNoNet);
    // The newest net is still being placed: it joins later.
    for (Net net = 0; net + 1 < result_.nets(); ++net) classes_[hash_of(net)].push_back(net);
  }

  const Netlist& source_;
  const SweepOptions& options_;
  Netlist result_;
  LiteralBuilder builder_;
  SweepProver prover_;
  Random random_;
  std::vector<std::vector<std::uint64_t>> words_;
  std::unordered_map<std::uint64_t, std::vector<Net>> classes_;  // looked up, never iterated over
  std::vector<Literal> alias_;  // [net of the result]: itself, or what it was merged into
  std::vector<std::uint64_t> pending_;
  std::size_t pending_count_ = 0, witnesses_ = 0;
};

}  // namespace

Netlist sweep(const Netlist& netlist, const SweepOptions& options, SweepReport* report) {
  SweepReport local;
  return Sweeper(netlist, options, report ? *report : local).run();
}

}  // namespace espalier
