// A feed-forward network of two-input gates. What each gate computes is trained: sixteen logits per gate make a mixture
// of the sixteen gates while training (soft), and the gate with the largest logit afterwards (hard). Four numbers per
// gate can do the same in two other ways. Wires are drawn once from a seed; each input of a gate can be given several
// candidates, among which a choice is trained in the same way.
// Example:
//   const ThreadPool pool;
//   const GateNetwork network("gates", {unique_wiring(64, 32, Random(1, Purpose::kWiring))});
//   Parameters parameters;
//   network.add_parameters(parameters, 5);        // A, a wire, is the likeliest gate at the start
//   SoftGates gates(network);
//   gates.choose(parameters.values(), {}, pool);  // once per training step
//   AlignedVector<float> in(64 * 8), values(32 * 8), scratch(network.scratch_rows() * 8), dc(32 * 4);
//   GateTape tape;
//   network.forward(gates.coefficients(), 8, in, values, tape);  // eight samples at once, in lanes
//   for (float& v : values) v = 2 * (v - 1);                     // gradients take the place of the outputs
//   network.backward(gates.coefficients(), 8, in, values, scratch, dc, tape);
//   gates.backward(dc, parameters.gradients(), pool);
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "espalier/netlist.hpp"
#include "espalier/parameters.hpp"
#include "espalier/random.hpp"
#include "espalier/thread_pool.hpp"

namespace espalier {

// Gate g of a layer reads inputs a[g] and b[g] of the layer before. Where wires are trained, a pin (2 g for the first
// input of gate g, 2 g + 1 for the second) has M candidates, of which a[g] or b[g] is the first.
struct Wiring {
  int inputs = 0;
  std::vector<std::int32_t> a, b;             // [outputs]
  std::vector<std::int32_t> candidates = {};  // [2 outputs][M]; empty: fixed wires
  int outputs() const { return static_cast<int>(a.size()); }
  int pins() const { return 2 * outputs(); }
  int choices() const {  // M
    return candidates.empty() || a.empty() ? 1 : static_cast<int>(candidates.size() / (2 * a.size()));
  }
  bool operator==(const Wiring&) const = default;
};

enum class WiringKind { kUnique, kRandom };
inline constexpr int kMaxNetworkGates = 1 << 28;  // of a layer, and of a network with all its copies
inline constexpr int kMaxNetworkWires = 1 << 26;  // candidates of all pins
inline constexpr int kMaxCandidates = 256;        // of a pin

// Every input is used (but for the last of an odd number); no two gates read the same pair. Needs 2 x outputs >=
// inputs.
Wiring unique_wiring(int inputs, int outputs, const Random& random);
// 2 x outputs wires dealt from a shuffled 0..inputs-1, repeated as needed.
Wiring random_wiring(int inputs, int outputs, const Random& random);
Wiring make_wiring(WiringKind kind, int inputs, int outputs, const Random& random);
// The same wiring with `candidates` inputs for each pin to choose from, all different: its wire, and others drawn
// evenly. With one candidate the wires stay fixed.
Wiring with_candidates(Wiring wiring, int candidates, const Random& random);

// What the logits of a gate stand for. An entry is a place of the truth table: 2 a + b for inputs a and b.
enum class Parametrisation {
  kGates,    // sixteen: the softmax weighs the sixteen gates
  kEntries,  // four: the sigmoid of each is what the gate gives for that entry
  kWalsh,    // four coefficients: what an entry's sigmoid is taken of is w0 + w1 A + w2 B + w3 A B; A, B are -1 or 1
};
inline constexpr int logits_of(Parametrisation p) { return p == Parametrisation::kGates ? kGates : 4; }

struct LayerPlan;

inline constexpr float kStartWireLogit = 10;  // of a pin's first candidate

// What one forward pass leaves for its backward pass beside the arrays that it read and wrote: by which to see that
// they are still those. As many may be alive as there are passes to go back through.
struct GateTape {
  std::shared_ptr<const std::vector<LayerPlan>> plans;  // of the network; none: there was no pass
  int lanes = 0, copy = 0;
  std::uint64_t seal = 0;  // of coefficients, inputs and values, but for the outputs
};

// Logits are written [gates][16] below; they are [gates][4] where the parametrisation has four. Those of wires follow
// them, pin by pin.
class GateNetwork {
 public:
  // One network; its logits are the tensors NAME.L [gates, 16], one per layer L, and then for each layer whose pins
  // have M candidates NAME.L.wires [gates, 2, M].
  GateNetwork(std::string name, std::vector<Wiring> layers, Parametrisation parametrisation = Parametrisation::kGates);
  // Copies that share the wiring, which is fixed, each with gates of its own: NAME.L [copies, gates, 16].
  GateNetwork(std::string name, std::vector<Wiring> layers, int copies,
              Parametrisation parametrisation = Parametrisation::kGates);

  const std::string& name() const { return name_; }
  const std::vector<Wiring>& layers() const { return layers_; }
  int copies() const { return copies_; }
  int inputs() const { return layers_.front().inputs; }
  int outputs() const { return layers_.back().outputs(); }
  int gates_per_copy() const { return gates_per_copy_; }
  int gates() const { return copies_ * gates_per_copy_; }
  int wires() const { return wires_; }  // logits of wires: the candidates of all pins; 0 where wires are fixed
  Parametrisation parametrisation() const { return parametrisation_; }
  std::size_t gate_logits() const { return static_cast<std::size_t>(gates()) * logits_of(parametrisation_); }
  std::size_t logits() const { return gate_logits() + static_cast<std::size_t>(wires_); }

  // Appends the logit tensors: all 0 but `start_logit` for gate A, or what gives the same soft gates (set_gate), and
  // `start_wire_logit` for the first candidate of a pin.
  void add_parameters(Parameters& parameters, float start_logit, float start_wire_logit = kStartWireLogit) const;
  // Number of a gate in the order of the parameters (layer, copy, gate): its logits start at 16 (4) times that.
  std::int32_t gate_number(int copy, int layer, int gate) const;
  // The gates' numbers in the order in which they are evaluated (copy, layer, position in the layer's plan), which is
  // that of coefficients and their gradients.
  const std::vector<std::int32_t>& evaluation_order() const { return order_; }
  // Number of a pin's first candidate among the logits of wires; the others follow. An Error where wires are fixed.
  std::int32_t wire_number(int layer, int pin) const;
  // Coefficients in all: [gates][4], and what wires weigh, layer by layer in the order of its plan, each layer's filled
  // up to a multiple of four.
  std::size_t coefficients() const { return 4 * static_cast<std::size_t>(gates()) + weights_; }

  // Soft, for many samples at once: a value is a row of lanes, one lane per sample, lanes a multiple of 8, rows aligned
  // as in AlignedVector. Coefficients and their gradients: [gates][4] of all copies in evaluation order, then those of
  // wires. No two of the arrays may overlap. Values may be anything: NaN goes through, as looking for it would cost as
  // much as a layer.
  //   in: [inputs][lanes]   values: [gates_per_copy][lanes], all layers, the outputs last
  void forward(std::span<const float> coefficients, int lanes, std::span<const float> in, std::span<float> values,
               GateTape& tape, int copy = 0) const;
  // The outputs alone: [outputs][lanes], somewhere in scratch: [scratch_rows][lanes].
  std::span<const float> forward_outputs(std::span<const float> coefficients, int lanes, std::span<const float> in,
                                         std::span<float> scratch, int copy = 0) const;
  // Back through the forward() that filled the tape, with the outputs' gradients in the place of the outputs: turns
  // `in` and `values` into their gradients and adds to dc. An Error when anything else has changed since.
  void backward(std::span<const float> coefficients, int lanes, std::span<float> in, std::span<float> values,
                std::span<float> scratch, std::span<float> dc, const GateTape& tape, int copy = 0) const;
  // The same for inputs that others read as well: `in` stays, and din is added to.
  void backward_adding(std::span<const float> coefficients, int lanes, std::span<const float> in,
                       std::span<float> values, std::span<float> scratch, std::span<float> din, std::span<float> dc,
                       const GateTape& tape, int copy = 0) const;
  int scratch_rows() const { return scratch_rows_; }

  // Appends the gates of one copy as trained, reading these nets; returns the nets of the outputs.
  // logits: [gates][16] of all copies, and those of wires.
  std::vector<Net> harden(std::span<const float> logits, Netlist& netlist, std::span<const Net> inputs,
                          int copy = 0) const;

  const std::vector<LayerPlan>& plans() const { return *plans_; }  // for the kernels

 private:
  GateNetwork(std::string name, std::vector<Wiring> layers, int copies, bool single, Parametrisation parametrisation);
  // The passes without a tape.
  void run_forward(std::span<const float> coefficients, int lanes, std::span<const float> in, std::span<float> values,
                   int copy) const;
  void run_backward(std::span<const float> coefficients, int lanes, std::span<float> in, std::span<float> values,
                    std::span<float> scratch, std::span<float> dc, int copy) const;
  void run_backward_adding(std::span<const float> coefficients, int lanes, std::span<const float> in,
                           std::span<float> values, std::span<float> scratch, std::span<float> din, std::span<float> dc,
                           int copy) const;
  std::uint64_t seal(std::span<const float> coefficients, std::span<const float> in, std::span<const float> values,
                     int lanes) const;
  void check_tape(const GateTape& tape, std::span<const float> coefficients, std::span<const float> in,
                  std::span<const float> values, int lanes, int copy) const;
  // Where a copy's coefficients start; checks both numbers.
  std::ptrdiff_t first_of_copy(int copy, int lanes) const;
  std::size_t first_weight(const LayerPlan& plan) const;  // of its wires among all coefficients
  // One layer, whose gates' coefficients start at `first`.
  void layer_forward(const LayerPlan& plan, std::span<const float> coefficients, std::ptrdiff_t first, int lanes,
                     const float* in, float* out) const;
  void layer_backward(const LayerPlan& plan, std::span<const float> coefficients, std::ptrdiff_t first, int lanes,
                      float* values, const float* dout, std::span<float> scratch, std::span<float> dc) const;
  std::ptrdiff_t backward_to_first_layer(std::span<const float> coefficients, int lanes, std::span<float> values,
                                         std::span<float> scratch, std::span<float> dc, int copy) const;

  std::string name_;
  std::vector<Wiring> layers_;
  int copies_;
  bool single_;  // no dimension for copies in the tensors
  Parametrisation parametrisation_;
  int gates_per_copy_ = 0, widest_ = 0, scratch_rows_ = 0, wires_ = 0;
  std::size_t weights_ = 0;  // of wires among the coefficients
  std::shared_ptr<const std::vector<LayerPlan>> plans_;
  std::vector<std::int32_t> order_;

  friend class SoftGates;       // keeps the plans
  friend struct UnsealedGates;  // for those who go back at once (src/logic/unsealed_gates.hpp)
};

// How logits become probabilities in one step.
struct SoftChoice {
  float temperature = 1;
  float gumbel_scale = 0;  // of noise added to the logits; to those of entries the difference of two
  std::uint64_t seed = 0;  // of the noise
  std::uint32_t step = 0;
  bool straight = false;  // straight through: the likeliest gate alone forward, its soft gradient backward
};

// The gates of one training step: the probabilities of the sixteen gates for each (or of its four entries), and the
// four coefficients of the mixture, c0 + c1 a + c2 b + c3 ab. Where wires are trained, the probabilities of a pin's
// candidates, which weigh their values.
class SoftGates {
 public:
  explicit SoftGates(const GateNetwork& network);
  // Of two networks of one parametrisation whose parameters follow each other; the coefficients of the second follow
  // those of the first, whose wires are fixed.
  SoftGates(const GateNetwork& first, const GateNetwork& second);

  int gates() const { return static_cast<int>(order_.size()); }
  // logits: [gates][16] in the order of the parameters, and those of wires, all finite. Returns the choice's name.
  ForwardPass choose(std::span<const float> logits, const SoftChoice& choice,
                     const ThreadPool& pool = calling_thread());
  std::span<const float> coefficients() const { return c_; }  // [gates][4] in evaluation order, then those of wires
  // Adds to dlogits: [gates][16] and those of wires; dc as the coefficients, summed over samples and steps. The choice
  // that dc belongs to must be the last one; without its name it must be clear: an Error when there have been two or
  // more since the last backward().
  void backward(std::span<const float> dc, std::span<float> dlogits, const ThreadPool& pool = calling_thread());
  void backward(const ForwardPass& choice, std::span<const float> dc, std::span<float> dlogits,
                const ThreadPool& pool = calling_thread());

 private:
  void resize(const GateNetwork& last);
  void add_gradients(std::span<const float> dc, std::span<float> dlogits, const ThreadPool& pool);

  Parametrisation parametrisation_;
  std::vector<std::int32_t> order_;  // [gates] number of the gate in the parameters
  AlignedVector<float> p_;           // [gates][16] probabilities, or [gates][4] slopes of the sigmoids
  AlignedVector<float> c_, noisy_;
  std::shared_ptr<const std::vector<LayerPlan>> plans_;  // of the network that may have wires to choose
  AlignedVector<float> wires_;                           // [wires] probabilities, in the order of the parameters
  float inverse_temperature_ = 0;
  LastPass last_;  // choice
};

// noisy = logits + scale * noise of the choice's seed and step: Gumbel noise for each of sixteen logits; for the logit
// of an entry the difference of two, as it decides between 0 and 1; Walsh coefficients move as those of the entries do.
// The last `wires` logits are those of wires, with numbers of their own.
void add_gumbel_noise(std::span<const float> logits, const SoftChoice& choice, AlignedVector<float>& noisy,
                      const ThreadPool& pool = calling_thread(),
                      Parametrisation parametrisation = Parametrisation::kGates, std::size_t wires = 0);

// The gate with the largest logit (the first of equals).
Gate likeliest_gate(std::span<const float, kGates> logits);
// Of one gate in any parametrisation: by entries, 1 where the logit is above 0.
Gate likeliest_gate(std::span<const float> logits, Parametrisation parametrisation);

// The logits of one gate: 0 but `logit` for `gate`; four of them so that the soft gate is that of such sixteen.
void set_gate(std::span<float> logits, Gate gate, float logit, Parametrisation parametrisation);

// What gates harden to. logits: [gates][16], without those of wires, here and below.
struct GateCounts {
  long raw = 0;        // all
  long constants = 0;  // of them FALSE and TRUE, which are not gates
  long active = 0;     // neither A nor B, which are wires, nor constant
  long histogram[kGates] = {};
};
GateCounts count_gates(std::span<const float> logits, Parametrisation parametrisation = Parametrisation::kGates);

// How undecided gates are: the mean entropy of their choice, from 0 (one gate has it all) to 4 bits (all sixteen
// alike). Entries are decided one by one, so theirs are added up.
double mean_entropy(std::span<const float> logits, Parametrisation parametrisation = Parametrisation::kGates);

// The same for pins that choose among candidates; 0 without such pins. wires: the network's logits of wires.
double mean_wire_entropy(const GateNetwork& network, std::span<const float> wires);

}  // namespace espalier
