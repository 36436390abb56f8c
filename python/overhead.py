"""What Python costs: python python/overhead.py [ROUNDS]. Prints figures for docs/python.md; the package must be installed.

The training step of `checkerboard` in a Python loop against `espalier train` on one thread, rounds of both in turn; the time
to import the package; and the memory of a rollout against that of its result. On a machine that others use, too, run it
under `chrt -f 5`.
"""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

# The sources lie beside this file; what is measured is the installed package.
sys.path = [p for p in sys.path if pathlib.Path(p).resolve() != pathlib.Path(__file__).resolve().parent]
import espalier  # noqa: E402
from espalier import _program  # noqa: E402

STEPS = 150


def with_the_program(folder):
    """Milliseconds per step of `espalier train checkerboard`; nothing is evaluated but the last step."""
    said = subprocess.run([_program.path(), "train", "checkerboard", "--train-steps", str(STEPS), "--eval-every", str(STEPS),
                           "--refine", "0", "--budget", "0", "--no-until-solved", "--threads", "1", "--quiet", "--json", "--force",
                           "--out", folder], capture_output=True, text=True, check=True)
    return json.loads(said.stdout)["ms_per_step"]


def with_a_loop():
    """The same in Python: draw boards, gradients, a step of AdamW."""
    given = {name: default for name, (default, _) in espalier.options("checkerboard").items()}
    model = espalier.LogicAutomaton(given["channels"], given["kernels"], given["perceive"], given["update"], given["wiring"],
                                    given["boundary"], seed=1, threads=1)
    optimizer = espalier.AdamW(model, lr=given["lr"])
    height, width = given["height"], given["width"]
    rng = np.random.default_rng(1)
    target = np.broadcast_to((np.add.outer(np.arange(height) // 2, np.arange(width) // 2) % 2)[None, :, :, None],
                             (given["batch"], height, width, 1)).astype(np.float32)
    begin = time.perf_counter()
    for step in range(STEPS):
        boards = rng.integers(0, 2, (given["batch"], height, width, given["channels"])).astype(np.float32)
        optimizer.zero_grad()
        model.loss_and_grad(boards, target, given["steps"], step=step)
        optimizer.step()
    model.rollout(boards, given["steps"], last=True)  # the program evaluates its last step
    return 1e3 * (time.perf_counter() - begin) / STEPS


def steps_in_turn(rounds):
    program, loop = [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            program.append(with_the_program(str(pathlib.Path(folder) / "run")))
            loop.append(with_a_loop())
    ratio = statistics.median(b / a for a, b in zip(program, loop))
    print(f"step of checkerboard, 1 thread: {statistics.median(program):.2f} ms in the program, "
          f"{statistics.median(loop):.2f} ms in a Python loop, {100 * (ratio - 1):+.1f} % (median of {rounds} rounds)")


def imports(rounds):
    code = "import time; a = time.perf_counter(); import numpy; b = time.perf_counter(); import espalier; c = time.perf_counter(); print(b - a, c - b)"
    times = [[float(t) for t in subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()]
             for _ in range(rounds)]
    numpy, own = (statistics.median(column) for column in zip(*times))
    print(f"import: {1e3 * (numpy + own):.0f} ms, of which NumPy {1e3 * numpy:.0f} ms")


def copies():
    """How far a process grows during a rollout, against the size of the result."""
    code = """
import resource, numpy as np, espalier
model = espalier.LogicAutomaton(channels=8, kernels=4, update="64,32,16,8", threads=1)
start = np.zeros((1, 128, 128, 8), np.uint8)
model.rollout(start, 2)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
size = model.rollout(start, 200 if SOFT else 1500, soft=SOFT).nbytes
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / size)
"""
    for soft in (False, True):
        grown = float(subprocess.run([sys.executable, "-c", code.replace("SOFT", str(soft))], capture_output=True, text=True,
                                     check=True).stdout)
        print(f"memory of a {'soft' if soft else 'hard'} rollout with every step: {grown:.2f} times its result")


if __name__ == "__main__":
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    steps_in_turn(rounds)
    imports(max(rounds, 5))
    copies()
