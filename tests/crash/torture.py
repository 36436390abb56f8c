#!/usr/bin/env python3
"""torture.py PROGRAM SHIM FOLDER [--small | --minutes N]: kills and fails the program at its file calls, resumes, and
compares the final weights with those of an undisturbed run.

For every scenario and every n: the n-th call that changes a file below the run's folder is (a) preceded by SIGKILL, or
(b) fails with ENOSPC or EIO, or (c) writes only half of its bytes. Afterwards the run is resumed (or started anew when it
had not begun), must end with exit code 0 and the hash of the undisturbed run, and nothing of a damaged file may be
believed. --small takes every few n of few scenarios; --minutes adds kills at random moments, single-bit flips of checkpoints and
changed inputs for so long. Prints one line per scenario and a total; the exit code is 1 if anything differed."""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

PROGRAM, SHIM, FOLDER = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]).resolve()
SMALL = "--small" in sys.argv
MINUTES = float(sys.argv[sys.argv.index("--minutes") + 1]) if "--minutes" in sys.argv else 0
TIMEOUT = 120
problems, counts = [], {}

CSV = "a,b,kind\n" + "".join(f"{i % 7},{(i * 5) % 11},{'odd' if i % 2 else 'even'}\n" for i in range(60))
COMMON = ["--quiet", "--json", "--threads", "1", "--checkpoint-every", "7"]
SCENARIOS = {
    "lattice": ["checkerboard-small", "--train-steps", "20", "--eval-every", "5", "--batch", "1", "--steps", "4"],
    "seeds": ["checkerboard-small", "--train-steps", "12", "--eval-every", "6", "--batch", "1", "--steps", "3", "--seeds", "2"],
    "table": ["table", "--csv", str(FOLDER / "table.csv"), "--target", "kind", "--train-steps", "30", "--eval-every", "10",
              "--grow", "2", "--hidden", "4"],
    "simplify": ["simplify", "--train-steps", "8", "--eval-every", "4", "--train-examples", "60", "--validation-examples", "10",
                 "--test-examples", "0", "--deep-examples", "0", "--depth", "3", "--features", "8", "--batch-size", "16"],
}


def call(arguments, **environment):
    return subprocess.run([PROGRAM, *arguments], env={**os.environ, **environment}, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=TIMEOUT)


def hash_of(result):
    return json.loads(result.stdout)["weights_hash"]


def count(name, by=1):
    counts[name] = counts.get(name, 0) + by


def problem(text):
    problems.append(text)
    print("PROBLEM", text, flush=True)


def start(scenario, out, *more):
    return ["train", *SCENARIOS[scenario], "--out", str(out), *COMMON, *more]


def finish(scenario, out, expected, what):
    """Resume until done, or begin when there is no run yet; the hash must be the expected one."""
    begun = (out / "config.json").exists()
    arguments = ["train", "--resume", str(out), *COMMON] if begun else start(scenario, out, "--force")
    result = call(arguments)
    if result.returncode != 0:
        problem(f"{what}: resume exits with {result.returncode}: {result.stderr.decode(errors='replace').strip()[:300]}")
    elif hash_of(result) != expected:
        problem(f"{what}: {hash_of(result)} instead of {expected}")


def calls_of(scenario, out, *more):
    counter = FOLDER / "calls"
    result = call(start(scenario, out, *more), LD_PRELOAD=SHIM, FAULT_COUNT=str(counter), FAULT_PREFIX=str(out))
    assert result.returncode == 0, result.stderr
    return int(counter.read_text()), hash_of(result)


def fresh(out):
    shutil.rmtree(out, ignore_errors=True)


def strike_everywhere(scenario, kinds, every, force=False):
    out = FOLDER / f"run-{scenario}"
    fresh(out)
    if force:  # an old run is in the folder, and is replaced
        call(start(scenario, out, "--seed", "9"))
    more = ["--force"] if force else []
    total, expected = calls_of(scenario, out, *more)
    for kind in kinds:
        for n in range(1, total + 1, every):
            fresh(out)
            if force:
                call(start(scenario, out, "--seed", "9"))
            result = call(start(scenario, out, *more), LD_PRELOAD=SHIM, FAULT_AT=str(n), FAULT_KIND=kind,
                          FAULT_PREFIX=str(out))
            what = f"{scenario}{' --force' if force else ''}, {kind} before call {n} of {total}"
            count(f"{kind} {scenario}")
            if kind == "kill" and result.returncode not in (0, -signal.SIGKILL):
                problem(f"{what}: exit code {result.returncode}")
            if result.returncode == 0:
                if hash_of(result) != expected:
                    problem(f"{what}: exit 0 with {hash_of(result)} instead of {expected}")
                continue
            if kind != "kill" and (result.returncode < 0 or not result.stderr.strip()):
                problem(f"{what}: exit code {result.returncode} without a message")
            config = out / "config.json"
            if config.exists() and json.loads(config.read_text())["seed"] == 9:
                fresh(out)  # the old run was not replaced yet, and is whole
                continue
            finish(scenario, out, expected, what)
    print(f"{scenario}{' --force' if force else ''}: {total} file calls, every {every}. of {', '.join(kinds)}", flush=True)


def flip_bits(scenario, flips, rng):
    out, whole = FOLDER / f"flip-{scenario}", FOLDER / f"whole-{scenario}"
    fresh(whole)
    expected = hash_of(call(start(scenario, whole)))
    fresh(out)
    # Stopped in the middle: the last kill leaves a checkpoint and the one before.
    total, _ = calls_of(scenario, out)
    fresh(out)
    call(start(scenario, out), LD_PRELOAD=SHIM, FAULT_AT=str(total * 3 // 4), FAULT_KIND="kill", FAULT_PREFIX=str(out))
    path = out / "checkpoint.safetensors"
    good = path.read_bytes()
    for _ in range(flips):
        copy = FOLDER / "flipped"
        fresh(copy)
        shutil.copytree(out, copy)
        at, bit = rng.randrange(len(good)), rng.randrange(8)
        damaged = bytearray(good)
        damaged[at] ^= 1 << bit
        (copy / "checkpoint.safetensors").write_bytes(damaged)
        result = call(["train", "--resume", str(copy), *COMMON])
        count("bit flips")
        if result.returncode == 0 and hash_of(result) != expected:
            problem(f"{scenario}: bit {bit} of byte {at} flipped gave {hash_of(result)} instead of {expected}")
        if result.returncode not in (0, 1):
            problem(f"{scenario}: bit {bit} of byte {at} flipped: exit code {result.returncode}")
    print(f"{scenario}: {flips} single-bit flips of a checkpoint", flush=True)


def kill_at_random(scenario, rng):
    out = FOLDER / f"random-{scenario}"
    fresh(out)
    expected = hash_of(call(start(scenario, out)))
    fresh(out)
    arguments = start(scenario, out)
    for _ in range(50):
        process = subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            text, _ = process.communicate(timeout=rng.uniform(0.01, 0.3))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            count("random kills")
            if (out / "config.json").exists():
                arguments = ["train", "--resume", str(out), *COMMON]
            continue
        if process.returncode != 0 or json.loads(text)["weights_hash"] != expected:
            problem(f"{scenario}: after random kills exit {process.returncode}, {text[:200]!r}, expected {expected}")
        return
    finish(scenario, out, expected, f"{scenario} after fifty kills")


def main():
    rng = random.Random(1)
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "table.csv").write_text(CSV)
    if SMALL:
        strike_everywhere("lattice", ["kill"], 5)
        strike_everywhere("lattice", ["enospc", "short"], 17)
        strike_everywhere("seeds", ["kill"], 19)
        strike_everywhere("table", ["kill"], 19)
        flip_bits("lattice", 25, rng)
        kill_at_random("lattice", rng)
    else:
        for scenario in SCENARIOS:
            strike_everywhere(scenario, ["kill", "enospc", "eio", "short"], 1)
            flip_bits(scenario, 250, rng)
        strike_everywhere("lattice", ["kill", "enospc"], 1, force=True)
        end = time.time() + 60 * MINUTES
        while time.time() < end:
            kill_at_random(rng.choice(sorted(SCENARIOS)), rng)
            if rng.random() < 0.1:
                flip_bits(rng.choice(sorted(SCENARIOS)), 10, rng)
    print("; ".join(f"{name}: {number}" for name, number in sorted(counts.items())))
    print(f"{sum(counts.values()) - len(problems)} passed, {len(problems)} failed")
    return 1 if problems else 0


sys.exit(main())
