"""Every public function with arguments that make no sense: an Error or a result, never a crash of the interpreter."""
import faulthandler
import inspect
import os
import warnings

import numpy as np
import pytest

import espalier

faulthandler.enable()
ROUNDS = int(os.environ.get("ESPALIER_FUZZ_ROUNDS", "60"))


def junk(rng):
    """Something a user might pass by mistake."""
    kind = rng.integers(16)
    shape = tuple(int(n) for n in rng.integers(0, 5, rng.integers(0, 6)))
    if kind < 5:
        array = rng.normal(size=shape)
        array = [array, array > 0, (array * 10).astype(np.int64), array.astype(np.float32), (array > 0).astype(np.uint8)][kind]
        if rng.random() < 0.3 and array.ndim:
            array = array[::-1]
        if rng.random() < 0.2:
            array = np.asfortranarray(array)
        if rng.random() < 0.2 and array.dtype.kind == "f" and array.size:
            array = array.copy()
            with np.errstate(over="ignore"):
                array.flat[0] = rng.choice([np.nan, np.inf, -np.inf, 1e300])
        array = np.array(array)
        array.flags.writeable = rng.random() < 0.7
        return array
    return [None, -1, 0, 1, 3, 2**70, float("nan"), "text", "\x00ü", [[1], [1, 2]], np.complex64(1j)][kind - 5]


ACCEPTED = (espalier.Error, MemoryError)


def things():
    """One of everything, and the calls on them."""
    model = espalier.LogicAutomaton(channels=3, kernels=2, update="12,6,3", seed=1)
    dag = espalier.DagNN.layered([3, 4, 2])
    labelled = espalier.LabelledGraph(["a", "b"], [(0, 1)])
    layer = espalier.MessagePassing(3, 2)
    net = espalier.GraphTransformNet(["a", "b"], [""], 2, features=4, layers=1)
    other = espalier.GraphTransformNet(["a", "b"], ["", "x"], 5, features=7, layers=2)
    table = espalier.train("table", csv="t.csv", target="b", train_steps=2, progress=False).model
    rewriter = espalier.train("simplify", train_steps=2, progress=False).model
    boards = np.zeros((2, 3, 3, 3))
    graph = espalier.Graph.from_edges(4, [(0, 1), (1, 2)])
    good = [boards, boards[..., :1], 2, dag, graph, labelled, net.batch([labelled]), other.batch([labelled] * 2), layer, net,
            model, "blif", "out.x", np.zeros((2, 3)), np.zeros((2, 2)), {"a": [1, 2]}, (boards, boards), lambda *_: (boards, boards)]
    calls = [espalier.edit_distance, espalier.edit_distances, espalier.wl_similarity, espalier.LabelledGraph, espalier.Graph,
             espalier.Graph.from_edges, espalier.DagNN.layered, espalier.DagNN.from_edges, espalier.DagNN.from_text,
             espalier.AdamW, espalier.SGD, espalier.MessagePassing, espalier.GraphTransformNet, espalier.options, espalier.load,
             espalier.resume, espalier.Circuit, espalier.LogicAutomaton, espalier.DagNN.load, espalier.LabelledGraph.read,
             espalier.LabelledGraph.from_networkx, espalier.Graph.from_networkx, rewriter,
             lambda *a: espalier.train_on(*a[:3], steps=1, train_steps=1),
             lambda *a: espalier.train_on(model, draw=a[0], validate=a[1], steps=a[2], train_steps=1, callback=a[3])]
    frames = model.rollout(boards, 2)
    for owner in (model, model.circuit(), dag, layer, net, table, rewriter, frames[0], frames):
        names = ("gif",) if isinstance(owner, espalier.Boards) else dir(owner)
        calls += [getattr(owner, name) for name in names if not name.startswith("_") and callable(getattr(owner, name))]
    return model, good, calls


@pytest.mark.parametrize("seed", range(4))
def test_nothing_crashes(seed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # what is saved lands here
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{i},{2 * i}\n" for i in range(20)))
    rng = np.random.default_rng(seed)
    model, good, calls = things()
    refused, others = 0, set()
    for _ in range(ROUNDS):
        for call in calls:
            taken = list(inspect.signature(call).parameters.values())
            places = [p for p in taken if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
            least = len([p for p in places if p.default is p.empty])
            count = 4 if any(p.kind == p.VAR_POSITIONAL for p in taken) else int(rng.integers(least, len(places) + 1))

            def some():
                return good[rng.integers(len(good))] if rng.random() < 0.5 else junk(rng)
            named = {p.name: some() for p in taken if (p.kind == p.KEYWORD_ONLY and (p.default is p.empty or rng.random() < 0.3))}
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    call(*[some() for _ in range(count)], **named)
            except ACCEPTED:
                refused += 1
            except Exception as error:
                others.add(f"{getattr(call, '__qualname__', call)}: {error!r}")
    assert refused > 0 and not others
    assert model.rollout(np.zeros((2, 3, 3, 3)), 1).shape == (2, 2, 3, 3, 3)  # still usable


@pytest.mark.parametrize("task", ["life", "checkerboard-small", "simplify"])
def test_options_that_make_no_sense_crash_nothing(task, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(7)
    names = [name for name in espalier.options(task) if name not in ("train_steps", "refine", "budget", "seeds")]
    short = {name: value for name, value in (("train_steps", 1), ("refine", 0), ("budget", 0)) if name in espalier.options(task)}
    for name in [*names, "seeds", "out", "force", "published", "seconds", "checkpoint_every", "threads", "progress", "wild"]:
        try:
            espalier.train(task, **{"progress": False, **short, name: junk(rng)})
        except (*ACCEPTED, FileNotFoundError):
            pass


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38, 1e-42])
def test_weights_that_are_no_numbers_crash_nothing(value):
    """Views of parameters and gradients may be written to, with anything."""
    model = espalier.LogicAutomaton(channels=3, kernels=2, update="12,6,3", seed=1)
    layer, net = espalier.MessagePassing(3, 2), espalier.GraphTransformNet(["a"], [""], 2, features=4, layers=1)
    boards, graph = np.zeros((2, 3, 3, 3)), espalier.Graph.from_edges(4, [(0, 1), (1, 2)])
    batch = net.batch([espalier.LabelledGraph(["a"])])
    for owner in (model, layer, net):
        for views in (owner.gradients, owner.parameters):
            for view in views.values():
                view.flat[:: 3] = value
            for use in (owner.gradient_norm, lambda: owner.clip_gradients(1), espalier.AdamW(owner).step, lambda: owner.weights_hash,
                        owner._repr_html_, lambda: model.rollout(boards, 2), lambda: model.rollout(boards, 2, soft=True),
                        lambda: model.loss_and_grad(boards, boards, 2), lambda: model.circuit(), lambda: layer.forward(graph, np.ones((4, 3))),
                        lambda: layer.backward(np.ones((4, 2))), lambda: net.loss_and_grad(batch, [0]), lambda: net.predict(batch)):
                try:
                    use()
                except ACCEPTED:
                    pass


def test_estimators_refuse_what_makes_no_sense():
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(3)
    for kind in (espalier.DagClassifier, espalier.DagRegressor):
        for _ in range(ROUNDS):
            try:
                kind(epochs=1, hidden=(2,)).fit(junk(rng), junk(rng))
            except (ValueError, TypeError):  # what scikit-learn asks for
                pass
