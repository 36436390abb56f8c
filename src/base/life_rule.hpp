// Rules of two-state cellular automata over the 3 x 3 patch of a cell: from and to the notation of Life-like rules, and
// from and to a text of the whole truth table.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace espalier {

// The next state of a cell for every patch. Bit i of the index is place i of the patch, by rows: 0 is the upper left
// neighbour, 4 the cell itself, 8 the lower right neighbour.
using RuleTable = std::array<std::uint8_t, 512>;

// Life-like rules: a cell is born or survives by how many of its eight neighbours live. "B36/S23", "b36s23" and the
// older "23/36" (survival first) are the same rule.
RuleTable parse_life_rule(std::string_view text);
// The reverse: "B36/S23"; nothing if the table is not a Life-like rule.
std::optional<std::string> format_life_rule(const RuleTable& table);

// A table as text: 512 characters 0 or 1 in the order of the index; blanks, line ends and comments (# to the end of the
// line) do not count.
RuleTable parse_rule_table(std::string_view text, std::string_view what);
RuleTable read_rule_table(const std::string& path);

}  // namespace espalier
