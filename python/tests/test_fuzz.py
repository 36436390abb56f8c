"""Every public function with arguments that make no sense: an Error or a result, never a crash of the interpreter."""
import faulthandler
import inspect
import os

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


ACCEPTED = (espalier.Error, TypeError, MemoryError)


@pytest.mark.parametrize("seed", range(4))
def test_nothing_crashes(seed):
    rng = np.random.default_rng(seed)
    model = espalier.LogicAutomaton(channels=3, kernels=2, update="12,6,3", seed=1)
    circuit = model.circuit()
    dag = espalier.DagNN.layered([3, 4, 2])
    graph = espalier.Graph.from_edges(4, [(0, 1), (1, 2)])
    labelled = espalier.LabelledGraph(["a", "b"], [(0, 1)])
    layer = espalier.MessagePassing(3, 2)
    net = espalier.GraphTransformNet(["a", "b"], [""], 2, features=4, layers=1)
    batch = net.batch([labelled])
    boards = np.zeros((2, 3, 3, 3))
    good = [boards, boards[..., :1], 2, dag, graph, labelled, batch, layer, "blif", np.zeros((2, 3)), np.zeros((2, 2))]
    calls = [espalier.edit_distance, espalier.edit_distances, espalier.wl_similarity, espalier.LabelledGraph, espalier.Graph,
             espalier.Graph.from_edges, espalier.DagNN.layered, espalier.DagNN.from_edges, espalier.DagNN.from_text,
             espalier.AdamW, espalier.SGD, espalier.MessagePassing, espalier.GraphTransformNet, espalier.options]
    for owner in (model, circuit, dag, layer, net):
        for name in dir(owner):
            if not name.startswith("_") and name not in ("save", "export", "read", "load") and callable(getattr(owner, name)):
                calls.append(getattr(owner, name))
    refused = 0
    for _ in range(ROUNDS):
        for call in calls:
            wanted = len([p for p in inspect.signature(call).parameters.values()
                          if p.kind == p.POSITIONAL_OR_KEYWORD])
            count = int(rng.integers(0, min(wanted, 7) + 1))
            arguments = [good[rng.integers(len(good))] if rng.random() < 0.5 else junk(rng) for _ in range(count)]
            try:
                call(*arguments)
            except ACCEPTED:
                refused += 1
    assert refused > 0
    assert model.rollout(boards, 1).shape == (2, 2, 3, 3, 3)  # still usable
