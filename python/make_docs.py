"""Writes docs/python.md from the docstrings of the installed package: python python/make_docs.py [--check]."""
import inspect
import pathlib
import sys

# The sources lie beside this file; what is documented is the installed package.
sys.path = [p for p in sys.path if pathlib.Path(p).resolve() != pathlib.Path(__file__).resolve().parent]
import espalier  # noqa: E402

TARGET = pathlib.Path(__file__).resolve().parents[1] / "docs" / "python.md"
HEAD = """# Python

`script/bootstrap && pip install .` (in a virtual environment) builds the package; `python -m build` makes a wheel. NumPy
is the only package it needs; tqdm, pandas, networkx, matplotlib and scikit-learn are used when they are there. The
`espalier` program comes along.

What users pass is copied when it has to be: lists, other number types, arrays that are not contiguous or read-only. Texts,
ragged lists, complex numbers, NaN, infinity and wrong shapes are refused with `espalier.Error`, a `ValueError`. Calls
release the interpreter's lock; an object may be used from several threads, one call at a time. Notebooks are in
[examples](../examples).

This page is made from the docstrings by `python python/make_docs.py`.
"""
GROUPS = [
    ("Training", ["train", "resume", "load", "tasks", "options", "last_run", "Run", "Interrupted", "TableModel",
                  "RewriteModel", "Error"]),
    ("Logic automata", ["LogicAutomaton", "Boards", "train_on"]),
    ("Circuits", ["Circuit", "Verification"]),
    ("Networks on graphs", ["DagNN", "MessagePassing", "GraphTransformNet", "AdamW", "SGD"]),
    ("Graphs", ["Graph", "LabelledGraph", "edit_distance", "edit_distances", "EditDistance", "wl_similarity"]),
    ("scikit-learn", ["DagClassifier", "DagRegressor"]),
]


def prose(doc):
    """Examples become code blocks."""
    lines, code = [], False
    for line in inspect.cleandoc(doc or "").splitlines():
        example = line.startswith(">>>") or (code and line.strip() != "")
        if example != code:
            lines.append("~~~python" if example else "~~~")
        code = example
        lines.append(line)
    return "\n".join(lines + ["~~~"] if code else lines).replace("``", "`")


def signature(name, thing):
    try:
        return f"{name}{inspect.signature(thing)}".replace("(self, ", "(").replace("(self)", "()")
    except (TypeError, ValueError):
        return name


def member_lines(cls):
    for base in reversed([c for c in cls.__mro__ if c.__module__.startswith("espalier")]):
        for name, value in vars(base).items():
            if name.startswith("_") or name.startswith("set_") and "request" in name:
                continue
            if isinstance(value, property):
                yield f"- `{name}`: {one_line(value.__doc__)}"
            elif isinstance(value, (classmethod, staticmethod)):
                yield f"- `{signature(cls.__name__ + '.' + name, getattr(cls, name))}`: {one_line(getattr(cls, name).__doc__)}"
            elif inspect.isfunction(value):
                yield f"- `{signature(name, value)}`: {one_line(value.__doc__)}"


def one_line(doc):
    return " ".join(inspect.cleandoc(doc or "").split()).replace("``", "`")


def page():
    parts = [HEAD]
    for title, names in GROUPS:
        parts.append(f"## {title}\n")
        for name in names:
            thing = getattr(espalier, name)
            parts.append(f"### {name}\n")
            if name != "Error":
                parts.append(f"`{signature(name, thing)}`\n")
            parts.append(prose(thing.__doc__ if name != "Error" else "What users can mend: a `ValueError` whose text "
                                "says what came, what was expected, and what to do.") + "\n")
            if inspect.isclass(thing) and name not in ("Error", "Interrupted"):
                members = list(member_lines(thing))
                if members:
                    parts.append("\n".join(members) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    named = {name for _, names in GROUPS for name in names}
    missing = set(espalier.__all__) ^ named
    if missing:
        sys.exit(f"make_docs: in one list only: {sorted(missing)}")
    if "--check" in sys.argv:
        if TARGET.read_text() != page():
            sys.exit("make_docs: docs/python.md is not what the docstrings say; run python python/make_docs.py")
    else:
        TARGET.write_text(page())
