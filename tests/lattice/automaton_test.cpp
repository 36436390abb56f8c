// The automaton's options, wiring and circuit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "espalier/error.hpp"
#include "espalier/logic_automaton.hpp"
#include "espalier/netlist.hpp"
#include "models/lattice/automaton_reference.hpp"
#include "netlist/cell.hpp"

namespace espalier {
namespace {

TEST(Layers, AreReadAndWrittenAsText) {
  EXPECT_EQ(parse_layers("256x3,128,64,64"), (std::vector<int>{256, 256, 256, 128, 64, 64}));
  for (const char* text : {"8,4,2", "256x10,128,64,32,16,8,8", "128x17,64,32,16,8,4,2,1", "5", "7x1000"})
    EXPECT_EQ(format_layers(parse_layers(text)), text);
  EXPECT_EQ(format_layers(parse_layers("4,4,4,4")), "4x4");
  for (const char* text : {"", ",", "8,", "a", "8x", "x8", "8x0", "-1", "0", "1000001", "8 ,4", "8x1001", "1x999,2,2"})
    EXPECT_THROW(parse_layers(text), Error) << text;
}

TEST(AutomatonOptions, AreFieldsWithNamesAndRanges) {
  AutomatonOptions o;
  Fields fields = fields_of(o);
  std::vector<std::string> names;
  for (const Field& field : fields.list()) names.push_back(field.name());
  EXPECT_EQ(names, (std::vector<std::string>{"channels", "kernels", "perceive", "update", "wiring", "boundary",
                                             "parametrisation", "candidates"}));
  fields.at("channels").set_text("4");
  fields.at("update").set_text("32x4,16,8,4");
  fields.at("wiring").set_text("random");
  fields.at("boundary").set_text("periodic");
  EXPECT_EQ(o.channels, 4);
  EXPECT_EQ(o.update, (std::vector<int>{32, 32, 32, 32, 16, 8, 4}));
  EXPECT_EQ(o.wiring, WiringKind::kRandom);
  EXPECT_EQ(o.boundary, Boundary::kPeriodic);
  EXPECT_EQ(fields.at("update").text(), "32x4,16,8,4");
  EXPECT_EQ(fields.at("boundary").text(), "periodic");
  EXPECT_THROW(fields.at("channels").set_text("0"), Error);
  EXPECT_THROW(fields.at("kernels").set_text("4097"), Error);
  EXPECT_THROW(fields.at("perceive").set_text("8,no"), Error);
  EXPECT_THROW(fields.at("boundary").set_text("open"), Error);
  EXPECT_NO_THROW(Automaton(AutomatonOptions{}, 1));  // the defaults are an automaton
}

TEST(Automaton, PairsEachNeighbourWithTheCentre) {
  const Wiring w = moore_wiring(Random(1, Purpose::kWiring));
  std::vector<std::int32_t> neighbours = w.a;
  std::ranges::sort(neighbours);
  EXPECT_EQ(neighbours, (std::vector<std::int32_t>{0, 1, 2, 3, 5, 6, 7, 8}));
  EXPECT_EQ(w.b, std::vector<std::int32_t>(8, 4));
}

const AutomatonOptions kSmall{4, 3, {8, 4, 2}, {24, 16, 8, 4}, WiringKind::kUnique, Boundary::kZero};

TEST(Automaton, ParametersAreThoseOfBothNetworks) {
  const Automaton automaton(kSmall, 1);
  Parameters parameters;
  automaton.add_parameters(parameters, 2);
  std::vector<std::string> names;
  for (const TensorInfo& tensor : parameters.tensors()) names.push_back(tensor.name);
  EXPECT_EQ(names, (std::vector<std::string>{"perceive.0", "perceive.1", "perceive.2", "update.0", "update.1",
                                             "update.2", "update.3"}));
  EXPECT_EQ(parameters.tensors()[1].shape, (std::vector<std::size_t>{3, 4, 16}));
  EXPECT_EQ(parameters.tensors()[4].shape, (std::vector<std::size_t>{16, 16}));
  EXPECT_EQ(parameters.num_parameters(), static_cast<std::size_t>(automaton.gates()) * 16);
  EXPECT_EQ(automaton.gates(), 3 * 14 + 52);
  EXPECT_EQ(automaton.gates_per_cell(), 4 * 3 * 14 + 52);
  EXPECT_EQ(static_cast<std::size_t>(automaton.update_gate(1, 2)) * 16, parameters.tensors()[4].offset + 32);
}

TEST(Automaton, RefusesImpossibleOptionsAndForeignWiring) {
  const auto refused = [](auto change) {
    AutomatonOptions o = kSmall;
    change(o);
    EXPECT_THROW(Automaton(o, 1), Error);
  };
  refused([](auto& o) { o.channels = 0; });
  refused([](auto& o) { o.channels = 5; });  // the last update layer has four gates
  refused([](auto& o) { o.kernels = 0; });
  refused([](auto& o) { o.perceive = {}; });
  refused([](auto& o) { o.perceive = {4, 2}; });
  refused([](auto& o) { o.perceive = {8, 3}; });  // a neighbour would be left out
  refused([](auto& o) { o.update = {}; });
  refused([](auto& o) { o.update = {24, -1, 4}; });
  refused([](auto& o) { o.kernels = 4096, o.perceive = {8, 1'000'000}; });
  for (const int candidates : {-1, 0, 29, 257, 2'000'000'000})  // 28 inputs are the most of any layer
    refused([&](auto& o) { o.candidates = candidates; });
  refused([](auto& o) {  // more than memory is meant for
    o.wiring = WiringKind::kRandom;
    o.candidates = 256;
    o.update = parse_layers("1000000x3,4");
  });

  const Automaton automaton(kSmall, 1);
  const std::vector<Wiring> perceive = automaton.perceive().layers(), update = automaton.update().layers();
  EXPECT_NO_THROW(Automaton(kSmall, perceive, update));
  const auto refused_wiring = [&](auto change) {
    std::vector<Wiring> p = perceive, u = update;
    change(p, u);
    EXPECT_THROW(Automaton(kSmall, p, u), Error);
  };
  refused_wiring([](auto& p, auto&) { p.pop_back(); });
  refused_wiring([](auto&, auto& u) { u.clear(); });
  refused_wiring([](auto& p, auto&) { p[0].a[0] = p[0].a[1]; });
  refused_wiring([](auto&, auto& u) { u[1].a[0] = 24; });
  refused_wiring([](auto&, auto& u) { u[1].b.pop_back(); });
  refused_wiring([](auto&, auto& u) { u[0].inputs += 1; });
  const Random random(1, Purpose::kWiring);
  refused_wiring([&](auto&, auto& u) { u[0] = with_candidates(u[0], 2, random); });  // the options want none
  refused_wiring([&](auto& p, auto&) { p[1] = with_candidates(p[1], 2, random); });
}

TEST(Automaton, CandidatesAreThoseOfTheUpdateLayersAndTheWiresStay) {
  AutomatonOptions o = kSmall;
  const Automaton fixed(o, 7);
  o.candidates = 20;
  const Automaton chosen(o, 7);
  EXPECT_EQ(chosen.perceive().layers(), fixed.perceive().layers());
  const int inputs[] = {28, 24, 16, 8};
  for (std::size_t l = 0; l < 4; ++l) {
    const Wiring &w = chosen.update().layers()[l], &before = fixed.update().layers()[l];
    EXPECT_EQ(w.choices(), std::min(20, inputs[l]));
    EXPECT_EQ(w.a, before.a);
    EXPECT_EQ(w.b, before.b);
  }
  EXPECT_EQ(chosen.logits(), fixed.logits() + static_cast<std::size_t>(chosen.update().wires()));
  EXPECT_NO_THROW(Automaton(o, chosen.perceive().layers(), chosen.update().layers()));
  EXPECT_THROW(Automaton(o, chosen.perceive().layers(), fixed.update().layers()), Error);
  // As long as the first candidates are the likeliest, both harden to the same circuit.
  Parameters a, b;
  fixed.add_parameters(a, 2);
  chosen.add_parameters(b, 2);
  const Random r(3, Purpose::kData);
  for (std::size_t i = 0; i < fixed.logits(); ++i) a.values()[i] = b.values()[i] = r.normal(i);
  EXPECT_EQ(harden(fixed, a.values()), harden(chosen, b.values()));
}

// A cell's circuit against the reference with gates that are certain: one step of one cell with all nine places free.
TEST(Harden, BothFormsComputeWhatTheAutomatonDoes) {
  const Automaton automaton(kSmall, 5);
  Parameters parameters;
  automaton.add_parameters(parameters, 0);
  const Random r(21, Purpose::kData);
  std::uint64_t draw = 0;
  for (float& v : parameters.values()) v = r.normal(draw++);
  std::vector<double> certain(parameters.num_parameters(), 0.0);
  for (std::size_t at = 0; at < certain.size(); at += kGates)
    certain[at + static_cast<std::size_t>(likeliest_gate(parameters.values().subspan(at).first<kGates>()))] = 1000;
  const Netlist raw = harden(automaton, parameters.values()), folded = harden_folded(automaton, parameters.values());
  EXPECT_EQ(raw.gates.size(), static_cast<std::size_t>(automaton.gates_per_cell()));
  EXPECT_EQ(raw.inputs[patch_net(5, 3, 4)], "p5c3");
  EXPECT_EQ(folded.inputs, raw.inputs);
  EXPECT_EQ(folded.outputs[3].name, "next3");
  EXPECT_NO_THROW(check_netlist(folded, "folded"));
  for (const NetlistGate& gate : folded.gates) EXPECT_FALSE(is_wire(gate.gate));
  const std::vector<bool> live = live_nets(folded);
  for (std::size_t g = 0; g < folded.gates.size(); ++g) EXPECT_TRUE(live[folded.net_of_gate(g)]);

  reference::AutomatonReference<double> reference(automaton, certain);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<double> board(4 * 9);  // [C][3][3]
    std::vector<bool> bits(4 * 9);
    for (int c = 0; c < 4; ++c)
      for (int p = 0; p < 9; ++p) board[c * 9 + p] = bits[patch_net(p, c, 4)] = r.coin(draw++);
    reference.forward({1, 3, 3, 1, 1.0f}, board);
    const std::vector<bool> got = evaluate(raw, bits);
    for (int c = 0; c < 4; ++c) ASSERT_EQ(got[c], reference.state(1)[c * 9 + 4] > 0.5);
    ASSERT_EQ(evaluate(folded, bits), got);
  }
}

TEST(Harden, RefusesLogitsThatAreNotTheAutomatons) {
  const Automaton automaton(kSmall, 5);
  std::vector<float> logits(static_cast<std::size_t>(automaton.gates()) * kGates);
  EXPECT_NO_THROW(harden(automaton, logits));
  EXPECT_THROW(harden(automaton, std::span(logits).first(32)), Error);
  EXPECT_THROW(harden_folded(automaton, std::span(logits).first(32)), Error);
  logits[7] = NAN;
  EXPECT_THROW(harden(automaton, logits), Error);
  EXPECT_THROW(harden_folded(automaton, logits), Error);
}

}  // namespace
}  // namespace espalier
