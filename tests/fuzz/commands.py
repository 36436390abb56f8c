#!/usr/bin/env python3
"""commands.py PROGRAM FOLDER [--seconds S] [--seed N]: changed files and odd arguments for every command.

Every command is given good inputs of every kind it reads (models, checkpoints, run folders, CSV, JSONL, patterns, pictures,
npz, RLE, rule tables, netlists in JSON, BLIF and AIGER, graphs in JSON and GXL), changed in one to a few places: bits
flipped, bytes cut, doubled, moved or replaced by troublesome ones. The program runs under limits on memory, processor time,
files' sizes and wall time. It must end by itself with a documented exit code; a failure is one short line on standard error
without the words of a library; and nothing but the files it was asked for may appear.
Prints counts for each command; the exit code is 1, and the inputs are kept, if anything else happened."""
import os
import pathlib
import random
import resource
import shutil
import subprocess
import sys
import time

PROGRAM, FOLDER = os.path.realpath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
SECONDS = float(sys.argv[sys.argv.index("--seconds") + 1]) if "--seconds" in sys.argv else 60
SEED = int(sys.argv[sys.argv.index("--seed") + 1]) if "--seed" in sys.argv else 1
TREE = pathlib.Path(__file__).resolve().parent.parent.parent
GOOD, WORK, FOUND = FOLDER / "good", FOLDER / "work", FOLDER / "found"
MEMORY, WALL, PROCESSOR, FILE_SIZE = 3 << 30, 20, 10, 64 << 20
EXIT_CODES = {0, 1, 2, 3, 4, 130}  # 3: a thing not proved or solved; 4: circuits that differ
FOREIGN = [b"nlohmann", b"json.exception", b"std::", b"basic_string", b"vector::", b"terminate", b"libpng", b"CLI::",
           b"Sanitizer", b"filesystem error", b"stoi", b"stol", b"what():"]

GRAPH = '{"directed":false,"nodes":[{"id":"a","label":"C"},{"id":"b","label":"O"},"N"],"edges":[["a","b","1"],["b",2,"2"]]}'
GXL = """<?xml version="1.0"?><gxl><graph id="g" edgemode="undirected"><node id="_1"><attr name="symbol"><string>C</string>
</attr></node><node id="_2"><attr name="symbol"><string>O</string></attr></node><edge from="_1" to="_2"><attr name="valence">
<int>1</int></attr></edge></graph></gxl>"""
CSV = "a,b,kind\n" + "".join(f"{i % 7},{(i * 5) % 11},{'odd' if i % 2 else 'even'}\n" for i in range(40))
SWEEP = ["--train-steps", "1", "--refine", "0", "--batch", "1", "--steps", "2", "--seeds", "2", "--threads", "1", "--quiet"]
TRAIN = ["--train-steps", "1", "--eval-every", "1", "--quiet", "--threads", "1", "--force"]


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR, PROCESSOR + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_SIZE, FILE_SIZE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def call(arguments):
    return subprocess.run([PROGRAM.encode(), *[os.fsencode(a) for a in arguments]], cwd=WORK, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=WALL, preexec_fn=limit)


def make_good():
    """One good input of every kind, made by the program itself or taken from the tree."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    for folder in (GOOD, WORK, FOUND):
        folder.mkdir(parents=True)
    texts = {"graph.json": GRAPH, "graph.gxl": GXL, "table.csv": CSV, "pattern.txt": "..#.\n.##.\n#..#\n....\n",
             "glider.rle": "x = 3, y = 3, rule = B3/S23\nbob$2bo$3o!\n", "expression": "(+ (* x 1) (- (- y)))",
             "table.txt": "".join(f"{'01' * 18} {'0' * 4}\n" for _ in range(3))}
    for name, text in texts.items():
        (GOOD / name).write_text(text)
    corpus = TREE / "tests" / "fuzz" / "corpus"
    for name, source in {"cell.npz": "npz/numpy-compressed", "picture.png": None, "table.rule": None}.items():
        sources = [corpus / source] if source else sorted((corpus / name.split(".")[1]).iterdir())
        shutil.copy(max(sources, key=lambda path: path.stat().st_size if path.stat().st_size < 20000 else 0), GOOD / name)
    small = ["--batch", "1", "--steps", "3", "--out", str(GOOD / "run")]
    wanted = [
        ["train", "checkerboard-small", *small, *TRAIN],
        ["train", "table", "--csv", str(GOOD / "table.csv"), "--target", "kind", "--hidden", "3", "--out", str(GOOD / "table"),
         *TRAIN],
        ["data", "simplify", "--count", "40", "--depth", "2", "-o", str(GOOD / "lines.jsonl")],
        ["train", "simplify", "--data", str(GOOD / "lines.jsonl"), "--validation-examples", "5", "--test-examples", "0",
         "--deep-examples", "0", "--depth", "2", "--features", "4", "--out", str(GOOD / "rewrite"), *TRAIN],
        ["refine", str(GOOD / "run"), "-o", str(GOOD / "refined"), "--seconds", "0.000001", "--quiet"],
        ["sweep", "checkerboard-small", *SWEEP, "--out", str(GOOD / "sweep")],
        *[["export", str(GOOD / "run"), "--to", kind, "-o", str(GOOD / f"cell.{kind}")]
          for kind in ["json", "blif", "aiger", "aiger-binary"]],
    ]
    for arguments in wanted:
        result = call(arguments)
        if result.returncode != 0:
            sys.exit(f"commands.py: {' '.join(arguments)}: {result.stderr.decode(errors='replace')}")


# A word {name} is a changed copy of that good file or folder; {out} a name in the work folder.
NETLISTS = ["{cell.json}", "{cell.blif}", "{cell.aiger}", "{cell.aiger-binary}", "{run/model.safetensors}"]
CASES = {
    "info": [["{run/model.safetensors}"], ["{run/checkpoint.safetensors}", "--json"], ["{table/model.safetensors}"],
             ["{rewrite}", "--json"]],
    "eval": [["{run/model.safetensors}", "--reset-steps", "3", "--threads", "1"],
             ["{run}", "--divergence", "--boards", "2", "--threads", "1", "--svg", "{out}"], ["{table}", "--threads", "1"]],
    "refine": [["{run}", "-o", "{out}", "--evaluations", "1000", "--quiet", "--threads", "1"],
               ["{cell.blif}", "--table", "{table.txt}", "-o", "{out}", "--evaluations", "1000", "--quiet"]],
    "prove": [["{run}", "converges", "--size", "4", "--steps", "3", "--seconds", "2", "--quiet", "--proof", "{out}"],
              ["{run/model.safetensors}", "fixed", "--size", "4", "--seconds", "2", "--png", "{out}", "--quiet"]],
    "sweep": [["checkerboard-small", *SWEEP, "--out", "{sweep}"]],
    "run": [["{run}", "--steps", "3", "--json"], ["{run}", "--start", "{pattern.txt}", "--size", "9", "--steps", "2"],
            ["{run}", "--start", "{glider.rle}", "--size", "9", "--steps", "2", "--png", "{out}"],
            ["{run}", "--start", "{picture.png}", "--size", "64", "--steps", "1", "--gif", "{out}"],
            ["{run}", "--soft", "--steps", "2", "--json"]],
    "circuit": [[netlist] for netlist in NETLISTS],
    "verify": [["{cell.json}", "{cell.blif}", "--seconds", "2"], ["{cell.aiger}", "{cell.aiger-binary}", "--seconds", "2"]],
    "export": [[netlist, "--raw", "--to", kind, "-o", "{out}"] for netlist in NETLISTS
               for kind in ["c", "verilog", "blif", "aiger", "aiger-binary", "dot", "json", "js"]],
    "ged": [["{graph.json}", "{graph.gxl}", "--exact-budget", "1"], ["{graph.gxl}", "{graph.json}", "--exact-budget", "0",
                                                                   "--costs", "node-insert=2"]],
    "predict": [["{table}", "{table.csv}"], ["{table/model.safetensors}", "{table.csv}", "--probabilities", "-o", "{out}"]],
    "rewrite": [["{rewrite}", "@expression", "--check"], ["{rewrite/model.safetensors}", "@expression", "--json"]],
    "data": [["simplify", "--count", "3", "--depth", "2", "-o", "{out}"]],
    "train": [["table", "--csv", "{table.csv}", "--target", "kind", "--hidden", "3", "--out", "{out}", *TRAIN],
              ["simplify", "--data", "{lines.jsonl}", "--validation-examples", "5", "--test-examples", "0", "--deep-examples",
               "0", "--depth", "2", "--features", "4", "--out", "{out}", *TRAIN],
              ["pattern", "--target", "{pattern.txt}", "--batch", "1", "--steps", "2", "--out", "{out}", *TRAIN],
              ["pattern", "--target", "{picture.png}", "--batch", "1", "--steps", "2", "--out", "{out}", *TRAIN],
              ["boards", "--data", "{cell.npz}", "--batch", "1", "--steps", "2", "--out", "{out}", *TRAIN],
              ["rule", "--table", "{table.rule}", "--batch", "1", "--out", "{out}", *TRAIN],
              ["--resume", "{run}", "--quiet", "--threads", "1", "--train-steps", "2"],
              ["--resume", "{table}", "--quiet", "--threads", "1"], ["--resume", "{rewrite}", "--quiet", "--json"]],
    "bench": [["--filter=no such case"], ["--filter=\n"], ["--no-such-option"], ["--signature=\xff"]],
}
WORDS = [b"", b"-1", b"0", b"1e309", b"nan", b"18446744073709551616", b"99999999999", b"\xff\xfe", b"\xe2\x80\xa8", b"\n", b"\x00",
         b"{", b"[[[[[[[[", b'"', b"'", b"..", b"/", b"-", b"%s%n", b"null", b"1,", b"0x", b"A" * 3000, b"(" * 3000, b"<a>" * 500]


def mutated(data, rng):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        at, length = rng.randrange(len(data) + 1), rng.choice([1, 2, 4, 8, 64, 1000])
        kind = rng.randrange(8)
        if kind == 0 and data:
            data[at % len(data)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[at:]
        elif kind == 2:
            del data[at:at + length]
        elif kind == 3:
            data[at:at] = data[at:at + length] * rng.choice([1, 2, 50])
        elif kind == 4:
            data[at:at + rng.choice([0, 1, 4])] = rng.choice(WORDS)
        elif kind == 5:
            data[at:at + length] = rng.randbytes(length)
        elif kind == 6 and data:
            other = rng.randrange(len(data))
            data[at:at] = data[other:other + length]
        else:
            digits = [i for i, c in enumerate(data[:20000]) if 48 <= c <= 57]
            if digits:
                data[rng.choice(digits)] = rng.choice(b"0123456789-.e")
    return bytes(data)


def place(word, rng, changed):
    """The changed copy of what {word} names; in a folder one file of it is changed."""
    source, target = GOOD / word, WORK / word.replace("/", "-")
    if source.is_dir():
        shutil.copytree(source, target)
        changed_file = rng.choice(sorted(path for path in target.rglob("*") if path.suffix in (".safetensors", ".json", ".csv")))
        source_bytes = changed_file.read_bytes()
    else:
        changed_file, source_bytes = target, source.read_bytes()
    changed_file.write_bytes(mutated(source_bytes, rng) if changed else source_bytes)
    return str(target)


def arguments_of(command, rng):
    case = rng.choice(CASES[command])
    names = [word for word in case if word.startswith(("{", "@")) and word != "{out}"]
    victim = rng.choice(names) if names else None
    odd = victim is None or rng.random() < 0.1  # an odd argument instead of a changed file
    arguments = [command]
    for word in case:
        if word == "{out}":
            word = "out" if rng.random() < 0.95 else rng.choice(["out \"q'\n.c", "out/no/such/x", "out/.", "out\u2028", "out\udcff"])
        elif word.startswith("@"):
            text = (GOOD / word[1:]).read_bytes()
            word = os.fsdecode((mutated(text, rng) if word == victim else text).replace(b"\0", b"0")[:100_000])
        elif word.startswith("{") and odd and word == victim and rng.random() < 0.3:
            word = str(WORK / ("n" * 300))  # a name that no system takes
        elif word.startswith("{"):
            word = place(word[1:-1], rng, word == victim and not odd)
        elif odd and word.startswith("-") is False and rng.random() < 0.4:
            word = os.fsdecode(rng.choice(WORDS).replace(b"\0", b"0"))
        arguments.append(word)
    return arguments


def fault_of(result, before):
    if result.returncode not in EXIT_CODES:
        return f"exit code {result.returncode}"
    lines = [line for line in result.stderr.split(b"\n") if line]
    if result.returncode == 1 and not lines:
        return "a failure without a word"
    if result.returncode == 2 and len(lines) != 1:
        return "wrong usage in other than one line"
    if result.returncode == 1 and len(lines) > 2:  # a checkpoint that was passed over has a line of its own
        return "a failure in more than two lines"
    if any(len(line) > 1200 for line in lines):
        return "a line of more than 1200 characters"
    for word in FOREIGN:
        if word in result.stderr:
            return f"the words of a library: {word.decode()}"
    extra = [path.name for path in WORK.iterdir() if path.name not in before and not path.name.startswith("out")]
    return f"files it was not asked for: {extra[:5]}" if extra else None


def main():
    rng = random.Random(SEED)
    make_good()
    counts, faults, number, end = {}, 0, 0, time.time() + SECONDS
    commands = sorted(CASES)
    while time.time() < end or number < len(commands):
        command = commands[number % len(commands)]
        number += 1
        shutil.rmtree(WORK)
        WORK.mkdir()
        arguments = arguments_of(command, rng)
        before = {path.name for path in WORK.iterdir()}
        kept = FOUND / f"{command}-{number}"
        shutil.copytree(WORK, kept)
        try:
            result = call(arguments)
            fault = fault_of(result, before)
            code, said = result.returncode, result.stderr.decode(errors="replace")[-500:]
        except subprocess.TimeoutExpired:
            fault, code, said = f"still running after {WALL} s", "none", ""
        row = counts.setdefault(command, {"inputs": 0, "accepted": 0, "refused": 0})
        row["inputs"] += 1
        row["accepted" if code in (0, 3) else "refused"] += 1
        if fault:
            faults += 1
            (kept / "arguments").write_text(repr(arguments))
            print(f"FAULT {fault}: {arguments!r}, exit code {code}: {said}\n  inputs kept in {kept}", flush=True)
        else:
            shutil.rmtree(kept)
    for command, row in sorted(counts.items()):
        print(f"{command:8} {row['inputs']:6} inputs: {row['accepted']} accepted, {row['refused']} refused")
    print(f"commands: {number} inputs, {faults} faults")
    return 1 if faults else 0


sys.exit(main())
