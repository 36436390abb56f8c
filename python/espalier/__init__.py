"""Espalier trains networks that live on graphs and lattices and learn local rules.

Everything here is a thin layer over the same engine as the ``espalier`` program: same options, same messages, same bits
for any number of threads.

>>> import espalier
>>> run = espalier.train("checkerboard-small", train_steps=20, progress=False)
>>> run.model.channels
4
"""

import importlib.util

from ._arrays import Error
from ._boards import LogicAutomaton, train_on
from ._circuits import Circuit, Verification
from ._graphs import EditDistance, Graph, LabelledGraph, edit_distance, edit_distances, wl_similarity
from ._networks import AdamW, DagNN, GraphTransformNet, MessagePassing, SGD, Tape
from ._runs import Interrupted, RewriteModel, Run, TableModel, last_run, load, options, resume, tasks, train
from ._show import Boards

__version__ = "0.3.0"

__all__ = [
    "AdamW", "Boards", "Circuit", "DagNN", "EditDistance", "Error", "Graph", "GraphTransformNet",
    "Interrupted", "LabelledGraph", "LogicAutomaton", "MessagePassing", "RewriteModel", "Run", "SGD", "TableModel",
    "Tape", "Verification", "edit_distance", "edit_distances", "last_run", "load", "options", "resume", "tasks", "train",
    "train_on", "wl_similarity",
]


_ESTIMATORS = ["DagClassifier", "DagRegressor"]
if importlib.util.find_spec("sklearn"):  # looked for, not imported: that is left to those who use it
    __all__ += _ESTIMATORS


def __getattr__(name):
    if name in _ESTIMATORS:
        if name not in __all__:
            raise AttributeError(f"espalier.{name} needs scikit-learn: pip install scikit-learn")
        from . import _estimators
        return getattr(_estimators, name)
    raise AttributeError(f"module 'espalier' has no attribute {name!r}")


def __dir__():
    return sorted(set(globals()) | set(__all__))
