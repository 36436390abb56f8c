"""Networks on graphs, and optimizers for anything that has parameters."""

import numpy as np

from . import _core, _show
from ._arrays import Error, Wrapper, edge_rows, flag, floats, indices, items, number, text_of, threads_of, whole


class _Optimizer:
    """The state of an optimizer, which moves along when a DagNN grows or shrinks: what is new begins at zero."""

    def __init__(self, model, kind, lr, **settings):
        core = getattr(model, "_core", None)
        if core is None or not hasattr(core, "step"):
            raise Error(f"[{kind}] got {type(model).__name__}, expected a model with parameters")
        values = dict(momentum=0.0, beta1=0.9, beta2=0.999, epsilon=1e-8, weight_decay=0.0, clip_value=0.0, clip_norm=0.0)
        values.update({name: number(value, name, 0, 1e30) for name, value in settings.items()})
        self.lr = lr
        self._model = model
        self._core = _core.Optimizer(kind, core, core.num_parameters, *values.values())

    @property
    def lr(self):
        """The learning rate of the next step; may be set."""
        return self._lr

    @lr.setter
    def lr(self, value):
        self._lr = number(value, "lr", 0, 1e6)

    steps = property(lambda self: self._core.steps, doc="How many steps were made.")

    def zero_grad(self):
        """Sets the model's gradients to 0."""
        self._model.zero_grad()

    def step(self):
        """One update from the model's gradients, which stay as they are."""
        self._model._core.step(self._core, self._lr)


class AdamW(_Optimizer):
    """Adam with decoupled weight decay.

    >>> network = espalier.DagNN.layered([2, 8, 1], seed=7)
    >>> optimizer = espalier.AdamW(network, lr=0.05)
    >>> x, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([[0], [1], [1], [0]])
    >>> for _ in range(200):
    ...     optimizer.zero_grad()
    ...     network.backward_accumulate(network.forward(x) - y)
    ...     optimizer.step()
    >>> bool(np.abs(network.forward(x) - y).max() < 0.1)
    True
    """

    def __init__(self, model, lr=0.01, beta1=0.9, beta2=0.999, epsilon=1e-8, weight_decay=0.0, clip_value=0.0,
                 clip_norm=0.0):
        super().__init__(model, "adamw", lr, beta1=beta1, beta2=beta2, epsilon=epsilon, weight_decay=weight_decay,
                         clip_value=clip_value, clip_norm=clip_norm)


class SGD(_Optimizer):
    """Stochastic gradient descent with momentum.

    >>> network = espalier.DagNN.from_edges(2, [(0, 1)], [0.0], hidden="linear")
    >>> optimizer = espalier.SGD(network, lr=0.1, momentum=0.5)
    >>> for _ in range(400):  # learn to double
    ...     optimizer.zero_grad()
    ...     network.backward_accumulate(network.forward([[1.0], [2.0]]) - [[2.0], [4.0]])
    ...     optimizer.step()
    >>> round(network.weight(0), 2)
    2.0
    """

    def __init__(self, model, lr=0.01, momentum=0.0, weight_decay=0.0, clip_value=0.0, clip_norm=0.0):
        super().__init__(model, "sgd", lr, momentum=momentum, weight_decay=weight_decay, clip_value=clip_value,
                         clip_norm=clip_norm)


class Tape:
    """The name of a forward pass, for the backward pass that belongs to it. Where only one forward pass waits for its
    backward pass, none is needed; where several do, as when a layer is applied twice, each gets one.

    >>> graph = espalier.Graph.from_edges(3, [(0, 1), (1, 2)])
    >>> layer, first, second = espalier.MessagePassing(4, 4, seed=1), espalier.Tape(), espalier.Tape()
    >>> hidden = layer(graph, np.ones((3, 4)), first)
    >>> y = layer(graph, hidden, second)
    >>> layer.backward(layer.backward(np.ones((3, 4)), second), first).shape
    (3, 4)
    """

    def __init__(self):
        self._core = _core.Tape()

    def __repr__(self):
        return f"<Tape: {'of a forward pass' if self._core.filled else 'empty'}>"


def _tape(tape):
    if tape is not None and not isinstance(tape, Tape):
        raise Error(f"[tape] got {type(tape).__name__}, expected a Tape or None")
    return None if tape is None else tape._core


class Trained(Wrapper):
    """What all that have gradients have in common."""

    def zero_grad(self):
        """Sets all gradients to 0."""
        self._core.zero_grad()

    def gradient_norm(self):
        """The global norm of all gradients."""
        return self._core.gradient_norm()

    def clip_gradients(self, max_norm):
        """Scales the gradients to at most this norm; returns the previous norm. One that is infinite or no number is an
        error."""
        return self._core.clip_gradients(number(max_norm, "max_norm", 0))


class _Network(Trained):
    """And what networks have beside it."""

    def step(self, lr):
        """Plain SGD; see AdamW and SGD for more."""
        self._core.sgd(number(lr, "lr", 0, 1e6))


class DagNN(_Network):
    """A network whose shape is any directed acyclic graph: a weight per edge, a bias and an activation per node.

    Gradients add up over calls of ``backward_accumulate`` until ``zero_grad``.

    >>> network = espalier.DagNN()
    >>> a, b = network.add_node("input"), network.add_node("output", "tanh")
    >>> edge = network.add_edge(a, b, 0.5)
    >>> round(float(network.forward([[2.0]])[0, 0]), 4)
    0.7616
    """

    def __init__(self, fan_in_scaling=False, threads=None):
        self._core = _core.Dag(flag(fan_in_scaling, "fan_in_scaling"), threads_of(threads))

    @classmethod
    def layered(cls, sizes, density=1.0, hidden="tanh", output="linear", fan_in_scaling=False, seed=0, threads=None):
        """Layers of these sizes, inputs first; ``density`` is the share of edges between neighbouring layers."""
        return cls._of(_core.Dag.layered([whole(n, "sizes", 1, 10**8) for n in items(sizes, "sizes")], number(density, "density", 0, 1),
                                         text_of(hidden, "hidden"), text_of(output, "output"), flag(fan_in_scaling, "fan_in_scaling"),
                                         whole(seed, "seed"), threads_of(threads)))

    @classmethod
    def from_edges(cls, nodes, edges, weights, hidden="tanh", fan_in_scaling=False, threads=None):
        """Nodes 0 to nodes - 1; edges are rows (from, to), as in Graph.from_edges. Nodes without incoming edges are
        inputs, those without outgoing ones outputs."""
        return cls._of(_core.Dag.from_edges(whole(nodes, "nodes", 1, 2**32 - 2), edge_rows(edges, "edges"),
                                            floats(weights, "weights", 1), text_of(hidden, "hidden"), flag(fan_in_scaling, "fan_in_scaling"),
                                            threads_of(threads)))

    @classmethod
    def from_text(cls, text, threads=None):
        """One node per character, chained in order."""
        return cls._of(_core.Dag.from_text(text_of(text, "text"), threads_of(threads)))

    @classmethod
    def load(cls, path, threads=None):
        """From a file that ``save`` wrote."""
        return cls._of(_core.Dag.load(text_of(path, "path"), threads_of(threads)))

    def save(self, path):
        """Shape, weights and biases, as safetensors."""
        self._core.save(text_of(path, "path"))

    def copy(self, threads=None):
        """An independent network with the same weights, gradients and ids."""
        return DagNN._of(self._core.copy(threads_of(threads)))

    def __getstate__(self):
        return self._core.to_bytes()

    def __setstate__(self, state):
        self._core = _core.Dag.from_bytes(state, 0)

    # Building. Ids are never reused; a call that fails changes nothing.

    def add_node(self, kind, activation="linear", bias=0.0):
        """kind: "input", "hidden" or "output". Returns the node's id."""
        return self._core.add_node(text_of(kind, "kind"), text_of(activation, "activation"), number(bias, "bias"))

    def add_edge(self, source, target, weight):
        """Returns the edge's id; an edge that closes a cycle is an error."""
        return self._core.add_edge(_id(source), _id(target), number(weight, "weight"))

    def remove_edge(self, edge):
        """Removes an edge."""
        self._core.remove_edge(_id(edge))

    def remove_node(self, node):
        """Removes a node with its edges."""
        self._core.remove_node(_id(node))

    def split_edge(self, edge):
        """Puts a linear node into an edge: the same function, one node to grow from. Returns the node."""
        return self._core.split_edge(_id(edge))

    def add_shortcut(self, source, target):
        """A new edge of weight 0: the same function. Returns the edge."""
        return self._core.add_shortcut(_id(source), _id(target))

    def prune_below(self, threshold):
        """Removes edges whose weights are smaller than this; returns how many."""
        return self._core.prune_below(number(threshold, "threshold", 0))

    def prune_percentile(self, percent):
        """Removes this share of all edges, the smallest weights first; returns how many."""
        return self._core.prune_percentile(number(percent, "percent", 0, 100))

    def remove_unseen(self):
        """Removes hidden nodes that no output can see; returns how many."""
        return self._core.remove_unseen()

    nodes = property(lambda self: self._core.nodes(), doc="(id, kind, activation, bias), by id.")
    edges = property(lambda self: self._core.edges(), doc="(id, from, to, weight), by id.")
    num_inputs = property(lambda self: self._core.num_inputs, doc="How many inputs.")
    num_outputs = property(lambda self: self._core.num_outputs, doc="How many outputs.")
    num_parameters = property(lambda self: self._core.num_parameters, doc="One per edge, and one bias per other node.")
    weights_hash = property(lambda self: self._core.hash(), doc="Of all weights and biases.")

    def find_edge(self, source, target):
        """The edge between two nodes, or None."""
        return self._core.find_edge(_id(source), _id(target))

    def weight(self, edge):
        """An edge's weight."""
        return self._core.weight(_id(edge))

    def set_weight(self, edge, value):
        """Sets an edge's weight."""
        self._core.set_weight(_id(edge), number(value, "weight"))

    def bias(self, node):
        """A node's bias; 0 for inputs."""
        return self._core.bias(_id(node))

    def set_bias(self, node, value):
        """Sets a node's bias."""
        self._core.set_bias(_id(node), number(value, "bias"))

    # The training contract.

    def forward(self, samples, tape=None):
        """Rows [samples, inputs] -> [samples, outputs]; inputs and outputs are ordered by id. In training mode the last
        forward pass can be gone back through, which an evaluation does not change. ``tape``, a Tape, gets its name."""
        return self._core.forward(floats(samples, "samples", 2), _tape(tape))

    __call__ = forward

    def backward_accumulate(self, output_grad, tape=None):
        """Adds the gradients of the forward pass of ``tape``, which must be the last one in training mode; output_grad is
        [samples, outputs]. Without a tape, two forward passes since the last backward pass are an error, as it is not
        clear which is meant, and so is a last one of another thread. So is a change of weights since. Does nothing in eval mode."""
        self._core.backward_accumulate(floats(output_grad, "output_grad", 2), _tape(tape))

    def has_gradients(self):
        """Whether any were added since zero_grad, even if all are zero."""
        return self._core.has_gradients()

    def edge_grad(self, source, target):
        """None when there is no such edge, or nothing was added to it since zero_grad."""
        return self._core.edge_grad(_id(source), _id(target))

    def bias_grad(self, node):
        """None when nothing was added to it since zero_grad."""
        return self._core.bias_grad(_id(node))

    def input_gradients(self):
        """Of the last backward with respect to the samples; an Error when that was in eval mode."""
        return self._core.input_gradients()

    def train(self, on=True):
        """Training mode; in eval mode backward_accumulate adds nothing."""
        self._core.train(flag(on, "on"))
        return self

    def eval(self):
        """The same as train(False)."""
        return self.train(False)

    is_training = property(lambda self: self._core.is_training, doc="Whether in training mode.")

    def __repr__(self):
        return f"<DagNN: {len(self.nodes)} nodes, {len(self.edges)} edges>"

    def _repr_html_(self):
        hidden = len(self.nodes) - self.num_inputs - self.num_outputs
        rows = [("inputs", self.num_inputs), ("hidden nodes", hidden), ("outputs", self.num_outputs),
                ("edges", len(self.edges)), ("parameters", self.num_parameters)]
        return _show.facts_html(self, rows)


def _id(value):
    return whole(value, "id", 0, 2**32 - 1)


class _Shared(_Network):
    """What networks with tensors of fixed shapes have in common."""

    parameters = property(lambda self: self._core.values(), doc="The tensors by name: writable views.")
    gradients = property(lambda self: self._core.gradients(), doc="Their gradients: views.")
    num_parameters = property(lambda self: self._core.num_parameters, doc="How many numbers there are.")
    weights_hash = property(lambda self: self._core.hash(), doc="Of all weights.")

    def __repr__(self):
        return f"<{type(self).__name__}: {self.num_parameters} parameters>"

    def _repr_html_(self):
        rows = [(name, " x ".join(map(str, values.shape))) for name, values in self.parameters.items()]
        return _show.facts_html(self, [("parameters", self.num_parameters), *rows])


class MessagePassing(_Shared):
    """One layer of message passing: every node hears its neighbours over each relation, both ways.

    >>> graph = espalier.Graph.from_edges(3, [(0, 1), (1, 2)])
    >>> layer = espalier.MessagePassing(4, 8, seed=1)
    >>> layer.forward(graph, np.ones((3, 4))).shape
    (3, 8)
    """

    def __init__(self, inputs, outputs, relations=1, aggregation="mean", layer_norm=False, activation="relu", seed=1,
                 threads=None):
        self._core = _core.MessagePassing(whole(inputs, "inputs", 1, 10**5), whole(outputs, "outputs", 1, 10**5),
                                          whole(relations, "relations", 1, 10**4), text_of(aggregation, "aggregation"),
                                          flag(layer_norm, "layer_norm"), text_of(activation, "activation"), whole(seed, "seed"),
                                          threads_of(threads))

    def forward(self, graph, features, tape=None):
        """Features [nodes, inputs] -> [nodes, outputs]. ``tape``, a Tape, is filled with what a backward pass needs."""
        return self._core.forward(_core_of(graph, "graph", _core.MessageGraph), floats(features, "features", 2),
                                  _tape(tape))

    __call__ = forward

    def backward(self, output_grad, tape=None):
        """Back through the forward pass of ``tape``: adds the layer's gradients and returns those of the features,
        [nodes, inputs]. Without a tape one forward pass, of this thread, must wait for this, no more and no fewer. Weights that have
        changed since are an error."""
        return self._core.backward(floats(output_grad, "output_grad", 2), _tape(tape))


class GraphTransformNet(_Shared):
    """Says something about every node of labelled graphs: an embedding of the labels, layers of message passing over
    one relation per edge label, and one score per node and edit. What an edit means is up to you.

    >>> ring = espalier.LabelledGraph(["C", "C", "O"], [(0, 1, "-"), (1, 2, "-"), (2, 0, "=")])
    >>> net = espalier.GraphTransformNet(["C", "O"], ["-", "="], edits=2, features=8, layers=2, seed=1)
    >>> batch = net.batch([ring])
    >>> for _ in range(100):
    ...     net.zero_grad()
    ...     loss = net.loss_and_grad(batch, [0, 0, 1])
    ...     net.step(0.1)
    >>> net.predict(batch).tolist()
    [0, 0, 1]
    """

    def __init__(self, node_labels, edge_labels, edits, features=48, layers=3, aggregation="mean", layer_norm=True,
                 activation="relu", seed=1, threads=None):
        self._core = _core.TransformNet([str(v) for v in items(node_labels, "node_labels")],
                                        [str(v) for v in items(edge_labels, "edge_labels")],
                                        whole(edits, "edits", 1, 10**6), whole(features, "features", 1, 10**5),
                                        whole(layers, "layers", 1, 10**3), text_of(aggregation, "aggregation"),
                                        flag(layer_norm, "layer_norm"), text_of(activation, "activation"), whole(seed, "seed"),
                                        threads_of(threads))

    def batch(self, graphs):
        """LabelledGraphs side by side, their labels looked up; reuse it from step to step, in this net or another with the
        same labels."""
        return self._core.batch([_core_of(g, "graphs", _core.LabelledGraph) for g in items(graphs, "graphs")])

    def loss(self, batch, edits, scale=None):
        """Cross-entropy of the right edits, one per node; the mean over nodes, or summed and times ``scale``."""
        return self._loss(batch, edits, scale, False)

    def loss_and_grad(self, batch, edits, scale=None):
        """The same; its gradients are added to ``gradients``."""
        return self._loss(batch, edits, scale, True)

    def predict(self, batch):
        """The likeliest edit of every node."""
        return self._core.predict(_batch(batch))

    def encode(self, batch):
        """The last hidden features, [nodes, features]."""
        return self._core.encode(_batch(batch))

    def _loss(self, batch, edits, scale, gradients):
        nodes = _batch(batch).num_nodes
        scale = 1.0 / nodes if scale is None else number(scale, "scale")
        return self._core.loss(batch, indices(edits, "edits", 1, np.uint32), scale, gradients)


def _batch(batch):
    if not isinstance(batch, _core.TransformBatch):
        raise Error(f"[batch] got {type(batch).__name__}, expected what batch() made")
    return batch


def _core_of(value, what, kind):
    core = getattr(value, "_core", None)
    if not isinstance(core, kind):
        expected = "Graph" if kind is _core.MessageGraph else "LabelledGraph"
        raise Error(f"[{what}] got {type(value).__name__}, expected {expected}")
    return core
