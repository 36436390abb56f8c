// Which rule turned these boards into those? Asked before anything is trained. A rule is a table over some view of a
// cell's neighbourhood (its own state and how many neighbours live, say); views that are simple and leave little to
// noise are preferred, by description length. An answer is given only when what it leaves unexplained looks like noise.
//
//   const Identification found = identify(data, 1, pool);
//   if (found.rule) use(found.rule->cell);  // found.rule->words: "... (B3/S23)"
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "espalier/netlist.hpp"
#include "espalier/thread_pool.hpp"

namespace espalier {

// Pairs of boards one step apart, as bits: [count][H][W][channels], 0 and 1. All channels of a cell are its state.
struct IdentifyData {
  int count = 0, height = 0, width = 0, start_channels = 1, target_channels = 1;
  std::vector<std::uint8_t> start, target;
  bool periodic = true;  // or zeros outside the boards
};

struct IdentifiedRule {
  std::string words;  // what the next state depends on, and the customary notation where there is one
  // Cases of the table that can occur with the states that occur, and those of them that the data settle. A case that
  // was seen so seldom that noise may have made its outcome is not settled.
  std::size_t entries = 0, seen = 0;
  std::vector<std::string> unseen;  // the first of the others, in words
  // Is the outcome for this patch ([9][start_channels] bits) a guess? True also for patterns that are no state.
  std::function<bool(const std::vector<std::uint8_t>& patch)> guessed;
  double noise = 0;           // cells whose target is not what the rule says, as a fraction
  double bit_noise = 0;       // the same of the target's bits
  double bits = 0;            // description length of the targets
  double runner_up_bits = 0;  // of the next best view; 0 when there is none
  std::string runner_up;
  std::string noise_judged_by;  // what was repeated to tell noise from structure; empty when there was no misfit
  // Why what is wrong is no noise although no rule of nine cells can do better, in words; empty otherwise.
  std::string not_noise;
  Netlist cell;  // `channels` in and out; those beyond the target's become 0
};

struct ViewMisfit {
  std::string words;
  std::size_t seen = 0;  // cases
  double wrong = 0;      // fraction of cells
  double bits = 0;
};

struct Identification {
  std::optional<IdentifiedRule> rule;  // when a view explains the data
  std::string why_not;                 // otherwise, in words
  std::vector<ViewMisfit> misfits;     // the best views, by description length
  std::vector<std::string> states;     // what is meant by "state 2": "state 2: bits 01"
  // The largest fraction of the targets' bits that any rule of a cell and its eight neighbours can get right here.
  double ceiling = 1;
  // Noise as seen from cells whose whole neighbourhoods are the same and which become different things; nothing when
  // no neighbourhood occurs twice.
  std::optional<double> contradiction;
  std::size_t neighbourhoods = 0;  // distinct ones in the data
  double repeated = 0;             // fraction of the cells whose neighbourhood occurs more than once
};

// A pure function of the data and the number of channels. Errors for data of the wrong size and for fewer channels than
// the data have.
Identification identify(const IdentifyData& data, int channels, const ThreadPool& pool = calling_thread());

}  // namespace espalier
