"""Logic automata on boards of NumPy bits."""

import contextlib

import numpy as np

from . import _core, _show
from ._arrays import Error, bits, flag, floats, items, number, text_of, threads_of, whole
from ._circuits import Circuit
from ._networks import AdamW, Trained


def _boards(values, what, convert):
    """[B, H, W, C], and whether a dimension for boards was added."""
    array = convert(values, what)
    if array.ndim == 3:
        return array[None], True
    if array.ndim != 4:
        raise Error(f"[{what}] got an array of shape {list(array.shape)}, expected [boards, height, width, channels], boards optional")
    return array, False


def _one_channel(values, channels):
    """Many boards of one channel, [B, H, W], as [B, H, W, 1]; one board of all channels stays what it is."""
    try:
        shape = np.shape(values)
    except ValueError:  # rows of different lengths, which the conversion refuses in words
        return values
    if len(shape) != 3 or channels == 1 and shape[-1] == 1:
        return values
    if shape[-1] == channels:
        raise Error(f"[evaluate] got an array of shape {list(shape)}, which may be one board of {channels} channels or many of "
                    "one, expected four dimensions, [boards, height, width, channels]")
    return np.asarray(values)[..., None]


class LogicAutomaton(Trained):
    """A grid of cells that all run the same small circuit of logic gates, trained as soft gates.

    ``update`` and ``perceive`` are layer widths, as a list or as the program writes them. Without ``update`` there are
    ten layers of 256, which then narrow down to the channels: "256x10,128,64,32,16,8,8" for eight of them. ``wiring``
    is "unique" or "random", ``boundary`` "zero" or "periodic". ``parametrisation`` is how a gate is trained: "gates"
    (sixteen logits), "entries" (four, of its truth table) or "walsh" (four coefficients). With ``candidates`` above 1,
    what each input of an update gate reads is trained, too; ``start_wire_logit`` is the logit of the first candidate at
    the start, all others are 0.

    Boards are arrays [boards, height, width, channels]; the first dimension may be left out. Hard boards are uint8
    of 0 and 1, soft ones float32.

    >>> model = espalier.LogicAutomaton(channels=2, kernels=4, update="16,8,4,2", seed=1)
    >>> model.rollout(np.zeros((8, 8, 2)), steps=3).shape
    (4, 8, 8, 2)
    """

    def __init__(self, channels=8, kernels=16, perceive="8,4,2", update=None, wiring="unique", boundary="zero", seed=1,
                 start_logit=5.0, threads=None, parametrisation="gates", candidates=1, start_wire_logit=10.0):
        channels = whole(channels, "channels", 1, 10**6)
        settings = [("channels", channels), ("kernels", whole(kernels, "kernels", 1, 10**6)),
                    ("perceive", _layers(perceive)), ("wiring", text_of(wiring, "wiring")),
                    ("boundary", text_of(boundary, "boundary")),
                    ("parametrisation", text_of(parametrisation, "parametrisation")),
                    ("candidates", whole(candidates, "candidates", 1, 10**6))]
        settings.append(("update", _layers(update) if update is not None else _usual_layers(channels)))
        self._core = _core.Automaton(settings, whole(seed, "seed"), number(start_logit, "start_logit", -1e6, 1e6),
                                     number(start_wire_logit, "start_wire_logit", -1e6, 1e6), threads_of(threads))

    @property
    def facts(self):
        """What it is: channels, kernels, layers, gates, and the goal that it was made for."""
        return self._core.facts()

    #: How it came about: "learned", "built", "identified", "learned and built", "untrained" or "made"; and what was done in
    #: which order, a dict for each with ``by``, ``count``, and wrong bits per board and gates before and after.
    made, provenance = "made", ()

    @property
    def channels(self):
        """Bits of a cell."""
        return self.facts["channels"]

    @property
    def parameters(self):
        """The logits by name: writable views, [gates, 16] or [kernels, gates, 16], 4 instead
        of 16 in other parametrisations; those of wires [gates, 2, candidates]. They live as long as they are used."""
        return self._core.values()

    @property
    def gradients(self):
        """The gradients by name, of the same shapes: what loss_and_grad adds to."""
        return self._core.gradients()

    num_parameters = property(lambda self: self._core.num_parameters, doc="How many logits there are.")
    weights_hash = property(lambda self: None if self._core.is_refined() else self._core.hash(),
                            doc="Of all logits; None where the model is a circuit that weights did not make.")
    model_hash = property(lambda self: self._core.model_hash(),
                          doc="Of the logits, or of the circuit where weights did not make it.")

    def rollout(self, initial, steps, soft=False, fire_rate=1, seed=0, last=False, temperature=1.0):
        """The boards at every step, [steps + 1, boards, height, width, channels], or with ``last`` only at the end.
        ``soft``: gates as they are trained instead of the likeliest ones. ``fire_rate`` below 1: in each step a cell
        takes its new state with this probability; ``seed`` decides which.
        """
        steps = whole(steps, "steps", 0, 10**9)
        rate = number(fire_rate, "fire_rate", 0, 1)
        seed = whole(seed, "seed")
        if flag(soft, "soft"):
            boards, single = _boards(initial, "initial", floats)
            out = self._core.soft(boards, steps, rate, seed, number(temperature, "temperature", 1e-6, 1e6), False, not flag(last, "last"))
        else:
            boards, single = _boards(initial, "initial", bits)
            out = self._core.hard(boards, steps, rate, seed, not flag(last, "last"))
        return _show.rolled(out, single, last)

    def loss(self, initial, target, steps, **choice):
        """The squared error at the last step, summed over boards, cells and the channels of the target."""
        return self._loss(initial, target, steps, False, **choice)

    def loss_and_grad(self, initial, target, steps, **choice):
        """The loss, and its gradients added to ``gradients``: call ``zero_grad`` first. Returns (loss, gradients).

        Keywords: ``fire_rate``, ``seed`` and ``step`` of the draws, ``temperature`` and ``gumbel`` noise of the soft
        gates, ``straight=True`` for straight through.
        """
        return self._loss(initial, target, steps, True, **choice), self.gradients

    def _loss(self, initial, target, steps, gradients, fire_rate=1, seed=0, step=0, temperature=1.0, gumbel=0.0,
              straight=False):
        boards, _ = _boards(initial, "initial", floats)
        wanted, _ = _boards(target, "target", floats)
        return self._core.loss(boards, wanted, whole(steps, "steps", 1, 10**6), number(fire_rate, "fire_rate", 0, 1),
                               whole(seed, "seed"), whole(step, "step", 0, 2**32 - 1),
                               number(temperature, "temperature", 1e-6, 1e6), number(gumbel, "gumbel", 0, 1e6),
                               flag(straight, "straight"), gradients)

    def circuit(self, simplify=True, across_steps=False, from_start=False):
        """The circuit of a cell: inputs are 9 x channels bits of the neighbourhood, outputs the next channels.
        Simplified with a proof, or every gate as trained, found or built. ``across_steps``: only the channels that the visible ones
        ever depend on; ``from_start`` also uses what always holds from the task's start."""
        return Circuit._of(self._core.circuit(flag(simplify, "simplify"), flag(across_steps, "across_steps"),
                                              flag(from_start, "from_start")))

    def learn_from(self, initial, target, steps, fire_rate=1, name="boards"):
        """Sets what the model is evaluated by and saved with: boards, and what they should become after some steps."""
        start, _ = _boards(initial, "initial", bits)
        wanted, _ = _boards(target, "target", bits)
        self._core.set_examples(text_of(name, "name"), start, wanted, whole(steps, "steps", 1, 10**6),
                                number(fire_rate, "fire_rate", 0, 1))

    def evaluate(self, initial=None, target=None, steps=None, *, fire_rate=1, seed=1, reset_steps=4000):
        """On boards of your own, [boards, height, width] or [boards, height, width, channels]: a dict with ``score``
        (fraction of bits right), ``boards``, ``exact`` (boards without a wrong bit) and ``wrong`` (bits per board), after
        ``steps`` steps. Channels that the starts do not have begin as 0. Without boards: those that its goal judges it
        by, and its trials, a list with name, score, exact, description."""
        if initial is None and target is None and steps is None:
            return self._core.trials(whole(seed, "seed"), whole(reset_steps, "reset_steps", 1, 10**7))
        if initial is None or target is None or steps is None:
            raise Error("[evaluate] got some of initial, target and steps, expected all three, or none")
        starts, wanted = _pair([_one_channel(array, self.channels) for array in (initial, target)], "evaluate", bits)
        if starts.shape[-1] < self.channels:
            starts = np.concatenate([starts, np.zeros((*starts.shape[:3], self.channels - starts.shape[-1]), np.uint8)], axis=-1)
        out = self.rollout(starts, steps, fire_rate=fire_rate, seed=seed, last=True)
        if wanted.shape[-1] > out.shape[-1]:
            raise Error(f"[evaluate] got targets of {wanted.shape[-1]} channels, expected at most {out.shape[-1]}")
        wrong = (np.asarray(out)[..., :wanted.shape[-1]] != wanted).reshape(len(wanted), -1).sum(axis=1)
        return {"score": 1 - float(wrong.sum()) / wanted.size, "boards": len(wanted), "exact": int((wrong == 0).sum()),
                "wrong": float(wrong.mean())}

    def start(self, height=None, width=None, seed=1):
        """A board to start from, [height, width, channels], of the size it was trained on or any other."""
        view = self.facts.get("view", [16, 16])
        board = self._core.start(whole(view[0] if height is None else height, "height", 1, 65536),
                                 whole(view[1] if width is None else width, "width", 1, 65536), whole(seed, "seed"))
        return _show.boards_of(board, "HWC")

    def save(self, path):
        """Writes a model file, which the program reads as well."""
        self._core.save(text_of(path, "path"), list(self.provenance))

    def __repr__(self):
        facts = self.facts
        goal = f", {self.made} for {facts['goal']}" if "goal" in facts else ""
        return f"<LogicAutomaton: {facts['gates']} gates, {facts['channels']} channels{goal}>"

    def _repr_html_(self):
        return _show.automaton_html(self)


def _layers(value):
    return value if isinstance(value, str) else [whole(v, "layers", 1, 10**7) for v in items(value, "layers")]


def _usual_layers(channels):
    """Ten layers of 256 gates, then half as many in each until a last one has a gate for every channel."""
    narrowing = [width for width in (128, 64, 32, 16, 8) if width >= channels]
    narrowing += [width for width in (4, 2) if channels < 4 and width > channels]
    return ",".join(["256x10", *map(str, narrowing), str(channels)])


def train_on(model, initial=None, target=None, *, draw=None, validate=None, test=None, steps, train_steps=500, lr=0.06, batch=None,
             eval_every=10, seed=1, fire_rate=1, clip_value=0.0, until_solved=True, progress=False, callback=None,
             name="boards"):
    """Trains an automaton on boards of your own and leaves it with its best weights.

    Either arrays ``initial`` and ``target`` ([N, H, W, C] and [N, H, W, channels to learn]; ``batch`` of them are drawn
    for every step), or ``draw(step, rng) -> (initial, target)``. Of given arrays a fifth chooses the weights and another
    fifth judges them in the end; neither is fitted. ``validate`` and ``test`` are pairs of arrays that do so instead; of
    drawn boards, other draws do (of steps -1 and -2). ``steps`` is the length of a rollout, ``train_steps`` the number of
    optimizer steps. ``callback(step, loss, wrong)`` is called at every evaluation, and returning False ends the training.

    Returns a dict: ``wrong`` (bits per board on the boards that choose), ``test_wrong`` (on those that judge; None where
    there are fewer than five different starts), ``solved``, step and metrics. ``solved`` is true when no test bit is wrong
    and either at least 1000 boards judged or every case that the circuit tells apart occurred in the boards that were
    fitted. However it ends, even by Ctrl-C, the model keeps its best weights.

    >>> start = np.random.default_rng(0).integers(0, 2, (32, 3, 3, 1))
    >>> model = espalier.LogicAutomaton(channels=1, kernels=4, perceive="8,4,2", update="16,8,4,2,1", seed=1, start_logit=2)
    >>> result = espalier.train_on(model, start, start, steps=1, train_steps=100, lr=0.2)  # every cell stays as it is
    >>> result["solved"]
    True
    """
    if not isinstance(model, LogicAutomaton):
        raise Error(f"[train_on] got {type(model).__name__}, expected a LogicAutomaton")
    if model._core.is_refined():
        raise Error("[train_on] got a circuit that no weights made, by search or construction, expected a model with soft "
                    "gates; hint: espalier.train(task, from_=...) makes its circuit soft gates")
    given = [initial is not None, target is not None]
    if any(given) != all(given) or any(given) == (draw is not None):
        raise Error("[train_on] got neither or both of arrays and draw, or one array of two, expected initial and target "
                    "or draw")
    for function, what in ((draw, "draw"), (callback, "callback")):
        if function is not None and not callable(function):
            raise Error(f"[train_on] got a {what} that cannot be called, expected a function")
    seed, train_steps = whole(seed, "seed"), whole(train_steps, "train_steps", 0, 10**9)
    eval_every, steps = whole(eval_every, "eval_every", 1, 10**9), whole(steps, "steps", 1, 10**6)
    until_solved, fire_rate = flag(until_solved, "until_solved"), number(fire_rate, "fire_rate", 0, 1)
    if draw is None:
        if validate is None or test is None:  # then some of these boards choose or judge
            _pair((initial, target), "train_on", bits)
        parts = _parts(*_pair((initial, target), "train_on", floats), validate is None, test is None)
        starts, targets = parts[0]
        validate = parts[1] if validate is None else validate
        test = parts[2] if test is None else test
        size = min(len(starts), whole(batch, "batch", 1) if batch is not None else 16)

        def draw(_, generator):
            chosen = generator.choice(len(starts), size, replace=False)
            return starts[chosen], targets[chosen]

    else:
        starts = None
    if validate is None:
        check = _pair(draw(-1, np.random.default_rng([seed, 1])), "draw", bits)
    else:
        check = _pair(validate, "validate", bits)
    if check[1].shape[-1] > model.channels:
        raise Error(f"[train_on] got targets of {check[1].shape[-1]} channels, expected at most {model.channels}, those of the model")
    seen = {_key(start) for start in check[0]}
    rng = np.random.default_rng(seed)
    optimizer = AdamW(model, lr=lr, clip_value=clip_value)
    best, best_step, best_values = np.inf, 0, None
    gates = model._core.live_gates()
    metrics = {"step": [], "loss": [], "wrong": []}
    loss = np.nan
    try:
        with contextlib.closing(_show.progress_bar(train_steps, flag(progress, "progress"))) as bar:
            for step in range(train_steps + 1):
                if step % eval_every == 0 or step == train_steps:
                    out = model.rollout(check[0], steps, fire_rate=fire_rate, seed=seed, last=True)
                    wrong = float((out[..., :check[1].shape[-1]] != check[1]).sum()) / len(check[0])
                    for column, value in zip(metrics, (step, loss, wrong)):
                        metrics[column].append(value)
                    if wrong < best:
                        best, best_step = wrong, step
                        best_values = {k: v.copy() for k, v in model.parameters.items()}
                    bar.show(step, wrong)
                    stop = callback is not None and callback(step, loss, wrong) is False
                    if stop or (until_solved and wrong == 0) or step == train_steps:
                        break
                boards, wanted = _pair(draw(step, rng), "draw", floats)
                if starts is None:
                    seen.update(map(_key, boards))
                model.zero_grad()
                loss = model.loss_and_grad(boards, wanted, steps, fire_rate=fire_rate, seed=seed, step=step)[0]
                if not np.isfinite(loss):
                    raise Error(f"[train_on] got a loss of {loss} in step {step}, expected a finite number")
                optimizer.step()
    finally:  # also after Ctrl-C, or what a callback raised
        if best_values is not None:
            for key, values in model.parameters.items():
                values[...] = best_values[key]
            model.learn_from(*check, steps, fire_rate=fire_rate, name=name)
            if best_step or not model.provenance:
                model.provenance = [*model.provenance,
                                    dict(by="gradients" if best_step else "start", count=best_step,
                                         wrong_before=metrics["wrong"][0], wrong_after=best, gates_before=gates,
                                         gates_after=model._core.live_gates())]
            model.made = _core.word_for(model.provenance)
    if starts is None and test is None:
        test = _unseen(draw, np.random.default_rng([seed, 2]), seen)
    elif test is not None:  # of boards that were fitted or chosen by none judges
        test = _pair(test, "test", bits)
        seen.update(map(_key, [] if starts is None else starts))
        fresh = np.array([_key(start) not in seen for start in test[0]], bool)
        test = (test[0][fresh], test[1][fresh]) if fresh.any() else None
    judged = None if test is None else model.evaluate(*_pair(test, "test", bits), steps, fire_rate=fire_rate, seed=seed + 1)
    solved = judged is not None and judged["exact"] == judged["boards"] and best == 0
    if solved and starts is not None:  # few boards may be right by luck: what was fitted tells against the model, too
        fitted = model.evaluate(starts, targets, steps, fire_rate=fire_rate, seed=seed + 1)
        solved = fitted["wrong"] == 0 and (judged["boards"] >= _ENOUGH_BOARDS or model._core.all_cases_seen(
            bits(starts, "initial"), steps, check[1].shape[-1]))
    elif solved:
        solved = judged["boards"] >= _ENOUGH_BOARDS
    return {"solved": solved, "wrong": best, "test_wrong": judged and judged["wrong"], "step": best_step,
            "metrics": {column: np.array(values) for column, values in metrics.items()}}


_ENOUGH_BOARDS = 1000  # that are right without exception may be called solved


_MOST_DRAWS = 10 * _ENOUGH_BOARDS


def _key(start):
    return np.asarray(start, np.float32).tobytes()


def _unseen(draw, rng, seen):
    """Different boards that are not among those seen: a thousand, or what there are; None for none at all."""
    seen, starts, targets = set(seen), [], []
    for _ in range(_MOST_DRAWS):
        for start, target in zip(*_pair(draw(-2, rng), "draw", bits)):
            if len(starts) < _ENOUGH_BOARDS and _key(start) not in seen:
                seen.add(_key(start))
                starts.append(start)
                targets.append(target)
        if len(starts) == _ENOUGH_BOARDS:
            break
    return (np.stack(starts), np.stack(targets)) if starts else None


def _parts(starts, targets, chooses, judges):
    """Boards to fit, to choose by and to judge by (None where there are too few); equal starts lie in one part. The boards
    alone tell which, so that a second training fits none of those that judged the first."""
    different, group = np.unique(starts.reshape(len(starts), -1), axis=0, return_inverse=True)
    words = np.ascontiguousarray(different, np.float32).view(np.uint32).astype(np.uint64)
    hashes = words @ np.random.default_rng(3).integers(0, 2**63, words.shape[1], np.uint64)
    place, count = np.argsort(np.argsort(hashes))[group.reshape(-1)], len(different)
    fifth = max(1, count // 5)
    tested = (place < fifth) if judges and count >= 5 else np.zeros(len(starts), bool)
    chosen = (place >= count - fifth) if chooses and count >= 5 else np.zeros(len(starts), bool)
    fitted = ~tested & ~chosen
    parts = [(starts[mask], targets[mask]) for mask in (fitted, chosen, tested)]
    return parts[0], parts[1] if chosen.any() else parts[0], parts[2] if tested.any() else None


def _pair(value, what, convert):
    """Two arrays of boards of one size, as many of each."""
    pair = value if isinstance(value, (tuple, list)) else None
    if pair is None or len(pair) != 2:
        raise Error(f"[{what}] got {type(value).__name__}, expected a pair of arrays: starts and targets")
    (first, _), (second, _) = (_boards(array, what, convert) for array in pair)
    if first.shape[:3] != second.shape[:3] or 0 in first.shape or 0 in second.shape:
        raise Error(f"[{what}] got starts of shape {first.shape} and targets of shape {second.shape}, expected as many boards "
                    "of the same size, and none that is empty")
    return first, second
