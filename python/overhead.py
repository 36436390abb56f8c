"""What Python costs: python python/overhead.py [ROUNDS] [PROGRAM ...]. Prints figures for docs/python.md; the package must be
installed.

The training step of `checkerboard` in a Python loop against `espalier train` on one thread: that of the package, and other
builds of the program if any are named; all of them in turn, round after round. The time to import the package; and the memory
of a rollout against that of its result. Steps are counted in processor time, which others on the machine disturb least.
"""
import pathlib
import resource
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

FIRST, LAST = 5, 45  # the steps that are counted; rounds are short, so that what disturbs one disturbs its pair as well
SETTINGS = {name: default for name, (default, _) in espalier.options("checkerboard").items()}


def with_the_program(program, folder):
    """Milliseconds per step of `espalier train checkerboard`: what a longer run costs more than a short one."""
    def seconds(steps):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([program, "train", "checkerboard", "--train-steps", str(steps), "--eval-every", str(10 * LAST),
                        "--refine", "0", "--budget", "0", "--no-until-solved", "--threads", "1", "--quiet", "--force", "--out", folder],
                       capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return 1e3 * (seconds(LAST) - seconds(FIRST)) / (LAST - FIRST)


def with_a_loop():
    """The same in Python, with the settings of the task: draw boards, gradients, a step of AdamW."""
    given = SETTINGS
    model = espalier.LogicAutomaton(given["channels"], given["kernels"], given["perceive"], given["update"], given["wiring"],
                                    given["boundary"], seed=1, start_logit=given["start_logit"], threads=1)
    optimizer = espalier.AdamW(model, lr=given["lr"], beta1=given["beta1"], beta2=given["beta2"], epsilon=given["epsilon"],
                               weight_decay=given["weight_decay"], clip_value=given["clip_value"])
    height, width = given["height"], given["width"]
    rng = np.random.default_rng(1)
    target = np.broadcast_to((np.add.outer(np.arange(height) // 2, np.arange(width) // 2) % 2)[None, :, :, None],
                             (given["batch"], height, width, 1)).astype(np.float32)
    for step in range(LAST):
        if step == FIRST:
            begin = time.process_time()
        boards = rng.integers(0, 2, (given["batch"], height, width, given["channels"]), dtype=np.uint8)
        optimizer.zero_grad()
        model.loss_and_grad(boards, target, given["steps"], step=step)
        optimizer.step()
    return 1e3 * (time.process_time() - begin) / (LAST - FIRST)


def steps_in_turn(rounds, others):
    programs = {"the program of the package": _program.path(), **{path: path for path in others}}
    taken, loop = {name: [] for name in programs}, []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            loop.append(with_a_loop())
            for name, path in programs.items():
                taken[name].append(with_the_program(path, str(pathlib.Path(folder) / "run")))
    print(f"step of checkerboard, 1 thread, median of {rounds} rounds: {statistics.median(loop):.2f} ms in a Python loop")
    for name, times in taken.items():
        ratios = [b / a for a, b in zip(times, loop)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        print(f"  {statistics.median(times):.2f} ms in {name}: the loop {100 * (middle - 1):+.1f} % "
              f"(half of the rounds {100 * (low - 1):+.1f} to {100 * (high - 1):+.1f})")


def imports(rounds):
    code = "import time; a = time.perf_counter(); import numpy; b = time.perf_counter(); import espalier; c = time.perf_counter(); print(b - a, c - b)"
    times = [[float(t) for t in subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()]
             for _ in range(rounds)]
    numpy, own = (statistics.median(column) for column in zip(*times))
    print(f"import: {1e3 * (numpy + own):.0f} ms, of which NumPy {1e3 * numpy:.0f} ms")


def copies():
    """How far a process grows during a rollout, against the size of the result."""
    code = """
import numpy as np, espalier
def peak():  # of this process alone: what getrusage says begins with that of its parent
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
model = espalier.LogicAutomaton(channels=8, kernels=4, update="64,32,16,8", threads=1)
start = np.zeros((1, 128, 128, 8), np.uint8)
model.rollout(start, 2)
before = peak()
size = model.rollout(start, 400 if SOFT else 1500, soft=SOFT).nbytes
print((peak() - before) * 1024 / size)
"""
    for soft in (False, True):
        grown = float(subprocess.run([sys.executable, "-c", code.replace("SOFT", str(soft))], capture_output=True, text=True,
                                     check=True).stdout)
        print(f"memory of a {'soft' if soft else 'hard'} rollout with every step: {grown:.2f} times its result")


if __name__ == "__main__":
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    steps_in_turn(rounds, sys.argv[2:])
    imports(9)
    copies()
