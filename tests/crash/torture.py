#!/usr/bin/env python3
"""torture.py PROGRAM SHIM FOLDER [--small | --minutes N]: kills and fails the program at its file calls, and compares
what comes of it with an undisturbed run.

Training: for every scenario and every n the n-th call that changes a file below the run's folder is (a) preceded by
SIGKILL, or (b) fails with ENOSPC or EIO, or (c) writes only half of its bytes; in a new run, in one that replaces an older
one (--force), and in one that is resumed. Afterwards the run is resumed (or started anew when it had not begun), must end
with exit code 0, the weights, the model and the metrics of the undisturbed run. Single bits of checkpoints are flipped, and runs killed at random
moments until there were a thousand kills.
Commands that write files: struck in the same way, over files that exist; each must be whole afterwards, the old one or the
new one, and exit code 0 means all are new.
Threads that cannot be started and memory that cannot be had end in the same bits or in one clear failure.
--small takes every few n of few scenarios; --minutes goes on with random kills, flips and mutated inputs for so long.
Prints one line per scenario and a total; the exit code is 1 if anything differed."""
import hashlib
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import time

PROGRAM, SHIM, FOLDER = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]).resolve()
SMALL = "--small" in sys.argv
MINUTES = float(sys.argv[sys.argv.index("--minutes") + 1]) if "--minutes" in sys.argv else 0
TIMEOUT = 120
MIN_KILLS = 1000
problems, counts, metrics = [], {}, {}

CSV = "a,b,kind\n" + "".join(f"{i % 7},{(i * 5) % 11},{'odd' if i % 2 else 'even'}\n" for i in range(60))
COMMON = ["--quiet", "--json", "--threads", "1", "--checkpoint-every", "7"]
SCENARIOS = {
    "lattice": ["checkerboard-small", "--train-steps", "20", "--eval-every", "5", "--batch", "1", "--steps", "4",
                "--refine", "3000"],
    # Searches on the way, each from what the one before has found, and attempts with other seeds after it.
    "searches": ["checkerboard-small", "--train-steps", "30", "--eval-every", "5", "--batch", "1", "--steps", "6", "--refine",
                 "3000", "--refine-every", "10", "--budget", "0", "--seed", "4"],
    "attempts": ["checkerboard-small", "--train-steps", "10", "--eval-every", "5", "--batch", "1", "--steps", "6", "--refine",
                 "3000", "--refine-every", "5", "--budget", "40", "--seed", "4"],
    "seeds": ["checkerboard-small", "--train-steps", "12", "--eval-every", "6", "--batch", "1", "--steps", "3", "--seeds", "2",
              "--refine", "0"],
    "table": ["table", "--csv", str(FOLDER / "table.csv"), "--target", "kind", "--train-steps", "30", "--eval-every", "10",
              "--grow", "2", "--hidden", "4"],
    "simplify": ["simplify", "--train-steps", "8", "--eval-every", "4", "--train-examples", "60", "--validation-examples", "10",
                 "--test-examples", "0", "--deep-examples", "0", "--depth", "3", "--features", "8", "--batch-size", "16"],
}

# Commands that write files into a folder `out`; each is struck over files that are there already.
WRITERS = {
    "export c": lambda out: ["export", str(FOLDER / "model"), "--raw", "--to", "c", "-o", str(out / "cell.c")],
    "export verilog": lambda out: ["export", str(FOLDER / "model"), "--raw", "--to", "verilog", "-o", str(out / "cell.v")],
    "refine": lambda out: ["refine", str(FOLDER / "model"), "--quiet", "--evaluations", "3000", "-o",
                           str(out / "refined.safetensors")],
    "run --png --gif": lambda out: ["run", str(FOLDER / "model"), "--quiet", "--steps", "3", "--png", str(out / "board.png"),
                                    "--gif", str(out / "board.gif")],
    "data": lambda out: ["data", "simplify", "--count", "20", "--depth", "2", "-o", str(out / "lines.jsonl")],
    "refine --table": lambda out: ["refine", str(FOLDER / "and.blif"), "--table", str(FOLDER / "table.txt"), "--quiet",
                                   "--evaluations", "600", "-o", str(out / "refined.blif")],
    "prove --proof": lambda out: ["prove", str(FOLDER / "solved"), "converges", "--quiet", "--proof", str(out / "proof")],
    "predict": lambda out: ["predict", str(FOLDER / "grown"), str(FOLDER / "table.csv"), "-o", str(out / "predicted.csv")],
    "ged": lambda out: ["ged", str(FOLDER / "a.json"), str(FOLDER / "b.json"), "-o", str(out / "distance.txt")],
    "eval --svg": lambda out: ["eval", str(FOLDER / "trained"), "--divergence", "--boards", "2", "--svg", str(out / "eval.svg")],
}
FAULTS = ["kill", "enospc", "eio", "short"]


def call(arguments, limit=None, **environment):
    def limited():
        if limit:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    return subprocess.run([PROGRAM, *arguments], env={**os.environ, **environment}, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=TIMEOUT, preexec_fn=limited)


def hash_of(result, text=None):
    """Of the best model, and of all tensors of its file: the weights are there, too, where a search found another circuit."""
    report = json.loads(result.stdout if text is None else text)
    model = pathlib.Path(report["model"]).read_bytes()
    header = 8 + int.from_bytes(model[:8], "little")
    return report["model_hash"] + hashlib.sha256(model[header:]).hexdigest()[:16]


def count(name, by=1):
    counts[name] = counts.get(name, 0) + by


def problem(text):
    problems.append(text)
    print("PROBLEM", text, flush=True)


def start(scenario, out, *more):
    return ["train", *SCENARIOS[scenario], "--out", str(out), *COMMON, *more]


def metrics_of(out):
    """The lines of metrics.csv, of every seed, without the column that tells the time."""
    return {str(path.relative_to(out)): [line.split(",")[:1] + line.split(",")[2:] for line in path.read_text().splitlines()]
            for path in out.rglob("metrics.csv")}


def finish(scenario, out, expected, what, old_hash=None):
    """Resume until done, or begin when there is no run yet; the hash must be the expected one, or that of the whole old run
    when it was not replaced yet."""
    begun = any((out / name).exists() for name in ("config.json", "replaced-run/config.json"))
    arguments = ["train", "--resume", str(out), *COMMON] if begun else start(scenario, out, "--force")
    result = call(arguments)
    if result.returncode != 0:
        problem(f"{what}: resume exits with {result.returncode}: {result.stderr.decode(errors='replace').strip()[:300]}")
    elif hash_of(result) not in (expected, old_hash):
        problem(f"{what}: {hash_of(result)} instead of {expected}")
    elif hash_of(result) == expected and metrics_of(out) != metrics[scenario]:
        problem(f"{what}: metrics.csv differs")


def calls_of(arguments, out, hashed=True):
    counter = FOLDER / "calls"
    result = call(arguments, LD_PRELOAD=SHIM, FAULT_COUNT=str(counter), FAULT_PREFIX=str(out))
    assert result.returncode == 0, result.stderr
    return int(counter.read_text()), hash_of(result) if hashed else None


def fresh(out):
    shutil.rmtree(out, ignore_errors=True)


def judge(scenario, out, result, kind, expected, what, old_hash=None):
    """After a strike: the exit code tells the truth, and the run is finished to the same bits."""
    count(f"{kind}, {what.split(',')[0]}")
    if kind == "kill" and result.returncode not in (0, -signal.SIGKILL):
        problem(f"{what}: exit code {result.returncode}")
    if result.returncode == 0:
        if hash_of(result) != expected:
            problem(f"{what}: exit 0 with {hash_of(result)} instead of {expected}")
        return
    if kind != "kill" and (result.returncode < 0 or not result.stderr.strip()):
        problem(f"{what}: exit code {result.returncode} without a message")
    finish(scenario, out, expected, what, old_hash)


def strike_everywhere(scenario, kinds, every, force=False):
    out, old = FOLDER / f"run-{scenario}", FOLDER / "old"
    more = ["--force"] if force else []
    fresh(old)
    old_hash = hash_of(call(start(scenario, old, "--seed", "9"))) if force else None

    def prepare():
        fresh(out)
        if force:  # an old run is in the folder, and is replaced
            shutil.copytree(old, out)

    prepare()
    total, expected = calls_of(start(scenario, out, *more), out)
    metrics[scenario] = metrics_of(out)
    for kind in kinds:
        for n in range(1, total + 1, every):
            prepare()
            result = call(start(scenario, out, *more), LD_PRELOAD=SHIM, FAULT_AT=str(n), FAULT_KIND=kind,
                          FAULT_PREFIX=str(out))
            judge(scenario, out, result, kind, expected,
                  f"{scenario}{' --force' if force else ''}, {kind} before call {n} of {total}", old_hash)
    print(f"{scenario}{' --force' if force else ''}: {total} file calls, every {every}. of {', '.join(kinds)}", flush=True)


def half_done(scenario):
    """A run killed in its middle, with a checkpoint and the one before, and the hash it must come to."""
    out = FOLDER / f"half-{scenario}"
    fresh(out)
    total, expected = calls_of(start(scenario, out), out)
    metrics[scenario] = metrics_of(out)
    for at in range(total * 3 // 4, total):  # not between the moves of a checkpoint
        fresh(out)
        call(start(scenario, out), LD_PRELOAD=SHIM, FAULT_AT=str(at), FAULT_KIND="kill", FAULT_PREFIX=str(out))
        if all(path.with_name("checkpoint.safetensors").exists() for path in out.rglob("checkpoint-previous.safetensors")):
            break
    return out, expected


def strike_resumed(scenario, kinds, every):
    half, expected = half_done(scenario)
    out = FOLDER / f"resumed-{scenario}"
    resume = ["train", "--resume", str(out), *COMMON]
    fresh(out)
    shutil.copytree(half, out)
    total, got = calls_of(resume, out)
    assert got == expected
    for kind in kinds:
        for n in range(1, total + 1, every):
            fresh(out)
            shutil.copytree(half, out)
            result = call(resume, LD_PRELOAD=SHIM, FAULT_AT=str(n), FAULT_KIND=kind, FAULT_PREFIX=str(out))
            judge(scenario, out, result, kind, expected, f"{scenario} --resume, {kind} before call {n} of {total}")
    print(f"{scenario} --resume: {total} file calls, every {every}. of {', '.join(kinds)}", flush=True)


def strike_writer(name, kinds, every):
    out = FOLDER / "written"
    arguments = WRITERS[name](out)
    fresh(out)
    out.mkdir()
    total = calls_of(arguments, out, hashed=False)[0]
    new = {path.name: path.read_bytes() for path in out.iterdir()}
    for kind in kinds:
        for n in range(1, total + 1, every):
            fresh(out)
            out.mkdir()
            for file in new:
                (out / file).write_bytes(b"old")
            result = call(arguments, LD_PRELOAD=SHIM, FAULT_AT=str(n), FAULT_KIND=kind, FAULT_PREFIX=str(out))
            what = f"{name}, {kind} before call {n} of {total}"
            count(f"{kind}, {name}")
            for file, content in new.items():
                got = (out / file).read_bytes()
                if got != content and (got != b"old" or result.returncode == 0):
                    problem(f"{what}: {file} of {len(got)} bytes, exit code {result.returncode}")
            left = sorted(path.name for path in out.iterdir() if path.name not in new)
            if left and all(file.endswith(".lock") for file in left):
                # Its own removal failed. It hinders nobody: the next one takes it, and removes it.
                if call(arguments).returncode:
                    problem(f"{what}: {left} left behind, and nothing goes on from there")
                left = sorted(path.name for path in out.iterdir() if path.name not in new)
            if left and kind != "kill":
                problem(f"{what}: {left} left behind")
            if result.returncode != 0 and kind != "kill" and result.stderr.count(b"\n") != 1:
                problem(f"{what}: {result.stderr[:300]!r}")
    print(f"{name}: {total} file calls, every {every}. of {', '.join(kinds)}", flush=True)


def starve(every_thread, every_megabytes):
    """Too few threads, or too little memory: the same bits, or one clear failure; never a crash."""
    out = FOLDER / "starved"
    arguments = start("seeds", out, "--seeds", "3", "--threads", "4")

    def judge_starved(what, result, expected):
        count(what)
        text = result.stderr.decode(errors="replace")
        if result.returncode == 0 and hash_of(result) == expected:
            return
        if result.returncode != 1 or not any(word in text for word in ("memory", "[threads]")) or "std::" in text:
            problem(f"{what}: exit code {result.returncode}: {text[-300:]}")

    fresh(out)
    expected = hash_of(call(arguments, ESPALIER_OVERSUBSCRIBE="1"))
    for n in range(1, 12, every_thread):
        fresh(out)
        judge_starved("starved of threads", call(arguments, ESPALIER_OVERSUBSCRIBE="1", LD_PRELOAD=SHIM, FAULT_THREADS=str(n)),
                      expected)
    others = {"train --seconds": start("lattice", out, "--seconds", "100"),
              "sweep": ["sweep", "checkerboard-small", "--train-steps", "2", "--refine", "0", "--batch", "1", "--steps", "2",
                        "--seeds", "4", "--threads", "4", "--quiet", "--out", str(out)]}
    for name, other in others.items():
        for n in range(1, 8, every_thread):
            fresh(out)
            result = call(other, ESPALIER_OVERSUBSCRIBE="1", LD_PRELOAD=SHIM, FAULT_THREADS=str(n))
            count("starved of threads")
            if result.returncode != 0 and (result.returncode != 1 or b"[threads]" not in result.stderr):
                problem(f"{name}, no thread from the {n}. on: exit code {result.returncode}: {result.stderr[-300:]!r}")
    megabytes = 16
    while call(["--version"], limit=megabytes << 20).returncode != 0:
        megabytes += 4
    first = megabytes
    while True:
        fresh(out)
        result = call(arguments, limit=megabytes << 20, ESPALIER_OVERSUBSCRIBE="1")
        judge_starved("starved of memory", result, expected)
        if result.returncode == 0 and not result.stderr:
            break
        megabytes += every_megabytes
    print(f"threads and memory: from the first thread on, and from {first} to {megabytes} MB", flush=True)


def flip_bits(scenario, flips, rng):
    out, expected = half_done(scenario)
    path = out / "seed-1" if (out / "seed-1").exists() else out
    path = (path / "checkpoint.safetensors").relative_to(out)
    good = (out / path).read_bytes()
    for _ in range(flips):
        copy = FOLDER / "flipped"
        fresh(copy)
        shutil.copytree(out, copy)
        at, bit = rng.randrange(len(good)), rng.randrange(8)
        damaged = bytearray(good)
        damaged[at] ^= 1 << bit
        (copy / path).write_bytes(damaged)
        result = call(["train", "--resume", str(copy), *COMMON])
        count(f"bit flips, {scenario}")
        if result.returncode == 0 and hash_of(result) != expected:
            problem(f"{scenario}: bit {bit} of byte {at} flipped gave {hash_of(result)} instead of {expected}")
        if result.returncode not in (0, 1):
            problem(f"{scenario}: bit {bit} of byte {at} flipped: exit code {result.returncode}")
    print(f"{scenario}: {flips} single-bit flips of a checkpoint", flush=True)


def kill_at_random(scenario, rng):
    out = FOLDER / f"random-{scenario}"
    fresh(out)
    expected = hash_of(call(start(scenario, out)))
    metrics[scenario] = metrics_of(out)
    fresh(out)
    arguments = start(scenario, out)
    for _ in range(50):
        process = subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            text, _ = process.communicate(timeout=rng.uniform(0.01, 0.3))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            count(f"kill, {scenario} at a random moment")
            if (out / "config.json").exists():
                arguments = ["train", "--resume", str(out), *COMMON]
            continue
        if process.returncode != 0 or hash_of(process, text) != expected or metrics_of(out) != metrics[scenario]:
            problem(f"{scenario}: after random kills exit {process.returncode}, {text[:200]!r}, expected {expected}")
        return
    finish(scenario, out, expected, f"{scenario} after fifty kills")


def mutate(seed):
    """A few seconds of changed inputs to every command."""
    harness = pathlib.Path(__file__).parent.parent / "fuzz" / "commands.py"
    result = subprocess.run([sys.executable, str(harness), PROGRAM, str(FOLDER / "mutated"), "--seconds", "5", "--seed",
                             str(seed)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    count("rounds of mutated inputs")
    if result.returncode != 0:
        problem(f"mutated inputs, seed {seed}: {result.stdout.decode(errors='replace')[-1000:]}")


def kills():
    return sum(number for name, number in counts.items() if name.startswith("kill"))


def main():
    rng = random.Random(1)
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "table.csv").write_text(CSV)
    (FOLDER / "and.blif").write_text(".model m\n.inputs a b c\n.outputs y\n.names a b y\n11 1\n.end\n")
    (FOLDER / "table.txt").write_text("000 0\n011 1\n101 1\n110 1\n111 1\n")
    for name, label in {"a": "C", "b": "N"}.items():
        (FOLDER / f"{name}.json").write_text(json.dumps({"nodes": [label, "O"], "edges": [[0, 1]]}))
    for folder, arguments in {"model": start("lattice", FOLDER / "model"), "grown": start("table", FOLDER / "grown"),
                              "trained": start("lattice", FOLDER / "trained", "--refine", "0"),
                              "solved": ["train", "checkerboard-small", "--quiet", "--require-solved", "--out",
                                         str(FOLDER / "solved")]}.items():
        fresh(FOLDER / folder)
        assert call(arguments).returncode == 0, folder
    if SMALL:
        strike_everywhere("lattice", ["kill"], 7)
        strike_everywhere("lattice", ["enospc", "short"], 23)
        strike_everywhere("lattice", ["kill"], 29, force=True)
        strike_everywhere("searches", ["kill"], 5)
        strike_everywhere("attempts", ["kill"], 17)
        strike_everywhere("seeds", ["kill"], 29)
        strike_everywhere("table", ["kill", "eio"], 31)
        strike_resumed("lattice", ["kill", "enospc"], 11)
        for name in WRITERS:
            strike_writer(name, FAULTS, 5)
        starve(2, 20)
        flip_bits("searches", 25, rng)
        kill_at_random("lattice", rng)
    else:
        for scenario in SCENARIOS:
            strike_everywhere(scenario, FAULTS, 1)
            strike_resumed(scenario, FAULTS, 1)
            flip_bits(scenario, 250, rng)
        for scenario in ["lattice", "seeds"]:
            strike_everywhere(scenario, ["kill", "enospc"], 1, force=True)
        for name in WRITERS:
            strike_writer(name, FAULTS, 1)
        starve(1, 1)
        end = time.time() + 60 * MINUTES
        while kills() < MIN_KILLS or time.time() < end:
            kill_at_random(rng.choice(sorted(SCENARIOS)), rng)
            if rng.random() < 0.1:
                flip_bits(rng.choice(sorted(SCENARIOS)), 10, rng)
            if time.time() < end:
                mutate(rng.randrange(1 << 30))
    for name, number in sorted(counts.items()):
        print(f"  {number:6} {name}")
    print(f"{kills()} kills; {sum(counts.values()) - len(problems)} passed, {len(problems)} failed")
    return 1 if problems else 0


sys.exit(main())
