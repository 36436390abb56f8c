"""Graphs with labels, and how far apart they are."""

import numpy as np

from . import _core
from ._arrays import Error, flag, indices, text_of, threads_of, whole


class LabelledGraph:
    """Nodes and edges with texts on them. ``edges`` are (from, to) or (from, to, label).

    >>> a = espalier.LabelledGraph(["C", "O"], [(0, 1, "double")])
    >>> b = espalier.LabelledGraph(["C", "N"], [(0, 1, "single")])
    >>> espalier.edit_distance(a, b).distance
    2.0
    """

    def __init__(self, labels, edges=(), directed=False):
        rows = []
        for edge in edges:
            edge = tuple(edge)
            if len(edge) not in (2, 3):
                raise Error(f"[graph] got an edge of {len(edge)} parts, expected (from, to) or (from, to, label)")
            rows.append((whole(edge[0], "edge", 0, 2**32 - 1), whole(edge[1], "edge", 0, 2**32 - 1),
                         str(edge[2]) if len(edge) == 3 else ""))
        self._core = _core.LabelledGraph([str(label) for label in labels], rows, flag(directed, "directed"))

    @classmethod
    def _of(cls, core):
        self = cls.__new__(cls)
        self._core = core
        return self

    @classmethod
    def read(cls, path):
        """From a file: JSON or GXL."""
        return cls._of(_core.LabelledGraph.read(text_of(path, "path")))

    @classmethod
    def from_networkx(cls, graph, node_label="label", edge_label="label"):
        """Nodes in networkx's order; labels are the attributes of these names, "" where there is none."""
        number = {node: i for i, node in enumerate(graph.nodes)}
        labels = [str(data.get(node_label, "")) for _, data in graph.nodes(data=True)]
        edges = [(number[u], number[v], str(data.get(edge_label, ""))) for u, v, data in graph.edges(data=True)]
        return cls(labels, edges, directed=graph.is_directed())

    labels = property(lambda self: self._core.labels, doc="Of the nodes.")
    edges = property(lambda self: self._core.edges, doc="(from, to, label).")
    directed = property(lambda self: self._core.directed, doc="Whether edges have a direction.")

    def __len__(self):
        return len(self.labels)

    def __repr__(self):
        return f"<LabelledGraph: {len(self.labels)} nodes, {len(self.edges)} edges>"


class Graph:
    """The shape that messages pass over: nodes 0 to n - 1, and one list of edges for each relation."""

    def __init__(self, nodes, *relations, keep_repeats=False):
        self._core = _core.MessageGraph(whole(nodes, "nodes", 1, 2**32 - 2),
                                        [indices(r, "edges", 2) if len(r) else np.zeros((0, 2), np.int64)
                                         for r in relations], flag(keep_repeats, "keep_repeats"))

    @classmethod
    def from_edges(cls, nodes, edges, keep_repeats=False):
        """One relation; edges are rows (from, to).

        >>> espalier.Graph.from_edges(3, [(0, 1), (1, 2)]).num_edges
        2
        """
        return cls(nodes, edges, keep_repeats=keep_repeats)

    @classmethod
    def from_networkx(cls, graph):
        """One relation; an undirected graph gives edges both ways."""
        number = {node: i for i, node in enumerate(graph.nodes)}
        edges = [(number[u], number[v]) for u, v in graph.edges()]
        if not graph.is_directed():
            edges += [(v, u) for u, v in edges if u != v]
        return cls(len(number), edges, keep_repeats=graph.is_multigraph())

    num_nodes = property(lambda self: self._core.num_nodes, doc="How many nodes.")
    num_edges = property(lambda self: self._core.num_edges, doc="How many edges, of all relations.")
    num_relations = property(lambda self: self._core.num_relations, doc="How many kinds of edges.")

    def __repr__(self):
        return f"<Graph: {self.num_nodes} nodes, {self.num_edges} edges, {self.num_relations} relations>"


class EditDistance:
    """What it costs to turn one graph into another. ``distance`` is exact when ``exact`` is; else the best found, and
    the true one lies between ``lower`` and ``upper``."""

    def __init__(self, report):
        self.distance, self.exact = report["distance"], report["exact"]
        self.lower, self.upper = report["lower"], report["upper"]
        self.mapping = report["mapping"]  #: node of the first graph -> node of the second, -1 deleted
        self.edits = report["edits"]  #: in words
        self.searched = report["searched"]  #: nodes of the search tree

    def __float__(self):
        return float(self.distance)

    def __repr__(self):
        return f"<EditDistance {self.distance:g}{'' if self.exact else f' (from {self.lower:g} to {self.upper:g})'}>"


def edit_distance(first, second, costs="", budget=None):
    """The edit distance of two LabelledGraphs. ``costs``: "node-insert=1,edge-substitute=0.5"; what is not named costs 1.
    ``budget``: at most this many nodes of the search tree, then bounds."""
    return edit_distances([(first, second)], costs, budget, threads=1)[0]


def edit_distances(pairs, costs="", budget=None, threads=None):
    """The edit distances of many pairs, in parallel."""
    pairs = [tuple(pair) for pair in pairs]
    if any(len(pair) != 2 or not all(isinstance(g, LabelledGraph) for g in pair) for pair in pairs):
        raise Error("[edit distance] got something else, expected pairs of LabelledGraphs")
    if isinstance(costs, dict):
        costs = ",".join(f"{name.replace('_', '-')}={value}" for name, value in costs.items())
    return [EditDistance(r) for r in _core.edit_distances(
        [a._core for a, _ in pairs], [b._core for _, b in pairs], text_of(costs, "costs"),
        None if budget is None else whole(budget, "budget"), threads_of(threads))]


def wl_similarity(first, second, rounds=3):
    """Weisfeiler-Lehman similarity of two LabelledGraphs, 0 to 1."""
    if not (isinstance(first, LabelledGraph) and isinstance(second, LabelledGraph)):
        raise Error("[similarity] got something else, expected LabelledGraphs")
    return _core.wl_similarity(first._core, second._core, whole(rounds, "rounds", 0, 1000))
