#include "synth/target_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "espalier/error.hpp"

namespace espalier {
namespace {

constexpr std::size_t kBlock = 64;  // examples that are laid out at a time; their words of lanes stay in the cache

}  // namespace

TargetTable complete_table(const Netlist& circuit, std::size_t most) {
  check_netlist(circuit, "table");
  const std::size_t inputs = circuit.inputs.size();
  if (inputs > most)
    fail("table", fmt::format("a circuit of {} inputs", inputs), fmt::format("at most {}", most),
         "complete tables double in size with every input");
  TargetTable table;
  table.count = std::size_t{1} << inputs;
  table.inputs.assign(inputs, std::vector<std::uint64_t>(table.words()));
  table.outputs.assign(circuit.outputs.size(), std::vector<std::uint64_t>(table.words()));
  table.cares.assign(circuit.outputs.size(), std::vector<std::uint64_t>(table.words(), ~std::uint64_t{0}));
  std::vector<std::uint64_t> in(inputs);
  for (std::size_t w = 0; w < table.words(); ++w) {
    for (std::size_t i = 0; i < inputs; ++i) table.inputs[i][w] = in[i] = counting_word(i, w);
    const std::vector<std::uint64_t> values = evaluate_words(circuit, in);
    for (std::size_t o = 0; o < table.outputs.size(); ++o) table.outputs[o][w] = values[circuit.outputs[o].net];
  }
  return table;
}

TargetTable parse_table(std::string_view text, const std::string& name, std::size_t inputs, std::size_t outputs) {
  TargetTable table;
  table.inputs.resize(inputs);
  table.outputs.resize(outputs);
  table.cares.resize(outputs);
  std::size_t number = 0;
  const auto refuse = [&](const std::string& got) {
    fail("table", fmt::format("{} in line {} of {}", got, number, name),
         fmt::format("{} input bits, a space and {} output bits", inputs, outputs), "for example: 011 1-");
  };
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = line.substr(0, line.find('#'));
    std::string bits, blank = " \t\r";
    std::size_t first_part = 0;
    for (const char c : line) {
      if (blank.find(c) != std::string::npos) {
        if (!bits.empty() && !first_part) first_part = bits.size();
      } else {
        bits += c;
      }
    }
    if (bits.empty()) continue;
    if (bits.size() != inputs + outputs || (outputs && first_part != inputs)) refuse(fmt::format("\"{}\"", line));
    const std::size_t word = table.count / 64;
    const std::uint64_t bit = std::uint64_t{1} << (table.count % 64);
    const auto set = [&](ExampleWords& words, std::size_t i, bool value) {
      words[i].resize(word + 1);
      if (value) words[i][word] |= bit;
    };
    for (std::size_t i = 0; i < bits.size(); ++i) {
      const bool is_output = i >= inputs;
      if (bits[i] != '0' && bits[i] != '1' && !(is_output && bits[i] == '-')) refuse(fmt::format("\"{}\"", bits[i]));
      if (is_output) set(table.cares, i - inputs, bits[i] != '-');
      set(is_output ? table.outputs : table.inputs, is_output ? i - inputs : i, bits[i] == '1');
    }
    ++table.count;
  }
  if (!table.count) fail("table", fmt::format("no rows in {}", name), "at least one");
  return table;
}

TableScore::TableScore(TargetTable table, const LaneOptions& options) : table_(std::move(table)), options_(options) {
  for (auto& cares : table_.cares)  // the last word may be cut short
    if (table_.count % 64) cares.back() &= (std::uint64_t{1} << (table_.count % 64)) - 1;
}

void TableScore::score(const Netlist& parent, const MutantGroup& group, std::span<std::uint32_t, kLanes> wrong) const {
  const std::size_t words = lane_words(options_), inputs = table_.inputs.size(), outputs = table_.outputs.size();
  const std::size_t plane = kBlock * words, all = parent.outputs.size();  // more than are judged, of a cell
  AlignedVector<std::uint64_t> read(inputs * plane), written(all * plane);
  SimPlaces places;
  for (std::size_t i = 0; i < inputs; ++i)
    places.inputs.push_back({SimPlace::kBoard, static_cast<std::int64_t>(8 * i * plane)});
  for (std::size_t o = 0; o < all; ++o)
    places.outputs.push_back({SimPlace::kNext, static_cast<std::int64_t>(8 * o * plane)});
  for (std::size_t first = 0; first < kLaneWords; first += words) {
    LaneEngine engine(parent, group, first, places, options_);
    LaneCounter counter(words);
    for (std::size_t w = 0; w < table_.words(); ++w) {
      const std::size_t here = std::min(kBlock, table_.count - kBlock * w);
      for (std::size_t i = 0; i < inputs; ++i)
        for (std::size_t k = 0; k < here; ++k)
          std::fill_n(&read[i * plane + k * words], words, std::uint64_t{0} - (table_.inputs[i][w] >> k & 1));
      engine.run(read.data(), written.data(), here);
      for (std::size_t o = 0; o < outputs; ++o)
        for (std::size_t k = 0; k < here; ++k)
          if (table_.cares[o][w] >> k & 1) counter.add(&written[o * plane + k * words], table_.outputs[o][w] >> k & 1);
    }
    for (std::size_t lane = 0; lane < 64 * words; ++lane) wrong[64 * first + lane] = counter.count(lane);
  }
}

ExampleWords TableScore::errors(const Netlist& circuit) const {
  ExampleWords result(table_.outputs.size(), std::vector<std::uint64_t>(table_.words()));
  std::vector<std::uint64_t> in(table_.inputs.size());
  for (std::size_t w = 0; w < table_.words(); ++w) {
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = table_.inputs[i][w];
    const std::vector<std::uint64_t> values = evaluate_words(circuit, in);
    for (std::size_t o = 0; o < result.size(); ++o)
      result[o][w] = (values[circuit.outputs[o].net] ^ table_.outputs[o][w]) & table_.cares[o][w];
  }
  return result;
}

std::optional<Netlist> TableScore::repair(const Netlist& circuit, std::uint64_t) const {
  std::vector<Correction> corrections;
  const ExampleWords wrong = errors(circuit);
  for (std::size_t o = 0; o < wrong.size(); ++o) {
    corrections.push_back({o, wrong[o], table_.cares[o]});
    for (std::size_t w = 0; w < table_.words(); ++w) corrections.back().keep[w] &= ~wrong[o][w];
  }
  return repair_outputs(circuit, table_.inputs, corrections);
}

std::uint64_t TableScore::judge(const Netlist& circuit, const ThreadPool&) const {
  std::uint64_t wrong = 0;
  for (const auto& words : errors(circuit))
    for (const std::uint64_t w : words) wrong += static_cast<std::uint64_t>(std::popcount(w));
  return wrong;
}

}  // namespace espalier
