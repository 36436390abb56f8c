"""What users pass: made contiguous and of the right type, or refused with a message; and what they get."""

import os

import numpy as np

from ._core import Error

Error.__module__ = "espalier"


class Wrapper:
    """An object around ``_core``, one of the engine's."""

    @classmethod
    def _of(cls, core):
        self = cls.__new__(cls)
        self._core = core
        return self


def floats(values, what, ndim=None):
    """As float32, contiguous; a copy when it has to be. Texts, ragged lists, complex numbers, NaN and infinity are
    errors."""
    array = _numbers(values, what)
    if array.dtype.kind == "c":
        raise Error(f"[{what}] got complex numbers, expected real ones")
    with np.errstate(over="ignore"):  # the message says it
        array = np.ascontiguousarray(array, dtype=np.float32)
    if not np.isfinite(array).all():
        raise Error(f"[{what}] got a value that is NaN or infinite (or beyond float32), expected finite numbers")
    return _dimensions(array, what, ndim)


def bits(values, what, ndim=None):
    """As uint8 of 0 and 1; booleans, whole numbers and floats that are exactly 0 or 1 are taken."""
    array = _numbers(values, what)
    with np.errstate(invalid="ignore"):
        whole = array.astype(np.uint8) if array.dtype.kind in "biuf" else None
    if whole is None or not np.array_equal(whole, array) or (whole > 1).any():
        raise Error(f"[{what}] {_not_bits(array)}")
    return _dimensions(np.ascontiguousarray(whole), what, ndim)


_MOST_STATES = 32  # beyond are shades of grey, by their look


def _not_bits(array):
    if array.dtype.kind == "c":
        return "got complex numbers, expected bits, 0 and 1"
    value = array[~np.isin(array, (0, 1))].flat[0]
    return f"got {value:g}, expected bits, 0 and 1; hint: " + (
        "states become channels: np.eye(states, dtype=np.uint8)[boards] has one for each" if value in range(2, _MOST_STATES)
        else "shades become bits by a threshold, such as boards > 0.5")


def indices(values, what, ndim=None, dtype=np.int64):
    """As whole numbers of 0 and more."""
    array = _numbers(values, what)
    if array.size == 0 and array.dtype.kind == "f":
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise Error(f"[{what}] got {array.dtype} values, expected whole numbers from 0 on")
    for outside in (int(array.min()), int(array.max())) if array.size else ():
        if not 0 <= outside <= np.iinfo(dtype).max:
            raise Error(f"[{what}] got {outside}, expected whole numbers from 0 to {np.iinfo(dtype).max}")
    return _dimensions(np.ascontiguousarray(array, dtype=dtype), what, ndim)


def edge_rows(edges, what):
    """Rows (from, to) as int64. A list is one of pairs; of an array only the shape tells rows from an ``edge_index``
    [2, edges], so one of shape [2, 2] is an error."""
    shape = getattr(edges, "shape", None)
    if shape is None:
        edges = items(edges, what)
        if not edges:
            return np.zeros((0, 2), np.int64)
    elif tuple(shape) == (2, 2):
        raise Error(f"[{what}] got an array of shape [2, 2], which may be two rows (from, to) or an edge_index, expected "
                    "a list of pairs; hint: edges.tolist() for rows, Graph.from_edge_index for an edge_index")
    elif len(shape) == 2 and shape[0] == 2 and shape[1] != 2 and shape[1] != 0:
        raise Error(f"[{what}] got an array of shape [2, {shape[1]}], expected [edges, 2], a row (from, to) for each; "
                    "hint: Graph.from_edge_index takes an edge_index, edges.T has rows")
    elif 0 in tuple(shape):
        return np.zeros((0, 2), np.int64)
    array = indices(edges, what, 2)
    if array.shape[1] != 2:
        raise Error(f"[{what}] got edges of shape {list(array.shape)}, expected [edges, 2], a row (from, to) for each")
    return array


def whole(value, what, least=0, most=2**63 - 1):
    """A whole number in a range."""
    number = _scalar(value, int)
    if number is None or number != value or not least <= number <= most:
        raise Error(f"[{what}] got {_short(value)}, expected a whole number from {least} to {most}")
    return number


def number(value, what, least=-np.inf, most=np.inf):
    """A finite number in a range."""
    result = _scalar(value, float)
    if result is None or not (np.isfinite(result) and least <= result <= most):
        raise Error(f"[{what}] got {_short(value)}, expected a number from {least:g} to {most:g}")
    return result


def _scalar(value, kind):
    if isinstance(value, (str, bytes, complex, np.complexfloating, np.ndarray)) and not (
            isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "biuf"):
        return None
    try:
        return kind(value)
    except (TypeError, ValueError, OverflowError):
        return None


def flag(value, what):
    """True or False; whole numbers 0 and 1 too."""
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, (int, np.integer)) and value in (0, 1)):
        return bool(value)
    raise Error(f"[{what}] got {_short(value)}, expected True or False")


def threads_of(threads):
    """None is all cores; the result is the same for any number."""
    return 0 if threads is None else whole(threads, "threads", 1, 4096)


def items(values, what):
    """A list of whatever can be gone through."""
    try:
        return list(values)
    except TypeError:
        raise Error(f"[{what}] got {_short(values)}, expected a list") from None


def text_of(value, what):
    """A text or a path."""
    try:
        text = os.fsdecode(value) if not isinstance(value, str) else value
    except TypeError:
        text = "\0"
    if "\0" in text:  # ends a name for the system, whatever follows
        raise Error(f"[{what}] got {_short(value)}, expected a text")
    return text


def plain(value, what="value"):
    """NumPy scalars and arrays in options as the plain values that they stand for."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.ndim > 1:
        raise Error(f"[{what}] got an array of shape {list(value.shape)}, expected a plain value or a path; hint: np.savez(path, "
                    "start=..., target=...) writes boards to a file, train_on takes them as they are")
    if hasattr(value, "columns"):
        raise Error(f"[{what}] got a {type(value).__name__}, expected a path; hint: to_csv(path, index=False) writes the rows to one")
    if isinstance(value, np.ndarray):
        return value.tolist()
    if hasattr(value, "__fspath__"):
        return text_of(value, "path")
    return value


def _short(value):
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def _numbers(values, what):
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        raise Error(f"[{what}] got an array with masked values, expected one without; hint: fill them in with .filled()")
    try:
        array = np.asarray(values)
    except (ValueError, TypeError):
        array = None
    if array is None:
        raise Error(f"[{what}] got lists of several lengths or kinds, expected an array of numbers")
    if array.dtype.kind not in "biufc":
        got = _short(values) if array.ndim == 0 else f"an array of type {array.dtype}"
        raise Error(f"[{what}] got {got}, expected an array of numbers")
    return array


def _dimensions(array, what, ndim):
    if ndim is not None and array.ndim != ndim:
        raise Error(f"[{what}] got an array of shape {list(array.shape)}, expected {ndim} dimension{'s' * (ndim != 1)}")
    return array
