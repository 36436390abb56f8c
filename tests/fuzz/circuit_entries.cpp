// The readers of circuits. What is read is a legal netlist, and its own export is the same function.
#include "espalier/netlist.hpp"
#include "espalier/random.hpp"
#include "fuzz/entries.hpp"
#include "fuzz/read_or_refuse.hpp"
#include "synth/formats.hpp"

namespace espalier::fuzz {
namespace {

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
  Netlist n;
  bool good = false;
  read_or_refuse([&] {
    n = read(text_of(bytes), "input");
    good = true;
  });
  if (!good) return;
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
