"""Graphs with labels, and how far apart they are."""

import warnings

from . import _core
from ._arrays import Error, Wrapper, edge_rows, flag, indices, items, text_of, threads_of, whole


def _numbered(graph):
    """The nodes of a networkx graph and their numbers."""
    if not (hasattr(graph, "nodes") and hasattr(graph, "edges") and hasattr(graph, "is_directed")):
        raise Error(f"[from_networkx] got {type(graph).__name__}, expected a graph of networkx")
    return {node: i for i, node in enumerate(graph.nodes)}


def _labels(things, name, what):
    """The attribute of every node or edge, given as (what it is, its attributes)."""
    if name is None:
        if not any("label" in data for _, data in things):
            return [""] * len(things)
        name = "label"
    for thing, data in things:
        if name not in data:
            there = ", ".join(repr(key) for key in data) or "none"
            raise Error(f"[from_networkx] got {thing} without the attribute {name!r} ({what}), expected every one to have "
                        f"it; hint: its attributes: {there}")
    return [str(data[name]) for _, data in things]


class LabelledGraph(Wrapper):
    """Nodes and edges with text labels. ``edges`` are (from, to) or (from, to, label).

    >>> a = espalier.LabelledGraph(["C", "O"], [(0, 1, "double")])
    >>> b = espalier.LabelledGraph(["C", "N"], [(0, 1, "single")])
    >>> espalier.edit_distance(a, b).distance
    2.0
    """

    def __init__(self, labels, edges=(), directed=False):
        if hasattr(edges, "shape"):
            edges = edge_rows(edges, "edges").tolist()
        rows = []
        for edge in items(edges, "edges"):
            edge = items(edge, "edge")
            if len(edge) not in (2, 3):
                raise Error(f"[graph] got an edge of {len(edge)} parts, expected (from, to) or (from, to, label)")
            rows.append((whole(edge[0], "edge", 0, 2**32 - 1), whole(edge[1], "edge", 0, 2**32 - 1),
                         str(edge[2]) if len(edge) == 3 else ""))
        self._core = _core.LabelledGraph([str(label) for label in items(labels, "labels")], rows, flag(directed, "directed"))

    @classmethod
    def read(cls, path, attributes=None):
        """From a file: JSON or GXL. ``attributes``: those of a GXL file that make the labels; without them all but
        ``<float>`` ones, which are measurements, and a warning names what is left out."""
        names = [text_of(name, "attributes") for name in items([] if attributes is None else attributes, "attributes")]
        graph, ignored = _core.LabelledGraph.read(text_of(path, "path"), names)
        if ignored and attributes is None:
            warnings.warn(f"{path}: no part of the labels: {', '.join(ignored)}; attributes=[...] chooses", stacklevel=2)
        return cls._of(graph)

    @classmethod
    def from_networkx(cls, graph, node_label=None, edge_label=None):
        """Nodes in networkx's order; labels are the attributes of these names, which every node and every edge must have.
        None is the attribute "label", or "" for all when nothing has it."""
        number = _numbered(graph)
        nodes, edges = list(graph.nodes(data=True)), list(graph.edges(data=True))
        labels = _labels([(f"node {node!r}", data) for node, data in nodes], node_label, "node_label")
        kinds = _labels([(f"edge {u!r} - {v!r}", data) for u, v, data in edges], edge_label, "edge_label")
        return cls(labels, [(number[u], number[v], kind) for (u, v, _), kind in zip(edges, kinds)],
                   directed=graph.is_directed())

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
        self._core = _core.MessageGraph(whole(nodes, "nodes", 1, 2**32 - 2), [edge_rows(r, "edges") for r in relations],
                                        flag(keep_repeats, "keep_repeats"))

    @classmethod
    def from_edges(cls, nodes, edges, keep_repeats=False):
        """One relation; edges are rows (from, to): a list of pairs, or an array [edges, 2]. An array [2, 2] may be
        either rows or an edge_index and is an error: pass a list, or see ``from_edge_index``.

        >>> espalier.Graph.from_edges(3, [(0, 1), (1, 2)]).num_edges
        2
        """
        return cls(nodes, edges, keep_repeats=keep_repeats)

    @classmethod
    def from_edge_index(cls, nodes, edge_index, keep_repeats=False):
        """One relation from an ``edge_index`` [2, edges] as PyTorch Geometric has it: sources, then targets.

        >>> espalier.Graph.from_edge_index(3, [[0, 1], [1, 2]]).num_edges
        2
        """
        index = indices(edge_index, "edge_index", 2)
        if index.shape[0] != 2:
            raise Error(f"[edge_index] got an array of shape {list(index.shape)}, expected [2, edges]; hint: "
                        "Graph.from_edges takes rows (from, to)")
        return cls(nodes, list(zip(*index.tolist())), keep_repeats=keep_repeats)

    @classmethod
    def from_networkx(cls, graph):
        """One relation; an undirected graph gives edges both ways."""
        number = _numbered(graph)
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
    """What it costs to turn one graph into another. ``distance`` is exact when ``exact`` is true; else the best found,
    and the true one lies between ``lower`` and ``upper``.

    >>> path = espalier.LabelledGraph(["C", "C", "O"], [(0, 1), (1, 2)])
    >>> found = espalier.edit_distance(path, espalier.LabelledGraph(["C", "C"], [(0, 1)]))
    >>> float(found), found.exact, found.mapping.tolist()
    (2.0, True, [0, 1, -1])
    """

    def __init__(self, report):
        self._report = report

    distance = property(lambda self: self._report["distance"], doc="The cost.")
    exact = property(lambda self: self._report["exact"], doc="Whether nothing costs less.")
    lower = property(lambda self: self._report["lower"], doc="It costs at least this.")
    upper = property(lambda self: self._report["upper"], doc="It costs at most this.")
    mapping = property(lambda self: self._report["mapping"], doc="Node of the first graph -> of the second, -1 deleted.")
    edits = property(lambda self: self._report["edits"], doc="What to do, in words.")
    searched = property(lambda self: self._report["searched"], doc="Nodes of the search tree.")

    def __float__(self):
        return float(self.distance)

    def __repr__(self):
        return f"<EditDistance {self.distance:g}{'' if self.exact else f' (from {self.lower:g} to {self.upper:g})'}>"


def edit_distance(first, second, costs="", budget=None):
    """The edit distance of two LabelledGraphs. ``costs``: "node-insert=1,edge-substitute=0.5"; what is not named costs 1.
    ``budget``: at most this many nodes of the search tree, then bounds.

    >>> a, b = espalier.LabelledGraph(["C"]), espalier.LabelledGraph(["C", "O"], [(0, 1)])
    >>> espalier.edit_distance(a, b, costs={"edge_insert": 0.5})
    <EditDistance 1.5>
    """
    return edit_distances([(first, second)], costs, budget, threads=1)[0]


def edit_distances(pairs, costs="", budget=None, threads=None):
    """The edit distances of many pairs, in parallel.

    >>> a, b = espalier.LabelledGraph(["C"]), espalier.LabelledGraph(["O"])
    >>> [d.distance for d in espalier.edit_distances([(a, a), (a, b)])]
    [0.0, 1.0]
    """
    pairs = [items(pair, "edit distance") for pair in items(pairs, "edit distance")]
    if any(len(pair) != 2 or not all(isinstance(g, LabelledGraph) for g in pair) for pair in pairs):
        raise Error("[edit distance] got pairs of other things, expected pairs of LabelledGraphs")
    if isinstance(costs, dict):
        costs = ",".join(f"{str(name).replace('_', '-')}={value}" for name, value in costs.items())
    return [EditDistance(r) for r in _core.edit_distances(
        [a._core for a, _ in pairs], [b._core for _, b in pairs], text_of(costs, "costs"),
        None if budget is None else whole(budget, "budget"), threads_of(threads))]


def wl_similarity(first, second, rounds=3):
    """Weisfeiler-Lehman similarity of two LabelledGraphs, 0 to 1.

    >>> a = espalier.LabelledGraph(["C", "O"], [(0, 1)])
    >>> espalier.wl_similarity(a, a)
    1.0
    """
    if not (isinstance(first, LabelledGraph) and isinstance(second, LabelledGraph)):
        raise Error(f"[similarity] got {type(first).__name__} and {type(second).__name__}, expected LabelledGraphs")
    return _core.wl_similarity(first._core, second._core, whole(rounds, "rounds", 0, 1000))
