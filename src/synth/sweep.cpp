// Functional sweeping. The netlist is rebuilt gate by gate; a new net whose simulated words equal (or invert) those
// of an earlier one is proved to be that net and dropped, or the proof's counter-example joins the patterns.
#include <bit>

#include "espalier/random.hpp"
#include "espalier/simplify.hpp"
#include "synth/literal_builder.hpp"
#include "synth/sweep_prover.hpp"

namespace espalier {
namespace {

constexpr std::size_t kMaxTries = 2;   // members of a class tried before a net stands for itself
constexpr std::size_t kMaxWords = 96;  // of patterns; each costs a word a net

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
    std::size_t tries = 0;
    while (!prover_.exhausted()) {
      const std::vector<Net>& members = classes_[hashes_[net]];
      if (tries >= std::min(members.size(), kMaxTries)) break;
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
};

}  // namespace

Netlist sweep(const Netlist& netlist, const SweepOptions& options, SweepReport* report) {
  SweepReport local;
  return Sweeper(netlist, options, report ? *report : local).run();
}

}  // namespace espalier
