"""Circuits: evaluated, proved, read and written."""
import shutil

import numpy as np
import pytest

import espalier

XOR = ".model x\n.inputs a b\n.outputs y\n.names a b y\n10 1\n01 1\n.end\n"


@pytest.fixture
def xor(tmp_path):
    (tmp_path / "x.blif").write_text(XOR)
    return espalier.Circuit.read(tmp_path / "x.blif")


def test_bits_go_in_and_out(xor):
    table = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    assert xor.evaluate(table).tolist() == [[0], [1], [1], [0]]
    assert xor.evaluate([1, 0]).tolist() == [1]
    assert xor.evaluate(np.repeat(table, 50, axis=0)).sum() == 100
    assert xor.inputs == ["a", "b"] and xor.outputs == ["y"]
    assert xor.counts["inputs"] == 2 and xor.gates >= 1 and xor.depth >= 1
    for bad in ([[0, 2]], [[0, 1, 1]], "ab", [[0.5, 0]]):
        with pytest.raises(espalier.Error):
            xor.evaluate(bad)


def test_proofs_and_counter_examples(xor, tmp_path):
    (tmp_path / "or.blif").write_text(XOR.replace("10 1", "1- 1").replace("01 1", "-1 1"))
    other = espalier.Circuit.read(tmp_path / "or.blif")
    proof = xor.verify(xor.simplify())
    assert proof and proof.verdict == "equal" and proof.counter_example is None
    refuted = xor.verify(other)
    assert not refuted and refuted.counter_example.tolist() == [1, 1] and refuted.output == "y"
    assert xor.evaluate(refuted.counter_example)[0] != other.evaluate(refuted.counter_example)[0]
    with pytest.raises(espalier.Error):
        xor.verify(3)


@pytest.mark.parametrize("format", ["verilog", "c", "blif", "aiger", "aiger-binary", "dot", "json", "js"])
def test_exports_come_as_text_and_as_files(xor, format, tmp_path):
    text = xor.export(format)
    assert isinstance(text, bytes if format == "aiger-binary" else str) and len(text) > 10
    files = xor.export(format, tmp_path / "out.x", name="mine")
    assert len(files) >= 1
    if format in ("blif", "aiger", "aiger-binary", "json"):
        assert xor.verify(espalier.Circuit.read(files[0]))


def test_a_format_that_is_not_there_is_an_error(xor):
    with pytest.raises(espalier.Error, match="vhdl"):
        xor.export("vhdl")
    with pytest.raises(espalier.Error):
        espalier.Circuit.read("missing.blif")


@pytest.mark.skipif(not shutil.which("dot"), reason="graphviz draws")
def test_circuits_draw_themselves(xor):
    assert "<svg" in xor._repr_svg_()


def test_equal_circuits_are_equal(xor):
    assert xor == xor.simplify() or xor.verify(xor.simplify())
    assert xor != 3 and "gates" in repr(xor)
