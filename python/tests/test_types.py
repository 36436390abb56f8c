"""The stub of the package says what the sources are: the same names, parameters and defaults, all of them with types."""
import ast
import inspect
import pathlib
import typing

import numpy as np
import pytest

import espalier

pytest.importorskip("sklearn")
STUB = pathlib.Path(espalier.__file__).with_name("__init__.pyi")
SPECIAL = {"__init__", "__call__"}


def parameters(function):
    return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]


@pytest.fixture(scope="module")
def stub():
    """The stub's names, as if it were a module; texts in types are looked up among them."""
    names = {"__name__": "espalier", "__package__": "espalier"}
    exec(compile("from __future__ import annotations\n" + STUB.read_text(), str(STUB), "exec"), names)
    return names


def functions(stub):
    """Every function of the stub, with the name of its class and the one it stands for."""
    for name in espalier.__all__:
        thing = stub[name]
        if inspect.isfunction(thing):
            yield name, thing, getattr(espalier, name)
        elif name != "Error":
            for member, value in vars(thing).items():
                value = getattr(value, "__func__", value)
                if inspect.isfunction(value) and (not member.startswith("_") or member in SPECIAL):
                    real = inspect.getattr_static(getattr(espalier, name), member)
                    yield f"{name}.{member}", value, getattr(real, "__func__", real)


def test_every_public_name_is_in_the_stub(stub):
    for name in espalier.__all__:
        thing, real = stub[name], getattr(espalier, name)
        if not inspect.isclass(real) or name == "Error":
            continue
        for owner in [c for c in real.__mro__ if c.__module__.startswith("espalier")]:
            for member, value in vars(owner).items():
                known = callable(value) or isinstance(value, (property, classmethod))
                if known and not member.startswith("_") and not (member.startswith("set_") and "request" in member):
                    assert hasattr(thing, member), f"{name}.{member}"


def test_nothing_is_in_the_stub_that_is_not_there(stub):
    for name in espalier.__all__:
        if inspect.isclass(stub[name]) and name != "Error":
            for member in vars(stub[name]):
                if not member.startswith("_") and member != "run":
                    assert hasattr(getattr(espalier, name), member), f"{name}.{member}"


def test_parameters_and_defaults_are_those_of_the_sources(stub):
    compared = 0
    for name, said, real in functions(stub):
        assert parameters(said) == parameters(real), name
        compared += 1
    assert compared > 80


def test_every_parameter_and_result_has_a_type(stub):
    for name, said, _ in functions(stub):
        hints = typing.get_type_hints(said, stub)
        missing = {p for p in inspect.signature(said).parameters if p not in ("self", "cls")} - set(hints)
        assert not missing and "return" in hints, f"{name}: {missing}"
    tree = ast.parse(STUB.read_text())
    assert all(f.returns is not None for f in ast.walk(tree) if isinstance(f, ast.FunctionDef))


def test_results_have_the_types_that_are_said(stub):
    network = espalier.DagNN.layered([2, 3, 1])
    model = espalier.LogicAutomaton(channels=1, kernels=2, update="8,4,2,1")
    board = np.zeros((3, 3, 1))
    graph = espalier.LabelledGraph(["a"])
    for name, value in (("tasks", espalier.tasks()), ("options", espalier.options("life")),
                        ("edit_distance", espalier.edit_distance(graph, graph)), ("wl_similarity", espalier.wl_similarity(graph, graph)),
                        ("DagNN.forward", network.forward([[0, 1]])), ("DagNN.split_edge", network.split_edge(0)),
                        ("DagNN.gradient_norm", network.gradient_norm()), ("LogicAutomaton.rollout", model.rollout(board, 1)),
                        ("LogicAutomaton.loss", model.loss(board, board, 1)), ("LogicAutomaton.circuit", model.circuit()),
                        ("Circuit.verify", model.circuit().verify(model.circuit()))):
        owner, _, member = name.partition(".")
        function = getattr(stub[owner], member) if member else stub[owner]
        said = typing.get_type_hints(function, {**stub, **vars(espalier)})["return"]
        assert isinstance(value, typing.get_origin(said) or said), name
