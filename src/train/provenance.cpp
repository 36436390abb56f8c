// How a model came about, in words and in files: what was done, in order, with what was wrong before and after.
#include "train/provenance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "base/text.hpp"
#include "espalier/error.hpp"

namespace espalier {
namespace {

// What `count` counts, by what was done, and what a model that came about so is called.
struct Way {
  std::string_view by, unit, word;
};
constexpr std::string_view kLearned = "learned", kBuilt = "built", kIdentified = "identified";
constexpr std::array kWays{Way{"gradients", "step", kLearned},         Way{"mutation", "mutant", kLearned},
                           Way{"least-squares", "fit", kLearned},      Way{"construction", "round", kBuilt},
                           Way{"identification", "case", kIdentified}, Way{"start", "step", "untrained"}};

// Of a circuit, however small; what gradients or a fit train may have no gates.
bool makes_circuits(std::string_view by) { return by == "mutation" || by == "construction" || by == "identification"; }

const Way* way_of(std::string_view by) {
  const auto found = std::ranges::find(kWays, by, &Way::by);
  return found == kWays.end() ? nullptr : &*found;
}

}  // namespace

std::string text_of(const Provenance& provenance) {
  std::string text;
  for (const Making& m : provenance) {
    if (m.by == "start" && provenance.size() > 1) continue;  // of which nothing was kept as it was
    const Way* way = way_of(m.by);
    text += fmt::format("{}{} ({}", text.empty() ? "" : ", ", m.by, counted(m.count, way ? way->unit : "step"));
    if (m.gates_after || m.gates_before || makes_circuits(m.by))
      text += fmt::format(": {:.4g} -> {:.4g} wrong bits, {} -> {} gates", m.wrong_before, m.wrong_after,
                          m.gates_before, m.gates_after);
    else if (m.wrong_before != m.wrong_after)
      text += fmt::format(": validation loss {:.4g} -> {:.4g}", m.wrong_before, m.wrong_after);
    text += ")";
  }
  return text.empty() ? "nothing that is known of" : text;
}

std::string word_for(const Provenance& provenance) {
  // What put wrong bits right; where nothing did, what was done at all.
  const auto share = [&](std::string_view word) {
    double put_right = 0;
    for (const Making& m : provenance)
      if (const Way* way = way_of(m.by); way && way->word == word)
        put_right += std::max(0.0, m.wrong_before - m.wrong_after);
    return put_right;
  };
  const double learned = share(kLearned), built = share(kBuilt), identified = share(kIdentified);
  if (const double made = built + identified; made > 0) {
    if (made <= learned) return "learned and built";
    return std::string(built > identified ? kBuilt : kIdentified);
  }
  if (learned > 0) return std::string(kLearned);
  for (const std::string_view word : {kIdentified, kBuilt, kLearned, kWays.back().word})
    if (std::ranges::any_of(provenance, [&](const Making& m) { return way_of(m.by) && way_of(m.by)->word == word; }))
      return std::string(word);
  return "made";
}

std::string circuit_words_for(const Provenance& provenance) {
  const std::string word = word_for(provenance);
  return "as " + (word == kLearned ? "found by search" : word == "learned and built" ? "found and built" : word);
}

std::string format_provenance(const Provenance& provenance) {
  std::string text;
  for (const Making& m : provenance)
    text +=
        fmt::format("{} {} {} {} {} {}\n", m.by, m.count, m.wrong_before, m.wrong_after, m.gates_before, m.gates_after);
  return text;
}

Provenance parse_provenance(const std::string& text) {
  Provenance provenance;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    Making m;
    std::string wrong[2], rest;
    // Losses may be infinite, which a stream writes but does not read.
    const auto number = [](const std::string& word, double& value) {
      char* end = nullptr;
      value = std::strtod(word.c_str(), &end);
      return end != word.c_str() && *end == 0;
    };
    if (!(words >> m.by >> m.count >> wrong[0] >> wrong[1] >> m.gates_before >> m.gates_after) || words >> rest ||
        !number(wrong[0], m.wrong_before) || !number(wrong[1], m.wrong_after) || !way_of(m.by))
      fail("provenance", fmt::format("\"{}\"", line), "what was done, a count, wrong bits and gates before and after");
    provenance.push_back(std::move(m));
  }
  return provenance;
}

}  // namespace espalier
