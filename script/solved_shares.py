"""What share of seeds and pictures the default commands solve, and how long a try takes: the first table of
docs/experiments.md. Every try is one process with one thread, as many at once as there are cores. Times are processor times:
those of a thread that has a core to itself, whatever else the machine does."""
import collections
import concurrent.futures
import json
import math
import os
import statistics
import subprocess
import sys

HEAD = ["| name | what judges | command, with `--threads 1` | solved | interval | made | a try, mean | longest | TTS99 |",
        "|---|---|---|---|---|---|---|---|---|"]
SEEDS = range(1, 21)
PICTURES = ["dither-16.png", "face-24.png", "flag-12.png", "heart-16.png", "letter-r-14.txt", "maze-22.txt", "noise-12.png",
            "rocket-18.txt", "smiley-16.png", "spiral-20.png", "star-15.txt", "tree-20.png"]
PERSISTING = ["face-24.png", "heart-16.png", "letter-r-14.txt", "noise-12.png", "spiral-20.png", "tree-20.png"]


def pictures(names, *more):
    return [["pattern", "--target", f"data/pictures/{name}", "--seed", 1, *more] for name in names]


def seeds(task, *more):
    return [[task, "--seed", seed, *more] for seed in SEEDS]


# name: what is said of it, its command, the tries
ROWS = {
    "life": ("all 512 cases", "`train life --seed 1` to `20`", seeds("life")),
    "checkerboard": ("4,096 unseen boards, 64 x 64 and damage", "`train checkerboard --seed 1` to `20`", seeds("checkerboard")),
    "checkerboard-async": ("4,096 unseen boards", "`train checkerboard-async --seed 1` to `20`", seeds("checkerboard-async")),
    "letter": ("16 x 16", "`train letter --seed 1` to `20`", seeds("letter")),
    "lizard": ("20 x 20 and 40 x 40", "`train lizard --seed 1` to `20`", seeds("lizard")),
    "pictures": ("the twelve of data/pictures, seed 1", "`train pattern --target FILE`", pictures(PICTURES)),
    "persist": ("six of them that stay", "`train pattern --target FILE --persist`", pictures(PERSISTING, "--persist")),
    "heal": ("letter and lizard that heal, seed 1", "`train letter --heal`, `train lizard --heal`",
             [["letter", "--heal", "--seed", 1], ["lizard", "--heal", "--seed", 1]]),
    "async": ("letter and lizard without a common step, seed 1", "`train letter --async`, `train lizard --async`",
              [["letter", "--async", "--seed", 1], ["lizard", "--async", "--seed", 1]]),
}


def wilson(solved, tries):
    """The interval of 95 % of a share, in percent."""
    z, p = 1.959964, solved / tries
    middle, half = p + z * z / (2 * tries), z * math.sqrt(p * (1 - p) / tries + z * z / (4 * tries * tries))
    scale = 100 / (1 + z * z / tries)
    return max(0, (middle - half) * scale), min(100, (middle + half) * scale)


def time_to_solution(seconds, share):
    if share == 0:
        return "-"
    return f"{seconds if share >= 0.99 else seconds * math.log(0.01) / math.log(1 - share):.1f} s"


def measure(name, program, folder):
    """Every try of a row to its end: whether it is solved, and its processor time."""
    def one(numbered):
        number, command = numbered
        process = subprocess.Popen([program, "train", *map(str, command), "--threads", "1", "--quiet", "--json", "--force",
                                    "--out", str(folder / f"{name}-{number}")], stdout=subprocess.PIPE, text=True)
        printed = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)  # nobody else need wait for it
        if process.returncode not in (0, 3):
            raise SystemExit(f"{name}: train {' '.join(map(str, command))} failed with {process.returncode}")
        seconds, result = used.ru_utime + used.ru_stime, json.loads(printed)
        solved, made = result["solved"], result["made"]
        print(f"{name}: {' '.join(map(str, command))}: {'solved' if solved else 'NOT solved'}, {made}, {seconds:.1f} s",
              file=sys.stderr)
        return {"command": command, "solved": solved, "made": made, "seconds": seconds}

    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(one, enumerate(ROWS[name][2])))


def solved_row(name, tries):
    what, command, _ = ROWS[name]
    solved, seconds = sum(t["solved"] for t in tries), [t["seconds"] for t in tries]
    low, high = wilson(solved, len(tries))
    words = collections.Counter(t["made"] for t in tries).most_common()
    made = words[0][0] if len(words) == 1 else ", ".join(f"{count} {word}" for word, count in words)
    return (f"| {name} | {what} | {command} | {solved} of {len(tries)} | {low:.0f} to {high:.0f} % | {made} | {statistics.mean(seconds):.1f} s | "
            f"{max(seconds):.1f} s | {time_to_solution(statistics.mean(seconds), solved / len(tries))} |")
