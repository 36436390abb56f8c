"""The package as it was installed: complete, and on its own."""
import doctest
import importlib
import inspect
import pathlib
import pkgutil
import subprocess
import sys

import numpy as np
import pytest

import espalier
from espalier import _program

SYSTEM = ("libc.", "libm.", "libstdc++.", "libgcc_s.", "ld-linux", "libpthread.", "libdl.", "librt.", "libutil.")


def test_every_public_name_has_a_docstring():
    pytest.importorskip("sklearn")
    for name in espalier.__all__:
        thing = getattr(espalier, name)
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing):
            for member, value in vars(thing).items():
                if not member.startswith("_") and (callable(value) or isinstance(value, (property, classmethod))):
                    assert inspect.getdoc(getattr(thing, member)) or getattr(value, "__doc__", None), f"{name}.{member}"


def test_the_examples_in_docstrings_are_true():
    tried = 0
    for info in pkgutil.iter_modules(espalier.__path__):
        if info.name.startswith("_core"):
            continue
        try:
            module = importlib.import_module(f"espalier.{info.name}")
        except ImportError:
            assert info.name == "_estimators"
            continue
        result = doctest.testmod(module, extraglobs={"espalier": espalier, "np": np})
        assert result.failed == 0, info.name
        tried += result.attempted
    tried += doctest.testmod(espalier).attempted
    assert tried > 20


def test_types_are_shipped():
    folder = pathlib.Path(espalier.__file__).parent
    assert (folder / "py.typed").exists() and (folder / "__init__.pyi").exists() and "class Automaton" in (folder / "_core.pyi").read_text()


def test_the_program_comes_along():
    assert espalier.__version__ in subprocess.run([_program.path(), "--version"], capture_output=True, text=True).stdout
    script = pathlib.Path(sys.executable).parent / "espalier"
    if script.exists():
        assert "checkerboard" in subprocess.run([script, "train", "--list"], capture_output=True, text=True).stdout


def test_all_is_well_without_scikit_learn():
    code = """
import sys
sys.modules["sklearn"] = None
from espalier import *
import espalier, inspect, pydoc
assert train and "DagClassifier" not in dir() and not hasattr(espalier, "DagClassifier")
assert "LogicAutomaton" in pydoc.render_doc(espalier) and inspect.getmembers(espalier)
try:
    espalier.DagRegressor
except AttributeError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install scikit-learn" in said


def test_only_numpy_is_imported():
    code = "import espalier, sys; print([m for m in ('sklearn','pandas','matplotlib','tqdm','networkx') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_it_is_imported_in_under_a_third_of_a_second():
    code = "import time; a = time.process_time(); import espalier; print(time.process_time() - a)"
    assert min(float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
               for _ in range(5)) < 0.3


@pytest.mark.skipif("site-packages" not in espalier.__file__, reason="about the installed wheel")
def test_no_library_of_the_system_is_needed_but_those_of_c_and_cpp():
    code = "import espalier; espalier.train('life', train_steps=1, refine=0, progress=False); print(open('/proc/self/maps').read())"
    before = subprocess.run([sys.executable, "-c", "import numpy; print(open('/proc/self/maps').read())"],
                            capture_output=True, text=True, check=True).stdout
    after = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    def libraries(text):
        return {line.split()[-1] for line in text.splitlines() if ".so" in line and "/" in line}
    package = str(pathlib.Path(espalier.__file__).parent.parent)
    foreign = {lib for lib in libraries(after) - libraries(before)
               if not lib.startswith(package) and not pathlib.Path(lib).name.startswith(SYSTEM)
               and "lib-dynload" not in lib and "/python3" not in lib}
    assert not foreign


ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_reference_is_what_the_docstrings_say():
    pytest.importorskip("sklearn")
    subprocess.run([sys.executable, ROOT / "python" / "make_docs.py", "--check"], check=True)


def test_the_readme_is_true(tmp_path):
    text = (ROOT / "README.md").read_text()
    code = text.split("## From Python", 1)[1].split("```python\n", 1)[1].split("```", 1)[0]
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)


def test_versions_agree():
    assert f'version = "{espalier.__version__}"' in (ROOT / "pyproject.toml").read_text()
    assert f"VERSION {espalier.__version__} " in (ROOT / "CMakeLists.txt").read_text()
