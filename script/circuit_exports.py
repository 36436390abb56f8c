"""Every export of a trained automaton, each judged against the model as trained: read back and proved where espalier can
read it, run by the tool it is made for otherwise. The judge of what is run is the netlist with every gate as trained
(proved to be the model), evaluated here, gate by gate, many patterns in one integer. Used by script/experiments."""
import json
import pathlib
import random
import subprocess
import tempfile

READ_BACK = {"json": "json", "blif": "blif", "aiger": "aag", "aiger-binary": "aig"}
PATTERNS = 1 << 14          # random ones
EXHAUSTIVE_INPUTS = 14      # all patterns of the inputs in use up to so many of them
BOARDS = [(13, 70, True), (8, 33, False), (1, 1, True)]
STEPS = 3

GATES = [lambda a, b, m: 0, lambda a, b, m: a & b, lambda a, b, m: a & ~b & m, lambda a, b, m: a,
         lambda a, b, m: ~a & b, lambda a, b, m: b, lambda a, b, m: a ^ b, lambda a, b, m: a | b,
         lambda a, b, m: ~(a | b) & m, lambda a, b, m: ~(a ^ b) & m, lambda a, b, m: ~b & m,
         lambda a, b, m: (a | ~b) & m, lambda a, b, m: ~a & m, lambda a, b, m: (~a | b) & m,
         lambda a, b, m: ~(a & b) & m, lambda a, b, m: m]
# What export writes on a node of the drawing, and the gate's number when (neither, a, b) operand has a bubble.
DRAWN = {"0": [0], "AND": [1, 4, 2], "wire": [3], "XOR": [6], "OR": [7, 13, 11], "NOR": [8], "XNOR": [9], "NOT": [12],
         "NAND": [14], "1": [15]}

C_MAIN = r"""#include <stdio.h>
#include <stdlib.h>
#include "model.h"
/* patterns INPUTS OUTPUTS BLOCKS, or board HEIGHT WIDTH CHANNELS PERIODIC STEPS; words from stdin to stdout. */
int main(int argc, char **argv) {
  const size_t a = strtoul(argv[2], 0, 10), b = strtoul(argv[3], 0, 10), c = strtoul(argv[4], 0, 10);
  if (argv[1][0] == 'p') {
    uint64_t *in = calloc(a, 8), *out = calloc(b, 8);
    for (size_t i = 0; i < c; ++i) {
      if (fread(in, 8, a, stdin) != a) return 2;
      model_cell(in, out);
      fwrite(out, 8, b, stdout);
    }
    return 0;
  }
  const size_t all = a * ((b + 63) / 64) * c;
  uint64_t *now = calloc(all, 8), *next = calloc(all, 8), *t;
  if (argc < 7 || fread(now, 8, all, stdin) != all) return 2;
  for (int s = 0; s < atoi(argv[6]); ++s) { model_step(now, next, a, b, atoi(argv[5])); t = now; now = next; next = t; }
  fwrite(now, 8, all, stdout);
  return 0;
}
"""
JS_MAIN = r"""import { readFileSync, writeSync } from 'node:fs';
import { cell, step } from './model.mjs';
const bytes = readFileSync(0), [mode, ...text] = process.argv.slice(2), [a, b, c, periodic, steps] = text.map(Number);
const given = new Uint32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
let result;
if (mode === 'patterns') {
  result = new Uint32Array(b * c);
  for (let i = 0; i < c; ++i) cell(given.subarray(i * a, (i + 1) * a), result.subarray(i * b, (i + 1) * b));
} else {
  let now = given, next = new Uint32Array(given.length);
  for (let s = 0; s < steps; ++s) { step(now, next, a, b, periodic === 1); [now, next] = [next, now]; }
  result = now;
}
for (let at = 0, all = Buffer.from(result.buffer); at < all.length;) at += writeSync(1, all, at);
"""


def evaluate(netlist, inputs, patterns):
    mask = (1 << patterns) - 1
    nets = list(inputs)
    for gate, a, b in netlist["gates"]:
        nets.append(GATES[gate](nets[a], nets[b], mask))
    return [nets[output["net"]] for output in netlist["outputs"]]


def counting_pattern(position, inputs):
    """Input `position` of the table of all 2^inputs patterns: 2^position zeros, as many ones, and so on."""
    block = ((1 << (1 << position)) - 1) << (1 << position)
    for size in range(position + 1, inputs):
        block |= block << (1 << size)
    return block


def make_patterns(netlist, used):
    """Random bits for every input; where few are in use, every pattern of those."""
    draw = random.Random(1)
    names = netlist["inputs"]
    if len(used) > EXHAUSTIVE_INPUTS:
        return [draw.getrandbits(PATTERNS) for _ in names], PATTERNS, f"{PATTERNS} random patterns"
    count = max(64, 1 << len(used))
    inputs = [draw.getrandbits(count) for _ in names]
    for position, name in enumerate(used):
        whole = counting_pattern(position, len(used))
        for size in range(len(used), count.bit_length() - 1):
            whole |= whole << (1 << size)
        inputs[names.index(name)] = whole
    return inputs, count, f"all {1 << len(used)} patterns"


def step_board(netlist, board, height, width, channels, periodic):
    """board: [channel] integers, bit y * width + x."""
    def shifted(plane, dy, dx):
        result = 0
        for y in range(height):
            for x in range(width):
                yy, xx = y + dy, x + dx
                if not periodic and not (0 <= yy < height and 0 <= xx < width):
                    continue
                result |= (plane >> ((yy % height) * width + xx % width) & 1) << (y * width + x)
        return result
    patch = [shifted(board[c], p // 3 - 1, p % 3 - 1) for p in range(9) for c in range(channels)]
    return evaluate(netlist, patch, height * width)


def pack_patterns(values, patterns, bits):
    """Words of `bits` patterns: block by block, all values of a block together."""
    mask, words = (1 << bits) - 1, []
    for block in range(patterns // bits):
        words += [(value >> (block * bits) & mask).to_bytes(bits // 8, "little") for value in values]
    return b"".join(words)


def pack_board(board, height, width, bits):
    row_bytes, mask = (width + bits - 1) // bits * bits // 8, (1 << width) - 1
    return b"".join((plane >> (y * width) & mask).to_bytes(row_bytes, "little") for plane in board for y in range(height))


class Foreign:
    """A program that runs an export on patterns and boards, and what the trained model makes of the same."""

    def __init__(self, trained, used):
        self.trained, self.channels = trained, len(trained["outputs"])
        self.inputs, self.patterns, self.what = make_patterns(trained, used)
        self.outputs = evaluate(trained, self.inputs, self.patterns)
        draw = random.Random(2)
        self.boards = []
        for height, width, periodic in BOARDS:
            start = [draw.getrandbits(height * width) for _ in range(self.channels)]
            after = start
            for _ in range(STEPS):
                after = step_board(trained, after, height, width, self.channels, periodic)
            self.boards.append((height, width, periodic, start, after))

    def agrees(self, command, bits):
        def answer(given, *arguments):
            return subprocess.run([*command, *map(str, arguments)], input=given, stdout=subprocess.PIPE, check=True).stdout
        got = answer(pack_patterns(self.inputs, self.patterns, bits), "patterns", len(self.inputs), self.channels,
                     self.patterns // bits)
        if got != pack_patterns(self.outputs, self.patterns, bits):
            return None
        for height, width, periodic, start, after in self.boards:
            got = answer(pack_board(start, height, width, bits), "board", height, width, self.channels, int(periodic), STEPS)
            if got != pack_board(after, height, width, bits):
                return None
        return f"{self.what}, {len(self.boards)} boards"


def netlist_of_dot(path, trained):
    """The drawing, parsed by graphviz, as a netlist: gates by their labels, operands by lines and bubbles, or, in a large
    drawing, by the names inside a gate."""
    graph = json.loads(subprocess.run(["dot", "-Tdot_json", str(path)], stdout=subprocess.PIPE, check=True).stdout)
    objects, operands = graph["objects"], {}
    for edge in graph.get("edges", []):
        operands.setdefault(edge["head"], []).append((edge["tail"], edge.get("arrowhead") == "odot"))
    net = {i: trained["inputs"].index(o["label"]) for i, o in enumerate(objects)
           if o["name"].startswith("n") and o.get("shape") == "plaintext"}
    gates, outputs = [], []

    def source(text):
        """The net of an input's name, or of a constant."""
        if text in trained["inputs"]:
            return trained["inputs"].index(text)
        gates.append([15 if text == "1" else 0, 0, 0])
        return len(trained["inputs"]) + len(gates) - 1

    for i, o in sorted(((i, o) for i, o in enumerate(objects) if o.get("shape") == "box"), key=lambda x: int(x[1]["name"][1:])):
        label, *inside = o["label"].split("\\n")
        read = [(net[tail], bubble) for tail, bubble in operands.get(i, [])]
        read += [(source(name.removeprefix("~")), name.startswith("~")) for name in inside]
        (a, a_inverted), (b, b_inverted) = (read + read + [(0, False)] * 2)[:2]
        gates.append([DRAWN[label][(0, 1, 2)[a_inverted + 2 * (b_inverted and len(read) > 1)]], a, b])
        net[i] = len(trained["inputs"]) + len(gates) - 1
    for i, o in enumerate(objects):
        if o["name"].startswith("o"):
            name, _, plain = o["label"].partition(" = ")
            outputs.append({"name": name, "net": source(plain) if plain else net[operands[i][0][0]]})
    return {"format": "espalier-netlist", "version": 1, "name": "dot", "inputs": trained["inputs"], "gates": gates,
            "outputs": outputs}


def check_exports(model, used, run, run_json):
    """{format: how it was found equal to the trained model, or a text that begins with NOT}."""
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def export(kind, file, *more):
            run("export", model, "--to", kind, "-o", folder / file, "--name", "model", *more)
            return folder / file

        def proved(file):
            try:
                verdict = run_json("verify", model, file)["verdict"]
            except subprocess.CalledProcessError:  # its exit code says: different
                verdict = "different"
            return "proved" if verdict == "equal" else f"NOT proved equal: {verdict}"

        for kind, ending in READ_BACK.items():
            found[kind] = proved(export(kind, f"model.{ending}"))
        raw = export("json", "raw.json", "--raw")
        trained = json.loads(raw.read_text())
        found["json --raw"] = proved(raw)
        (folder / "dot.json").write_text(json.dumps(netlist_of_dot(export("dot", "model.dot"), trained)))
        found["dot"] = proved(folder / "dot.json")

        foreign = Foreign(trained, used)
        export("c", "model.c")
        (folder / "main.c").write_text(C_MAIN)
        subprocess.run(["cc", "-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-o", "model", "main.c", "model.c"],
                       cwd=folder, check=True)
        found["c"] = foreign.agrees([folder / "model"], 64) or "NOT equal"
        export("js", "model.mjs")
        (folder / "main.mjs").write_text(JS_MAIN)
        found["js"] = foreign.agrees(["node", folder / "main.mjs"], 32) or "NOT equal"

        # The testbench of the circuit as trained, its vectors and boards, on the modules of the simplified one; and what
        # yosys makes of the cell, read back.
        export("verilog", "model.v")
        export("verilog", "raw.v", "--raw")
        subprocess.run(["iverilog", "-g2001", "-o", "bench", "model.v", "raw_tb.v"], cwd=folder, check=True)
        said = subprocess.run(["vvp", "-n", "bench"], cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout
        passed = "PASS" in said and "FAIL" not in said
        subprocess.run(["yosys", "-q", "-p", "read_verilog model.v; synth -lut 6 -top model; tee -o stat.json stat -json; "
                        "write_blif luts.blif"], cwd=folder, stdout=subprocess.DEVNULL, check=True)
        stat = (folder / "stat.json").read_text()
        cells = json.loads(stat[stat.index("{"):])["modules"]["\\model"]["num_cells_by_type"]
        mapped = f"{cells.get('$lut', 0)} LUT6 {proved(folder / 'luts.blif')}"
        found["verilog"] = f"testbench; {mapped}" if passed and mapped.endswith(" proved") else f"NOT equal: {said} {mapped}"
    return found
