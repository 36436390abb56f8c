// The gates of a training step out of their logits, in each parametrisation: choice, noise, gradients, entropy.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <numbers>

#include "base/arrays.hpp"
#include "espalier/error.hpp"
#include "espalier/gate_network.hpp"
#include "logic/choice_kernels.hpp"
#include "logic/entry_kernels.hpp"
#include "logic/harden.hpp"
#include "logic/layer_plan.hpp"
#include "logic/soft_wires.hpp"

namespace espalier {
namespace {

constexpr std::size_t kGateChunk = 256;
constexpr double kForwardNs = 20, kBackwardNs = 15, kGumbelNs = 60;  // per gate
constexpr std::size_t kEntries = 4;
constexpr std::uint32_t kFirstWireGroup = 1u << 28;  // of noise: more than the gates of any network need

std::size_t size_of(Parametrisation p) { return static_cast<std::size_t>(logits_of(p)); }

const char* number_of(Parametrisation p) { return p == Parametrisation::kGates ? "sixteen" : "four"; }

// How many gates these logits are of.
std::size_t gates_of(const char* op, std::span<const float> logits, Parametrisation p) {
  if (logits.size() % size_of(p))
    fail(op, fmt::format("{} logits", logits.size()), fmt::format("{} per gate", number_of(p)));
  if (!all_finite(logits)) fail(op, "a logit that is not finite", "trained logits");
  return logits.size() / size_of(p);
}

// Noise for 32 entries is that of two groups: what speaks for 1 less what speaks for 0.
void add_entry_noise(const SoftChoice& choice, Chunk groups, std::span<const float> logits, bool walsh, float* noisy) {
  std::array<float, 2 * kNoiseGroup> noise;
  std::array<float, kEntries> entries, moved;
  for (std::size_t group = groups.begin; group < groups.end; ++group) {
    gumbel_noise(choice.seed, choice.step, static_cast<std::uint32_t>(2 * group), 2, noise.data());
    const std::size_t begin = group * kNoiseGroup, end = std::min(begin + kNoiseGroup, logits.size());
    for (std::size_t at = begin; at < end; at += kEntries) {
      for (std::size_t e = 0; e < kEntries; ++e)
        entries[e] = noise[at - begin + e] - noise[at - begin + e + kNoiseGroup];
      if (walsh) {
        walsh_sums(entries.data(), moved.data());  // four times the coefficients of these entries
        for (std::size_t e = 0; e < kEntries; ++e) entries[e] = 0.25f * moved[e];
      }
      for (std::size_t e = 0; e < kEntries; ++e) noisy[at + e] = logits[at + e] + choice.gumbel_scale * entries[e];
    }
  }
}

}  // namespace

void check_logits(std::string_view op, std::span<const float> logits, int gates, Parametrisation p, int wires) {
  const std::size_t expected = static_cast<std::size_t>(gates) * size_of(p) + static_cast<std::size_t>(wires);
  if (logits.size() != expected)
    fail(op, fmt::format("{} logits", logits.size()),
         fmt::format("{}, {} for each of {} gates{}", expected, number_of(p), gates,
                     wires ? fmt::format(" and {} for wires", wires) : ""));
  if (reinterpret_cast<std::uintptr_t>(logits.data()) % (8 * sizeof(float)))
    fail(op, "logits that are not aligned", "rows as in an AlignedVector");
}

SoftGates::SoftGates(const GateNetwork& network)
    : parametrisation_(network.parametrisation()), order_(network.evaluation_order()) {
  resize(network);
}

SoftGates::SoftGates(const GateNetwork& first, const GateNetwork& second) : SoftGates(first) {
  if (second.parametrisation() != parametrisation_)
    fail("soft gates", "two networks of different parametrisations", "one parametrisation");
  if (first.wires()) fail("soft gates", "candidates in the first of two networks", "fixed wires there");
  for (const std::int32_t gate : second.evaluation_order()) order_.push_back(first.gates() + gate);
  resize(second);
}

void SoftGates::resize(const GateNetwork& last) {
  p_.resize(order_.size() * size_of(parametrisation_));
  plans_ = last.plans_;
  wires_.resize(static_cast<std::size_t>(last.wires()));
  c_.resize(order_.size() * 4 + last.coefficients() - 4 * static_cast<std::size_t>(last.gates()));
}

ForwardPass SoftGates::choose(std::span<const float> logits, const SoftChoice& choice, const ThreadPool& pool) {
  check_logits("soft gates", logits, gates(), parametrisation_, static_cast<int>(wires_.size()));
  // Those of a softmax are looked at on the way: there are sixteen of every gate, and one pass over them is enough.
  const bool softmax = parametrisation_ == Parametrisation::kGates;
  std::atomic<bool> finite = all_finite(logits.subspan(softmax ? p_.size() : 0));
  if (!(choice.temperature > 0) || !std::isfinite(choice.temperature))
    fail("soft gates", fmt::format("a temperature of {}", choice.temperature), "a number above 0");
  if (!(choice.gumbel_scale >= 0) || !std::isfinite(choice.gumbel_scale))
    fail("soft gates", fmt::format("Gumbel noise of scale {}", choice.gumbel_scale), "0 or more");
  last_.forget();  // no choice yet
  const float inverse_temperature = 1.0f / choice.temperature;
  const float* from = logits.data();
  if (choice.gumbel_scale > 0) {
    add_gumbel_noise(logits, choice, noisy_, pool, parametrisation_, wires_.size());
    from = noisy_.data();
  }
  pool.for_chunks(order_.size(), kGateChunk, kForwardNs, [&](Chunk chunk) {
    const auto count = static_cast<int>(chunk.end - chunk.begin);
    if (!softmax) {
      const bool walsh = parametrisation_ == Parametrisation::kWalsh;
      gate_entries_forward(count, from, &order_[chunk.begin], walsh, inverse_temperature, choice.straight,
                           &p_[chunk.begin * kEntries], &c_[chunk.begin * 4]);
      return;
    }
    if (!gate_softmax_forward(count, from, &order_[chunk.begin], inverse_temperature, &p_[chunk.begin * kGates],
                              &c_[chunk.begin * 4]))
      finite = false;
    if (choice.straight)
      for (std::size_t g = chunk.begin; g < chunk.end; ++g) {
        const float* p = &p_[g * kGates];
        std::ranges::copy(kGateCoefficients[std::max_element(p, p + kGates) - p], &c_[g * 4]);
      }
  });
  if (!finite)
    fail("soft gates", "a logit that is not finite", "numbers", "if training made it, lower the learning rate");
  for (const LayerPlan& plan : *plans_)
    choose_wires(plan.wires, from + p_.size(), inverse_temperature, choice.straight, wires_.data(),
                 &c_[4 * order_.size()], pool);
  inverse_temperature_ = inverse_temperature;
  return last_.begin();
}

void SoftGates::backward(std::span<const float> dc, std::span<float> dlogits, const ThreadPool& pool) {
  last_.check("soft gates", "choose() returns it");
  add_gradients(dc, dlogits, pool);
}

void SoftGates::backward(const ForwardPass& choice, std::span<const float> dc, std::span<float> dlogits,
                         const ThreadPool& pool) {
  last_.check("soft gates", choice);
  add_gradients(dc, dlogits, pool);
}

void SoftGates::add_gradients(std::span<const float> dc, std::span<float> dlogits, const ThreadPool& pool) {
  check_logits("soft gates", dlogits, gates(), parametrisation_, static_cast<int>(wires_.size()));
  if (dc.size() != c_.size())
    fail("soft gates", fmt::format("{} gradients of coefficients", dc.size()), fmt::format("{}", c_.size()));
  refuse_overlap("soft gates", dlogits, {dc});
  pool.for_chunks(order_.size(), kGateChunk, kBackwardNs, [&](Chunk chunk) {
    const auto count = static_cast<int>(chunk.end - chunk.begin);
    if (parametrisation_ == Parametrisation::kGates)
      gate_softmax_backward(count, &p_[chunk.begin * kGates], &dc[chunk.begin * 4], &order_[chunk.begin],
                            inverse_temperature_, dlogits.data());
    else
      gate_entries_backward(count, &p_[chunk.begin * kEntries], &dc[chunk.begin * 4], &order_[chunk.begin],
                            parametrisation_ == Parametrisation::kWalsh, dlogits.data());
  });
  for (const LayerPlan& plan : *plans_)
    choose_wires_backward(plan.wires, wires_.data(), dc.data() + 4 * order_.size(), inverse_temperature_,
                          dlogits.data() + p_.size(), pool);
  last_.went_back();
}

void add_gumbel_noise(std::span<const float> logits, const SoftChoice& choice, AlignedVector<float>& noisy,
                      const ThreadPool& pool, Parametrisation parametrisation, std::size_t wires) {
  if (!std::isfinite(choice.gumbel_scale))
    fail("gumbel noise", fmt::format("a scale of {}", choice.gumbel_scale), "a finite number");
  if (wires > logits.size())
    fail("gumbel noise", fmt::format("{} logits of wires", wires), fmt::format("at most {}", logits.size()));
  const std::size_t of_gates = logits.size() - wires;
  if (parametrisation != Parametrisation::kGates && of_gates % kEntries)
    fail("gumbel noise", fmt::format("{} logits", of_gates), "four per gate");
  refuse_overlap("gumbel noise", noisy, {logits});
  const auto groups = [](std::size_t count) { return (count + kNoiseGroup - 1) / kNoiseGroup; };
  noisy.resize((groups(of_gates) + groups(wires)) * kNoiseGroup);
  // Sixteen logits or those of wires: a number for each. Whole groups are written, so gates come before wires.
  const auto add = [&](std::size_t first, std::size_t count, std::uint32_t first_group) {
    pool.for_chunks(groups(count), kGateChunk / 2, 2 * kGumbelNs, [&](Chunk chunk) {
      float* const noise = noisy.data() + first;
      gumbel_noise(choice.seed, choice.step, first_group + static_cast<std::uint32_t>(chunk.begin),
                   static_cast<int>(chunk.end - chunk.begin), noise + chunk.begin * kNoiseGroup);
      const std::size_t end = std::min(chunk.end * kNoiseGroup, count);
      for (std::size_t i = chunk.begin * kNoiseGroup; i < end; ++i)
        noise[i] = logits[first + i] + choice.gumbel_scale * noise[i];
    });
  };
  if (parametrisation == Parametrisation::kGates)
    add(0, of_gates, 0);
  else
    pool.for_chunks(groups(of_gates), kGateChunk / 2, 2 * kGumbelNs, [&](Chunk chunk) {
      add_entry_noise(choice, chunk, logits.first(of_gates), parametrisation == Parametrisation::kWalsh, noisy.data());
    });
  add(of_gates, wires, kFirstWireGroup);
}

Gate likeliest_gate(std::span<const float, kGates> logits) {
  return static_cast<Gate>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

Gate likeliest_gate(std::span<const float> logits, Parametrisation parametrisation) {
  if (logits.size() != size_of(parametrisation))
    fail("likeliest gate", fmt::format("{} logits", logits.size()), number_of(parametrisation));
  if (parametrisation == Parametrisation::kGates) return likeliest_gate(logits.first<kGates>());
  std::array<float, kEntries> entries;
  entry_logits(logits.data(), parametrisation == Parametrisation::kWalsh, entries.data());
  unsigned bits = 0;
  for (const float entry : entries) bits = 2 * bits + (entry > 0);  // entry 0 is the highest bit
  return gate_of_bits(bits);
}

std::vector<Gate> likeliest_gates(std::span<const float> logits, Parametrisation parametrisation) {
  const std::size_t each = size_of(parametrisation);
  std::vector<Gate> gates(logits.size() / each);
  for (std::size_t g = 0; g < gates.size(); ++g)
    gates[g] = likeliest_gate(logits.subspan(g * each, each), parametrisation);
  return gates;
}

void set_gate(std::span<float> logits, Gate gate, float logit, Parametrisation parametrisation) {
  if (logits.size() != size_of(parametrisation))
    fail("set gate", fmt::format("{} logits", logits.size()), number_of(parametrisation));
  if (parametrisation == Parametrisation::kGates) {
    std::ranges::fill(logits, 0.0f);
    logits[static_cast<std::size_t>(gate)] = logit;
    return;
  }
  // Of sixteen gates eight have a 0 in an entry where this one has a 1: the odds are e^logit + 7 to 8.
  const double most = std::max(0.0, static_cast<double>(logit));
  const double odds = most + std::log((std::exp(logit - most) + 7 * std::exp(-most)) / 8);
  std::array<float, kEntries> entries;
  for (std::size_t e = 0; e < kEntries; ++e)
    entries[e] = static_cast<float>(gate_bits(gate) >> (kEntries - 1 - e) & 1 ? odds : -odds);
  if (parametrisation == Parametrisation::kWalsh) {
    walsh_sums(entries.data(), logits.data());
    for (float& w : logits) w *= 0.25f;
  } else {
    std::ranges::copy(entries, logits.begin());
  }
}

GateCounts count_gates(std::span<const float> logits, Parametrisation parametrisation) {
  gates_of("count gates", logits, parametrisation);
  GateCounts counts;
  for (const Gate gate : likeliest_gates(logits, parametrisation)) {
    ++counts.raw;
    counts.constants += is_constant(gate);
    counts.active += !is_wire(gate) && !is_constant(gate);
    ++counts.histogram[static_cast<int>(gate)];
  }
  return counts;
}

double mean_entropy(std::span<const float> logits, Parametrisation parametrisation) {
  const auto gates = static_cast<int>(gates_of("entropy", logits, parametrisation));
  if (gates == 0) fail("entropy", "no logits", fmt::format("{} per gate", number_of(parametrisation)));
  const double sum = parametrisation == Parametrisation::kGates
                         ? gate_entropies(gates, logits.data())
                         : entry_entropies(gates, logits.data(), parametrisation == Parametrisation::kWalsh);
  return sum / gates / std::numbers::ln2;
}

}  // namespace espalier
