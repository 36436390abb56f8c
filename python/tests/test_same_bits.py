"""What Python says of a model is what the program says of it, to the last bit that is printed."""
import csv
import io
import json

import numpy as np
import pytest

import espalier


@pytest.fixture(scope="module", params=["trained", "refined"])
def run(request, tmp_path_factory):
    """A model as trained, and one that a search has changed."""
    settings = dict(trained=dict(train_steps=60, refine=0), refined=dict(train_steps=3, refine=20000))[request.param]
    return espalier.train("checkerboard-small", budget=0, seed=1, out=tmp_path_factory.mktemp("run") / "run", progress=False,
                          **settings)


def drawn(text):
    """The bits of a board that was drawn with half blocks, two rows in a line of text."""
    rows = [line for line in text.splitlines() if set(line) <= set("█▀▄ ") and line]
    width = max(map(len, rows))
    rows = [row.ljust(width) for row in rows]
    return np.array([[c in pair for c in row] for row in rows for pair in ("█▀", "█▄")]).astype(np.uint8)


@pytest.mark.parametrize("seed", [1, 5])
def test_boards_grow_as_in_the_program(run, program, seed):
    height, width, _ = run.model.facts["view"]
    last = run.model.rollout(run.model.start(seed=seed), 7, seed=seed, last=True)[..., 0]
    shown = drawn(program("run", run.folder, "--steps", 7, "--seed", seed))
    assert last.shape == (height, width) and last.any()
    np.testing.assert_array_equal(shown, last[:, :shown.shape[1]])
    assert not last[:, shown.shape[1]:].any()


def test_trials_end_as_in_the_program(run, program):
    said = json.loads(program("eval", run.folder, "--json"))["trials"]
    assert [(t.name, t.score, t.exact) for t in run.model.evaluate()] == [(t["name"], t["score"], t["exact"]) for t in said]


def test_circuits_are_counted_as_in_the_program(run, program):
    said = json.loads(program("circuit", run.folder, "--json"))
    counts = run.model.circuit(across_steps=True).counts
    theirs = said["across_steps"]["circuit"]
    for name in ("gates", "depth", "inputs", "outputs", "active", "constants", "used_inputs"):
        assert counts[name] == theirs[name], name
    assert counts["kinds"] == theirs["by_type"]
    assert run.model.circuit().gates == said["passes"][-1]["gates"]


@pytest.mark.parametrize("format", ["c", "js", "blif", "aiger", "aiger-binary", "dot", "json", "verilog"])
def test_exports_are_the_files_of_the_program(run, program, tmp_path, format):
    files = run.model.circuit().export(format, tmp_path / "cell.x")
    here = {file: open(file, "rb").read() for file in files}
    for file in files:
        (tmp_path / file).unlink()
    program("export", run.folder, "--to", format, "-o", tmp_path / "cell.x")
    for file, content in here.items():
        assert open(file, "rb").read() == content, file


def test_simplified_files_are_those_of_the_program(run, program, tmp_path):
    run.model.circuit(simplify=False).export("blif", tmp_path / "raw.blif")
    raw = espalier.Circuit.read(tmp_path / "raw.blif")
    for goal in ("gates", "ands", "depth", "lut6"):
        raw.simplify(goal=goal).export("blif", tmp_path / "here.blif")
        program("export", tmp_path / "raw.blif", "--to", "blif", "--for", goal, "-o", tmp_path / "there.blif")
        assert (tmp_path / "here.blif").read_text() == (tmp_path / "there.blif").read_text(), goal


def test_tables_are_predicted_as_in_the_program(program, tmp_path):
    rng = np.random.default_rng(1)
    lines = [f"{a:.3f},{b:.3f},{'up' if a + b > 0 else 'down'}" for a, b in rng.normal(size=(80, 2))]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,way", *lines]) + "\n")
    run = espalier.train("table", csv=tmp_path / "t.csv", target="way", train_steps=40, out=tmp_path / "run", progress=False)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "t.csv").read_text())))
    columns = {name: [row[name] for row in rows] for name in ("a", "b")}
    said = list(csv.reader(io.StringIO(program("predict", tmp_path / "run", tmp_path / "t.csv"))))
    assert run.model.predict(columns).tolist() == [row[-1] for row in said[1:]]
    shares = list(csv.DictReader(io.StringIO(program("predict", tmp_path / "run", tmp_path / "t.csv", "--probabilities"))))
    ours = run.model.predict_proba(columns)
    names = [n for n in shares[0] if any(c in n for c in run.model.classes) and n != "way"][-2:]
    theirs = np.array([[float(row[n]) for n in names] for row in shares])
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=5.01e-5)  # four digits are printed
    assert run.weights_hash == json.loads(program("train", "table", "--csv", tmp_path / "t.csv", "--target", "way",
                                                  "--train-steps", 40, "--out", tmp_path / "again", "--quiet",
                                                  "--json"))["weights_hash"]


def test_expressions_are_rewritten_as_in_the_program(program, tmp_path):
    run = espalier.train("simplify", train_steps=20, out=tmp_path / "run", progress=False)
    for expression in ("(+ x 0)", "(* 1 (+ y 0))"):
        said = program("rewrite", tmp_path / "run", expression)
        assert run.model(expression)[-1] in said.splitlines()[-1]
        assert len(run.model(expression)) >= 1


def test_distances_are_those_of_the_program(program, tmp_path):
    graphs = {"a": (["C", "O"], [[0, 1]]), "b": (["C", "N", "N"], [[0, 1], [1, 2]]), "c": (["O"], [])}
    for name, (nodes, edges) in graphs.items():
        (tmp_path / f"{name}.json").write_text(json.dumps({"nodes": nodes, "edges": edges}))
    for first in graphs:
        for second in graphs:
            said = json.loads(program("ged", tmp_path / f"{first}.json", tmp_path / f"{second}.json", "--json", "--costs",
                                      "node-substitute=0.7"))
            a, b = (espalier.LabelledGraph.read(tmp_path / f"{name}.json") for name in (first, second))
            found = espalier.edit_distance(a, b, costs={"node_substitute": 0.7})
            for name in ("distance", "exact", "lower", "upper", "searched"):
                assert getattr(found, name) == said[name], name
            assert found.mapping.tolist() == said["mapping"] and espalier.wl_similarity(a, b) == said["wl_similarity"]
