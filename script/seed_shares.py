"""How many seeds solve a task within the published number of steps: with the published settings and with ours."""
import concurrent.futures
import json
import os

# The published start: gate A with a logit of 10, no noise, softmax as it is.
PUBLISHED = ["--start-logit", "10", "--gumbel-final", "0", "--temperature-final", "1", "--straight-from", "1"]
# Our recipe is the default of a task; the checkerboard's is the published one (it gives the smallest circuits).
OURS = {"checkerboard": ["--start-logit", "5", "--straight-from", "0.7"]}
SEEDS = {"life": 10, "checkerboard": 8, "checkerboard-async": 4, "lizard": 2, "letter": 2}
HEAD = ["| task | steps | published settings | wrong bits per board | our recipe | wrong bits per board |",
        "|---|---|---|---|---|---|"]


def count_shares(task, steps, folder, run):
    """Trains every seed alone, as many at once as there are cores; `run` calls the program."""
    def one(job):
        name, settings, seed = job
        text = run("train", task, "--seed", seed, "--budget", 0, "--by", "gradients", "--no-trials", "--train-steps", steps, "--until-solved", "--threads", 1,
                   "--quiet", "--json", "--force", "--out", folder / f"{task}-{name}-{seed}", *settings)
        return name, json.loads(text)

    jobs = [(name, settings, seed) for seed in range(1, SEEDS[task] + 1)
            for name, settings in (("published", PUBLISHED), ("ours", OURS.get(task, [])))]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(one, jobs))
    return {"steps": steps, **{name: [{"solved": r["solved"], "hard_loss": r["validation_loss"], "steps": r["steps"]}
                                        for which, r in results if which == name] for name in ("published", "ours")}}


def share_row(task, shares):
    def cell(rows):
        missing = ", ".join(f"{r['hard_loss']:.3g}" for r in rows)
        return f"{sum(r['solved'] for r in rows)} of {len(rows)} | {missing}"
    return f"| {task} | {shares['steps']} | {cell(shares['published'])} | {cell(shares['ours'])} |"
