// Rules made for tests, as plain functions of nine states, and boards made with them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "espalier/random.hpp"
#include "espalier/simulator.hpp"
#include "models/lattice/identify.hpp"

namespace espalier {

using PatchStates = std::array<int, 9>;
constexpr int kBeyond = -1;  // outside of the board, where no state has the code 0

struct KnownRule {
  std::string name;
  int channels = 1;
  std::vector<std::uint64_t> codes;  // of the states; bit c is channel c
  std::function<int(const PatchStates&)> next;
};

inline std::vector<std::uint64_t> binary_codes(int states) {
  std::vector<std::uint64_t> codes;
  for (int s = 0; s < states; ++s) codes.push_back(static_cast<std::uint64_t>(s));
  return codes;
}
inline std::vector<std::uint64_t> one_hot_codes(int states) {
  std::vector<std::uint64_t> codes;
  for (int s = 0; s < states; ++s) codes.push_back(std::uint64_t{1} << s);
  return codes;
}

inline int count_neighbours(const PatchStates& patch, int state) {
  int n = 0;
  for (int p = 0; p < 9; ++p) n += p != 4 && patch[p] == state;
  return n;
}

// A random function of a number, the same for the same seed.
inline int random_value(std::uint64_t seed, std::uint64_t of, int values) {
  return static_cast<int>(Random(seed, Purpose::kData, 7).choice(of, static_cast<std::uint64_t>(values)));
}

// Generations: a cell that does not survive goes through the states 2 .. states - 1, then is dead.
inline KnownRule generations(std::string name, unsigned born, unsigned survive, int states,
                             std::vector<std::uint64_t> codes, int channels) {
  return {std::move(name), channels, std::move(codes), [=](const PatchStates& p) {
            const int n = count_neighbours(p, 1);
            if (p[4] == 0) return static_cast<int>(born >> n & 1);
            if (p[4] == 1 && (survive >> n & 1)) return 1;
            return (p[4] + 1) % states;
          }};
}

inline KnownRule life_like(std::string name, unsigned born, unsigned survive) {
  return generations(std::move(name), born, survive, 2, {0, 1}, 1);
}

inline KnownRule random_life_like(std::uint64_t seed) {
  return life_like("life-like " + std::to_string(seed), static_cast<unsigned>(random_value(seed, 0, 512)),
                   static_cast<unsigned>(random_value(seed, 1, 512)));
}

inline KnownRule random_generations(std::uint64_t seed, int states, bool one_hot) {
  // Births without neighbours would leave nothing alive to speak of.
  return generations("generations " + std::to_string(states) + (one_hot ? " one-hot " : " ") + std::to_string(seed),
                     static_cast<unsigned>(random_value(seed, 0, 512)) & ~1u,
                     static_cast<unsigned>(random_value(seed, 1, 512)), states,
                     one_hot ? one_hot_codes(states) : binary_codes(states),
                     one_hot      ? states
                     : states > 4 ? 3
                                  : 2);
}

inline KnownRule wireworld(bool one_hot) {  // empty, head, tail, wire
  return {one_hot ? "wireworld one-hot" : "wireworld", one_hot ? 4 : 2, one_hot ? one_hot_codes(4) : binary_codes(4),
          [](const PatchStates& p) {
            const int heads = count_neighbours(p, 1);
            if (p[4] == 3) return heads == 1 || heads == 2 ? 1 : 3;
            return p[4] == 0 ? 0 : p[4] + 1;
          }};
}

inline KnownRule cyclic(int states, int threshold, std::vector<std::uint64_t> codes, int channels) {
  return {"cyclic " + std::to_string(states) + " threshold " + std::to_string(threshold), channels, std::move(codes),
          [=](const PatchStates& p) {
            const int ahead = (p[4] + 1) % states;
            return count_neighbours(p, ahead) >= threshold ? ahead : p[4];
          }};
}

// The same for all rotations and reflections of a patch: a random function of the smallest of them.
inline KnownRule random_isotropic(std::uint64_t seed, int states) {
  return {"isotropic " + std::to_string(states) + " " + std::to_string(seed), states > 2 ? 2 : 1, binary_codes(states),
          [=](const PatchStates& p) {
            std::uint64_t least = ~std::uint64_t{0};
            for (int mirror = 0; mirror < 2; ++mirror)
              for (int turns = 0; turns < 4; ++turns) {
                std::uint64_t code = 0;
                for (int at = 0; at < 9; ++at) {
                  int y = at / 3, x = mirror ? 2 - at % 3 : at % 3;
                  for (int t = 0; t < turns; ++t) {
                    const int old = y;
                    y = x;
                    x = 2 - old;
                  }
                  code = code * static_cast<std::uint64_t>(states) + static_cast<std::uint64_t>(p[3 * y + x]);
                }
                least = std::min(least, code);
              }
            return random_value(seed, least, states);
          }};
}

inline KnownRule random_von_neumann(std::uint64_t seed, int states) {
  return {"von Neumann " + std::to_string(states) + " " + std::to_string(seed), states > 2 ? 2 : 1,
          binary_codes(states), [=](const PatchStates& p) {
            std::uint64_t code = 0;
            for (const int at : {1, 3, 4, 5, 7}) code = code * 4 + static_cast<std::uint64_t>(p[at]);
            return random_value(seed, code, states);
          }};
}

// Two channels: the own state, and how many neighbours have channel 0 and how many channel 1.
inline KnownRule random_planes(std::uint64_t seed) {
  return {"counts per plane " + std::to_string(seed), 2, binary_codes(4), [=](const PatchStates& p) {
            std::uint64_t low = 0, high = 0;
            for (int at = 0; at < 9; ++at) {
              low += at != 4 && (p[at] & 1);
              high += at != 4 && (p[at] & 2);
            }
            return random_value(seed, (static_cast<std::uint64_t>(p[4]) * 9 + low) * 9 + high, 4);
          }};
}

// Each output bit is a random function of `reads` bits of the patch.
inline KnownRule random_few_bits(std::uint64_t seed, int channels, int reads) {
  struct Bit {
    std::vector<int> reads, table;
  };
  std::vector<Bit> outputs;
  for (int c = 0; c < channels; ++c) {
    std::vector<int> bits(static_cast<std::size_t>(9 * channels));
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<int>(i);
    Random(seed, Purpose::kData, 100 + static_cast<std::uint32_t>(c)).shuffle(std::span(bits));
    bits.resize(static_cast<std::size_t>(reads));
    std::vector<int> table;
    for (std::uint64_t i = 0; i < std::uint64_t{1} << reads; ++i)
      table.push_back(random_value(seed + 1000 * static_cast<std::uint64_t>(c + 1), i, 2));
    outputs.push_back({bits, table});
  }
  return {std::to_string(reads) + " bits of " + std::to_string(9 * channels) + " " + std::to_string(seed), channels,
          binary_codes(1 << channels), [=](const PatchStates& p) {
            int next = 0;
            for (int c = 0; c < channels; ++c) {
              std::size_t code = 0;
              for (const int bit : outputs[c].reads)
                code = code * 2 + static_cast<std::size_t>(p[bit / channels] >> (bit % channels) & 1);
              next |= outputs[c].table[code] << c;
            }
            return next;
          }};
}

// No structure at all.
inline KnownRule random_full(std::uint64_t seed, int channels) {
  const int states = 1 << channels;
  return {"full " + std::to_string(channels) + " " + std::to_string(seed), channels, binary_codes(states),
          [=](const PatchStates& p) {
            std::uint64_t code = 0;
            for (const int s : p) code = code * static_cast<std::uint64_t>(states) + static_cast<std::uint64_t>(s);
            return random_value(seed, code, states);
          }};
}

struct BoardOptions {
  int boards = 100, height = 32, width = 32;
  bool periodic = true;
  double noise = 0;  // of the target's bits
  std::uint64_t seed = 1;
};

// States of boards, uniformly random: [boards][H][W].
inline std::vector<int> random_states(const KnownRule& rule, const BoardOptions& o) {
  std::vector<int> states(static_cast<std::size_t>(o.boards) * o.height * o.width);
  const Random random(o.seed, Purpose::kTrial);
  for (std::size_t i = 0; i < states.size(); ++i) states[i] = static_cast<int>(random.choice(i, rule.codes.size()));
  return states;
}

inline PatchStates patch_at(const KnownRule& rule, const BoardOptions& o, const std::vector<int>& states, int board,
                            int y, int x) {
  PatchStates patch{};
  for (int p = 0; p < 9; ++p) {
    const int v = y + p / 3 - 1, u = x + p % 3 - 1;
    if (!o.periodic && (v < 0 || v >= o.height || u < 0 || u >= o.width)) {
      patch[p] = rule.codes[0] == 0 ? 0 : kBeyond;
      continue;
    }
    patch[p] = states[(static_cast<std::size_t>(board) * o.height + (v + o.height) % o.height) * o.width +
                      (u + o.width) % o.width];
  }
  return patch;
}

inline IdentifyData make_boards(const KnownRule& rule, const BoardOptions& o, const std::vector<int>& states) {
  IdentifyData data{o.boards, o.height, o.width, rule.channels, rule.channels, {}, {}, o.periodic};
  const Random flips(o.seed, Purpose::kDamage);
  for (int n = 0; n < o.boards; ++n)
    for (int y = 0; y < o.height; ++y)
      for (int x = 0; x < o.width; ++x) {
        const PatchStates patch = patch_at(rule, o, states, n, y, x);
        const std::uint64_t now = rule.codes[patch[4]], next = rule.codes[rule.next(patch)];
        for (int c = 0; c < rule.channels; ++c) {
          data.start.push_back(now >> c & 1);
          data.target.push_back((next >> c & 1) != (flips.uniform(data.target.size()) < o.noise ? 1u : 0u));
        }
      }
  return data;
}

// How a found rule does on boards that it has not seen.
struct FreshReport {
  int exact = 0;                  // boards
  std::size_t wrong = 0;          // cells
  std::size_t wrong_settled = 0;  // of them, under cases that were said to be settled
};
inline FreshReport judge_on_boards(const KnownRule& rule, const IdentifiedRule& found, const BoardOptions& o,
                                   const std::vector<int>& states, const IdentifyData& clean) {
  const auto count = static_cast<std::size_t>(o.boards), height = static_cast<std::size_t>(o.height),
             width = static_cast<std::size_t>(o.width);
  const int channels = static_cast<int>(found.cell.outputs.size());
  BoardBatch boards(count, height, width, channels);
  std::size_t at = 0;
  for (std::size_t n = 0; n < count; ++n)
    for (std::size_t y = 0; y < height; ++y)
      for (std::size_t x = 0; x < width; ++x)
        for (int c = 0; c < rule.channels; ++c) boards.set(n, y, x, c, clean.start[at++]);
  BatchSimulator(found.cell, {.periodic = o.periodic}).run(boards, 1);
  FreshReport report;
  at = 0;
  for (std::size_t n = 0; n < count; ++n) {
    bool exact = true;
    for (std::size_t y = 0; y < height; ++y)
      for (std::size_t x = 0; x < width; ++x) {
        bool right = true;
        for (int c = 0; c < rule.channels; ++c) right = (boards.get(n, y, x, c) == (clean.target[at++] != 0)) && right;
        for (int c = rule.channels; c < channels; ++c) right = right && !boards.get(n, y, x, c);
        if (right) continue;
        exact = false;
        ++report.wrong;
        const PatchStates patch =
            patch_at(rule, o, states, static_cast<int>(n), static_cast<int>(y), static_cast<int>(x));
        std::vector<std::uint8_t> bits;
        for (const int s : patch)
          for (int c = 0; c < rule.channels; ++c) bits.push_back(s == kBeyond ? 0 : rule.codes[s] >> c & 1);
        if (!found.guessed(bits)) ++report.wrong_settled;
      }
    report.exact += exact;
  }
  return report;
}

}  // namespace espalier
