#include "models/lattice/soften_cell.hpp"

#include <algorithm>
#include <map>

#include "espalier/error.hpp"
#include "netlist/cell.hpp"

namespace espalier {
namespace {

constexpr std::uint32_t kSpareStep = 2000;  // wiring streams that no drawn layer uses

struct PlacedGate {
  Gate gate = Gate::kA;
  std::int32_t a = 0, b = 0;
};

// Kernels whose outputs hand neighbours through: which kernel and output has which neighbour.
class Kernels {
 public:
  struct Place {
    int kernel = 0, output = 0;
  };

  explicit Kernels(const std::vector<Wiring>& layers) : layers_(layers) {}

  void carry(int neighbour) {
    const int fresh = count();
    for (int k = 0; !try_kernel(k, neighbour); ++k)
      if (k == fresh) fail("soften", "kernels that do not see every neighbour", "wired as the library wires them");
  }
  Place of(int neighbour) const { return places_.at(neighbour); }
  int count() const { return static_cast<int>(kernels_.size()); }
  Gate gate(int kernel, int layer, int g) const {
    if (kernel >= count()) return Gate::kA;
    return chosen(kernel, layer, g) == 1 ? Gate::kB : Gate::kA;
  }

 private:
  using Choices = std::vector<std::vector<int>>;  // [layer][gate]: -1 free, 0 A, 1 B

  int chosen(int kernel, int layer, int g) const {
    return kernels_[static_cast<std::size_t>(kernel)][static_cast<std::size_t>(layer)][static_cast<std::size_t>(g)];
  }

  bool try_kernel(int k, int neighbour) {
    if (k == count()) {
      Choices free;
      for (const Wiring& layer : layers_) free.emplace_back(static_cast<std::size_t>(layer.outputs()), -1);
      kernels_.push_back(std::move(free));
    }
    const int last = static_cast<int>(layers_.size()) - 1;
    for (int out = 0; out < layers_.back().outputs(); ++out) {
      if (chosen(k, last, out) >= 0) continue;
      Choices tried = kernels_[static_cast<std::size_t>(k)];
      if (!lead(tried, last, out, neighbour)) continue;
      kernels_[static_cast<std::size_t>(k)] = std::move(tried);
      places_[neighbour] = {k, out};
      return true;
    }
    return false;
  }

  // A way from a gate down to the leaf of the neighbour, over gates that are free or lead there already.
  bool lead(Choices& choices, int layer, int g, int neighbour) const {
    const Wiring& w = layers_[static_cast<std::size_t>(layer)];
    const auto at = static_cast<std::size_t>(g);
    int& choice = choices[static_cast<std::size_t>(layer)][at];
    const int before = choice;
    for (const int side : {0, 1}) {
      if (before >= 0 && before != side) continue;
      const int row = side ? w.b[at] : w.a[at];
      choice = side;
      if (layer == 0 ? row == neighbour : lead(choices, layer - 1, row, neighbour)) return true;
    }
    choice = before;
    return false;
  }

  const std::vector<Wiring>& layers_;
  std::vector<Choices> kernels_;
  std::map<int, Place> places_;
};

}  // namespace

SoftCell soften_cell(const Netlist& hard, const AutomatonOptions& shape, float logit, float wire_logit,
                     std::uint64_t seed) {
  const Netlist cell = clean(hard);
  const int C = cell_channels(cell);
  AutomatonOptions options = shape;
  options.channels = C;
  const std::vector<Wiring> perceive = Automaton(shape, seed).perceive().layers();

  // After which layer each net is there, and the last layer that reads it.
  std::vector<std::size_t> level(cell.nets()), last_read(cell.nets());
  for (std::size_t g = 0; g < cell.gates.size(); ++g) {
    const NetlistGate& gate = cell.gates[g];
    const std::size_t a = reads_a(gate.gate) ? level[gate.a] : 0, b = reads_b(gate.gate) ? level[gate.b] : 0;
    level[cell.net_of_gate(g)] = 1 + std::max(a, b);
  }
  const std::size_t deepest = *std::ranges::max_element(level);
  const std::size_t layers = std::max(shape.update.size(), deepest + 1);
  for (std::size_t g = 0; g < cell.gates.size(); ++g) {
    const NetlistGate& gate = cell.gates[g];
    const std::size_t own = level[cell.net_of_gate(g)];
    if (reads_a(gate.gate)) last_read[gate.a] = std::max(last_read[gate.a], own);
    if (reads_b(gate.gate)) last_read[gate.b] = std::max(last_read[gate.b], own);
  }
  for (const NetlistOutput& output : cell.outputs) last_read[output.net] = layers;

  Kernels kernels(perceive);
  for (int p = 0; p < kPatch; ++p)
    for (int c = 0; c < C && p != 4; ++c)
      if (last_read[patch_net(p, c, C)]) {
        kernels.carry(p);
        break;
      }
  options.kernels = std::max(shape.kernels, kernels.count());

  // Where nets lie in what the next layer reads.
  std::vector<std::int32_t> place(cell.nets(), -1);
  for (int p = 0; p < kPatch; ++p)
    for (int c = 0; c < C; ++c) {
      const Net net = patch_net(p, c, C);
      if (!last_read[net]) continue;
      const Kernels::Place from = p == 4 ? Kernels::Place{} : kernels.of(p);
      place[net] = p == 4 ? c : options.update_row(c, from.output, from.kernel);
    }

  std::vector<std::vector<PlacedGate>> placed;
  std::vector<Wiring> update;
  options.update.clear();
  int inputs = options.update_inputs();
  for (std::size_t l = 1; l <= layers; ++l) {
    const Random random(seed, Purpose::kWiring, kSpareStep + static_cast<std::uint32_t>(l));
    std::uint64_t draw = 0;
    const auto any = [&] {
      return static_cast<std::int32_t>(random.choice(draw++, static_cast<std::uint64_t>(inputs)));
    };
    std::vector<PlacedGate> gates;
    if (l == layers) {
      for (const NetlistOutput& output : cell.outputs) gates.push_back({Gate::kA, place[output.net], any()});
    } else {
      std::vector<std::int32_t> next(cell.nets(), -1);
      for (Net net = 0; net < cell.nets(); ++net) {
        if (last_read[net] <= l || level[net] > l) continue;
        next[net] = static_cast<std::int32_t>(gates.size());
        if (level[net] < l) {
          gates.push_back({Gate::kA, place[net], any()});
          continue;
        }
        const NetlistGate& gate = cell.gate_of_net(net);
        gates.push_back(
            {gate.gate, reads_a(gate.gate) ? place[gate.a] : any(), reads_b(gate.gate) ? place[gate.b] : any()});
      }
      const std::size_t more = layers - shape.update.size();
      const auto width = static_cast<std::size_t>(shape.update[l - 1 < more ? 0 : l - 1 - more]);
      while (gates.size() < width) gates.push_back({Gate::kA, any(), any()});
      place = std::move(next);
    }
    Wiring wiring{inputs, {}, {}};
    for (const PlacedGate& g : gates) wiring.a.push_back(g.a), wiring.b.push_back(g.b);
    inputs = wiring.outputs();
    options.update.push_back(inputs);
    update.push_back(std::move(wiring));
    placed.push_back(std::move(gates));
  }

  update = Automaton::with_candidates(options, std::move(update), seed);
  SoftCell soft{Automaton(options, perceive, std::move(update)), {}};
  Parameters start;
  soft.automaton.add_parameters(start, logit, wire_logit);
  soft.logits.assign(start.values().begin(), start.values().end());
  const auto each = static_cast<std::size_t>(logits_of(options.parametrisation));
  const auto set = [&](std::int32_t number, Gate gate) {
    set_gate(std::span(soft.logits).subspan(static_cast<std::size_t>(number) * each, each), gate, logit,
             options.parametrisation);
  };
  for (int k = 0; k < options.kernels; ++k)
    for (int l = 0; l < static_cast<int>(perceive.size()); ++l)
      for (int g = 0; g < perceive[static_cast<std::size_t>(l)].outputs(); ++g)
        set(soft.automaton.perceive().gate_number(k, l, g), kernels.gate(k, l, g));
  for (std::size_t l = 0; l < placed.size(); ++l)
    for (std::size_t g = 0; g < placed[l].size(); ++g)
      set(soft.automaton.update_gate(static_cast<int>(l), static_cast<int>(g)), placed[l][g].gate);
  return soft;
}

}  // namespace espalier
