"""Tasks, runs and model files."""

import os
import sys
import warnings

import numpy as np

from . import _core, _show
from ._arrays import Error, flag, items, number, plain, text_of, threads_of, whole
from ._boards import LogicAutomaton
from ._networks import DagNN

_last = None


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while training. ``run`` is what was reached; with a folder it can be continued by ``espalier.resume``.

    >>> def stop(event):
    ...     raise KeyboardInterrupt  # what Ctrl-C does
    >>> try:
    ...     espalier.train("checkerboard-small", train_steps=100000, until_solved=False, progress=False, callback=stop)
    ... except espalier.Interrupted as stopped:
    ...     stopped.run.interrupted
    True
    """

    def __init__(self, run):
        super().__init__("training was interrupted; its run is in .run and espalier.last_run()")
        self.run = run


def last_run():
    """The run that was trained last, even if it was interrupted or a callback raised; None before the first.

    >>> run = espalier.train("life", seed=1, train_steps=5, refine=0, progress=False)
    >>> espalier.last_run() is run
    True
    """
    return _last


def tasks():
    """What can be trained: names and descriptions.

    >>> "life" in espalier.tasks()
    True
    """
    return dict(_core.tasks())


def options(task):
    """The options of a task, as ``train`` takes them: {keyword: (default, help)}.

    >>> espalier.options("life")["train_steps"][0]
    3000
    """
    return {f["name"].replace("-", "_"): (f["default"], f["help"]) for f in _core.task_fields(text_of(task, "task"))}


class RewriteModel:
    """A trained network that rewrites expressions: what ``train("simplify")`` gives. Call it with an expression.

    >>> model = espalier.train("simplify", train_steps=5, progress=False).model
    >>> model("(+ x 0)")[0]  # and then the expression after every pass
    '(+ x 0)'
    """

    #: How it came about, as a LogicAutomaton says it.
    made, provenance = "made", ()

    def __init__(self, core):
        self._core = core

    def __call__(self, expression, passes=20):
        """The expression after every pass, the given one first."""
        return _core.rewrite(self._core, text_of(expression, "expression"), whole(passes, "passes", 1, 10**6))

    def save(self, path):
        """Writes a model file."""
        self._core.save(text_of(path, "path"), {"provenance": _core.provenance_text(list(self.provenance))})

    @property
    def facts(self):
        """What it is: sizes, vocabulary."""
        return self._core.facts

    @property
    def weights_hash(self):
        """Of all weights."""
        return self._core.hash

    def __repr__(self):
        return f"<RewriteModel {self.facts}>"

    def _repr_html_(self):
        return _show.facts_html(self, _show.flat(self.facts))


class TableModel:
    """A trained network over the rows of a table: what ``train("table")`` gives.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "and.csv"
    >>> _ = path.write_text("a,b,both\\n" + "0,0,no\\n0,1,no\\n1,0,no\\n1,1,yes\\n" * 8)
    >>> model = espalier.train("table", csv=path, target="both", train_steps=200, progress=False).model
    >>> model.columns, model.classes
    (['a', 'b'], ['no', 'yes'])
    >>> model.predict({"a": [1, 0], "b": [1, 1]}).tolist()
    ['yes', 'no']
    """

    #: How it came about, as a LogicAutomaton says it.
    made, provenance = "made", ()

    def __init__(self, core):
        self._core = core

    @property
    def columns(self):
        """The columns it reads."""
        return _core.table_columns(self._core)

    @property
    def classes(self):
        """What it tells apart; empty for regression."""
        return _core.table_classes(self._core)

    def predict_proba(self, rows, threads=None, allow_unknown=False):
        """Class probabilities, [rows, classes]. ``rows`` and ``allow_unknown``: see predict."""
        if not self.classes:
            raise Error("[predict_proba] got a model that predicts numbers, expected one of classes")
        return self._outputs(rows, threads, allow_unknown)

    def predict(self, rows, threads=None, allow_unknown=False):
        """The class or number of every row. ``rows``: a pandas DataFrame, or a dict of columns. A word that no training
        row had in its column is an Error (errors count rows from 1); with ``allow_unknown`` it counts as none of the
        words the model knows."""
        result = self._outputs(rows, threads, allow_unknown)
        return np.asarray(self.classes)[result.argmax(axis=1)] if self.classes else result

    @property
    def network(self):
        """A copy of its DagNN."""
        return DagNN._of(_core.table_network(self._core, 0))

    def save(self, path):
        """Writes a model file."""
        self._core.save(text_of(path, "path"), {"provenance": _core.provenance_text(list(self.provenance))})

    @property
    def facts(self):
        """What it is: columns, nodes, edges."""
        return self._core.facts

    @property
    def weights_hash(self):
        """Of all weights."""
        return self._core.hash

    def _outputs(self, rows, threads, allow_unknown):
        if not (isinstance(rows, dict) or hasattr(rows, "columns")):
            raise Error(f"[predict] got {type(rows).__name__}, expected a DataFrame or a dict of columns")
        columns = {}
        for name in rows:
            if str(name) in columns:
                raise Error(f"[predict] got the column {str(name)!r} twice, expected different names")
            columns[str(name)] = items(rows[name], "predict")
        missing = [name for name in self.columns if name not in columns]
        if missing:
            raise Error(f"[predict] got no column {missing[0]!r}, expected {', '.join(self.columns)}")
        lengths = {len(c) for c in columns.values()}
        if len(lengths) != 1 or 0 in lengths:
            raise Error(f"[predict] got columns of lengths {sorted(lengths)}, expected one length from 1 on")

        def cell(value):
            if value is None or str(value) == "<NA>":  # of pandas, which is neither equal nor unequal to anything
                return ""
            return "" if value != value else str(plain(value))

        table = [[cell(columns[name][r]) for name in self.columns] for r in range(lengths.pop())]
        return _core.predict_table(self._core, self.columns, table, flag(allow_unknown, "allow_unknown"),
                                   threads_of(threads))

    def __repr__(self):
        return f"<TableModel over {', '.join(self.columns)}>"

    def _repr_html_(self):
        says = ", ".join(self.classes) if self.classes else "numbers"
        return _show.facts_html(self, [("columns", ", ".join(self.columns)), ("says", says), *_show.flat(self.facts)])


def _model(core, threads=None, made=None, provenance=()):
    if core.kind == "logic automaton":
        model = LogicAutomaton._of(_core.Automaton(core, threads_of(threads)))
        model.made, model.provenance = made or "made", provenance
        return model
    model = TableModel(core) if core.kind == "table network" else RewriteModel(core)
    model.made, model.provenance = made or "made", provenance
    return model


def load(path, threads=None):
    """The model in a file, or in the folder of a run: a LogicAutomaton, TableModel or RewriteModel.

    >>> import tempfile
    >>> run = espalier.train("life", seed=1, train_steps=5, refine=0, out=tempfile.mkdtemp() + "/run", progress=False)
    >>> espalier.load(run.folder).weights_hash == run.model.weights_hash
    True
    """
    core, notes = _core.load_model(text_of(path, "path"))
    return _model(core, threads, *_core.provenance_of(notes))


class _Metrics(dict):
    """Columns by name, NumPy arrays of one length."""

    def to_pandas(self):
        """As a DataFrame; needs pandas."""
        import pandas
        return pandas.DataFrame(self)


class Run:
    """A finished (or interrupted) training. Made by ``train`` and ``resume``.

    >>> run = espalier.train("checkerboard-small", train_steps=20, seed=2, progress=False)
    >>> run.task, run.seed, run.folder is None
    ('checkerboard-small', 2, True)
    """

    def __init__(self, core, report):
        self._core = core
        self._interrupted, self._seeds, self._wall_seconds = report["interrupted"], report["seeds"], report["seconds"]
        self._best = report["seeds"][report["winner"]]
        self._model = None

    task = property(lambda self: self._core.task, doc="Its name.")
    folder = property(lambda self: self._core.folder or None, doc="Where it is kept; None: all in memory.")
    interrupted = property(lambda self: self._interrupted, doc="Stopped before its end.")
    seeds = property(lambda self: self._seeds, doc="How every seed ended, a dict for each; ``error`` says why one failed.")
    wall_seconds = property(lambda self: self._wall_seconds, doc="How long this call took.")
    solved = property(lambda self: self._best["solved"], doc="Right on everything that judged it, which is enough to say so.")
    score = property(lambda self: self._best["score"], doc="Fraction right on what judged it; None before the end.")
    verdict = property(lambda self: self._best["verdict"], doc="The score in words, and what keeps it from being solved.")
    judged_by = property(lambda self: self._best["judged_by"], doc="Data that neither fitting nor choosing has seen, or all cases.")
    validation_score = property(lambda self: self._best["validation_score"], doc="Fraction right on what chose the model.")
    made = property(lambda self: self._best["made"], doc='"learned", "built", "identified", "learned and built", "untrained" or "made".')
    provenance = property(lambda self: self._best["provenance"],
                          doc="What was done in which order, a dict for each; wrong bits and gates before and after.")
    seconds = property(lambda self: self._best["seconds"], doc="Training time of the winning seed.")
    seed = property(lambda self: self._best["seed"], doc="The winning seed.")
    steps = property(lambda self: self._best["steps"], doc="Optimizer steps of the winning seed.")
    model_hash = property(lambda self: self._best["model_hash"],
                          doc="Of the best model: its weights, or its circuit where weights did not make it.")
    weights_hash = property(lambda self: self._best["weights_hash"],
                            doc="Of the last weights; None where the best model is a circuit that weights did not make.")
    facts = property(lambda self: self._best["facts"], doc="What the task reports at the end: gates, test figures.")
    config = property(lambda self: self._core.config, doc="All settings, as config.json has them.")

    @property
    def model(self):
        """The best model of the winning seed."""
        if self._model is None:
            self._model = _model(self._core.best_model(), None, self.made, self.provenance)
        return self._model

    @property
    def metrics(self):
        """One entry per evaluation of the winning seed: a dict of NumPy arrays (step, seconds, loss, score, ...), with
        its own ``to_pandas()``."""
        if self.folder:
            inner = os.path.join(self.folder, f"seed-{self.seed}")
            return _Metrics(_core.read_metrics(inner if os.path.isdir(inner) else self.folder))
        events = [e for e in self._core.evaluations() if e.seed == self.seed]
        names = ["step", "seconds", "loss", "score", "validation_loss", "passed"]
        columns = _Metrics((name, np.array([float(getattr(e, name)) for e in events])) for name in names)
        for name in events[0].extra if events else ():
            columns[name] = np.array([e.extra[name] for e in events])
        return columns

    def to_pandas(self):
        """The metrics as a DataFrame; needs pandas."""
        return self.metrics.to_pandas()

    def __repr__(self):
        state = "solved" if self.solved else "interrupted" if self.interrupted else "not solved"
        score = "not judged" if self.score is None else f"score {100 * self.score:.2f} %"
        return (f"<Run of {self.task}: {state}, {score}, {self.made}, seed {self.seed}, "
                f"{self.steps} steps, {self.seconds:.1f} s>")

    def _repr_html_(self):
        return _show.run_html(self)


def train(task, *, seeds=None, seed=None, threads=None, out=None, force=False, published=False, seconds=0,
          checkpoint_every=0, progress=True, callback=None, **settings):
    """Trains a task and returns its Run.

    Keywords are the options of ``espalier train TASK``, with underscores for dashes; ``espalier.options(task)`` lists
    them. ``threads=None`` is all cores, and the result is the same for any number. ``out`` is a folder; without one
    everything stays in memory. ``force=True`` replaces a run in it, which is removed once the new one has its first
    checkpoint; a folder with files of others is refused. ``published=True`` uses the settings of the publication for
    everything not given. ``seconds`` ends the run after this time; it can be resumed. ``checkpoint_every`` is a number of
    steps, 0 every few seconds.

    ``callback(event)`` is called on this thread with what happens. ``event.kind`` is "seed_started", "step",
    "evaluated", "checkpoint", "search" (``event.search`` has done, total, wrong and gates), "snapshot", "seed_ended" or
    "message" (``event.text``); ``event.seed``, ``step``, ``steps``, ``seconds``, ``loss``, ``score``,
    ``validation_loss``, ``passed`` and ``extra`` say where training is. Steps and pieces of a search may be skipped
    when they come faster than the callback returns. Returning False stops the run.

    Ctrl-C stops it within a second and raises ``Interrupted``, whose ``run`` can be used. Other Python threads keep
    running meanwhile. A seed that fails while others do not gives a RuntimeWarning, and is listed in ``run.seeds``.

    >>> run = espalier.train("life", seed=1, train_steps=30, progress=False)
    >>> float(run.metrics["step"][-1])
    30.0
    """
    chosen = [(name.replace("_", "-"), plain(value, name)) for name, value in settings.items()]
    for name, value in (("seeds", seeds), ("seed", seed)):
        if value is not None:
            chosen.append((name, whole(value, name, 0, 2**63 - 1)))
    folder = "" if out is None else text_of(out, "out")
    _check_callback(callback)
    core = _core.TrainingRun(text_of(task, "task"), chosen, folder, flag(force, "force"), flag(published, "published"),
                             whole(checkpoint_every, "checkpoint_every", 0, 10**12))
    return _train(core, threads, progress, callback, seconds)


def resume(folder, *, train_steps=None, budget=None, threads=None, seconds=0, checkpoint_every=0, progress=True,
           callback=None):
    """Continues the run in a folder, to the same bits as if it had never stopped. ``train_steps`` or ``budget`` extends
    it. Where the bits may differ, because the checkpoint is of another build or another kind of processor, a
    RuntimeWarning says so, and ``run.seeds`` has it as ``other_bits``.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp() + "/run"
    >>> settings = dict(until_solved=False, refine=0, progress=False)
    >>> run = espalier.train("checkerboard-small", train_steps=10, out=folder, **settings)
    >>> again = espalier.resume(folder, train_steps=20, progress=False)
    >>> again.weights_hash == espalier.train("checkerboard-small", train_steps=20, **settings).weights_hash
    True
    """
    steps = 0 if train_steps is None else whole(train_steps, "train_steps", 1, 10**9)
    more = 0 if budget is None else whole(budget, "budget", 1, 10**15)
    _check_callback(callback)
    core = _core.TrainingRun(text_of(folder, "folder"), steps, more,
                             whole(checkpoint_every, "checkpoint_every", 0, 10**12))
    return _train(core, threads, progress, callback, seconds)


def _check_callback(callback):
    if callback is not None and not callable(callback):
        raise Error("[train] got a callback that cannot be called, expected a function of one event")


def _train(core, threads, progress, callback, seconds):
    global _last
    bar = _Progress() if flag(progress, "progress") else None

    def hear(event):
        if bar:
            bar.show(event)
        return callback(event) if callback else None

    try:
        report = core.train(threads_of(threads), hear if bar or callback else None, number(seconds, "seconds", 0, 1e9))
    finally:
        if bar:
            bar.close()
    _last = run = Run(core, report)
    raised = report["raised"]
    if report["keyboard"] or isinstance(raised, KeyboardInterrupt):  # also when Ctrl-C met the callback or the bar
        raise Interrupted(run) from raised
    if raised is not None:
        raise raised
    for seed in run.seeds:
        if seed["error"]:
            warnings.warn(f"seed {seed['seed']} failed: {seed['error']}", RuntimeWarning, stacklevel=3)
        if seed["other_bits"]:
            warnings.warn(f"seed {seed['seed']}: the bits may differ from those of a run that was never stopped: "
                          f"{seed['other_bits']}", RuntimeWarning, stacklevel=3)
    return run


class _Progress:
    """tqdm when it is there; else one line on a terminal."""

    def __init__(self):
        try:
            from tqdm.auto import tqdm
        except ImportError:
            tqdm = None
        self._tqdm, self._bar, self._seeds, self._line = tqdm, None, {}, False

    def show(self, event):
        if event.kind == "message":
            print(event.text, file=sys.stderr)
        if event.kind not in ("step", "evaluated", "seed_started", "search"):
            return
        self._seeds[event.seed] = event  # a further attempt is a further seed
        done = sum(e.step for e in self._seeds.values())
        total = sum(e.steps for e in self._seeds.values())
        score = max(e.score for e in self._seeds.values())
        said = {"score": f"{100 * score:.2f} %"}
        if event.search:
            said["search"] = f"{event.search['done']}/{event.search['total']} mutants"
            said["wrong"], said["gates"] = f"{event.search['wrong']:.4g}", event.search["gates"]
        else:
            said["loss"] = f"{event.loss:.4g}"
        if self._tqdm:
            if self._bar is None:
                self._bar = self._tqdm(total=total, unit="step", leave=True)
            if self._bar.total != total:
                self._bar.total = total
            self._bar.n = done
            self._bar.set_postfix(said, refresh=False)
            self._bar.refresh()
        elif sys.stderr is not None and sys.stderr.isatty():
            rest = ", ".join(f"{name} {value}" for name, value in said.items())
            print(f"\r\x1b[K{done}/{total} steps, {rest}", end="", file=sys.stderr, flush=True)
            self._line = True

    def close(self):
        if self._bar is not None:
            self._bar.close()
        elif self._line:
            print(file=sys.stderr)
