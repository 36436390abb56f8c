"""Every kind of model run from its file alone, as docs/model-layouts.md describes it, and compared with the program.

usage: runners.py ESPALIER FOLDER DATA
"""
import csv
import json
import pathlib
import struct
import subprocess
import sys
import zlib

import numpy
from safetensors import safe_open
from safetensors.numpy import save_file

program, folder, data = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])


def load(path):
    with safe_open(path, framework="numpy") as file:
        return {key: file.get_tensor(key) for key in file.keys()}, file.metadata()


# --- docs/model-layouts.md: logic automaton


def gate_numbers(logits, form):
    """[gates, 16], or [gates, 4] in the other parametrisations -> the gates' numbers."""
    if form == "gates":
        return logits.argmax(axis=1)
    w0, w1, w2, w3 = logits.T
    even, odd, both, apart = w0 + w3, w0 - w3, w1 + w2, w1 - w2
    entries = [even - both, odd - apart, odd + apart, even + both] if form == "walsh" else [w0, w1, w2, w3]
    return sum((entry > 0).astype(int) << (3 - place) for place, entry in enumerate(entries))


def chosen(tensors, name, layer):
    """The inputs a and b of all gates: of the candidates, where there are any, the one with the largest logit."""
    if f"{name}.{layer}.wires" not in tensors:
        return [tensors[f"wiring.{name}.{layer}.{side}"] for side in "ab"]
    best = tensors[f"{name}.{layer}.wires"].argmax(axis=2)
    return numpy.take_along_axis(tensors[f"wiring.{name}.{layer}.candidates"], best[:, :, None], axis=2)[:, :, 0].T


def gates(tensors, form, name, layer, x, kernel=None):
    """x [inputs, ...] of 0 and 1 -> [gates, ...]."""
    logits = tensors[f"{name}.{layer}"] if kernel is None else tensors[f"{name}.{layer}"][kernel]
    gate = gate_numbers(logits, form).reshape((-1,) + (1,) * (x.ndim - 1))
    a, b = (x[wires] for wires in chosen(tensors, name, layer))
    return gate >> (3 - 2 * a - b) & 1


def refined_step(tensors, padded, height, width):
    """padded [C, H + 2, W + 2] -> the next board, by the circuit of a refined cell."""
    nets = [channel[y:y + height, x:x + width] for y in range(3) for x in range(3) for channel in padded]
    for gate, a, b in tensors["cell.gates"]:
        nets.append(gate >> (3 - 2 * nets[a] - nets[b]) & 1)
    return numpy.stack([nets[net] for net in tensors["cell.outputs"]])


def automaton_step(tensors, options, board):
    """board [C, H, W] of 0 and 1 -> the next one."""
    periodic = options["option.boundary"] == "periodic"
    padded = numpy.pad(board, ((0, 0), (1, 1), (1, 1)), mode="wrap" if periodic else "constant")
    height, width = board.shape[1:]
    if "cell.gates" in tensors:
        return refined_step(tensors, padded, height, width)
    form = options.get("option.parametrisation", "gates")
    channels, kernels = board.shape[0], int(options["option.kernels"])
    depth = {name: sum(key.startswith(f"wiring.{name}.") and key.endswith(".a") for key in tensors)
             for name in ("perceive", "update")}
    update = [board[c] for c in range(channels)]
    for c in range(channels):
        patch = numpy.stack([padded[c, y:y + height, x:x + width] for y in range(3) for x in range(3)])
        seen = []
        for k in range(kernels):
            x = patch
            for layer in range(depth["perceive"]):
                x = gates(tensors, form, "perceive", layer, x, k)
            seen.append(x)
        update += [seen[k][o] for o in range(len(seen[0])) for k in range(kernels)]
    x = numpy.stack(update)
    for layer in range(depth["update"]):
        x = gates(tensors, form, "update", layer, x)
    return x


# --- docs/model-layouts.md: table network


def table_outputs(tensors, metadata, rows):
    """Dictionaries of texts -> [rows, outputs]."""
    activation = [lambda z: z, lambda z: numpy.maximum(z, 0), lambda z: numpy.where(z > 0, z, 0.01 * z),
                  lambda z: 1 / (1 + numpy.exp(-z)), numpy.tanh]
    columns = []
    for column in json.loads(metadata["table"])["inputs"]:
        cells = [row[column["name"]] for row in rows]
        if column["numeric"]:
            columns.append((numpy.array(cells, float) - column["mean"]) / column["deviation"])
        else:
            columns += [numpy.array([cell == word for cell in cells], float) for word in column["words"]]
    inputs, value = iter(columns), {}
    nodes, edges = tensors["dag.nodes"], tensors["dag.edges"]
    into = {node[0]: [(e[1], w) for e, w in zip(edges, tensors["dag.weight"]) if e[2] == node[0]] for node in nodes}
    waiting = [(node, bias) for node, bias in zip(nodes, tensors["dag.bias"])]
    for node, _ in waiting:
        if node[1] == 0:
            value[node[0]] = next(inputs)
    while any(node[0] not in value for node, _ in waiting):
        for (number, _, function, _), bias in waiting:
            if number in value or not all(source in value for source, _ in into[number]):
                continue
            heard = sum((weight * value[source] for source, weight in into[number]), numpy.zeros(len(rows)))
            if metadata["dag.fan_in_scaling"] == "true" and into[number]:
                heard = heard / numpy.sqrt(len(into[number]))
            value[number] = activation[function](bias + heard)
    return numpy.stack([value[node[0]] for node in nodes if node[1] == 2], axis=1)


# --- docs/model-layouts.md: rewrite network


def rewrite_edits(tensors, metadata, labels, edges):
    """labels [N], edges [(operand, user, 0 left or 1 right)] -> the likeliest edit of every node."""
    words = json.loads(metadata["vocabulary"])
    activation = {"linear": lambda z: z, "relu": lambda z: numpy.maximum(z, 0), "tanh": numpy.tanh,
                  "leaky-relu": lambda z: numpy.where(z > 0, z, 0.01 * z)}[metadata["option.activation"]]
    gather = {"mean": lambda rows: rows.mean(axis=0), "sum": lambda rows: rows.sum(axis=0),
              "max": lambda rows: rows.max(axis=0)}[metadata["option.aggregation"]]
    h = tensors["embedding"][[words.index(label) for label in labels]]
    for layer in range(int(metadata["option.layers"])):
        t = {name: tensors[f"layer{layer}.{name}"] for name in ("self", "in", "out", "bias")}
        z = h @ t["self"] + t["bias"]
        for relation in range(2):
            for node in range(len(labels)):
                before = [a for a, b, r in edges if b == node and r == relation]
                after = [b for a, b, r in edges if a == node and r == relation]
                if before:
                    z[node] += gather(h[before]) @ t["in"][relation]
                if after:
                    z[node] += gather(h[after]) @ t["out"][relation]
        if metadata["option.norm"] == "layer":
            z = (z - z.mean(axis=1, keepdims=True)) / numpy.sqrt(z.var(axis=1, keepdims=True) + 1e-5)
            z = z * tensors[f"layer{layer}.gain"] + tensors[f"layer{layer}.shift"]
        h = h + activation(z)
    return (h @ tensors["head.weight"] + tensors["head.bias"]).argmax(axis=1)


# --- Against the program.


def espalier(*arguments):
    result = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    assert result.returncode == 0, f"{arguments}: {result.stderr}"
    return result.stdout


def read_png(path):
    """The first byte of every pixel of an 8-bit PNG, as 0 and 1."""
    bytes_, at, packed = pathlib.Path(path).read_bytes(), 8, b""
    while at < len(bytes_):
        length, kind = struct.unpack(">I4s", bytes_[at:at + 8])
        body = bytes_[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
        packed += body if kind == b"IDAT" else b""
        at += length + 12
    size = {0: 1, 2: 3, 4: 2, 6: 4}[colour]
    assert depth == 8, depth
    lines = zlib.decompress(packed)
    above, rows = numpy.zeros(width * size, int), []
    for y in range(height):
        line = numpy.frombuffer(lines, numpy.uint8, width * size, y * (width * size + 1) + 1).astype(int)
        kind = lines[y * (width * size + 1)]
        for x in range(width * size):
            left, upper, corner = (line[x - size], above[x], above[x - size]) if x >= size else (0, above[x], 0)
            nearest = min((abs(upper - corner), 0, left), (abs(left - corner), 1, upper),
                          (abs(left + upper - 2 * corner), 2, corner))[2]
            line[x] = (line[x] + [0, left, upper, (left + upper) // 2, nearest][kind]) % 256
        above = line
        rows.append(line[::size] > 127)
    return numpy.array(rows, int)


folder.mkdir(parents=True, exist_ok=True)
random = numpy.random.default_rng(1)
(folder / "target.txt").write_text("##.\n.##\n#..\n")
small = ["--target", folder / "target.txt", "--channels", 4, "--kernels", 4, "--update", "32x2,16,8,4", "--steps", 4]
for name, task, channels, arguments in (
        ("checkerboard-small", "checkerboard-small", 4, ["--train-steps", 1, "--refine", 0]),
        ("life", "life", 1, ["--train-steps", 1, "--refine", 0, "--seeds", 1]),
        ("refined", "checkerboard-small", 4, ["--train-steps", 20, "--refine", 3000]),
        ("entries", "checkerboard-small", 4, ["--train-steps", 1, "--refine", 0, "--parametrisation", "entries"]),
        ("walsh", "life", 1, ["--train-steps", 1, "--refine", 0, "--seeds", 1, "--parametrisation", "walsh"]),
        ("candidates", "checkerboard-small", 4, ["--train-steps", 1, "--refine", 0, "--candidates", 4]),
        ("refined-walsh", "checkerboard-small", 4, ["--train-steps", 20, "--refine", 3000, "--parametrisation", "walsh"]),
        ("kept", "pattern", None, ["--train-steps", 300, "--heal", *small])):
    run, model, mixed = folder / name, folder / f"{name}.safetensors", 0
    espalier("train", task, *arguments, "--quiet", "--out", run, "--force")
    for steps in (1, 1, 1, 1, 2, 3, 4, 5):
        # Gates at random, so that wires matter.
        tensors, metadata = load(run / "model.safetensors")
        refined = "cell.gates" in tensors
        assert refined == (name in ("refined", "refined-walsh", "kept")), name
        expected = 5 if name == "candidates" else 4 if "entries" in name or "walsh" in name else 3 if refined else 2
        assert metadata["format"] == f"espalier model {expected}", (name, metadata["format"])
        for key in tensors:
            if key.startswith(("perceive.", "update.")):
                drawn = random.standard_normal(tensors[key].shape, numpy.float32)
                # Of gates behind wires that are drawn, too, a part: all of them together mostly give one constant.
                if name == "candidates" and not key.endswith(".wires"):
                    drawn = numpy.where(random.random(drawn.shape[:-1])[..., None] < 0.1, drawn, tensors[key])
                tensors[key] = drawn
        if refined:  # of the few gates of such a circuit a part, or nothing would be left to see
            change = random.random(len(tensors["cell.gates"])) < 0.2
            tensors["cell.gates"][change, 0] = random.integers(0, 16, change.sum())
            channels = len(tensors["cell.outputs"])
        metadata["seal"] = "none"
        save_file(tensors, model, metadata)
        board = numpy.zeros((channels, 9, 13), int)
        board[0] = random.integers(0, 2, (9, 13))
        (folder / "start.txt").write_text("".join("".join(".#"[bit] for bit in row) + "\n" for row in board[0]))
        espalier("run", model, "--start", folder / "start.txt", "--size", "9x13", "--steps", steps, "--quiet", "--png",
                 folder / "last.png", "--scale", 1)
        for _ in range(steps):
            board = automaton_step(tensors, metadata, board)
        assert (read_png(folder / "last.png") == board[0]).all(), (name, steps)
        mixed += 0.1 < board[0].mean() < 0.9
    assert mixed > 0, name

rows = list(csv.DictReader(open(data / "iris.csv")))
for settings in ([], ["--fan-in-scaling", "--hidden", "5,4", "--grow", 3, "--activation", "relu"]):
    espalier("train", "table", "--csv", data / "iris.csv", "--target", "species", "--train-steps", 60, *settings, "--quiet",
             "--out", folder / "table", "--force")
    tensors, metadata = load(folder / "table/model.safetensors")
    outputs = table_outputs(tensors, metadata, rows)
    probabilities = numpy.exp(outputs - outputs.max(axis=1, keepdims=True))
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    said = list(csv.reader(espalier("predict", folder / "table", data / "iris.csv", "--probabilities").splitlines()))[1:]
    assert numpy.abs(probabilities - numpy.array([line[1:] for line in said], float)).max() < 1e-3

espalier("train", "simplify", "--train-steps", 150, "--train-examples", 800, "--validation-examples", 20, "--test-examples", 0,
         "--deep-examples", 0, "--depth", 3, "--features", 16, "--quiet", "--out", folder / "simplify", "--force")
tensors, metadata = load(folder / "simplify/model.safetensors")
words = json.loads(metadata["vocabulary"])


def rewritten(labels, operands, edits):
    """The text of the last node, operands first, after all edits at once."""
    arity = {"+": 2, "-": 2, "*": 2, "^": 2, "neg": 1}
    texts = []
    for label, own, edit in zip(labels, operands, edits):
        name = words[edit - 4] if edit >= 4 and arity.get(words[edit - 4], 0) in (0, len(own)) else label
        heard = [texts[i] for i in own]
        left = [text for text in heard if text is not None]
        if edit == 1:
            texts.append(None)
        elif edit in (2, 3) and len(own) > edit - 2:
            texts.append(heard[edit - 2])
        elif name not in arity:
            texts.append(name)
        else:
            texts.append(f"({name} {' '.join(left)})" if len(left) == len(own) else left[0] if left else None)
    return texts[-1] or ""


different = 0
for operator in "+*-^":
    for left in ("x", "0", "1", "3"):
        for right in ("y", "0", "1", "2"):
            labels = [left, right, operator]
            edits = rewrite_edits(tensors, metadata, labels, [(0, 2, 0), (1, 2, 1)])
            expression, result = f"({operator} {left} {right})", rewritten(labels, [[], [], [0, 1]], edits)
            said = json.loads(espalier("rewrite", folder / "simplify", expression, "--max-passes", 1, "--json"))["passes"]
            assert said[-1] == result, (expression, list(edits), said, result)
            different += result != expression
assert different > 5, different
print("ok")
