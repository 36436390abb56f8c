// Circuits as programs. C: bit i of every word is pattern i (or cell i); no dependency but <stdint.h> and <stddef.h>.
// JavaScript: one ES module, 32 patterns or cells in a word.
#include <fmt/format.h>

#include <algorithm>

#include "synth/formats.hpp"
#include "synth/names.hpp"

namespace espalier {
namespace {

// The words of a board, planes [channel][height][ceil(width / bits)], as both languages write them.
std::string board_words(const Board& board, std::size_t bits, const char* suffix) {
  std::string text;
  std::size_t count = 0;
  for (int c = 0; c < board.channels(); ++c)
    for (std::size_t y = 0; y < board.height(); ++y)
      for (std::size_t first = 0; first < board.width(); first += bits) {
        std::uint64_t word = 0;
        for (std::size_t x = first; x < std::min(board.width(), first + bits); ++x)
          word |= std::uint64_t{board.get(y, x, c)} << (x - first);
        text += fmt::format("{}{:#x}{}", count == 0 ? "" : count % 8 ? ", " : ",\n  ", word, suffix);
        ++count;
      }
  return text;
}

// `static inline` body shared by both functions: the compiler keeps the gates in registers.
std::string gates_function(const Netlist& n, const std::string& name) {
  std::string text = fmt::format("static inline void {}_gates(const uint64_t *in, uint64_t *out) {{\n", name);
  const std::vector<bool> live = live_nets(n);
  const auto net = [&](Net x) { return n.is_input(x) ? fmt::format("in[{}]", x) : fmt::format("n{}", x); };
  for (std::size_t g = 0; g < n.gates.size(); ++g) {
    const Net own = n.net_of_gate(g);
    if (!live[own]) continue;
    text += fmt::format("  const uint64_t n{} = {};\n", own,
                        gate_expression(n.gates[g].gate, net(n.gates[g].a), net(n.gates[g].b), "0", "~UINT64_C(0)"));
  }
  for (std::size_t o = 0; o < n.outputs.size(); ++o) text += fmt::format("  out[{}] = {};\n", o, net(n.outputs[o].net));
  if (n.inputs.empty()) text += "  (void)in;\n";
  if (n.outputs.empty()) text += "  (void)in;\n  (void)out;\n";
  return text + "}\n";
}

std::string step_function(const Netlist& n, const std::string& name) {
  const std::size_t C = n.outputs.size();
  const std::vector<bool> live = live_nets(n);
  std::string text = R"(
/* The words of a row as its cells' western and eastern neighbours see them; a null row lies outside the board. */
static inline uint64_t west_of(const uint64_t *row, size_t w, size_t words, unsigned last, int periodic) {
  if (!row) return 0;
  return row[w] << 1 | (w ? row[w - 1] >> 63 : periodic ? row[words - 1] >> last & 1 : 0);
}
static inline uint64_t east_of(const uint64_t *row, size_t w, size_t words, unsigned last, int periodic) {
  if (!row) return 0;
  if (w + 1 < words) return row[w] >> 1 | row[w + 1] << 63;
  return row[w] >> 1 | (periodic ? (row[0] & 1) << last : 0);
}
)";
  text += fmt::format(R"(
void {0}_step(const uint64_t *board, uint64_t *next, size_t height, size_t width, int periodic) {{
  const size_t words = (width + 63) / 64, plane = height * words;
  const unsigned last = (unsigned)((width - 1) % 64);
  const uint64_t mask = last == 63 ? ~UINT64_C(0) : (UINT64_C(1) << (last + 1)) - 1;
  if (height == 0 || width == 0) return;
  for (size_t y = 0; y < height; ++y) {{
    const uint64_t *up = y > 0 ? board + (y - 1) * words : periodic ? board + (height - 1) * words : NULL;
    const uint64_t *here = board + y * words;
    const uint64_t *down = y + 1 < height ? board + (y + 1) * words : periodic ? board : NULL;
    (void)up;
    (void)here;
    (void)down;
    for (size_t w = 0; w < words; ++w) {{
      uint64_t in[{1}], out[{2}];
)",
                      name, n.inputs.size(), C);
  constexpr const char* kRows[] = {"up", "here", "down"};
  for (std::size_t p = 0; p < 9; ++p)
    for (std::size_t c = 0; c < C; ++c) {
      const char* row = kRows[p / 3];
      const std::string at = c ? fmt::format("{0} ? {0} + {1} * plane : NULL", row, c) : row;
      const std::string place = fmt::format("      in[{}] = ", p * C + c);
      if (!live[p * C + c])
        text += place + "0;\n";
      else if (p % 3 == 1)
        text += place + fmt::format("{0} ? {0}[{1} * plane + w] : 0;\n", row, c);
      else
        text += place + fmt::format("{}_of({}, w, words, last, periodic);\n", p % 3 ? "east" : "west", at);
    }
  text += fmt::format("      {}_gates(in, out);\n", name);
  for (std::size_t c = 0; c < C; ++c)
    text +=
        fmt::format("      next[{} * plane + y * words + w] = w + 1 < words ? out[{}] : out[{}] & mask;\n", c, c, c);
  return text + "    }\n  }\n}\n";
}

}  // namespace

CSource export_c(const Netlist& n, const std::string& header_name, const ExportOptions& options) {
  const std::string name = identifier(n.name);
  const NetlistCounts counts = count_netlist(n);
  const PortNames names(n);
  const auto range = [](const std::vector<std::string>& ports) {  // "p0c0, p0c1, ..."
    std::string text;
    for (std::size_t i = 0; i < ports.size(); ++i)
      text += comment_text(ports[i]) + (i + 1 == ports.size() ? "" : i % 12 == 11 ? ",\n   " : ", ");
    return text;
  };
  CSource c;
  c.header = fmt::format(
      "/* Written by espalier: {}, {} gates, depth {}. */\n#ifndef {}_CIRCUIT_H\n#define {}_CIRCUIT_H\n\n"
      "#include <stddef.h>\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n",
      comment_text(n.name), counts.gates(), counts.depth, name, name);
  c.header += fmt::format(
      "/* 64 patterns at once: bit i of every word belongs to pattern i.\n   in: {} words, {}; out: {} words, {}. */\n"
      "void {}_cell(const uint64_t *in, uint64_t *out);\n",
      n.inputs.size(), range(names.inputs), n.outputs.size(), range(names.outputs), name);
  if (is_cell(n))
    c.header += fmt::format(
        "\n/* One synchronous step of a board of {} channel{}: planes [channel][height][(width + 63) / 64], cell x in "
        "bit\n"
        "   x % 64 of word x / 64, bits beyond the width 0. board and next must not overlap. periodic: 1, or 0 for\n"
        "   zeros outside. */\n"
        "void {}_step(const uint64_t *board, uint64_t *next, size_t height, size_t width, int periodic);\n",
        n.outputs.size(), n.outputs.size() == 1 ? "" : "s", name);
  if (is_cell(n))
    c.header += fmt::format(
        "\n/* The board of the model itself. */\nenum {{ {0}_height = {1}, {0}_width = {2}, {0}_periodic = {3}, "
        "{0}_channels = "
        "{4} }};\n",
        name, options.height, options.width, options.periodic ? 1 : 0, n.outputs.size());
  if (is_cell(n) && options.start)
    c.header += fmt::format("/* Its start, as {0}_step takes it. */\nextern const uint64_t {0}_start[{1}];\n", name,
                            n.outputs.size() * options.start->height() * ((options.start->width() + 63) / 64));
  c.header += "\n#ifdef __cplusplus\n}\n#endif\n#endif\n";
  c.source = fmt::format("#include \"{}\"\n\n", header_name) + gates_function(n, name) +
             fmt::format("\nvoid {0}_cell(const uint64_t *in, uint64_t *out) {{ {0}_gates(in, out); }}\n", name);
  if (is_cell(n)) c.source += step_function(n, name);
  if (is_cell(n) && options.start)
    c.source += fmt::format("\nconst uint64_t {}_start[] = {{\n  {}}};\n", name, board_words(*options.start, 64, "u"));
  return c;
}

std::string export_javascript(const Netlist& n, const ExportOptions& options) {
  const NetlistCounts counts = count_netlist(n);
  const std::vector<bool> live = live_nets(n);
  std::string text = fmt::format("// {}: {} gates, depth {}.\nexport const inputs = {}, outputs = {};\n\n",
                                 comment_text(n.name), counts.gates(), counts.depth, n.inputs.size(), n.outputs.size());
  const PortNames names(n);
  const auto list = [](const std::vector<std::string>& ports) {
    std::string quoted;
    for (std::size_t i = 0; i < ports.size(); ++i) {
      quoted += i ? (i % 12 ? ", '" : ",\n  '") : "'";
      for (const char c : ports[i]) quoted += c > ' ' && c < 127 && c != '\'' && c != '\\' ? c : '_';
      quoted += "'";
    }
    return quoted;
  };
  text += fmt::format("export const inputNames = [{}];\nexport const outputNames = [{}];\n\n", list(names.inputs),
                      list(names.outputs));
  text += "// 32 patterns at once: bit i of every word belongs to pattern i.\nexport function cell(input, output) {\n";
  const auto net = [&](Net x) { return n.is_input(x) ? fmt::format("i{}", x) : fmt::format("n{}", x); };
  for (Net i = 0; i < n.inputs.size(); ++i)
    if (live[i]) text += fmt::format("  const i{0} = input[{0}];\n", i);
  for (std::size_t g = 0; g < n.gates.size(); ++g)
    if (live[n.net_of_gate(g)])
      text += fmt::format("  const n{} = {};\n", n.net_of_gate(g),
                          gate_expression(n.gates[g].gate, net(n.gates[g].a), net(n.gates[g].b), "0", "-1"));
  for (std::size_t o = 0; o < n.outputs.size(); ++o)
    text += fmt::format("  output[{}] = {};\n", o, net(n.outputs[o].net));
  text += "}\n";
  if (!is_cell(n)) return text;
  const std::size_t C = n.outputs.size();
  text += fmt::format(R"(
export const channels = {};
// The board of the model itself.
export const boardHeight = {}, boardWidth = {}, boardPeriodic = {};
{}// One synchronous step. board and next: Uint32Array [channel][height][ceil(width / 32)], cell x in bit x % 32 of word
// x >> 5, bits beyond the width 0. periodic: true, or false for zeros outside.
export function step(board, next, height, width, periodic = boardPeriodic) {{
  const words = (width + 31) >> 5, plane = height * words, last = (width - 1) & 31;
  const mask = last === 31 ? -1 : (1 << (last + 1)) - 1;
  const input = new Int32Array(inputs), output = new Int32Array(outputs);
  const west = (row, w) => board[row + w] << 1 | (w ? board[row + w - 1] >>> 31
    : periodic ? board[row + words - 1] >>> last & 1 : 0);
  const east = (row, w) => board[row + w] >>> 1 | (w + 1 < words ? board[row + w + 1] << 31
    : periodic ? (board[row] & 1) << last : 0);
  for (let y = 0; y < height; ++y) {{
    const up = y > 0 ? y - 1 : periodic ? height - 1 : -1, down = y + 1 < height ? y + 1 : periodic ? 0 : -1;
    for (let w = 0; w < words; ++w) {{
      for (let p = 0; p < 3; ++p) {{
        const from = p === 0 ? up : p === 1 ? y : down;
        for (let c = 0; c < channels; ++c) {{
          const row = c * plane + from * words, at = 3 * p * channels + c;
          input[at] = from < 0 ? 0 : west(row, w);
          input[at + channels] = from < 0 ? 0 : board[row + w];
          input[at + 2 * channels] = from < 0 ? 0 : east(row, w);
        }}
      }}
      cell(input, output);
      for (let c = 0; c < channels; ++c)
        next[c * plane + y * words + w] = w + 1 < words ? output[c] : output[c] & mask;
    }}
  }}
}}
)",
                      C, options.height, options.width, options.periodic ? "true" : "false",
                      options.start ? fmt::format("// Its start, as step() takes it: a new array at each call.\n"
                                                  "export const boardStart = () => new Uint32Array([\n  {}]);\n",
                                                  board_words(*options.start, 32, ""))
                                    : "");
  return text;
}

}  // namespace espalier
