// JavaScript: one ES module, 32 patterns or cells a word.
#include <fmt/format.h>

#include "espalier/export.hpp"
#include "synth/export_names.hpp"

namespace espalier {

std::string export_javascript(const Netlist& n) {
  const NetlistCounts counts = count_netlist(n);
  const std::vector<bool> live = live_nets(n);
  std::string text = fmt::format("// {}: {} gates, depth {}.\nexport const inputs = {}, outputs = {};\n\n",
                                 comment_text(n.name), counts.raw, counts.depth, n.inputs.size(), n.outputs.size());
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
// One synchronous step. board and next: Uint32Array [channel][height][ceil(width / 32)], cell x in bit x % 32 of word
// x >> 5, bits beyond the width 0. periodic: true, or false for zeros outside.
export function step(board, next, height, width, periodic = true) {{
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
                      C);
  return text;
}

}  // namespace espalier
