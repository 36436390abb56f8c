#include "models/lattice/hard_rollout.hpp"

#include <fmt/format.h>

#include "espalier/error.hpp"
#include "espalier/random.hpp"
#include "netlist/cell.hpp"

namespace espalier {
namespace {

template <int kWords>
struct Words {
  using Vector [[gnu::vector_size(8 * kWords)]] = std::uint64_t;  // left to itself the compiler shuffles words about
  Vector w;
  friend Words operator&(const Words& a, const Words& b) { return {a.w & b.w}; }
  friend Words operator|(const Words& a, const Words& b) { return {a.w | b.w}; }
  friend Words operator^(const Words& a, const Words& b) { return {a.w ^ b.w}; }
  friend Words operator~(const Words& a) { return {~a.w}; }
};

// A two-input function as m0 ^ m1 a ^ m2 b ^ m3 ab: one form for all gates, so that no branch has to be guessed.
template <int kWords>
struct Function {
  Words<kWords> m[4];
  Words<kWords> operator()(const Words<kWords>& a, const Words<kWords>& b) const {
    return m[0] ^ (m[1] & a) ^ (m[2] & b) ^ (m[3] & a & b);
  }
};

// Bit k: coefficient m_k of the gate.
int xor_form(Gate gate) {
  const int f00 = gate_value(gate, 0, 0), f01 = gate_value(gate, 0, 1), f10 = gate_value(gate, 1, 0),
            f11 = gate_value(gate, 1, 1);
  return f00 | (f00 ^ f10) << 1 | (f00 ^ f01) << 2 | (f00 ^ f01 ^ f10 ^ f11) << 3;
}

// Boards 64*first .. of the batch, on their own from the first step to the last.
template <int kWords>
class Simulation {
 public:
  Simulation(const Netlist& cell, Boundary boundary, const BitBoards& shape, int first)
      : cell_(cell), boundary_(boundary), shape_(shape), first_(first), values_(cell.nets()) {
    const std::vector<bool> live = live_nets(cell);
    for (int o = 0; o < kPatch; ++o)
      for (int c = 0; c < shape.channels; ++c)
        if (const Net net = patch_net(o, c, shape.channels); live[net]) inputs_.push_back({net, o, c});
    for (int gate = 0; gate < kGates; ++gate) {
      Function<kWords> f{};
      for (int k = 0; k < 4; ++k)
        if (xor_form(static_cast<Gate>(gate)) >> k & 1) f.m[k] = ~Words<kWords>{};
      functions_.push_back(f);
    }
  }

  void run(const BitBoards& start, int steps, const FireBits& fire, BitBoards& out) {
    const std::size_t size = static_cast<std::size_t>(shape_.height) * shape_.width * shape_.channels;
    // One cell more than the grid: the zeros outside.
    std::vector<Words<kWords>> now(size + shape_.channels), next(size + shape_.channels);
    const int words = shape_.words();
    for (std::size_t i = 0; i < size; ++i)
      for (int k = 0; k < kWords; ++k) now[i].w[k] = start.bits[i * words + first_ + k];
    for (int t = 0; t < steps; ++t) {
      step(now, next, t, fire);
      now.swap(next);
    }
    for (std::size_t i = 0; i < size; ++i)
      for (int k = 0; k < kWords; ++k) out.bits[i * words + first_ + k] = now[i].w[k];
  }

 private:
  struct Input {
    Net net;
    int place, channel;
  };

  void step(const std::vector<Words<kWords>>& now, std::vector<Words<kWords>>& next, int t, const FireBits& fire) {
    const int height = shape_.height, width = shape_.width, channels = shape_.channels;
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        const std::size_t at = static_cast<std::size_t>(y) * width + x;
        const Words<kWords>* patch[9];
        for (int o = 0; o < 9; ++o) patch[o] = now.data() + neighbour(y + o / 3 - 1, x + o % 3 - 1) * channels;
        for (const Input& input : inputs_) values_[input.net] = patch[input.place][input.channel];
        Words<kWords>* values = values_.data();
        Words<kWords>* result = values + cell_.inputs.size();
        const Function<kWords>* functions = functions_.data();
        for (const NetlistGate& g : cell_.gates)
          *result++ = functions[static_cast<int>(g.gate)](values[g.a], values[g.b]);
        for (int c = 0; c < channels; ++c) {
          Words<kWords> value = values_[cell_.outputs[c].net];
          if (!fire.empty()) {
            Words<kWords> mask;
            const std::size_t mask_at = (static_cast<std::size_t>(t) * height * width + at) * shape_.words() + first_;
            for (int k = 0; k < kWords; ++k) mask.w[k] = fire[mask_at + k];
            value = (value & mask) | (now[at * channels + c] & ~mask);
          }
          next[at * channels + c] = value;
        }
      }
  }

  std::size_t neighbour(int y, int x) const {
    const int height = shape_.height, width = shape_.width;
    if (boundary_ == Boundary::kPeriodic) {
      y = (y + height) % height;
      x = (x + width) % width;
    } else if (y < 0 || y >= height || x < 0 || x >= width) {
      return static_cast<std::size_t>(height) * width;
    }
    return static_cast<std::size_t>(y) * width + x;
  }

  const Netlist& cell_;
  Boundary boundary_;
  const BitBoards& shape_;
  int first_;
  std::vector<Words<kWords>> values_;
  std::vector<Function<kWords>> functions_;  // of the sixteen gates
  std::vector<Input> inputs_;
};

}  // namespace

BitBoards::BitBoards(int samples_, int height_, int width_, int channels_)
    : samples(samples_), height(height_), width(width_), channels(channels_) {
  bits.assign(static_cast<std::size_t>(height) * width * channels * words(), 0);
}

void BitBoards::set(int sample, int y, int x, int c, bool value) {
  std::uint64_t& word = bits[at(y, x, c) + sample / 64];
  const std::uint64_t bit = std::uint64_t{1} << (sample % 64);
  word = value ? word | bit : word & ~bit;
}

FireBits draw_fire_bits(const BitBoards& boards, int steps, double rate, std::uint64_t seed, std::uint32_t step) {
  if (rate >= 1) return {};
  const Random random(seed, Purpose::kFire, step);
  const std::size_t cells = static_cast<std::size_t>(boards.height) * boards.width;
  FireBits fire(static_cast<std::size_t>(steps) * cells * boards.words());
  for (std::size_t i = 0; i < static_cast<std::size_t>(steps) * cells; ++i)
    for (int s = 0; s < boards.samples; ++s)
      if (random.uniform(i * boards.samples + s) < rate)
        fire[i * boards.words() + s / 64] |= std::uint64_t{1} << (s % 64);
  return fire;
}

BitBoards hard_rollout(const Netlist& cell, Boundary boundary, const BitBoards& start, int steps, const FireBits& fire,
                       const ThreadPool& pool) {
  if (cell_channels(cell) != start.channels)
    fail("hard rollout", fmt::format("a cell of {} channels", cell_channels(cell)),
         fmt::format("{}, those of the boards", start.channels));
  BitBoards out(start.samples, start.height, start.width, start.channels);
  const double op_ns = 3.0 * static_cast<double>(cell.gates.size() + 20) * start.height * start.width * steps;
  pool.for_chunks(static_cast<std::size_t>(start.words()), 2, op_ns / 2, [&](Chunk chunk) {
    if (chunk.end - chunk.begin == 2) {
      Simulation<2>(cell, boundary, start, static_cast<int>(chunk.begin)).run(start, steps, fire, out);
    } else {
      for (std::size_t word = chunk.begin; word < chunk.end; ++word)
        Simulation<1>(cell, boundary, start, static_cast<int>(word)).run(start, steps, fire, out);
    }
  });
  return out;
}

}  // namespace espalier
