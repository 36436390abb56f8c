// How a model came about, in words and in files: what was done, in order, with what was wrong before and after.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "base/text.hpp"
#include "espalier/error.hpp"
#include "espalier/trainer.hpp"

namespace espalier {
namespace {

// What `count` counts, by what was done.
struct Way {
  std::string_view by, unit;
  bool learns;  // from data, by trial: what it finds may be called learned
};
constexpr std::array kWays{Way{"gradients", "step", true},       Way{"mutation", "mutant", true},
                           Way{"least-squares", "fit", true},    Way{"construction", "round", false},
                           Way{"identification", "case", false}, Way{"start", "step", false}};

const Way* way_of(std::string_view by) {
  const auto found = std::ranges::find(kWays, by, &Way::by);
  return found == kWays.end() ? nullptr : &*found;
}

}  // namespace

std::string text_of(const Provenance& provenance) {
  std::string text;
  for (const Making& m : provenance) {
    const Way* way = way_of(m.by);
    text += fmt::format("{}{} ({}", text.empty() ? "" : ", ", m.by, counted(m.count, way ? way->unit : "step"));
    if (m.gates_after || m.gates_before)
      text += fmt::format(": {:.4g} -> {:.4g} wrong bits, {} -> {} gates", m.wrong_before, m.wrong_after,
                          m.gates_before, m.gates_after);
    else if (m.wrong_before != m.wrong_after)
      text += fmt::format(": validation loss {:.4g} -> {:.4g}", m.wrong_before, m.wrong_after);
    text += ")";
  }
  return text.empty() ? "nothing that is known of" : text;
}

std::string word_for(const Provenance& provenance) {
  const auto by = [&](std::string_view name) {
    return std::ranges::any_of(provenance, [&](const Making& m) { return m.by == name; });
  };
  for (const Way& way : kWays)
    if (way.learns && by(way.by)) return "learned";
  return by("identification") ? "identified" : by("construction") ? "built" : by("start") ? "untrained" : "made";
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
    std::string rest;
    if (!(words >> m.by >> m.count >> m.wrong_before >> m.wrong_after >> m.gates_before >> m.gates_after) ||
        words >> rest || !way_of(m.by))
      fail("provenance", fmt::format("\"{}\"", line), "what was done, a count, wrong bits and gates before and after");
    provenance.push_back(std::move(m));
  }
  return provenance;
}

}  // namespace espalier
