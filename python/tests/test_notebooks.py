"""The notebooks under examples/, executed from top to bottom with small settings. What a notebook shows it asserts, and
an assertion that does not hold fails here."""
import pathlib

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples"
NOTEBOOKS = pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda p: p.stem)


def execute(notebook, folder):
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()


@NOTEBOOKS
def test_runs_from_top_to_bottom(path, tmp_path, monkeypatch):
    monkeypatch.setenv("ESPALIER_FAST", "1")
    execute(nbformat.read(path, as_version=4), tmp_path)


@NOTEBOOKS
def test_asserts_something_and_is_stored_as_it_ran(path):
    code = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert any(line.strip().startswith("assert ") for cell in code for line in cell.source.splitlines())
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1)), "run all cells, then store"
    outputs = [output for cell in code for output in cell.outputs]
    assert outputs and all(output.output_type != "error" for output in outputs)


def test_an_assertion_that_does_not_hold_fails(tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("right = 29\nassert right > 32")])
    with pytest.raises(nbclient.exceptions.CellExecutionError, match="AssertionError"):
        execute(notebook, tmp_path)
