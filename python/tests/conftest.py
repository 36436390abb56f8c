import os
import subprocess

import numpy as np
import pytest

import espalier
from espalier import _program


@pytest.fixture(autouse=True)
def doctest_names(doctest_namespace):
    doctest_namespace["np"] = np
    doctest_namespace["espalier"] = espalier


@pytest.fixture
def program():
    """Runs the program that came with the package and returns what it printed."""
    def run(*arguments, code=0):
        result = subprocess.run([_program.path(), *map(str, arguments)], capture_output=True, text=True)
        assert result.returncode == code, result.stderr
        return result.stdout
    return run


THREADS = [1, 2, 3, 5, 8, 16]


@pytest.fixture(params=THREADS)
def threads(request, monkeypatch):
    monkeypatch.setenv("ESPALIER_OVERSUBSCRIBE", "1")
    return request.param
