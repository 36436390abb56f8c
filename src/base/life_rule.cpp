#include "base/life_rule.hpp"

#include <fmt/format.h>

#include <bit>

#include "base/files.hpp"
#include "base/text.hpp"
#include "espalier/error.hpp"

namespace espalier {
namespace {

constexpr std::size_t kMaxBytes = 1 << 20;
constexpr std::size_t kCentre = 1u << 4;

// Bit n: n living neighbours will do.
struct Counts {
  unsigned born = 0, survive = 0;
};

RuleTable table_of(Counts counts) {
  RuleTable table{};
  for (std::size_t patch = 0; patch < table.size(); ++patch) {
    const bool alive = patch & kCentre;
    const int neighbours = std::popcount(patch & ~kCentre);
    table[patch] = (alive ? counts.survive : counts.born) >> neighbours & 1;
  }
  return table;
}

[[noreturn]] void refuse(std::string_view rule, std::string_view problem) {
  fail("rule", fmt::format("\"{}\" with {}", rule, problem), "a Life-like rule: B3/S23, b3s23 or 23/3",
       "give other rules as a truth table");
}

}  // namespace

RuleTable parse_life_rule(std::string_view text) {
  const std::string_view rule = trimmed(text);
  Counts counts;
  // Without letters the survivors come first, and a slash goes over to the births.
  unsigned* section = &counts.survive;
  bool letters = false, slash = false, had_born = false, had_survive = false;
  for (const char c : rule) {
    if (c >= '0' && c <= '8') {
      if (!section) refuse(rule, "a number that follows neither B nor S");
      *section |= 1u << (c - '0');
    } else if (c == 'B' || c == 'b' || c == 'S' || c == 's') {
      const bool born = c == 'B' || c == 'b';
      bool& had = born ? had_born : had_survive;
      if (had || (!letters && (slash || counts.survive != 0))) refuse(rule, "B or S in the wrong place");
      letters = had = true;
      section = born ? &counts.born : &counts.survive;
    } else if (c == '/') {
      if (slash) refuse(rule, "more than one /");
      slash = true;
      section = letters ? nullptr : &counts.born;
    } else {
      refuse(rule, shown(c));
    }
  }
  if (letters ? !had_born : !slash) refuse(rule, "no births");
  return table_of(counts);
}

std::optional<std::string> format_life_rule(const RuleTable& table) {
  Counts counts;
  for (unsigned n = 0; n <= 8; ++n) {
    // Any patch of n neighbours speaks for all of them; the comparison below says whether it may.
    const std::size_t low = (1u << n) - 1, patch = (low & 0xf) | (low & 0xf0) << 1;
    counts.born |= static_cast<unsigned>(table[patch] & 1) << n;
    counts.survive |= static_cast<unsigned>(table[patch | kCentre] & 1) << n;
  }
  if (table_of(counts) != table) return {};
  std::string born, survive;
  for (unsigned n = 0; n <= 8; ++n) {
    if (counts.born >> n & 1) born += static_cast<char>('0' + n);
    if (counts.survive >> n & 1) survive += static_cast<char>('0' + n);
  }
  return fmt::format("B{}/S{}", born, survive);
}

RuleTable parse_rule_table(std::string_view text, std::string_view what) {
  RuleTable table{};
  std::size_t entries = 0, number = 0;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    ++number;
    line = line.substr(0, line.find('#'));
    for (const char c : line) {
      if (c == ' ' || c == '\t') continue;
      if (c != '0' && c != '1')
        fail("rule table", fmt::format("{} in {}, line {}", shown(c), what, number), "0 or 1",
             "the next state of a cell for each of the 512 patches");
      if (entries == table.size())
        fail("rule table", fmt::format("{} with more than 512 entries (line {})", what, number), "512");
      table[entries++] = c == '1';
    }
  }
  if (entries != table.size())
    fail("rule table", fmt::format("{} with {} entries", what, entries), "512",
         "the next state of a cell for each of the 512 patches");
  return table;
}

RuleTable read_rule_table(const std::string& path) {
  return parse_rule_table(read_text(path, kMaxBytes), fmt::format("\"{}\"", path));
}

}  // namespace espalier
