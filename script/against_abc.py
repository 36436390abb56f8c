"""Our simplification beside that of Berkeley ABC, on the circuits of circuit_benchmarks.py and the trained cells."""
import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

from circuit_benchmarks import benchmarks

HEAD = ["| circuit | inputs | gates | abc | depth | abc | ANDs | abc |", "|---|---|---|---|---|---|---|---|"]
DC2 = "strash; dc2; dc2; dc2; dc2"
MAP = "if -K 2 -a; mfs2 -a"


def abc(source, script):
    """What print_stats says after a script: its kind of nodes, and levels."""
    ran = subprocess.run(["berkeley-abc", "-q", f"{source}; {script}; print_stats"], stdout=subprocess.PIPE, text=True,
                         check=True, timeout=600)
    text = re.sub(r"\x1b\[[0-9;]*m", "", ran.stdout)
    return int(re.findall(r"(?:and|nd) = *(\d+)", text)[-1]), int(re.findall(r"lev = *(\d+)", text)[-1])


def abc_gates(source, script, answer):
    """Two-input gates and inverters, and levels. Its nodes count constants and wires to outputs, too, which are no
    gates in our count."""
    _, depth = abc(source, f"{script}; write_blif {answer}")
    covers = re.split(r"^\.names ", answer.read_text(), flags=re.M)[1:]
    fields = [cover.split("\n") for cover in covers]
    return sum(len(f[0].split()) > 2 or (len(f[0].split()) == 2 and f[1].split() in (["0", "1"], ["1", "0"]))
               for f in fields), depth


def compare(path, run_json, folder):
    """abc starts from the file as it is, a trained cell from its gates as trained; of its two ways to two-input gates,
    straight and after dc2, the better counts."""
    source, name = path, path.stem
    if path.suffix != ".blif":
        source, name = folder / f"{path.parent.name}.blif", path.parent.name
        run_json("export", path, "--raw", "--to", "blif", "-o", source)
    read = f"read_blif {source}"
    answer = folder / f"{name}-abc.blif"
    gates, depth = min(abc_gates(read, f"strash; {MAP}", answer), abc_gates(read, f"{DC2}; {MAP}", answer))
    ours = run_json("circuit", source)
    assert ours["equal"], name
    aiger = folder / f"{name}.aag"
    run_json("export", source, "--for", "ands", "--to", "aiger", "-o", aiger)  # proved before it is written
    ands = int(aiger.read_text().split()[5])  # aag M I L O A
    return name, {"inputs": ours["simplified"]["inputs"], "gates": ours["simplified"]["gates"], "abc_gates": gates,
                  "depth": ours["simplified"]["depth"], "abc_depth": depth,
                  "ands": ands, "abc_ands": abc(read, DC2)[0]}


def against_abc(folder, models, wanted, run_json):
    """The comparisons that are wanted, by name; what is worse than abc's is in bold in row()."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    models = [model for model in models if model.parent.name in wanted]
    for circuit in benchmarks():
        if circuit.name not in wanted:
            continue
        paths.append(folder / f"{circuit.name}.blif")
        paths[-1].write_text(circuit.blif())
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = dict(pool.map(lambda path: compare(path, run_json, folder), paths + models))
    (folder / "results.json").write_text(json.dumps(results, indent=1))
    return results


def row(name, r):
    def pair(ours, theirs):
        return f"{f'**{ours}**' if ours > theirs else ours} | {theirs}"
    return (f"| {name} | {r['inputs']} | {pair(r['gates'], r['abc_gates'])} | {r['depth']} | {r['abc_depth']} | "
            f"{pair(r['ands'], r['abc_ands'])} |")
