"""How things look in a notebook, in light and dark, and progress bars."""

import base64
import html

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
    """What rollouts return: an array like any other, which a notebook shows as moving pictures.

    >>> frames = espalier.LogicAutomaton(channels=1, kernels=2, update="8,4,2,1").rollout(np.ones((4, 4, 1)), steps=2)
    >>> frames.gif()[:3]
    b'GIF'
    """

    def __array_wrap__(self, array, context=None, return_scalar=False):
        array = np.asarray(array)  # what is computed from boards is no board
        return array[()] if array.ndim == 0 else array

    def gif(self, path=None, zoom=8, delay_ms=100):
        """The frames as a GIF, its first board if there are several: written to a path, or its bytes. One channel is
        black and white, of three and more the first three are colours."""
        frames = np.asarray(self)
        if not 3 <= frames.ndim <= 5 or 0 in frames.shape:
            raise Error(f"[gif] got an array of shape {frames.shape}, expected [steps, boards, height, width, channels]")
        frames = frames[:, 0] if frames.ndim == 5 else frames[None] if frames.ndim == 3 else frames
        data = _core.animation(pixels(frames), whole(zoom, "zoom", 1, 64), whole(delay_ms, "delay_ms", 1, 60000))
        if path is None:
            return data
        _core.write_file(text_of(path, "path"), data)

    def _repr_html_(self):
        if not 3 <= self.ndim <= 5 or 0 in self.shape or self.shape[-2] * self.shape[-3] > 512 * 512:
            return None  # cut down to something else, or too large: as an array
        data = base64.b64encode(self[:400].gif(zoom=max(1, min(8, 256 // max(self.shape[-3:-1]))))).decode()
        return f'<img alt="boards" style="image-rendering: pixelated" src="data:image/gif;base64,{data}">'


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


def run_html(run):
    rows = [("task", run.task), ("solved", "yes" if run.solved else "no"), ("score", f"{100 * run.score:.2f} %"),
            ("winner", f"seed {run.seed}, {run.steps} steps, {run.seconds:.1f} s"), ("weights", run.weights_hash)]
    metrics = run.metrics
    curve = ""
    if metrics and len(metrics["step"]) > 1:
        curve = curve_svg({"loss": metrics["loss"], "validation loss": metrics["validation_loss"]}, metrics["step"], log=True)
    return f"<div style='{_STYLE}'>{table_html(rows)}{curve}</div>"


def automaton_html(model):
    facts = model.facts
    rows = [(name, facts[name]) for name in ("learned", "channels", "gates", "update", "boundary") if name in facts]
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
