// What the exports share: identifiers that every language accepts, and gates as expressions.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/netlist.hpp"

namespace espalier {

// Letters, digits and underscores, not beginning with a digit, never empty and no reserved word of any language
// we write.
std::string identifier(std::string_view name);
// With an underscore for each character that is hidden (is_hidden() of base/text.hpp), no UTF-8, or one of `but`.
std::string visible(std::string_view text, std::string_view but = "");
// Without blanks and hidden characters, which would end a name in line formats, or show another one.
std::string line_name(std::string_view name);
// Names that must all differ: one that is taken gets a number.
class UniqueNames {
 public:
  std::string take(const std::string& wanted);

 private:
  std::set<std::string> taken_;
};
// The names of a circuit's inputs and outputs as every format writes them: line names that all differ.
struct PortNames {
  explicit PortNames(const Netlist& netlist);
  std::vector<std::string> inputs, outputs;
  UniqueNames taken;  // for inner nets
};
// With other letters where Verilog allows none of these. An escaped identifier is the same name as a plain one of its
// letters, so names must differ by them, and only then be written.
std::string verilog_letters(std::string_view name);
// A port or net of such letters in Verilog: as it is, or escaped.
std::string verilog_name(std::string_view letters);
// A name out of a file for a message: short, one line, printable.
std::string shown_name(std::string_view name);
// Text for a comment: one line in any language, no end of a block comment, and nothing hidden.
std::string comment_text(std::string_view text);

// "a & ~b" for two operands; `zero` and `one` are the language's constants.
std::string gate_expression(Gate gate, std::string_view a, std::string_view b, std::string_view zero,
                            std::string_view one);

// True for 9 C inputs and C outputs.
inline bool is_cell(const Netlist& n) { return !n.outputs.empty() && n.inputs.size() == 9 * n.outputs.size(); }

}  // namespace espalier
