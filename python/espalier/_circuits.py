"""Circuits of two-input gates: read, simplified with a proof, evaluated, simulated, compared, exported."""

import numpy as np

from . import _core, _show
from ._arrays import Error, bits, flag, number, text_of, threads_of, whole


class Verification:
    """Whether two circuits compute the same: true in a condition when that is proved."""

    def __init__(self, report):
        self.verdict = report["verdict"]  #: "equal", "different" or "undecided"
        self.text = report["text"]  #: in one line, with how it was proved
        self.counter_example = report["inputs"]  #: input bits that show the difference, or None
        self.output = report.get("output")  #: the output that differs there
        self.values = (report.get("first"), report.get("second"))  #: its values in both circuits

    def __bool__(self):
        return self.verdict == "equal"

    def __repr__(self):
        return f"<Verification {self.text}>"


class Circuit:
    """A combinational circuit. ``LogicAutomaton.circuit()`` makes one, ``Circuit.read`` reads one.

    >>> a = espalier.LogicAutomaton(channels=1, kernels=2, update="8,4,2,1", seed=3).circuit(simplify=False)
    >>> bool(a.verify(a.simplify()))
    True
    """

    @classmethod
    def _of(cls, core, periodic=False, proof=None):
        self = cls.__new__(cls)
        self._core, self._periodic, self.proof = core, periodic, proof
        return self

    @classmethod
    def read(cls, path):
        """From a file: Espalier's JSON, BLIF, or AIGER."""
        return cls._of(_core.Netlist.read(text_of(path, "path")))

    counts = property(lambda self: self._core.counts(), doc="Inputs, outputs, gates by kind, depth.")
    gates = property(lambda self: self.counts["gates"], doc="How many gates there are.")
    depth = property(lambda self: self.counts["depth"], doc="Most gates on a path from an input to an output.")
    inputs = property(lambda self: self._core.input_names, doc="Their names.")
    outputs = property(lambda self: self._core.output_names, doc="Their names.")
    name = property(lambda self: self._core.name, doc="What the circuit is called.")

    def simplify(self, sweep=True, resubstitute=True, with_abc=False):
        """A smaller circuit that is proved to compute the same; ``proof`` says how."""
        core, proof = self._core.simplified(flag(sweep, "sweep"), flag(resubstitute, "resubstitute"), flag(with_abc, "with_abc"))
        return Circuit._of(core, self._periodic, proof)

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
            raise Error(f"[simulate] got {array.ndim} dimensions, expected [boards, height, width, channels]")
        out = _core.hard_rollout(self._core, self._periodic if periodic is None else flag(periodic, "periodic"),
                                 array[None] if single else array, whole(steps, "steps", 0, 10**9),
                                 number(fire_rate, "fire_rate", 0, 1), whole(seed, "seed"), not flag(last, "last"), threads_of(threads))
        return (out[..., 0, :, :, :] if single else out).view(_show.Boards)

    def verify(self, other, seconds=0):
        """Proves that two circuits compute the same, or finds an input that tells them apart."""
        if not isinstance(other, Circuit):
            raise Error("[verify] got something else, expected a Circuit")
        return Verification(self._core.verify(other._core, number(seconds, "seconds", 0)))

    def export(self, format, path=None, name=None):
        """As "verilog", "c", "blif", "aiger", "aiger-binary", "dot", "svg", "json" or "js". With a path the files are
        written and their paths returned; without, the main file's text (bytes for aiger-binary)."""
        files = self._core.exported(text_of(format, "format"), "" if path is None else text_of(path, "path"), name or "",
                                    self._periodic)
        if path is None:
            return files[0][1] if format == "aiger-binary" else files[0][1].decode()
        for file, content in files:
            _core.write_file(file, content)
        return [file for file, _ in files]

    def __eq__(self, other):
        return isinstance(other, Circuit) and self._core == other._core

    __hash__ = None

    def __repr__(self):
        c = self.counts
        return f"<Circuit {self.name}: {c['inputs']} inputs, {c['outputs']} outputs, {c['gates']} gates, depth {c['depth']}>"

    def _repr_svg_(self):
        try:
            return self.export("svg")
        except Error:  # no graphviz: the text has to do
            return None
