"""Networks on graphs, by their contracts."""
import pickle

import numpy as np
import pytest

import espalier


def xor_rows():
    return np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([[0], [1], [1], [0]])


def test_gradients_accumulate_until_they_are_zeroed():
    x, y = xor_rows()
    network = espalier.DagNN.layered([2, 4, 1], seed=3)
    assert not network.has_gradients() and network.num_parameters == 2 * 4 + 4 + 4 + 1
    network.backward_accumulate(network.forward(x) - y)
    norm = network.gradient_norm()
    assert network.has_gradients() and norm > 0
    network.backward_accumulate(network.forward(x) - y)
    assert network.gradient_norm() == pytest.approx(2 * norm, rel=1e-5)
    assert network.clip_gradients(norm) == pytest.approx(2 * norm, rel=1e-5)
    assert network.gradient_norm() == pytest.approx(norm, rel=1e-5)
    assert network.input_gradients().shape == (4, 2)
    network.zero_grad()
    assert not network.has_gradients()


def test_gradients_are_those_of_finite_differences():
    x, y = xor_rows()
    network = espalier.DagNN.layered([2, 3, 1], seed=3)
    network.backward_accumulate(network.forward(x) - y)
    loss = lambda: 0.5 * ((network.forward(x) - y) ** 2).sum()  # noqa: E731
    for edge, source, target, weight in network.edges:
        gradient = network.edge_grad(source, target)
        network.set_weight(edge, weight + 1e-2)
        up = loss()
        network.set_weight(edge, weight - 1e-2)
        down = loss()
        network.set_weight(edge, weight)
        assert gradient == pytest.approx((up - down) / 2e-2, rel=0.02, abs=1e-3)
    hidden = [n for n in network.nodes if n[1] == "hidden"][0][0]
    assert network.bias_grad(hidden) is not None and network.edge_grad(0, 0) is None


def test_eval_mode_adds_nothing():
    x, y = xor_rows()
    network = espalier.DagNN.layered([2, 4, 1]).eval()
    assert not network.is_training
    network.backward_accumulate(network.forward(x) - y)
    assert not network.has_gradients()
    assert network.train().is_training
    network.backward_accumulate(network.forward(x) - y)
    network.eval().backward_accumulate(network.forward(2 * x) - y)
    with pytest.raises(espalier.Error, match="in training mode"):
        network.input_gradients()  # those of x are not those of 2 x


@pytest.mark.parametrize("make", [lambda n: espalier.AdamW(n, lr=0.05), lambda n: espalier.SGD(n, lr=0.05, momentum=0.9)])
def test_optimizers_learn_xor(make):
    x, y = xor_rows()
    network = espalier.DagNN.layered([2, 8, 1], seed=7)
    optimizer = make(network)
    for _ in range(300):
        optimizer.zero_grad()
        network.backward_accumulate(network.forward(x) - y)
        optimizer.step()
    assert np.abs(network.forward(x) - y).max() < 0.2 and optimizer.steps == 300


def test_threads_do_not_change_bits(threads):
    x = np.random.default_rng(0).normal(size=(64, 8))
    hashes = set()
    for count in (1, threads):
        network = espalier.DagNN.layered([8, 32, 4], seed=1, threads=count)
        for _ in range(3):
            network.zero_grad()
            network.backward_accumulate(network.forward(x))
            network.step(0.01)
        hashes.add(network.weights_hash)
    assert len(hashes) == 1


def test_networks_grow_shrink_and_keep_their_function(tmp_path):
    x, _ = xor_rows()
    network = espalier.DagNN.layered([2, 4, 1], seed=5)
    before = network.forward(x)
    edge = network.edges[0][0]
    node = network.split_edge(edge)
    np.testing.assert_allclose(network.forward(x), before, rtol=1e-6)
    output = [n for n in network.nodes if n[1] == "output"][0][0]
    shortcut = network.add_shortcut(0, output)
    np.testing.assert_allclose(network.forward(x), before, rtol=1e-6)
    assert network.find_edge(0, output) == shortcut and network.weight(shortcut) == 0
    network.remove_edge(shortcut)
    network.save(tmp_path / "dag.safetensors")
    same = espalier.DagNN.load(tmp_path / "dag.safetensors")
    assert same.weights_hash == network.weights_hash and same.edges == network.edges
    assert pickle.loads(pickle.dumps(network)).edges == network.edges
    copy = network.copy()
    copy.remove_node(node)
    assert len(copy.nodes) == len(network.nodes) - 1
    assert network.prune_percentile(50) > 0 and network.prune_below(0) == 0 and network.remove_unseen() >= 0


def test_networks_from_edges_and_text():
    network = espalier.DagNN.from_edges(3, [(0, 1), (1, 2)], [0.5, 2.0], hidden="linear")
    assert network.forward([[3.0]])[0, 0] == pytest.approx(3.0)
    network.set_bias(1, 1.0)
    assert network.bias(1) == 1 and network.forward([[3.0]])[0, 0] == pytest.approx(5.0)
    assert len(espalier.DagNN.from_text("abc").nodes) == 3


def test_mistakes_are_errors_and_change_nothing():
    network = espalier.DagNN.layered([2, 2, 1])
    edges = network.edges
    for mistake in (lambda: network.forward([[1.0]]), lambda: network.forward([[np.nan, 1]]), lambda: network.forward([1, 2]),
                    lambda: network.add_edge(4, 0, 1.0), lambda: network.add_edge(99, 0, 1.0), lambda: network.weight(999),
                    lambda: network.add_node("other"), lambda: network.add_node("hidden", "wild"),
                    lambda: network.backward_accumulate([[1.0]]), lambda: network.clip_gradients(-1),
                    lambda: network.set_weight(0, np.nan), lambda: espalier.DagNN.from_edges(2, [(0, 5)], [1.0]),
                    lambda: espalier.DagNN.from_edges(2, [(0, 1), (1, 0)], [1.0, 1.0]), lambda: espalier.AdamW(3),
                    lambda: espalier.DagNN.layered([2, 0, 1]), lambda: network.step(float("nan")),
                    lambda: espalier.DagNN.load("missing")):
        with pytest.raises(espalier.Error):
            mistake()
    assert network.edges == edges


def test_messages_pass_and_come_back(threads):
    graph = espalier.Graph.from_edges(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    layer = espalier.MessagePassing(3, 5, aggregation="sum", activation="tanh", seed=2, threads=threads)
    h = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    y = layer.forward(graph, h)
    assert y.shape == (4, 5)
    layer.zero_grad()
    dh = layer.backward(np.ones_like(y))
    bumped = h.copy()
    bumped[2, 1] += 1e-2
    up = layer.forward(graph, bumped).sum()
    bumped[2, 1] -= 2e-2
    down = layer.forward(graph, bumped).sum()
    assert dh[2, 1] == pytest.approx((up - down) / 2e-2, rel=0.02, abs=1e-3)
    assert set(layer.parameters) >= {"layer.self", "layer.bias"} and layer.gradient_norm() > 0
    before = layer.weights_hash
    layer.clip_gradients(1.0)
    layer.step(0.1)
    assert layer.weights_hash != before and layer.num_parameters > 0
    with pytest.raises(espalier.Error, match=r"features of shape \[2, 3\], expected \[4, 3\]"):
        layer.forward(graph, h[:2])
    with pytest.raises(espalier.Error):
        layer.forward(h, h)
    with pytest.raises(espalier.Error):
        espalier.MessagePassing(3, 5).backward(y)


def test_graphs_are_labelled_edited_and_compared(tmp_path):
    a = espalier.LabelledGraph(["C", "C", "O"], [(0, 1, "-"), (1, 2, "-")])
    b = espalier.LabelledGraph(["C", "C", "N"], [(0, 1, "-"), (1, 2, "=")])
    distance = espalier.edit_distance(a, b)
    assert distance.distance == 2 and distance.exact and len(distance.edits) == 2 and float(distance) == 2
    assert distance.mapping.tolist() == [0, 1, 2] and distance.lower == distance.upper == 2 and distance.searched >= 0
    assert [d.distance for d in espalier.edit_distances([(a, b), (a, a)])] == [2, 0]
    assert espalier.edit_distance(a, b, costs={"edge_substitute": 0.5}).distance == 1.5
    assert espalier.wl_similarity(a, a) == 1 and espalier.wl_similarity(a, b) < 1
    assert len(a) == 3 and a.labels[2] == "O" and not a.directed and len(a.edges) == 2
    (tmp_path / "g.json").write_text('{"nodes": ["C", "O"], "edges": [[0, 1]]}')
    assert len(espalier.LabelledGraph.read(tmp_path / "g.json")) == 2
    for bad in (lambda: espalier.LabelledGraph(["a"], [(0, 3)]), lambda: espalier.LabelledGraph(["a"], [(0,)]),
                lambda: espalier.edit_distance(a, 3), lambda: espalier.wl_similarity(a, 3),
                lambda: espalier.edit_distance(a, b, costs="wild=2")):
        with pytest.raises(espalier.Error):
            bad()


def test_networkx_graphs_are_taken():
    networkx = pytest.importorskip("networkx")
    club = networkx.karate_club_graph()
    graph = espalier.Graph.from_networkx(club)
    assert graph.num_nodes == 34 and graph.num_edges == 2 * 78 and graph.num_relations == 1
    labelled = espalier.LabelledGraph.from_networkx(club, node_label="club")
    assert labelled.labels[0] == "Mr. Hi" and not labelled.directed


def test_transform_networks_learn(threads):
    ring = espalier.LabelledGraph(["C", "C", "O"], [(0, 1, "-"), (1, 2, "-"), (2, 0, "=")])
    net = espalier.GraphTransformNet(["C", "O"], ["-", "="], edits=2, features=8, layers=2, seed=1, threads=threads)
    batch = net.batch([ring, ring])
    right = [0, 0, 1] * 2
    first = net.loss(batch, right)
    optimizer = espalier.AdamW(net, lr=0.05)
    for _ in range(60):
        optimizer.zero_grad()
        net.loss_and_grad(batch, right)
        optimizer.step()
    assert net.loss(batch, right) < first / 2 and net.predict(batch).tolist() == right
    assert net.encode(batch).shape == (6, 8) and batch.first_node.tolist() == [0, 3, 6]
    for bad in (lambda: net.loss(batch, [0, 0]), lambda: net.loss(batch, [9] * 6), lambda: net.loss(3, right),
                lambda: net.batch([]), lambda: net.batch([espalier.LabelledGraph(["X"])])):
        with pytest.raises(espalier.Error):
            bad()


def test_one_network_may_be_used_from_many_threads():
    import threading
    network = espalier.DagNN.layered([4, 16, 2], seed=1)
    x = np.random.default_rng(0).normal(size=(32, 4))
    failures = []

    def use(k):
        try:
            for i in range(200):
                network.forward(x)
                if k == 0:
                    network.set_weight(network.edges[i % 8][0], 0.5)
                elif i % 50 == 0:
                    network.split_edge(network.edges[k][0])
        except Exception as error:  # noqa: BLE001
            failures.append(error)
    threads = [threading.Thread(target=use, args=(k,)) for k in range(4)]
    [t.start() for t in threads]
    [t.join(60) for t in threads]
    assert not failures and not any(t.is_alive() for t in threads)


@pytest.mark.parametrize("make", [lambda n: espalier.AdamW(n, lr=0.05), lambda n: espalier.SGD(n, lr=0.05, momentum=0.9)])
def test_optimizers_go_on_when_the_network_grows_and_shrinks(make):
    x, y = xor_rows()
    network = espalier.DagNN.layered([2, 8, 1], seed=7)
    optimizer, other = make(network), make(network)

    def train(steps):
        for _ in range(steps):
            optimizer.zero_grad()
            network.backward_accumulate(network.forward(x) - y)
            optimizer.step()
    train(50)
    network.add_shortcut(0, [n for n in network.nodes if n[1] == "output"][0][0])
    network.split_edge(network.edges[0][0])
    network.eval().forward(x)  # edits take effect here
    network.train()
    train(50)
    assert network.prune_percentile(10) > 0
    train(200)
    other.step()  # of before the edits, too
    assert optimizer.steps == 300 and np.abs(network.forward(x) - y).max() < 0.3


def test_moments_stay_with_their_edges():
    """A network that grows where nothing flows trains on as one that never grew."""
    x, y = xor_rows()
    plain, grown = (espalier.DagNN.layered([2, 4, 1], seed=3) for _ in range(2))
    optimizers = [espalier.AdamW(plain, lr=0.05), espalier.AdamW(grown, lr=0.05)]
    for step in range(40):
        if step == 20:
            lonely = grown.add_node("hidden", "tanh")  # no output sees it
            grown.add_edge(0, lonely, 0.5)
            grown.eval().forward(x)
            grown.train()
        for network, optimizer in zip((plain, grown), optimizers):
            optimizer.zero_grad()
            network.backward_accumulate(network.forward(x) - y)
            optimizer.step()
    ours = {(a, b): w for _, a, b, w in plain.edges}
    theirs = {(a, b): w for _, a, b, w in grown.edges if lonely not in (a, b)}
    assert ours == theirs


def test_networks_that_are_built_after_their_optimizer_are_trained():
    network = espalier.DagNN()
    a, b = network.add_node("input"), network.add_node("output")
    optimizer = espalier.SGD(network, lr=0.5)
    edge = network.add_edge(a, b, 0.0)
    for _ in range(30):
        optimizer.zero_grad()
        network.backward_accumulate(network.forward([[1.0]]) - [[2.0]])
        optimizer.step()
    assert network.weight(edge) + network.bias(b) == pytest.approx(2, abs=1e-3)


def test_networks_show_themselves():
    dag = espalier.DagNN.layered([2, 3, 1])._repr_html_()
    assert "DagNN" in dag and "hidden nodes" in dag and "<td" in dag
    assert "layer.self" in espalier.MessagePassing(3, 2)._repr_html_()
    net = espalier.GraphTransformNet(["a"], [""], 2, features=4, layers=1)
    assert "GraphTransformNet" in net._repr_html_() and "parameters" in repr(net)


def test_lists_that_are_none_are_errors():
    a = espalier.LabelledGraph(["a"])
    for mistake in (lambda: espalier.Graph.from_edges(2, 3), lambda: espalier.LabelledGraph(3),
                    lambda: espalier.LabelledGraph(["a"], [3]), lambda: espalier.LabelledGraph(["a"], 3),
                    lambda: espalier.edit_distances(3), lambda: espalier.edit_distances([3]),
                    lambda: espalier.GraphTransformNet(3, [""], 2), lambda: espalier.edit_distance(a, a, costs={3: 4}),
                    lambda: espalier.Graph.from_networkx(3), lambda: espalier.LabelledGraph.from_networkx(3),
                    lambda: espalier.DagNN.layered(3)):
        with pytest.raises(espalier.Error):
            mistake()
    assert espalier.Graph.from_edges(3, ((i, i + 1) for i in range(2))).num_edges == 2


def test_wrong_nodes_and_graphs_are_named():
    layer, labelled = espalier.MessagePassing(1, 1), espalier.LabelledGraph(["a"])
    net = espalier.GraphTransformNet(["a"], [""], edits=2, features=2, layers=1)
    for mistake, said in ((lambda: espalier.Graph.from_edges(3, [(0, -2)]), "got -2"),
                          (lambda: espalier.Graph.from_edges(3, [(0, 3)]), "from 0 to 3, expected nodes from 0 on, below 3"),
                          (lambda: net.loss(net.batch([labelled]), [2**40]), f"got {2**40}"),
                          (lambda: layer.forward(labelled, [[1.0]]), "got LabelledGraph, expected Graph"),
                          (lambda: net.batch([espalier.Graph.from_edges(1, [])]), "got Graph, expected LabelledGraph")):
        with pytest.raises(espalier.Error, match=said):
            mistake()


def test_batches_belong_to_labels():
    ring = espalier.LabelledGraph(["C", "O"], [(0, 1, "-")])
    options = dict(edits=2, features=4, layers=1)
    net = espalier.GraphTransformNet(["C", "O"], ["-"], **options)
    batch = net.batch([ring])
    assert espalier.GraphTransformNet(["C", "O"], ["-"], seed=2, **options).loss(batch, [0, 1]) > 0
    for labels in (["O", "C"], ["C", "O", "N"]):
        other = espalier.GraphTransformNet(labels, ["-"], **options)
        for mistake in (lambda: other.loss(batch, [0, 1]), lambda: other.predict(batch), lambda: other.encode(batch)):
            with pytest.raises(espalier.Error, match="other labels"):
                mistake()


def test_edges_are_rows_and_an_edge_index_is_not():
    pairs = [(0, 1), (2, 1)]
    assert espalier.Graph.from_edges(3, pairs).num_edges == 2
    assert espalier.Graph.from_edge_index(3, np.array(pairs).T).num_edges == 2
    layer = espalier.MessagePassing(1, 1, aggregation="sum", activation="linear", seed=1)
    rows, index = espalier.Graph.from_edges(3, pairs), espalier.Graph.from_edge_index(3, [[0, 2], [1, 1]])
    x = np.array([[1.0], [2.0], [4.0]])
    assert layer(rows, x).tolist() == layer(index, x).tolist()
    for make in (lambda e: espalier.Graph.from_edges(3, e), lambda e: espalier.Graph(3, [(0, 1)], e),
                 lambda e: espalier.DagNN.from_edges(3, e, [1.0, 1.0]), lambda e: espalier.LabelledGraph(["a"] * 3, e)):
        with pytest.raises(espalier.Error, match=r"shape \[2, 2\].*hint"):
            make(np.array(pairs))
        with pytest.raises(espalier.Error, match=r"shape \[2, 3\]"):
            make(np.array([[0, 1, 2], [1, 2, 0]]))
        make(np.array([(0, 1), (0, 2), (1, 2)])[:2].tolist())
    with pytest.raises(espalier.Error, match=r"shape \[3, 2\], expected \[2, edges\]"):
        espalier.Graph.from_edge_index(3, [(0, 1), (0, 2), (1, 2)])
    assert espalier.Graph.from_edges(3, np.zeros((0, 2), int)).num_edges == 0
    assert espalier.Graph.from_edges(3, np.array([(0, 1), (0, 2), (1, 2)])).num_edges == 3


def test_networkx_nodes_without_the_attribute_are_named():
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_node("left", symbol="C", mass=12)
    graph.add_node("right", mass=16)
    graph.add_edge("left", "right", order=1)
    with pytest.raises(espalier.Error, match="node 'right' without the attribute 'symbol'.*its attributes: 'mass'"):
        espalier.LabelledGraph.from_networkx(graph, node_label="symbol")
    with pytest.raises(espalier.Error, match="edge 'left' - 'right' without the attribute 'kind'.*'order'"):
        espalier.LabelledGraph.from_networkx(graph, node_label="mass", edge_label="kind")
    assert espalier.LabelledGraph.from_networkx(graph).labels == ["", ""]
    assert espalier.LabelledGraph.from_networkx(graph, "mass", "order").edges == [(0, 1, "1")]
    graph.nodes["left"]["label"] = "L"
    with pytest.raises(espalier.Error, match="node 'right' without the attribute 'label'"):
        espalier.LabelledGraph.from_networkx(graph)
