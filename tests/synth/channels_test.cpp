// Channels that go across steps, and circuits as lookup tables: the same boards, the same function.
#include "synth/channels.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "espalier/synth.hpp"
#include "netlist/cell.hpp"
#include "netlist/circuits.hpp"
#include "synth/formats.hpp"
#include "synth/lut_map.hpp"
#include "synth/tools.hpp"
#include "temp_folder.hpp"

namespace espalier {
namespace {

Netlist random_cell(std::uint64_t seed, int channels, int gates) {
  const Netlist any = test::random_netlist(seed, 9 * channels, gates, channels);
  Netlist cell = empty_cell(channels);
  cell.gates = any.gates;
  for (int c = 0; c < channels; ++c) cell.add_output("next" + std::to_string(c), any.outputs[c].net);
  return cell;
}

// A cell of two channels that shows parity, and more that follow them: equal, opposite, constant, and useless ones.
Netlist followed_cell() {
  Netlist n = empty_cell(6);
  const auto at = [](int p, int c) { return patch_net(p, c, 6); };
  // What channel 0 becomes is told by the copies in channels 2 (the same), 3 (the opposite) and 4 (always 0).
  const Net shifted = n.add_gate(Gate::kXor, at(1, 0), at(4, 2));
  const Net turned = n.add_gate(Gate::kXnor, shifted, at(4, 3));
  const Net next = n.add_gate(Gate::kOr, turned, at(5, 4));
  n.add_output("next0", next);
  n.add_output("next1", n.add_gate(Gate::kAnd, at(4, 1), at(4, 5)));  // is read by nobody
  n.add_output("next2", n.add_gate(Gate::kA, next, next));
  n.add_output("next3", n.add_gate(Gate::kNotA, next, next));
  n.add_output("next4", n.add_gate(Gate::kAnd, at(4, 4), at(3, 0)));
  n.add_output("next5", at(2, 1));
  return n;
}

// The first channel of both is the same for twenty steps.
void expect_same(const Netlist& cell, const ChannelReport& report, bool periodic, const Board& start,
                 const std::string& what) {
  Board whole = start, part = pick_channels(start, report.kept);
  Simulator full(cell, start.height(), start.width(), {.periodic = periodic});
  Simulator small(report.cell, start.height(), start.width(), {.periodic = periodic});
  for (int step = 0; step < 20; ++step) {
    for (std::size_t y = 0; y < start.height(); ++y)
      for (std::size_t x = 0; x < start.width(); ++x)
        ASSERT_EQ(whole.get(y, x, 0), part.get(y, x, 0)) << what << ", step " << step;
    full.run(whole, 1, ThreadPool(1));
    small.run(part, 1, ThreadPool(1));
  }
}

TEST(Channels, WhatIsShownIsTheSameFromEveryStart) {
  std::size_t gone = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Netlist cell = simplify(random_cell(seed, 4, 20));
    const ChannelReport report = reduce_channels(cell, {.visible = 1, .periodic = seed % 2 == 0});
    EXPECT_LE(report.cell.gates.size(), cell.gates.size());
    EXPECT_EQ(report.kept.size() + report.unneeded.size(), 4u);
    gone += report.unneeded.size();
    Board start(6, 9, 4);
    start.randomize(seed);
    expect_same(cell, report, seed % 2 == 0, start, std::to_string(seed));
  }
  EXPECT_GT(gone, 20u);
}

TEST(Channels, FromItsStartEqualOppositeAndConstantOnesGo) {
  const Netlist cell = simplify(followed_cell());
  for (const bool periodic : {true, false}) {
    Board start(7, 7, 6);
    start.set(3, 3, 0, true);
    start.set(3, 3, 2, true);
    for (int y = 0; y < 7; ++y)
      for (int x = 0; x < 7; ++x) start.set(y, x, 3, !start.get(y, x, 0));
    ChannelOptions options;
    options.periodic = periodic;
    options.start = start;
    const ChannelReport report = reduce_channels(cell, options);
    EXPECT_EQ(report.kept, std::vector<int>{0});
    EXPECT_EQ(report.equal, std::vector<int>{2});
    EXPECT_EQ(report.opposite, std::vector<int>{3});
    // Channels 1 and 5 are 0 from this start; without one they are merely never read.
    EXPECT_EQ(report.constant, (std::vector<int>{1, 4, 5}));
    expect_same(cell, report, periodic, start, periodic ? "periodic" : "zero");
    const ChannelReport without = reduce_channels(cell, {.visible = 1, .periodic = periodic});
    EXPECT_EQ(without.unneeded, (std::vector<int>{1, 5}));
    EXPECT_EQ(without.kept, (std::vector<int>{0, 2, 3, 4}));
  }
}

TEST(Channels, AnInvertedNeighbourBeyondTheEdgeIsNotTakenForAOne) {
  // Channel 1 is the opposite of channel 0, but beyond the edge both are 0: its neighbours cannot be read as that.
  Netlist n = empty_cell(2);
  n.add_output("next0", patch_net(3, 1, 2));
  n.add_output("next1", n.add_gate(Gate::kNotA, patch_net(3, 1, 2), patch_net(3, 1, 2)));
  Board start(4, 6, 2);
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 6; ++x) start.set(y, x, 1, true);
  for (const bool periodic : {true, false}) {
    ChannelOptions options;
    options.periodic = periodic;
    options.start = start;
    const ChannelReport report = reduce_channels(n, options);
    EXPECT_EQ(report.kept.size(), periodic ? 1u : 2u);
    expect_same(n, report, periodic, start, periodic ? "periodic" : "zero");
  }
}

TEST(Channels, RelationsOfRandomCellsHoldFromTheirStarts) {
  std::size_t found = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const bool periodic = seed % 2 == 0;
    const Netlist cell = simplify(random_cell(seed + 1000, 5, 25), SimplifyOptions::brief());
    ChannelOptions options;
    options.periodic = periodic;
    Board start(5, 6, 5);
    if (seed % 4 < 2) start.set(2, 2, 0, true);
    options.start = start;
    const ChannelReport report = reduce_channels(cell, options);
    found += report.constant.size() + report.equal.size() + report.opposite.size();
    expect_same(cell, report, periodic, start, std::to_string(seed));
    // From any board once it has made a step.
    ChannelOptions any;
    any.periodic = periodic;
    any.from_any = true;
    start.randomize(seed);
    Simulator(cell, 5, 6, {.periodic = periodic}).run(start, 1, ThreadPool(1));
    expect_same(cell, reduce_channels(cell, any), periodic, start, "any " + std::to_string(seed));
  }
  EXPECT_GT(found, 10u);
}

TEST(Luts, ComputeWhatTheGatesDo) {
  for (std::uint64_t seed = 0; seed < 40; ++seed)
    for (const int inputs : {2, 3, 4, 6}) {
      const Netlist n = test::random_netlist(seed, 5 + static_cast<int>(seed % 9), 60, 6);
      const LutMapping mapping = map_luts(n, inputs);
      EXPECT_LE(mapping.depth, count_netlist(n).depth);
      std::vector<std::uint64_t> words;
      for (std::size_t i = 0; i < n.inputs.size(); ++i) words.push_back(counting_word(i, seed));
      const std::vector<std::uint64_t> nets = evaluate_words(n, words);
      for (const MappedLut& lut : mapping.luts) {
        ASSERT_LE(lut.leaves.size(), static_cast<std::size_t>(inputs));
        for (int bit = 0; bit < 64; ++bit) {
          unsigned place = 0;
          for (std::size_t j = 0; j < lut.leaves.size(); ++j)
            place |= static_cast<unsigned>(nets[lut.leaves[j]] >> bit & 1) << j;
          ASSERT_EQ(lut.table >> place & 1, nets[lut.root] >> bit & 1) << seed;
        }
      }
    }
}

TEST(Luts, AreAboutAsFewAsAbcFinds) {
  const TempFolder folder;
  int ours = 0, theirs = 0;
  for (const Netlist& raw : {test::clumsy_life(), test::layered_netlist(3, 40, 40, 6, 12), random_cell(7, 3, 150)}) {
    const Netlist n = test::simplify_quickly(raw);
    ours += static_cast<int>(map_luts(n, 6).luts.size());
    test::write_file(folder / "n.aig", export_aiger_binary(n));
    const std::string said =
        test::run("berkeley-abc -c 'read " + (folder / "n.aig") + "; if -K 6; print_stats'").output;
    const std::size_t at = said.find("nd =");
    ASSERT_NE(at, std::string::npos) << said;
    theirs += std::atoi(said.c_str() + at + 4);
  }
  EXPECT_LE(ours, theirs * 1.1);
}

}  // namespace
}  // namespace espalier
