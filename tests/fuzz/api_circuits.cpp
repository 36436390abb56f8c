// The rooms of circuits and training: gate networks, automata, netlists and simulators, parameters and optimizers.
#include <algorithm>

#include "espalier/gate_network.hpp"
#include "espalier/lattice_model.hpp"
#include "espalier/logic_automaton.hpp"
#include "espalier/netlist.hpp"
#include "espalier/optimizer.hpp"
#include "espalier/parameters.hpp"
#include "espalier/safetensors.hpp"
#include "espalier/simulator.hpp"
#include "fuzz/api.hpp"

namespace espalier::fuzz {
namespace {

int small(Choices& c, std::size_t most) { return static_cast<int>(c.below(most + 2)) - (c.rarely() ? 1 : 0); }

SoftChoice soft_choice(Choices& c) {
  SoftChoice choice;
  if (c.below(4) == 0) choice.temperature = c.number();
  if (c.below(4) == 0) choice.gumbel_scale = c.number();
  choice.straight = c.below(2);
  return choice;
}

BoardState board_state(Choices& c, int channels, int height, int width) {
  const auto about = [&](int right) { return c.rarely() ? small(c, 6) : right; };
  BoardState state(about(channels), about(height), about(width));
  if (c.rarely()) state.values.resize(c.below(40));
  for (float& value : state.values) value = c.number();
  return state;
}

// A model that learned from pairs of boards: its starts, its steppers, its cell with another circuit in it.
void lattice_model(Choices& c, const Automaton& automaton, const Parameters& p) {
  const int height = small(c, 5), width = small(c, 6), shown = c.rarely() ? small(c, 3) : 1;
  const auto values = [&](int channels) {
    const int count = 2 * height * width * channels;
    std::vector<std::uint8_t> bits(c.size(static_cast<std::size_t>(count > 0 ? count : 0)));
    for (std::uint8_t& bit : bits) bit = static_cast<std::uint8_t>(c.below(c.rarely() ? 3 : 2));
    return bits;
  };
  BoardPairs pairs{"pairs", c.rarely() ? small(c, 3) : 2, height, width, 1, shown, values(1), values(shown)};
  const LatticeModel model(automaton, {.batch = 1, .height = height, .width = width, .steps = 1}, std::move(pairs),
                           c.rarely() ? c.floats(c.below(60)) : p.values(), 1);
  attempt([&] { model.start(small(c, 6), small(c, 6), 1, {small(c, 6), small(c, 6)}); });
  attempt([&] { board_of(board_state(c, model.channels(), height, width)); });
  attempt([&] { board_state(c, 2, 3, 4).at(small(c, 2), small(c, 3), small(c, 4)); });
  attempt([&] { export_board(model, {.height = small(c, 4), .width = small(c, 4), .steps = small(c, 3)}); });
  attempt([&] {
    SimulatorOptions o = run_options(model);
    if (c.rarely()) o.fire_rate = static_cast<double>(c.number());
    if (c.rarely()) o.dead.push_back({c.below(9), c.below(90), c.below(9), c.below(90), 0, 3});
    o.random_reset = c.rarely() ? c.below(9) : 0;
    const auto stepper = make_stepper(model, board_state(c, model.channels(), height, width), o, c.below(2) > 0);
    stepper->advance(c.below(3), calling_thread());
    stepper->figures();
  });
  attempt([&] {
    Netlist cell = model.raw_cell();
    if (c.rarely()) cell.outputs.front().net = static_cast<Net>(c.below(256));
    if (c.rarely() && !cell.gates.empty()) cell.gates.front().a = static_cast<Net>(c.below(256));
    model.refined(std::move(cell))->quick_cell();
  });
}

}  // namespace

void api_logic(std::span<const std::byte> bytes) {
  Choices c(bytes);
  std::size_t rounds = 0;
  while (c.more() && ++rounds < 50)
    attempt([&] {
      const int inputs = small(c, 12), middle = small(c, 10), outputs = small(c, 8), copies = 1 + small(c, 2);
      const Random random(c.below(256), Purpose::kWiring);
      std::vector<Wiring> layers{make_wiring(static_cast<WiringKind>(c.below(2)), inputs, middle, random)};
      if (c.below(2)) layers.push_back(random_wiring(c.rarely() ? middle + 1 : middle, outputs, random));
      if (c.rarely()) layers.front().a.assign(layers.front().a.size(), small(c, 30));
      for (Wiring& layer : layers)
        if (c.rarely()) layer = with_candidates(layer, small(c, 4), random);
      if (c.rarely()) layers.front().candidates.push_back(small(c, 30));
      const GateNetwork network("gates", layers, copies);
      Parameters p;
      network.add_parameters(p, c.number(), c.number());
      SoftGates gates(network);
      const auto wires = static_cast<std::size_t>(network.wires()),
                 per_copy = static_cast<std::size_t>(network.gates_per_copy());
      if (!c.rarely()) gates.choose(c.floats(c.size(network.logits())), soft_choice(c));
      const int lanes = c.below(8) ? 8 * (1 + static_cast<int>(c.below(3))) : small(c, 20),
                copy = c.rarely() ? small(c, 4) : 0;
      const std::size_t wide = lanes > 0 ? static_cast<std::size_t>(lanes) : 0;
      AlignedVector<float> in = c.floats(c.size(static_cast<std::size_t>(network.inputs()) * wide)),
                           values(c.size(per_copy * wide)),
                           scratch(c.size(static_cast<std::size_t>(network.scratch_rows()) * wide)),
                           dc(c.size(network.coefficients()));
      GateTape tape;
      if (c.rarely()) network.forward(gates.coefficients(), lanes, values, values, tape, copy);  // over itself
      network.forward(gates.coefficients(), lanes, in, values, tape, copy);
      network.forward_outputs(gates.coefficients(), lanes, in, scratch, copy);
      network.backward(gates.coefficients(), lanes, in, values, scratch, dc, tape, copy);
      AlignedVector<float> dlogits(c.size(network.logits()));
      gates.backward(dc, dlogits);
      attempt([&] { mean_entropy(dlogits); });
      attempt([&] { count_gates(dlogits); });
      attempt([&] { add_gumbel_noise(dlogits, soft_choice(c), c.rarely() ? dlogits : values); });
      attempt([&] { mean_wire_entropy(network, c.floats(c.size(wires))); });
      Netlist netlist;
      std::vector<Net> nets;
      for (std::size_t i = c.size(static_cast<std::size_t>(network.inputs())); i > 0; --i)
        nets.push_back(netlist.add_input("i"));
      network.harden(c.floats(c.size(network.logits())), netlist, nets, copy);
    });
}

void api_lattice(std::span<const std::byte> bytes) {
  Choices c(bytes);
  std::size_t rounds = 0;
  while (c.more() && ++rounds < 10)
    attempt([&] {
      AutomatonOptions o;
      o.channels = c.rarely() ? small(c, 3) : 2;
      o.kernels = 1 + static_cast<int>(c.below(3));
      o.perceive = c.rarely() ? std::vector<int>{small(c, 9), 4} : std::vector<int>{8, 4, 2};
      o.update = {8 + static_cast<int>(c.below(8)), 4, c.rarely() ? 3 : 2};
      o.wiring = WiringKind::kRandom;
      o.boundary = static_cast<Boundary>(c.below(2));
      o.parametrisation = static_cast<Parametrisation>(c.below(3));
      if (c.rarely()) o.candidates = small(c, 12);
      const Automaton automaton(o, c.below(9));
      Parameters p;
      automaton.add_parameters(p, 2);
      RolloutOptions r{1 + small(c, 2), small(c, 7), small(c, 9), small(c, 4), c.below(3) ? 1.0f : c.number()};
      Rollout rollout(automaton, r);
      const std::size_t cells =
          static_cast<std::size_t>(r.batch) * static_cast<std::size_t>(r.height) * static_cast<std::size_t>(r.width);
      const auto channels = static_cast<std::size_t>(o.channels);
      for (int call = 0; call < 8; ++call) switch (c.below(9)) {
          case 0: attempt([&] { rollout.soften(c.floats(c.size(p.num_parameters())), soft_choice(c)); }); break;
          case 1: attempt([&] { rollout.soften(p.values(), {}); }); break;
          case 2:
          case 3: attempt([&] { rollout.forward(c.floats(c.size(cells * channels)), 1, 0); }); break;
          case 4: attempt([&] { rollout.state(small(c, 5)); }); break;
          case 5:
            attempt([&] {
              const int k = small(c, 3);
              rollout.loss(c.floats(c.size(cells * static_cast<std::size_t>(k > 0 ? k : 0))), k);
            });
            break;
          case 6: attempt([&] { rollout.backward(); }); break;
          case 7:
            attempt([&] {
              AlignedVector<float> d(c.size(p.num_parameters()));
              rollout.add_gradients(d);
            });
            break;
          default: attempt([&] { rollout.initial_gradient(); });
        }
      harden(automaton, c.floats(c.size(p.num_parameters())));
      harden_folded(automaton, c.floats(c.size(p.num_parameters())));
      lattice_model(c, automaton, p);
    });
}

void api_netlist(std::span<const std::byte> bytes) {
  Choices c(bytes);
  std::size_t rounds = 0;
  while (c.more() && ++rounds < 20) {
    Netlist n;
    const int channels = 1 + static_cast<int>(c.below(2));
    const std::size_t inputs = c.size(9 * static_cast<std::size_t>(channels)), gates = c.below(12);
    const auto net = [&] { return static_cast<Net>(c.below(c.size(n.nets()))); };
    attempt([&] {
      for (std::size_t i = 0; i < inputs; ++i) n.add_input("i" + std::to_string(i));
      for (std::size_t g = 0; g < gates; ++g) n.add_gate(static_cast<Gate>(c.below(16)), net(), net());
      for (std::size_t o = c.size(static_cast<std::size_t>(channels)); o > 0; --o)
        n.add_output("o" + std::to_string(o), net());
    });
    if (c.rarely() && !n.gates.empty()) n.gates.front().b = net();
    attempt([&] {
      check_netlist(n, "fuzz");
      evaluate(clean(n), std::vector<bool>(c.size(n.inputs.size())));
      count_netlist(n);
    });
    attempt([&] {
      sort_netlist(n, "fuzz", c.below(2));
      live_nets(n);
    });
    attempt([&] { evaluate_words(n, std::vector<std::uint64_t>(c.size(n.inputs.size()))); });
    attempt([&] { n.gate_of_net(static_cast<Net>(c.below(256))); });
    attempt([&] {
      CleanBuilder builder(inputs);
      Net last = 0;
      for (std::size_t g = c.below(8); g > 0; --g) {
        const auto any = [&] { return c.rarely() ? CleanBuilder::kTrue : static_cast<Net>(c.below(inputs + 4)); };
        attempt([&] { last = builder.add(static_cast<Gate>(c.below(c.rarely() ? 20 : 16)), any(), any()); });
      }
      Netlist shape = without_gates(n);
      shape.outputs.push_back({"last", c.rarely() ? static_cast<Net>(c.below(256)) : last});
      builder.finish(std::move(shape));
    });
    attempt([&] {
      Board board(c.below(7), c.below(80), c.rarely() ? 3 : channels);
      board.randomize(1);
      board.get(c.below(8), c.below(80), small(c, 2));
      board.set(c.below(8), c.below(80), small(c, 2), true);
      board.clear_rectangle(c.below(9), c.below(90), c.below(9), c.below(90));
      SimulatorOptions o;
      o.periodic = c.below(2);
      o.engine = static_cast<SimulatorEngine>(c.below(3));
      if (c.rarely()) o.fire_rate = static_cast<double>(c.number());
      if (c.rarely()) o.word_bits = static_cast<int>(c.below(255));
      if (c.rarely()) o.dead.push_back({c.below(9), c.below(90), c.below(9), c.below(90), 0, 3});
      o.random_reset = c.rarely() ? c.below(9) : 0;
      Simulator(n, c.size(board.height()), c.size(board.width()), o).run(board, c.below(4));
    });
    attempt([&] {
      BoardBatch boards(c.below(70), c.below(6), c.below(9), c.rarely() ? 3 : channels);
      boards.set(c.below(80), c.below(6), c.below(9), small(c, 2), true);
      boards.word(c.below(3) << (c.rarely() ? 58 : 0), c.below(6), c.below(9), small(c, 2));
      boards.set_board(c.below(70), Board(c.size(boards.height()), c.size(boards.width()), channels));
      const BoardBatch before = boards;
      const BoardBatch fire = draw_fire(boards, small(c, 4), static_cast<double>(c.number()), 1, 0);
      BatchSimulator(n, {.periodic = c.below(2) > 0, .fire = c.below(2) ? &fire : nullptr}).run(boards, c.below(4));
      count_differences(boards, before);
    });
  }
}

void api_train(std::span<const std::byte> bytes) {
  Choices c(bytes);
  Parameters p;
  std::size_t rounds = 0;
  while (c.more() && ++rounds < 100) switch (c.below(12)) {
      case 0:
        attempt([&] { p.add(std::string(1, static_cast<char>('a' + c.below(5))), {c.below(5), 1 + c.below(9)}); });
        break;
      case 1: attempt([&] { p.freeze(c.below(6), c.below(2)); }); break;
      case 2: attempt([&] { p.clip_gradients(static_cast<double>(c.number())); }); break;
      case 3: attempt([&] { p.clip_gradient_values(c.number()); }); break;
      case 4:
        attempt([&] {
          OptimizerOptions o;
          o.kind = static_cast<OptimizerKind>(c.below(2));
          if (c.below(4) == 0) o.momentum = c.number();
          if (c.below(4) == 0) o.beta2 = c.number();
          if (c.below(4) == 0) o.clip_norm = c.number();
          Optimizer optimizer(o, c.size(p.num_parameters()));
          for (float& g : p.gradients()) g = c.number();
          optimizer.step(p, c.number());
        });
        break;
      case 5: attempt([&] { sgd_step(p, c.below(40), c.below(40), c.number()); }); break;
      case 6:
        attempt([&] {
          GradientSlots slots(c.below(5), c.below(40));
          slots.zero();
          for (std::size_t i = 0; i < slots.count(); ++i) std::ranges::fill(slots.slot(i), 1.0f);
          AlignedVector<float> total(c.size(slots.count() ? slots.slot(0).size() : 0));
          if (c.rarely()) slots.add_to(slots.slot(c.below(5)));  // into itself
          slots.add_to(total);
          GradientSlots::Share own = slots.share(calling_thread(), c.below(4));
          if (c.rarely()) own = {c.below(9), c.below(9), c.below(3), c.below(2) > 0};
          slots.zero(own);
          slots.add_shared(total, own);
        });
        break;
      case 8:
        attempt([&] {
          const OptimizerOptions o{.kind = static_cast<OptimizerKind>(c.below(2))};
          const std::size_t n = c.below(20);
          AlignedVector<float> w = c.floats(n), first(c.size(n)), second(c.size(n));
          const AlignedVector<float> g = c.floats(c.size(n));
          reference_step(o, 1 + c.below(9), c.number(), w, g, first, second);
        });
        break;
      case 9:
        attempt([&] {
          Schedule s{.kind = static_cast<ScheduleKind>(c.below(3)), .lr = static_cast<double>(c.number())};
          s.warmup = c.below(5);
          s.step_every = c.below(5);
          s.final_fraction = static_cast<double>(c.number());
          sgd_step(p, s.at(c.below(256), c.below(256)));
        });
        break;
      case 10:
        attempt([&] {
          SafetensorsFile file;
          for (std::size_t i = 0; i < p.tensors().size(); ++i)
            if (!c.rarely())
              file.add(c.rarely() ? "other" : p.tensors()[i].name, p.tensors()[i].shape,
                       std::span<const float>(c.floats(p.tensors()[i].size)));
          load_parameters(p, file);
        });
        break;
      case 7: attempt([&] { p.find(std::string(1, static_cast<char>('a' + c.below(6)))); }); break;
      default:
        attempt([&] {
          p.gradient_norm();
          p.hash();
          p.has_gradients();
          p.zero_grad();
        });
    }
}

}  // namespace espalier::fuzz
