#include "synth/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace espalier {

std::string identifier(std::string_view name) {
  std::string result;
  for (const char c : name)
    result += std::isalnum(static_cast<unsigned char>(c)) && static_cast<unsigned char>(c) < 128 ? c : '_';
  // A prefix keeps clear of keywords of C, Verilog and JavaScript alike, and of a leading digit.
  static constexpr std::string_view kTaken[] = {
      "auto",   "break",    "case",     "char",     "const",     "continue", "default", "do",       "double",
      "else",   "enum",     "extern",   "float",    "for",       "goto",     "if",      "inline",   "int",
      "long",   "register", "restrict", "return",   "short",     "signed",   "sizeof",  "static",   "struct",
      "switch", "typedef",  "union",    "unsigned", "void",      "volatile", "while",   "main",     "module",
      "wire",   "reg",      "input",    "output",   "and",       "or",       "not",     "xor",      "nand",
      "nor",    "xnor",     "buf",      "always",   "assign",    "begin",    "end",     "function", "task",
      "table",  "event",    "initial",  "integer",  "parameter", "cell",     "library", "design",   "config"};
  if (result.empty() || std::isdigit(static_cast<unsigned char>(result[0])) || result[0] == '_' ||
      std::find(std::begin(kTaken), std::end(kTaken), result) != std::end(kTaken))
    result = "m_" + result;
  return result;
}

std::string line_name(std::string_view name) {
  std::string result;
  for (const char c : name)
    result += static_cast<unsigned char>(c) <= ' ' || c == '#' || c == '\\' || c == 127 ? '_' : c;
  return result.empty() ? "_" : result;
}

std::string shown_name(std::string_view name) {
  constexpr std::size_t kMost = 60;
  std::string result;
  for (const char c : name.substr(0, kMost)) result += c >= ' ' && c < 127 ? c : '?';
  return name.size() > kMost ? result + "..." : result;
}

std::string comment_text(std::string_view text) {
  std::string result;
  for (const char c : text)
    result += static_cast<unsigned char>(c) < ' ' || c == '/' || c == '*' || c == '\\' ? '_' : c;
  return result;
}

std::string gate_expression(Gate gate, std::string_view a, std::string_view b, std::string_view zero,
                            std::string_view one) {
  switch (gate) {
    case Gate::kFalse: return std::string(zero);
    case Gate::kAnd: return fmt::format("{} & {}", a, b);
    case Gate::kAAndNotB: return fmt::format("{} & ~{}", a, b);
    case Gate::kA: return std::string(a);
    case Gate::kNotAAndB: return fmt::format("~{} & {}", a, b);
    case Gate::kB: return std::string(b);
    case Gate::kXor: return fmt::format("{} ^ {}", a, b);
    case Gate::kOr: return fmt::format("{} | {}", a, b);
    case Gate::kNor: return fmt::format("~({} | {})", a, b);
    case Gate::kXnor: return fmt::format("~({} ^ {})", a, b);
    case Gate::kNotB: return fmt::format("~{}", b);
    case Gate::kAOrNotB: return fmt::format("{} | ~{}", a, b);
    case Gate::kNotA: return fmt::format("~{}", a);
    case Gate::kNotAOrB: return fmt::format("~{} | {}", a, b);
    case Gate::kNand: return fmt::format("~({} & {})", a, b);
    case Gate::kTrue: return std::string(one);
  }
  return {};
}

}  // namespace espalier
