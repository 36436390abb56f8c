#include "synth/lane_engine.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "espalier/error.hpp"

namespace espalier {
namespace {

bool native_bits(int bits) {  // whether machine code of that width can be had at all
  static const bool can256 = make_native({}, {}, 256) != nullptr, can512 = make_native({}, {}, 512) != nullptr;
  return bits == 512 ? can512 : can256;
}

int chosen_bits(const LaneOptions& o) {  // of machine code; 0: the interpreter
  if (o.engine == SimulatorEngine::kInterpreter) return 0;
  const int bits = o.word_bits ? o.word_bits : native_bits(512) ? 512 : 256;
  if ((bits == 256 || bits == 512) && native_bits(bits)) return bits;
  if (o.engine == SimulatorEngine::kNative)
    fail("lanes", fmt::format("machine code of {} bits", bits), "a machine and a system that can run it");
  return 0;
}

}  // namespace

std::size_t lane_words(const LaneOptions& options) { return chosen_bits(options) == 256 ? 4 : kLaneWords; }

LaneEngine::LaneEngine(const Netlist& parent, const MutantGroup& group, std::size_t first, const SimPlaces& places,
                       const LaneOptions& options)
    : words_(lane_words(options)) {
  if (places.inputs.size() != parent.inputs.size() || places.outputs.size() != parent.outputs.size())
    fail("lanes", fmt::format("{} inputs and {} outputs", parent.inputs.size(), parent.outputs.size()),
         fmt::format("{} and {}, those of the examples", places.inputs.size(), places.outputs.size()));
  std::vector<std::uint32_t> used;
  for (std::uint32_t m = 0; m < group.moves.size(); ++m) {
    const auto mask = group.lanes[m].begin() + static_cast<std::ptrdiff_t>(first);
    if (std::any_of(mask, mask + static_cast<std::ptrdiff_t>(words_), [](std::uint64_t w) { return w != 0; }))
      used.push_back(m);
  }
  const SimProgram program = sim_program(lane_circuit(parent, group, used));
  const int bits = chosen_bits(options);
  // The interpreter goes over blocks of words, and a mask is repeated for every cell of a block.
  const std::size_t mask_words = bits ? words_ : SimEngine::kBlockWords;
  SimPlaces all = places;
  for (std::size_t i = 0; i < used.size(); ++i)
    all.inputs.push_back({SimPlace::kScratch, static_cast<std::int64_t>(8 * i * mask_words), false});
  const std::size_t masks = (used.size() * mask_words + 7) / 8 * 8;
  all.scratch_offset = static_cast<std::int64_t>(8 * masks);
  if (bits) engine_ = make_native(program, all, bits);
  if (!engine_ && bits) fail("lanes", fmt::format("{} operations", program.ops.size()), "fewer");
  if (!engine_) engine_ = make_interpreter(program, all, options.word_bits);
  memory_.resize(masks + engine_->scratch_bytes() / 8);
  for (std::size_t i = 0; i < used.size(); ++i)
    for (std::size_t w = 0; w < mask_words; ++w) memory_[i * mask_words + w] = group.lanes[used[i]][first + w % words_];
}

void LaneEngine::run(const std::uint64_t* board, std::uint64_t* next, std::size_t cells) {
  engine_->run({reinterpret_cast<std::uint8_t*>(memory_.data()), reinterpret_cast<const std::uint8_t*>(board),
                reinterpret_cast<std::uint8_t*>(next), nullptr},
               cells * words_);
}

void LaneCounter::add(const std::uint64_t* value, bool wanted) {
  LaneMask carry{};
  for (std::size_t w = 0; w < words_; ++w) carry[w] = wanted ? ~value[w] : value[w];
  for (std::size_t i = 0;; ++i) {
    std::uint64_t any = 0;
    for (std::size_t w = 0; w < words_; ++w) any |= carry[w];
    if (!any) return;
    if (i == digits_.size()) digits_.emplace_back();
    for (std::size_t w = 0; w < words_; ++w) {
      const std::uint64_t digit = digits_[i][w];
      digits_[i][w] = digit ^ carry[w];
      carry[w] &= digit;
    }
  }
}

std::uint32_t LaneCounter::count(std::size_t lane) const {
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < digits_.size(); ++i)
    count |= static_cast<std::uint32_t>(digits_[i][lane / 64] >> (lane % 64) & 1) << i;
  return count;
}

}  // namespace espalier
