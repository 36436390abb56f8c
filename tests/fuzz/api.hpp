// Drives the public functions of each room with sizes and orders drawn from bytes: most sizes are right, some are not.
// An Error of one line is a good answer; anything else that is thrown is a defect, and what a sanitizer says is one
// too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>

#include "espalier/error.hpp"
#include "espalier/thread_pool.hpp"

namespace espalier::fuzz {

void api_base(std::span<const std::byte> bytes);
void api_graph(std::span<const std::byte> bytes);
void api_dag(std::span<const std::byte> bytes);
void api_message(std::span<const std::byte> bytes);
void api_logic(std::span<const std::byte> bytes);  // these four in api_circuits.cpp
void api_lattice(std::span<const std::byte> bytes);
void api_netlist(std::span<const std::byte> bytes);
void api_train(std::span<const std::byte> bytes);
void api_synth(std::span<const std::byte> bytes);
void api_models(std::span<const std::byte> bytes);  // these three in api_runs.cpp
void api_tasks(std::span<const std::byte> bytes);
void api_runs(std::span<const std::byte> bytes);

struct ApiEntry {
  const char* name;
  void (*run)(std::span<const std::byte>);
};
inline constexpr ApiEntry kApiEntries[] = {
    {"api_base", api_base},   {"api_graph", api_graph},     {"api_dag", api_dag},         {"api_message", api_message},
    {"api_logic", api_logic}, {"api_lattice", api_lattice}, {"api_netlist", api_netlist}, {"api_train", api_train},
    {"api_synth", api_synth}, {"api_models", api_models},   {"api_tasks", api_tasks},     {"api_runs", api_runs}};

// Decisions out of bytes; noughts when they are used up.
class Choices {
 public:
  explicit Choices(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool more() const { return at_ < bytes_.size(); }
  std::size_t below(std::size_t count) { return count ? next() % count : 0; }
  bool rarely() { return next() >= 248; }
  // Around `right`: most often just that.
  std::size_t size(std::size_t right) {
    switch (next()) {
      case 1: return 0;
      case 2: return right ? right - 1 : 1;
      case 3: return right + 1;
      case 4: return 2 * right + 8;
      default: return right;
    }
  }
  float number() {
    switch (const unsigned x = next(); x) {
      case 255: return std::numeric_limits<float>::quiet_NaN();
      case 254: return std::numeric_limits<float>::infinity();
      case 253: return 1e30f;
      default: return (static_cast<float>(x) - 128) / 64;
    }
  }
  AlignedVector<float> floats(std::size_t count) {
    AlignedVector<float> values(count);
    for (float& v : values) v = more() ? number() : 0.5f;
    return values;
  }

 private:
  unsigned next() { return more() ? static_cast<unsigned>(bytes_[at_++]) : 0; }

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

template <class Call>
void attempt(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    const std::string message = error.what();
    if (message.find('\n') != std::string::npos) throw std::logic_error("an error message is one line: " + message);
  }
}

}  // namespace espalier::fuzz
