// The logic automaton: a grid of cells that all run the same small circuit, trained as soft gates through many steps of
// time, then hardened. A cell sees its 3x3 neighbourhood. Perceive: K small gate networks ("kernels") read the patch of
// each channel. Update: one gate network reads the cell's own channels and all kernel outputs, and gives the cell's
// next channels.
// Example:
//   const ThreadPool pool;
//   const Automaton automaton({.channels = 2, .kernels = 4, .perceive = {8, 4, 2}, .update = {16, 8, 4, 2}}, 1);
//   Parameters parameters;
//   automaton.add_parameters(parameters, 5);
//   Rollout rollout(automaton, {.batch = 3, .height = 8, .width = 8, .steps = 10});
//   const std::vector<float> boards(3 * 2 * 8 * 8), target(3 * 1 * 8 * 8);
//   rollout.soften(parameters.values(), {}, pool);
//   rollout.forward(boards, 1, 0, pool);
//   const double loss = rollout.loss(target, 1, pool);
//   rollout.backward(pool);
//   rollout.add_gradients(parameters.gradients(), pool);
//   const Netlist cell = harden(automaton, parameters.values());
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "espalier/fields.hpp"
#include "espalier/gate_network.hpp"
#include "espalier/netlist.hpp"
#include "espalier/parameters.hpp"
#include "espalier/thread_pool.hpp"

namespace espalier {

enum class Boundary { kPeriodic, kZero };

// "256x10,128,64": ten layers of 256 gates, then 128, then 64.
std::vector<int> parse_layers(const std::string& text);
std::string format_layers(std::span<const int> layers);

struct AutomatonOptions {
  int channels = 8;                                                   // C
  int kernels = 16;                                                   // K
  std::vector<int> perceive = {8, 4, 2};                              // the first is 8 (the neighbours)
  std::vector<int> update = parse_layers("256x10,128,64,32,16,8,8");  // the last is C
  WiringKind wiring = WiringKind::kUnique;                            // of the update layers
  Boundary boundary = Boundary::kZero;
  Parametrisation parametrisation = Parametrisation::kGates;  // what is trained of a gate
  // M, of each input of an update gate: which it reads is trained. 1: fixed wires. A layer that has fewer inputs than
  // that gives all of them.
  int candidates = 1;

  int perceive_outputs() const { return perceive.empty() ? 0 : perceive.back(); }  // no automaton is without
  // Own channels first, then kernel outputs ordered by channel, output index, kernel.
  int update_inputs() const { return channels + channels * perceive_outputs() * kernels; }
  int update_row(int channel, int output, int kernel) const {
    return channels + (channel * perceive_outputs() + output) * kernels + kernel;
  }
};
Fields fields_of(AutomatonOptions& options);

// Nine inputs (a 3x3 patch by rows, 4 the centre), eight gates: each neighbour with the centre.
Wiring moore_wiring(const Random& random);

// Options and wiring; the logits live in Parameters: perceive.L [K, gates, 16], then update.L [gates, 16], then, with
// candidates, update.L.wires [gates, 2, M]. Wherever 16 is written here, it is 4 in a parametrisation of four; and
// wherever logits are, those of wires follow those of gates.
class Automaton {
 public:
  // Draws the wiring from the seed. Impossible options are an Error.
  Automaton(const AutomatonOptions& options, std::uint64_t seed);
  // With wiring from a file, which is checked against the options.
  Automaton(const AutomatonOptions& options, std::vector<Wiring> perceive, std::vector<Wiring> update);
  // Update layers of any wiring with the candidates that the options want, drawn from the seed.
  static std::vector<Wiring> with_candidates(const AutomatonOptions& options, std::vector<Wiring> update,
                                             std::uint64_t seed);

  const AutomatonOptions& options() const { return options_; }
  const GateNetwork& perceive() const { return perceive_; }  // K copies
  const GateNetwork& update() const { return update_; }
  int gates() const { return perceive_.gates() + update_.gates(); }
  std::size_t gate_logits() const { return perceive_.gate_logits() + update_.gate_logits(); }
  std::size_t logits() const { return gate_logits() + static_cast<std::size_t>(update_.wires()); }
  // Gate evaluations of one cell in one step: kernels are applied to every channel.
  long gates_per_cell() const { return static_cast<long>(options_.channels) * perceive_.gates() + update_.gates(); }

  // Appends the logit tensors: all 0 but `start_logit` for gate A, or what gives the same soft gates (set_gate), and
  // `start_wire_logit` for the first candidate of a pin.
  void add_parameters(Parameters& parameters, float start_logit, float start_wire_logit = kStartWireLogit) const;
  // Number of an update gate in the order of the parameters; perceive().gate_number() tells those of the kernels.
  std::int32_t update_gate(int layer, int gate) const {
    return perceive_.gates() + update_.gate_number(0, layer, gate);
  }

 private:
  AutomatonOptions options_;
  GateNetwork perceive_, update_;
};

// The circuit of a cell: inputs 9 C bits, patch position major, channel minor; outputs C bits. logits: [gates][16].
// Every gate as trained, wires and idle ones included:
Netlist harden(const Automaton& automaton, std::span<const float> logits);
// Wires followed, constants folded, idle gates left out: the quick form for evaluation while training. The only
// constant gates left are those that an output reads.
Netlist harden_folded(const Automaton& automaton, std::span<const float> logits);

struct RolloutOptions {
  int batch = 1, height = 16, width = 16, steps = 20;
  float fire_rate = 1;  // probability that a cell takes its new state in a step; 1 = synchronous
};
Fields fields_of(RolloutOptions& options);
// Fails, with what is wrong, before anything is allocated or drawn.
void check_rollout(const RolloutOptions& options, int channels);

// Numbers of fire streams (Rollout::forward's fire_step) that no training step uses.
inline constexpr std::uint32_t kTrialFireStep = 0xfffffffe;       // the trials of a finished model
inline constexpr std::uint32_t kValidationFireStep = 0xffffffff;  // evaluation while training

// T steps of a batch of grids, and back-propagation through them. Memory grows with steps x grid: only the grids are
// kept, activations are recomputed. Blocks of cells of all samples run in parallel; the gradients of the gates go into
// slots fixed by the problem and are summed in a fixed tree, so the bits are the same for any number of threads.
class Rollout {
 public:
  Rollout(const Automaton& automaton, const RolloutOptions& options);
  ~Rollout();
  Rollout(Rollout&&) noexcept;  // what was moved from can be assigned to or destroyed, no more
  Rollout& operator=(Rollout&&) noexcept;

  const RolloutOptions& options() const;

  // The gates of the steps that follow. logits: [gates][16], all finite, as are boards and targets below.
  void soften(std::span<const float> logits, const SoftChoice& choice, const ThreadPool& pool = calling_thread());
  // initial: [batch][C][H][W]. `fire_seed` and `fire_step` key the asynchronous updates. Returns the name of the pass,
  // whose states take the place of those of the pass before.
  ForwardPass forward(std::span<const float> initial, std::uint64_t fire_seed, std::uint32_t fire_step,
                      const ThreadPool& pool = calling_thread());
  // The state after step t (0 = initial), [batch][C][H][W].
  std::vector<float> state(int t) const;
  // The last state with every value rounded, [batch][C][H][W]; of all samples, also where ranks have shared them out.
  std::vector<std::uint8_t> last_bits(const ThreadPool& pool = calling_thread()) const;
  // Sum over batch, cells and the first `loss_channels` channels of (y - target)^2 at the last step;
  // target: [batch][loss_channels][H][W]. Fixed order. Keeps the gradient for backward().
  double loss(std::span<const float> target, int loss_channels, const ThreadPool& pool = calling_thread());
  // The same in two parts, so that over ranks the last states travel during backward(): what that needs is there after
  // begin_loss(), and the sum is made by end_loss(), until when the target must not change.
  void begin_loss(std::span<const float> target, int loss_channels, const ThreadPool& pool = calling_thread());
  double end_loss(const ThreadPool& pool = calling_thread());
  // The gradients of all gates over all steps, of the last loss of the last forward pass. Without its name it must be
  // clear that it is meant: an Error when there have been two or more since the last backward pass ...
  void backward(const ThreadPool& pool = calling_thread());
  void backward(const ForwardPass& pass, const ThreadPool& pool = calling_thread());
  // ... which this adds to dlogits: [gates][16].
  void add_gradients(std::span<float> dlogits, const ThreadPool& pool = calling_thread());
  double reduction_seconds() const;  // what it has taken so far to sum up chunks, for reports
  // After backward(): gradient of the initial state, [batch][C][H][W].
  std::vector<float> initial_gradient() const;
  // Of grids, masks and gradients; the working memory of blocks comes on top, once for each worker.
  std::size_t bytes() const;

 private:
  struct State;
  void run_backward(const ThreadPool& pool);
  std::unique_ptr<State> s_;
};

}  // namespace espalier
