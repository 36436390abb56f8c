"""Circuits of two-input gates: read, simplified with a proof, evaluated, simulated, compared, exported."""

import json

from . import _core, _show
from ._arrays import Error, Wrapper, bits, flag, number, text_of, threads_of, whole


class Verification:
    """Whether two circuits compute the same; as a condition, true when that is proved.

    >>> model = espalier.LogicAutomaton(channels=1, kernels=2, update="8,4,2,1", seed=3)
    >>> before = model.circuit()
    >>> for logits in model.parameters.values():
    ...     logits[..., 15] = 9  # the gate that is always true
    >>> said = before.verify(model.circuit())
    >>> bool(said), said.verdict, said.counter_example.shape
    (False, 'different', (9,))
    """

    def __init__(self, report):
        self._report = report

    verdict = property(lambda self: self._report["verdict"], doc='"equal", "different" or "undecided".')
    text = property(lambda self: self._report["text"], doc="In one line, with how it was proved.")
    counter_example = property(lambda self: self._report["inputs"], doc="Input bits that show the difference, or None.")
    output = property(lambda self: self._report.get("output"), doc="The output that differs there.")
    values = property(lambda self: (self._report.get("first"), self._report.get("second")),
                      doc="Its values in both circuits.")

    def __bool__(self):
        return self.verdict == "equal"

    def __repr__(self):
        return f"<Verification {self.text}>"


class Circuit(Wrapper):
    """A combinational circuit. ``LogicAutomaton.circuit()`` makes one, ``Circuit.read`` reads one.

    >>> a = espalier.LogicAutomaton(channels=1, kernels=2, update="8,4,2,1", seed=3).circuit(simplify=False)
    >>> bool(a.verify(a.simplify()))
    True
    """

    def __init__(self, path):
        """The same as ``Circuit.read``."""
        self._core = _core.Circuit.read(text_of(path, "path"))

    @classmethod
    def read(cls, path):
        """From a file in Espalier's JSON, BLIF or AIGER; or from a model or a run's folder, every gate as trained, found or built."""
        return cls(path)

    counts = property(lambda self: self._core.counts(), doc="Inputs, outputs, gates by kind, depth.")
    gates = property(lambda self: self.counts["gates"], doc="How many gates there are.")
    depth = property(lambda self: self.counts["depth"], doc="Most gates on a path from an input to an output.")
    inputs = property(lambda self: self._core.input_names, doc="Their names.")
    outputs = property(lambda self: self._core.output_names, doc="Their names.")
    name = property(lambda self: self._core.name, doc="What the circuit is called.")
    proof = property(lambda self: self._core.proof, doc="What is proved about it, in words: how, or that nothing is.")

    def simplify(self, sweep=True, resubstitute=True, with_abc=False, goal="gates", search=0):
        """A smaller circuit that is proved to compute the same; ``proof`` says how. ``goal`` is what to make small:
        "gates", "ands", "depth" or "lut6"; ``search`` is how many mutants to try for fewer gates."""
        settings = [("sweep", flag(sweep, "sweep")), ("resubstitute", flag(resubstitute, "resubstitute")),
                    ("with-abc", flag(with_abc, "with_abc")), ("for", text_of(goal, "goal")),
                    ("search", whole(search, "search", 0))]
        return Circuit._of(self._core.simplified(settings))

    def evaluate(self, values):
        """Bits [patterns, inputs] -> bits [patterns, outputs]; one pattern may be a plain list."""
        array = bits(values, "evaluate")
        single = array.ndim == 1
        out = self._core.evaluate(array[None] if single else array)
        return out[0] if single else out

    def simulate(self, board, steps, periodic=None, fire_rate=1, seed=0, last=False, threads=None):
        """Runs a cell's circuit on boards, as ``LogicAutomaton.rollout`` does."""
        array = bits(board, "board")
        single = array.ndim == 3
        if array.ndim not in (3, 4):
            raise Error(f"[simulate] got an array of shape {list(array.shape)}, expected [boards, height, width, channels]")
        out = _core.hard_rollout(self._core, self._core.periodic if periodic is None else flag(periodic, "periodic"),
                                 array[None] if single else array, whole(steps, "steps", 0, 10**9),
                                 number(fire_rate, "fire_rate", 0, 1), whole(seed, "seed"), not flag(last, "last"), threads_of(threads))
        return _show.rolled(out, single, last)

    def verify(self, other, seconds=0):
        """Proves that two circuits compute the same, or finds an input that tells them apart."""
        if not isinstance(other, Circuit):
            raise Error(f"[verify] got {type(other).__name__}, expected a Circuit")
        return Verification(self._core.verify(other._core, number(seconds, "seconds", 0)))

    def export(self, format, path=None, name=None):
        """As "verilog", "c", "blif", "aiger", "aiger-binary", "dot", "svg", "json" or "js". With a path the files are
        written and their paths returned; without, the main file's text (bytes for aiger-binary). What ``simplify`` made
        is proved; a model's circuit comes with the board, the boundary and the start of its task. The header of
        C and the testbench of Verilog go beside the file, and replace only what an earlier export wrote there."""
        files = self._core.exported(text_of(format, "format"), "" if path is None else text_of(path, "path"),
                                    "" if name is None else text_of(name, "name"))
        if path is None:
            return files[0][1] if format == "aiger-binary" else files[0][1].decode()
        for file, _ in files[1:]:
            _core.check_unnamed_output(file)
        for file, content in files:
            _core.write_file(file, content)
        return [file for file, _ in files]

    def __eq__(self, other):
        return isinstance(other, Circuit) and self._core == other._core

    __hash__ = None

    def __repr__(self):
        c = self.counts
        return f"<Circuit {self.name}: {c['inputs']} inputs, {c['outputs']} outputs, {c['gates']} gates, depth {c['depth']}>"

    def _repr_html_(self):
        picture = self._repr_svg_()  # within the page, whose colours it takes
        return None if picture is None else f"<div style='overflow:auto'>{picture[picture.index('<svg'):]}</div>"

    def _repr_svg_(self):
        try:
            return _show.page_colours(self.export("svg"))
        except Error:  # no graphviz, or too large for it: by levels, or the text has to do
            return _show.circuit_svg(json.loads(self.export("json")), self.gates)
