"""How things look in a notebook, in light and dark, and progress bars."""

import base64
import html
import re

import numpy as np

from . import _core
from ._arrays import Error, text_of, whole

_STYLE = "font-family:system-ui,sans-serif;font-size:13px;color:inherit"


def pixels(frames):
    """Boards [T, H, W, C] of 0 and 1 as colours [T, H, W, 3]: the first channel, or the first three."""
    frames = np.asarray(frames)
    shown = frames[..., :3] if frames.shape[-1] >= 3 else np.repeat(frames[..., :1], 3, axis=-1)
    return np.ascontiguousarray((np.clip(shown, 0.0, 1.0) * 255).astype(np.uint8))


class Boards(np.ndarray):
    """What rollouts return: an array like any other, which a notebook shows as moving pictures. ``axes`` says what its
    dimensions are, one letter each of "TBHWC": steps, boards, height, width, channels.

    >>> frames = espalier.LogicAutomaton(channels=1, kernels=2, update="8,4,2,1").rollout(np.ones((4, 4, 1)), steps=2)
    >>> frames.axes, frames[-1].axes, frames[..., 0].axes
    ('THWC', 'HWC', 'THW')
    >>> frames.gif()[:3]
    b'GIF'
    """

    def __array_finalize__(self, source):
        axes = getattr(source, "_axes", None)
        self._axes = axes if self.shape == getattr(source, "shape", None) else None

    def __array_wrap__(self, array, context=None, return_scalar=False):
        array = np.asarray(array)  # what is computed from boards is no board
        return array[()] if array.ndim == 0 else array

    def __getitem__(self, key):
        part = super().__getitem__(key)
        if isinstance(part, Boards):
            part._axes = _axes_left(self._axes, key)
        return part

    @property
    def axes(self):
        """What the dimensions are, as letters of "TBHWC"; None when that is no longer known."""
        return self._axes

    def _frames(self):
        """As [T, H, W, C], of the first board; None when that cannot be said."""
        axes = self._axes or {3: "HWC", 4: "THWC", 5: "TBHWC"}.get(self.ndim)  # not known: the usual ones
        if axes is None or "H" not in axes or "W" not in axes or 0 in self.shape:
            return None
        frames = np.asarray(self)
        if "B" in axes:
            frames = np.take(frames, 0, axis=axes.index("B"))
            axes = axes.replace("B", "")
        for place, letter in enumerate("THWC"):
            if letter not in axes:
                frames = np.expand_dims(frames, place)
                axes = axes[:place] + letter + axes[place:]
        return frames if axes == "THWC" else None

    def gif(self, path=None, zoom=8, delay_ms=100):
        """The frames as a GIF, of the first board if there are several: written to a path, or returned as bytes. One
        channel is black and white; of three or more the first three are colours."""
        frames = self._frames()
        if frames is None:
            raise Error(f"[gif] got an array of shape {self.shape}, expected boards: [steps, boards, height, width, channels]")
        data = _core.animation(pixels(frames), whole(zoom, "zoom", 1, 64), whole(delay_ms, "delay_ms", 1, 60000))
        if path is None:
            return data
        _core.write_file(text_of(path, "path"), data)

    def _repr_html_(self):
        frames = self._frames()
        if frames is None or frames.shape[1] * frames.shape[2] > 512 * 512:
            return None  # cut down to something else, or too large: as an array
        zoom = max(1, min(8, 256 // max(frames.shape[1:3])))
        data = base64.b64encode(_core.animation(pixels(frames[:400]), zoom, 100)).decode()
        return f'<img alt="boards" style="image-rendering: pixelated" src="data:image/gif;base64,{data}">'


def boards_of(array, axes):
    """An array as boards whose dimensions are these."""
    shown = array.view(Boards)
    shown._axes = axes
    return shown


def rolled(out, single, last):
    """What a rollout returns: with or without steps and boards."""
    shown = boards_of(out, ("" if last else "T") + "BHWC")
    return shown[(0,) if last else (slice(None), 0)] if single else shown


def _axes_left(axes, key):
    """The letters of what an index leaves; None for indexes that are not whole numbers, slices or an ellipsis."""
    if axes is None:
        return None
    key = key if isinstance(key, tuple) else (key,)
    if not all(k is Ellipsis or isinstance(k, (slice, int, np.integer)) and not isinstance(k, bool) for k in key):
        return None
    here = [i for i, k in enumerate(key) if k is Ellipsis]
    if here:
        fill = len(axes) - (len(key) - 1)
        key = key[:here[0]] + (slice(None),) * fill + key[here[0] + 1:]
    return "".join(a for i, a in enumerate(axes) if i >= len(key) or isinstance(key[i], slice))


_NAMES = ["0", "AND", "A&~B", "A", "~A&B", "B", "XOR", "OR", "NOR", "XNOR", "~B", "A|~B", "~A", "~A|B", "NAND", "1"]


def page_colours(svg):
    """A drawing of graphviz in the colours of the page: lines and names in its text colour, no white ground. Gates keep
    theirs, and the dark text on them."""
    svg = re.sub(r'<polygon fill="white" stroke="[a-z]+"', '<polygon fill="none" stroke="none"', svg, count=1)
    svg = svg.replace('stroke="black"', 'stroke="currentColor"').replace('fill="black"', 'fill="currentColor"')

    parts = [part if '<path fill="#' in part else part.replace("<text ", '<text fill="currentColor" ')
             for part in re.split(r'(<g id="node.*?</g>)', svg, flags=re.S)]
    dark = "<style>@media (prefers-color-scheme: dark) { svg:root { color: #ddd } }</style>"  # where it is a file of its own
    return re.sub(r"(<svg[^>]*>)", lambda m: m[1] + dark, "".join(parts), count=1)


def circuit_svg(netlist, gates, most=150):
    """A circuit of a few gates by levels, for those without graphviz; None when it is larger."""
    if gates > most:
        return None
    inputs, outputs = netlist["inputs"], netlist["outputs"]
    nets = [(None, name) for name in inputs] + [(tuple(g[1:]), _NAMES[g[0]]) for g in netlist["gates"]]
    reads = [() if gate in ("0", "1") or pair is None else tuple(n for n, letter in zip(pair, "AB") if gate in
             ("AND", "OR", "XOR", "NOR", "NAND", "XNOR") or letter in gate) for pair, gate in nets]
    seen, level, stack = set(), {}, [o["net"] for o in outputs]
    while stack:
        net = stack.pop()
        if net not in seen:
            seen.add(net)
            stack.extend(reads[net])
    columns = {}
    for net in sorted(seen):
        level[net] = 1 + max((level[r] for r in reads[net]), default=-1)
        columns.setdefault(level[net], []).append(net)
    last = max(level.values(), default=0) + 1
    place = {net: (20 + 90 * column, 20 + 26 * row) for column, members in columns.items()
             for row, net in enumerate(members)}
    width, rows = 120 + 90 * last, max([len(outputs), *(len(c) for c in columns.values())])
    lines, boxes = [], []

    def line(start, end):
        lines.append(f'<path fill="none" stroke="currentColor" stroke-opacity="0.6" d="M{start[0] + 64},{start[1]} '
                     f'C{start[0] + 78},{start[1]} {end[0] - 14},{end[1]} {end[0]},{end[1]}"/>')

    def word(x, y, text, ink):
        boxes.append(f'<text x="{x + 32}" y="{y + 4}" font-size="11" font-family="sans-serif" text-anchor="middle" '
                     f'fill="{ink}">{html.escape(text)}</text>')
    for net, (x, y) in place.items():
        for read in reads[net]:
            line(place[read], (x, y))
        if nets[net][0] is not None:
            boxes.append(f'<rect x="{x}" y="{y - 10}" width="64" height="20" rx="5" fill="#dbe9f6" stroke="currentColor"/>')
        word(x, y, nets[net][1], "currentColor" if nets[net][0] is None else "black")
    for row, output in enumerate(outputs):
        spot = (20 + 90 * last, 20 + 26 * row)
        line(place[output["net"]], spot)
        word(*spot, output["name"], "currentColor")
    return (f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{30 + 26 * rows}" '
            f'viewBox="0 0 {width} {30 + 26 * rows}">{"".join(lines + boxes)}</svg>')


def curve_svg(series, x, width=420, height=160, log=False):
    """Lines over x as an SVG; colours and text follow the page."""
    colours = ["#4c8dd6", "#d6763c", "#58a65c", "#a86cc1"]
    parts = [f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
             'style="color:inherit" xmlns="http://www.w3.org/2000/svg">']
    left, bottom, top, right = 46, height - 22, 18, width - 8
    finite = [np.asarray(v, float) for v in series.values()]
    values = np.concatenate([v[np.isfinite(v)] for v in finite]) if finite else np.array([])
    if log:
        values = values[values > 0]
    if len(values) == 0 or len(x) == 0:
        return "".join(parts) + "</svg>"
    transform = np.log10 if log else (lambda v: v)
    low, high = float(transform(values.min())), float(transform(values.max()))
    span, reach = (high - low) or 1.0, (float(x[-1]) - float(x[0])) or 1.0
    floor = values.min()
    for k, (name, line) in enumerate(series.items()):
        points = []
        for a, b in zip(x, line):
            if not np.isfinite(b):
                continue
            level = float(transform(max(b, floor) if log else b))
            points.append(f"{left + (float(a) - float(x[0])) / reach * (right - left):.1f},"
                          f"{bottom - (level - low) / span * (bottom - top):.1f}")
        parts.append(f'<polyline fill="none" stroke="{colours[k % 4]}" stroke-width="1.5" points="{" ".join(points)}"/>')
        parts.append(f'<text x="{left + 110 * k}" y="12" font-size="11" fill="{colours[k % 4]}">{html.escape(name)}</text>')
    ends = (values.min(), values.max())
    for value, y in zip(ends, (bottom, top + 8)):
        parts.append(f'<text x="{left - 4}" y="{y}" font-size="10" text-anchor="end" fill="currentColor">{value:.3g}</text>')
    parts.append(f'<text x="{left}" y="{height - 6}" font-size="10" fill="currentColor">{int(x[0])}</text>')
    parts.append(f'<text x="{right}" y="{height - 6}" font-size="10" text-anchor="end" fill="currentColor">'
                 f'{int(x[-1])} steps</text></svg>')
    return "".join(parts)


def table_html(rows):
    cells = "".join(f"<tr><td style='padding:1px 8px;text-align:left'>{html.escape(str(k))}</td>"
                    f"<td style='padding:1px 8px;text-align:left'>{html.escape(str(v))}</td></tr>" for k, v in rows)
    return f"<table style='{_STYLE}'>{cells}</table>"


def flat(facts, before=""):
    """Facts within facts as rows; names joined by dots."""
    rows = []
    for name, value in facts.items():
        rows += flat(value, f"{before}{name}.") if isinstance(value, dict) else [(before + name, value)]
    return rows


def facts_html(thing, rows):
    """What a model is, as a table under its kind."""
    return f"<div style='{_STYLE}'><b>{type(thing).__name__}</b>{table_html(rows)}</div>"


def run_html(run):
    rows = [("task", run.task), ("solved", "yes" if run.solved else "no"), ("verdict", run.verdict), ("judged by", run.judged_by),
            ("made", run.made),
            ("winner", f"seed {run.seed}, {run.steps} steps, {run.seconds:.1f} s"), ("model", run.model_hash)]
    metrics = run.metrics
    curve = ""
    if metrics and len(metrics["step"]) > 1:
        curve = curve_svg({"loss": metrics["loss"], "validation loss": metrics["validation_loss"]}, metrics["step"], log=True)
    return f"<div style='{_STYLE}'>{table_html(rows)}{curve}</div>"


def automaton_html(model):
    facts = model.facts
    rows = [(name, facts[name]) for name in ("goal", "channels", "gates", "update", "boundary") if name in facts]
    picture = ""
    if "view" in facts:
        height, width, steps = facts["view"]
        steps = min(int(steps), 200)
        frames = model.rollout(model.start(height, width), steps, fire_rate=facts.get("fire-rate", 1))
        shown = frames[..., :max(1, min(3, facts.get("loss_channels", 1)))]
        picture = shown._repr_html_() or ""
    return f"<div style='{_STYLE}'>{table_html(rows)}{picture}</div>"


class _Bar:
    def __init__(self, bar):
        self._bar = bar

    def show(self, step, wrong):
        if self._bar is not None:
            self._bar.n = step
            self._bar.set_postfix(wrong=f"{wrong:.3g}", refresh=False)
            self._bar.refresh()

    def close(self):
        if self._bar is not None:
            self._bar.close()


def progress_bar(total, wanted):
    """tqdm when it is there and wanted."""
    if not wanted:
        return _Bar(None)
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Bar(None)
    return _Bar(tqdm(total=total, unit="step"))
