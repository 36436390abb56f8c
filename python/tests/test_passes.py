"""Which forward pass a backward pass belongs to: never another one than is meant."""
import threading

import numpy as np
import pytest

import espalier


def plain_layer(values, h, edges):
    """One tanh layer with sums in double."""
    into, out_of = np.zeros((len(h), len(h))), np.zeros((len(h), len(h)))
    for source, target in edges:
        into[target, source] += 1
        out_of[source, target] += 1
    return np.tanh(h @ values["layer.self"] + into @ h @ values["layer.in"][0] + out_of @ h @ values["layer.out"][0]
                   + values["layer.bias"])


def slopes(loss, values):
    """Finite differences in double, for every number of every tensor."""
    result = {}
    for name, tensor in values.items():
        result[name] = np.zeros_like(tensor)
        for place in np.ndindex(tensor.shape):
            keep = tensor[place]
            tensor[place] = keep + 1e-6
            up = loss()
            tensor[place] = keep - 1e-6
            result[name][place] = (up - loss()) / 2e-6
            tensor[place] = keep
    return result


EDGES = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]


def tanh_layer():
    graph = espalier.Graph.from_edges(4, EDGES)
    layer = espalier.MessagePassing(3, 3, aggregation="sum", activation="tanh", seed=2)
    rng = np.random.default_rng(5)
    return graph, layer, rng.normal(size=(4, 3)), rng.normal(size=(4, 3)), rng.normal(size=(4, 3))


def expect_gradients(layer, loss):
    values = {name: np.array(tensor, dtype=np.float64) for name, tensor in layer.parameters.items()}
    for name, want in slopes(lambda: loss(values), values).items():
        np.testing.assert_allclose(layer.gradients[name], want, atol=1e-4)


def test_of_two_forward_passes_neither_is_guessed():
    graph, layer, train, validation, c = tanh_layer()
    layer(graph, train)
    layer(graph, validation)
    with pytest.raises(espalier.Error, match="2 forward passes .* no tape"):
        layer.backward(c)
    with pytest.raises(espalier.Error, match="no forward pass"):
        layer.backward(c)
    assert layer.gradient_norm() == 0
    tape = espalier.Tape()
    layer(graph, train, tape)
    layer(graph, validation)
    layer.backward(c, tape)
    expect_gradients(layer, lambda values: (c * plain_layer(values, train, EDGES)).sum())
    layer.zero_grad()
    layer.backward(c)  # the validation is the one that still waits
    expect_gradients(layer, lambda values: (c * plain_layer(values, validation, EDGES)).sum())
    with pytest.raises(espalier.Error):
        layer.backward(c)


def test_a_layer_applied_twice_has_the_gradients_of_both():
    graph, layer, x, _, c = tanh_layer()
    layer(graph, layer(graph, x))
    with pytest.raises(espalier.Error):
        layer.backward(layer.backward(c))
    assert layer.gradient_norm() == 0
    first, second = espalier.Tape(), espalier.Tape()
    layer(graph, layer(graph, x, first), second)
    layer.backward(layer.backward(c, second), first)
    expect_gradients(layer, lambda values: (c * plain_layer(values, plain_layer(values, x, EDGES), EDGES)).sum())


def test_tapes_belong_to_their_layer_and_weights():
    graph, layer, x, _, c = tanh_layer()
    tape, twin = espalier.Tape(), espalier.MessagePassing(3, 3, aggregation="sum", activation="tanh", seed=2)
    assert "empty" in repr(tape)
    layer(graph, x, tape)
    assert "of a forward pass" in repr(tape)
    dag = espalier.DagNN.layered([3, 3])
    dag(x)
    for mistake in (lambda: twin.backward(c, tape), lambda: layer.backward(c, espalier.Tape()), lambda: layer.backward(c, 3),
                    lambda: dag.backward_accumulate(c, tape), lambda: layer.backward(c[:2], tape)):
        with pytest.raises(espalier.Error):
            mistake()
    layer.parameters["layer.bias"][0] += 1  # through the view
    with pytest.raises(espalier.Error, match="weights that have changed"):
        layer.backward(c, tape)
    assert layer.gradient_norm() == twin.gradient_norm() == dag.gradient_norm() == 0


def test_a_dag_network_names_its_forward_pass():
    rng = np.random.default_rng(3)
    train, validation, c = rng.normal(size=(5, 2)), rng.normal(size=(5, 2)), rng.normal(size=(5, 1))
    network = espalier.DagNN.layered([2, 3, 1], seed=3)

    def gradients(call):
        network.zero_grad()
        call()
        return [network.edge_grad(source, target) for _, source, target, _ in network.edges]

    right = gradients(lambda: (network(train), network.backward_accumulate(c)))
    first, second = espalier.Tape(), espalier.Tape()
    network(train, first)
    network(validation, second)
    for mistake in (lambda: network.backward_accumulate(c, first), lambda: network.backward_accumulate(c),
                    lambda: network.backward_accumulate(c, second), lambda: network.backward_accumulate(c, espalier.Tape())):
        with pytest.raises(espalier.Error):
            mistake()
    network(train, first)
    network.eval()
    network(validation)
    network.train()
    assert gradients(lambda: network.backward_accumulate(c)) == right
    network(validation)
    network(train, first)
    assert gradients(lambda: network.backward_accumulate(c, first)) == right
    network.eval()
    network(validation, second)
    network.train()
    with pytest.raises(espalier.Error):
        network.backward_accumulate(c, second)


def test_clipping_names_a_gradient_that_is_not_finite():
    graph, layer, x, _, c = tanh_layer()
    layer(graph, x)
    layer.backward(c)
    layer.gradients["layer.bias"][1] = np.inf
    before = layer.weights_hash
    optimizer = espalier.AdamW(layer, clip_norm=1.0)
    for mistake in (lambda: layer.clip_gradients(1.0), optimizer.step):
        with pytest.raises(espalier.Error, match=r'gradient of inf in "layer.bias", element 1'):
            mistake()
    assert layer.weights_hash == before and optimizer.steps == 0


def elsewhere(call):
    """What a call returns, or raises, on a thread of its own."""
    result = []

    def work():
        try:
            result.append(call())
        except espalier.Error as error:
            result.append(error)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return result[0]


def test_a_pass_of_another_thread_is_not_taken_for_ours():
    graph, layer, mine, theirs, c = tanh_layer()
    layer(graph, mine)
    elsewhere(lambda: layer(graph, theirs))
    assert isinstance(elsewhere(lambda: layer.backward(c)), espalier.Error)  # two wait, and are given up
    elsewhere(lambda: layer(graph, theirs))
    with pytest.raises(espalier.Error, match="a forward pass of another thread, and no tape"):
        layer.backward(c)  # of what is mine, and the one that waits is theirs
    assert layer.gradient_norm() == 0
    tape = espalier.Tape()
    elsewhere(lambda: layer(graph, mine, tape))
    layer.backward(c, tape)  # with a name, any thread may
    expect_gradients(layer, lambda values: (c * plain_layer(values, mine, EDGES)).sum())


def test_a_dag_network_knows_whose_pass_it_is():
    rng = np.random.default_rng(3)
    mine, theirs, c = rng.normal(size=(5, 2)), rng.normal(size=(5, 2)), rng.normal(size=(5, 1))
    network = espalier.DagNN.layered([2, 3, 1], seed=3)
    network(mine)
    network.backward_accumulate(c)
    elsewhere(lambda: (network(theirs), network.backward_accumulate(c)))
    with pytest.raises(espalier.Error, match="a backward pass of another thread"):
        network.input_gradients()
    network.zero_grad()
    elsewhere(lambda: network(theirs))
    with pytest.raises(espalier.Error, match="a forward pass of another thread, and no tape"):
        network.backward_accumulate(c)
    assert network.gradient_norm() == 0
    tape = espalier.Tape()
    elsewhere(lambda: network(mine, tape))
    network.backward_accumulate(c, tape)
    assert network.input_gradients().shape == mine.shape
