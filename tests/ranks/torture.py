#!/usr/bin/env python3
"""tests/ranks/torture.py PROGRAM FOLDER [--kills N] [--seed N]: kills random ranks of a training at random moments, resumes
it with another number of ranks, and demands the weights and the metrics of a run that nobody disturbed. In turns: one seed
of a lattice, of a table that grows and of expressions, whose batches are shared out; a search on the way; several seeds over
ranks."""
import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

parser = argparse.ArgumentParser()
parser.add_argument("program")
parser.add_argument("folder", type=pathlib.Path)
parser.add_argument("--kills", type=int, default=30)
parser.add_argument("--seed", type=int, default=1)
given = parser.parse_args()
dice = random.Random(given.seed)
os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", ESPALIER_OVERSUBSCRIBE="1",
                  OMPI_MCA_btl_vader_single_copy_mechanism="none")

TABLE = given.folder / "table.csv"
TASKS = [["checkerboard-small", "--seeds", "1", "--train-steps", "60", "--eval-every", "10"],
         ["checkerboard-small", "--seeds", "4", "--train-steps", "30", "--eval-every", "10"],
         ["table", "--csv", TABLE, "--target", "y", "--batch-size", "500", "--grow", "3", "--prune", "30", "--seeds", "1",
          "--train-steps", "60", "--eval-every", "10"],
         ["simplify", "--train-examples", "300", "--validation-examples", "20", "--test-examples", "20", "--deep-examples", "5",
          "--seeds", "1", "--train-steps", "40", "--eval-every", "10"],
         ["checkerboard-small", "--seeds", "1", "--train-steps", "20", "--eval-every", "5", "--refine-every", "5", "--refine",
          "20000", "--until-solved"]]
COMMON = ["--quiet", "--json", "--checkpoint-every", "1"]


def ranks_of(job):
    """The processes that mpirun has started."""
    found = []
    for children in pathlib.Path(f"/proc/{job.pid}/task").glob("*/children"):
        try:
            found += [int(pid) for pid in children.read_text().split()]
        except OSError:
            pass
    return found


def saved_since(folder, began):
    """Whether a checkpoint was written after this moment."""
    for path in folder.rglob("checkpoint.safetensors"):
        try:
            if path.stat().st_mtime >= began:
                return True
        except OSError:  # being replaced
            pass
    return False


def metrics(folder):
    lines = {}
    for path in sorted(folder.rglob("metrics.csv")):
        lines[str(path.relative_to(folder))] = [[*row.split(",")[:1], *row.split(",")[2:]] for row in path.read_text().splitlines()]
    return lines


def start(ranks, arguments):
    return subprocess.Popen(["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks), given.program, *arguments],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


shutil.rmtree(given.folder, ignore_errors=True)
given.folder.mkdir(parents=True)
rows = [(dice.gauss(0, 1), dice.gauss(0, 1), dice.gauss(0, 1)) for _ in range(1200)]
TABLE.write_text("a,b,c,y\n" + "".join(f"{a:.4f},{b:.4f},{c:.4f},{'yes' if a * b > c else 'no'}\n" for a, b, c in rows))
wanted = []
for number, task in enumerate(TASKS):
    folder = given.folder / f"whole-{number}"
    done = subprocess.run([given.program, "train", *task, *COMMON, "--out", folder], capture_output=True, text=True, check=True)
    wanted.append((json.loads(done.stdout)["model_hash"], metrics(folder)))

kills, late_kills, runs, longest = 0, 0, 0, 0.0
while kills < given.kills:
    number = runs % len(TASKS)
    folder = given.folder / f"run-{runs}"
    ranks, result = 0, None
    last = min(given.kills, kills + max(1, given.kills // (2 * len(TASKS))))  # so that each kind has its turns
    while result is None:
        ranks = dice.choice([n for n in (2, 3, 4) if n != ranks])
        again = (folder / "config.json").exists()
        began, before = time.time(), kills
        job = start(ranks, ["train", *(["--resume", folder] if again else [*TASKS[number], "--out", folder]), *COMMON])
        if kills < last:
            # Mostly in the midst of training; also while ranks find each other, which takes a second or more.
            late, limit = dice.random() < 0.75, time.monotonic() + dice.uniform(0.3, 1.2)
            while job.poll() is None and (not saved_since(folder, began) if late else time.monotonic() < limit):
                time.sleep(0.001)
            time.sleep(dice.uniform(0, 0.2) if late else 0)
            victims = ranks_of(job)
            if job.poll() is None and victims:
                os.kill(dice.choice(victims), signal.SIGKILL)
                kills += 1
                late_kills += saved_since(folder, began)
        killed_at = time.monotonic()
        out, err = job.communicate(timeout=300)
        if job.returncode == 0:
            result = json.loads(out)
        else:
            longest = max(longest, time.monotonic() - killed_at)
            assert kills > before and "rank" in err, err
    assert result["model_hash"] == wanted[number][0], (folder, result["model_hash"], wanted[number][0])
    assert metrics(folder) == wanted[number][1], folder
    runs += 1
print(f"{kills} kills in {runs} runs, {late_kills} of them in the midst of training: the bits of undisturbed runs; the last rank was "
      f"gone {longest:.1f} s after a kill at most")
