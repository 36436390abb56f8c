// The readers of circuits. What is read is a legal netlist, and its own export is the same function.
#include <stdexcept>
#include <string>

#include "espalier/error.hpp"
#include "espalier/netlist.hpp"
#include "espalier/random.hpp"
#include "fuzz/entries.hpp"
#include "synth/formats.hpp"

namespace espalier::fuzz {
namespace {

void expect(bool holds, const char* promise) {
  if (!holds) throw std::logic_error(promise);
}

std::vector<std::uint64_t> sampled(const Netlist& n) {
  const Random random(1, Purpose::kData);
  std::vector<std::uint64_t> words, result;
  for (std::size_t i = 0; i < n.inputs.size(); ++i) words.push_back(random.bits64(i));
  const std::vector<std::uint64_t> nets = evaluate_words(n, words);
  for (const NetlistOutput& output : n.outputs) result.push_back(nets[output.net]);
  return result;
}

template <class Read, class Write>
void round_trip(std::span<const std::byte> bytes, Read read, Write write) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Netlist n;
  try {
    n = read(text, "input");
  } catch (const Error& error) {
    const std::string message = error.what();
    expect(message.find('\n') == std::string::npos, "an error message is one line");
    expect(message.size() < 2000, "an error message is short");
    return;
  }
  check_netlist(n, "what was read");
  if (n.nets() > 20'000) return;  // large ones only cost time
  const Netlist again = read(write(n), "our own output");
  expect(again.inputs.size() == n.inputs.size() && again.outputs.size() == n.outputs.size(),
         "a netlist keeps its shape");
  expect(sampled(again) == sampled(n), "a netlist keeps its function");
}

}  // namespace

void netlist_json(std::span<const std::byte> bytes) {
  round_trip(bytes, import_json, [](const Netlist& n) { return export_json(n); });
}
void blif(std::span<const std::byte> bytes) {
  round_trip(bytes, import_blif, [](const Netlist& n) { return export_blif(n); });
}
void aiger(std::span<const std::byte> bytes) {
  round_trip(bytes, import_aiger, [](const Netlist& n) { return export_aiger_ascii(n); });
  round_trip(bytes, import_aiger, [](const Netlist& n) { return export_aiger_binary(n); });
}

}  // namespace espalier::fuzz
