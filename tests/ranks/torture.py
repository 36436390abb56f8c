#!/usr/bin/env python3
"""tests/ranks/torture.py PROGRAM FOLDER [--kills N] [--seed N]: kills random ranks of a training at random moments, resumes
it with another number of ranks, and demands the weights and the metrics of a run that nobody disturbed. One seed whose
batches are shared out, and several seeds over ranks, in turns."""
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

TASKS = [["checkerboard-small", "--seeds", "1", "--train-steps", "60", "--eval-every", "10"],
         ["checkerboard-small", "--seeds", "4", "--train-steps", "30", "--eval-every", "10"]]
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
wanted = []
for number, task in enumerate(TASKS):
    folder = given.folder / f"whole-{number}"
    done = subprocess.run([given.program, "train", *task, *COMMON, "--out", folder], capture_output=True, text=True, check=True)
    wanted.append((json.loads(done.stdout)["weights_hash"], metrics(folder)))

kills, runs, longest = 0, 0, 0.0
while kills < given.kills:
    number = runs % len(TASKS)
    folder = given.folder / f"run-{runs}"
    ranks, result = 0, None
    while result is None:
        ranks = dice.choice([n for n in (2, 3, 4) if n != ranks])
        again = (folder / "config.json").exists()
        job = start(ranks, ["train", *(["--resume", folder] if again else [*TASKS[number], "--out", folder]), *COMMON])
        if kills < given.kills:
            limit = time.monotonic() + dice.uniform(0.3, 1.2)
            while time.monotonic() < limit and job.poll() is None:
                time.sleep(0.01)
            victims = ranks_of(job)
            if job.poll() is None and victims:
                os.kill(dice.choice(victims), signal.SIGKILL)
                kills += 1
        killed_at = time.monotonic()
        out, err = job.communicate(timeout=300)
        if job.returncode == 0:
            result = json.loads(out)
        else:
            longest = max(longest, time.monotonic() - killed_at)
            assert "rank" in err, err
    assert result["weights_hash"] == wanted[number][0], (folder, result["weights_hash"], wanted[number][0])
    assert metrics(folder) == wanted[number][1], folder
    runs += 1
print(f"{kills} kills in {runs} runs: the bits of undisturbed ones; the last rank was gone {longest:.1f} s after a kill at most")
