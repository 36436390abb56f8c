"""Writes docs/python.md from the docstrings of the installed package: python python/make_docs.py [--check]."""
import inspect
import pathlib
import sys

# The sources lie beside this file; what is documented is the installed package.
sys.path = [p for p in sys.path if pathlib.Path(p).resolve() != pathlib.Path(__file__).resolve().parent]
import espalier  # noqa: E402

TARGET = pathlib.Path(__file__).resolve().parents[1] / "docs" / "python.md"
HEAD = """# Python

`script/bootstrap && pip install .` (in a virtual environment) builds the package; `script/wheel` makes a source package
and a wheel to pass on, which includes the libraries it needs. NumPy is the only package it requires; tqdm, pandas,
networkx and scikit-learn are used if installed. The `espalier` program is included, and type checkers find the types of
everything public.

Arguments are copied when necessary: lists, other number types, arrays that are not contiguous or read-only. Texts,
ragged lists, complex numbers, masked values, NaN, infinity and wrong shapes are refused with `espalier.Error`, a
`ValueError`. Long calls release the interpreter's lock; an object may be used from several threads, one call at a time.
In a notebook, models, runs, circuits and boards display themselves, in the colours of the page. Notebooks are in
[examples](../examples).

What Python costs, by `chrt -f 5 python python/overhead.py 15 build/release/espalier` on two cores of an Intel Xeon
(Emerald Rapids) that other guests share: a training step of `checkerboard` on one thread took 25.5 ms of processor time
in a hand-written loop, 26.0 ms in the package's program and 27.8 ms in that of `script/build` (medians of fifteen rounds
in turn; half of the ratios lay between -13 and +6 %): no difference that could be told from noise. Another five rounds
without `chrt` gave +11 % and -3 %. The import took 113 to 128 ms, 94 to 107 of them NumPy's. A rollout, hard or soft,
takes hardly any memory beyond its result; a soft one with `fire_rate` below 1 takes as much again.

This page is generated from the docstrings by `python python/make_docs.py`.
"""
# What the engine gives to users and no function of the package makes by itself: said here, since it has no docstrings.
GIVEN = {
    "Event": ("What a `callback` of `train` and `resume` gets.", [
        ("kind", "what happened: see `train`"), ("seed", "of which seed"), ("step, steps", "optimizer steps done, and in all"),
        ("seconds", "of training so far"), ("loss", "of the last step"), ("score, validation_loss, passed", "of the last evaluation"),
        ("extra", "further columns of an evaluation, a dict"), ("search", "of a search: done, total, wrong, gates; else None"),
        ("text", "of a message")]),
    "Trial": ("One line of `LogicAutomaton.evaluate`.", [
        ("name", "what was tried"), ("description", "on what, in words"), ("score", "the share of bits that were right"),
        ("exact", "whether all were"), ("limit", "the share that a perfect rule could get right; 1 where that is all")]),
}
GROUPS = [
    ("Training", ["train", "resume", "load", "tasks", "options", "last_run", "Run", "Interrupted", "TableModel",
                  "RewriteModel", "Error"]),
    ("Logic automata", ["LogicAutomaton", "Boards", "train_on"]),
    ("Circuits", ["Circuit", "Verification"]),
    ("Networks on graphs", ["DagNN", "MessagePassing", "GraphTransformNet", "Tape", "AdamW", "SGD"]),
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


# What functions return: nobody makes one.
RETURNED = {"Boards", "EditDistance", "Error", "Interrupted", "RewriteModel", "Run", "TableModel", "Verification"}


def member_lines(cls):
    for base in reversed([c for c in cls.__mro__ if c.__module__.startswith("espalier")]):
        for name, value in vars(base).items():
            if name == "__call__":
                yield f"- `{signature('', value)}`: {'The same as `forward`.' if value.__name__ == 'forward' else one_line(value.__doc__)}"
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
            if name not in RETURNED:
                parts.append(f"`{signature(name, thing)}`\n")
            parts.append(prose(thing.__doc__ if name != "Error" else "What users can fix: a `ValueError` whose text "
                                "says what was given, what was expected, and what to do.") + "\n")
            if inspect.isclass(thing) and name not in ("Error", "Interrupted"):
                members = list(member_lines(thing))
                if members:
                    parts.append("\n".join(members) + "\n")
    parts.append("## What the engine hands over\n")
    for name, (says, members) in GIVEN.items():
        known = {member for member in dir(getattr(espalier._core, name)) if not member.startswith("_")}
        told = {member for names, _ in members for member in names.split(", ")}
        if known != told:
            sys.exit(f"make_docs: {name} has {sorted(known ^ told)} in one place only")
        lines = [f"- {', '.join(f'`{n}`' for n in names.split(', '))}: {text}." for names, text in members]
        parts.append(f"### {name}\n\n{says}\n\n" + "\n".join(lines) + "\n")
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
