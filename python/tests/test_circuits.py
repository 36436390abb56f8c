"""Circuits: evaluated, proved, read and written."""
import shutil
from xml.dom import minidom

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


def test_a_model_with_a_changed_bit_is_no_circuit(tmp_path):
    path = tmp_path / "m.safetensors"
    model = espalier.LogicAutomaton(channels=1, kernels=2, update="8,4,2,1", seed=3)
    model.learn_from(np.zeros((2, 3, 3, 1)), np.ones((2, 3, 3, 1)), 1)
    model.save(path)
    good = path.read_bytes()
    assert espalier.Circuit.read(path) is not None
    random = np.random.default_rng(1)
    for bit in random.integers(0, 8 * len(good), 200):
        flipped = bytearray(good)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        for read in (espalier.Circuit.read, espalier.load):
            with pytest.raises(espalier.Error):
                read(path)


def test_files_of_others_are_not_replaced(xor, tmp_path):
    (tmp_path / "z_tb.v").write_text("mine")
    with pytest.raises(espalier.Error, match="already"):
        xor.export("verilog", tmp_path / "z.v")
    assert (tmp_path / "z_tb.v").read_text() == "mine" and not (tmp_path / "z.v").exists()
    (tmp_path / "z_tb.v").unlink()
    assert xor.export("verilog", tmp_path / "z.v") == xor.export("verilog", tmp_path / "z.v")
    run = espalier.train("checkerboard-small", train_steps=2, refine=0, out=tmp_path / "run", progress=False)
    for name in ("config.json", "model.safetensors", "metrics.csv", "checkpoint.safetensors"):
        before = (tmp_path / "run" / name).read_bytes()
        for write in (lambda path: xor.export("blif", path), run.model.save):
            with pytest.raises(espalier.Error, match="of the run"):
                write(tmp_path / "run" / name)
        assert (tmp_path / "run" / name).read_bytes() == before


def test_what_is_exported_says_what_is_proved_of_it(xor, program, tmp_path):
    assert "nothing proved" in xor.proof and "equal: 1 of 1 outputs proved" in xor.simplify().proof
    run = espalier.train("checkerboard-small", train_steps=5, refine=0, boundary="periodic", out=tmp_path / "run", progress=False)
    across = run.model.circuit(across_steps=True)
    assert "outputs proved" in across.proof and "channels" in across.proof
    # the same circuits with the same boards as the program writes
    for circuit, flags in ((run.model.circuit(), ()), (across, ("--across-steps",)), (run.model.circuit(simplify=False), ("--raw",))):
        for format in ("c", "js", "blif"):
            circuit.export(format, tmp_path / "here.x")
            program("export", tmp_path / "run", "--to", format, "-o", tmp_path / "there.x", *flags)
            here, there = ((tmp_path / name).read_text() for name in ("here.x", "there.x"))
            assert here.replace("here.h", "there.h") == there, (format, flags)
    assert espalier.Circuit.read(tmp_path / "run") == run.model.circuit(simplify=False)
    with pytest.raises(espalier.Error, match="across_steps"):
        run.model.circuit(simplify=False, across_steps=True)


def test_simplifying_has_the_options_of_the_program(xor):
    assert xor.simplify(goal="ands").gates == 3
    assert xor.verify(xor.simplify(search=1000))
    with pytest.raises(espalier.Error, match="gates, ands"):
        xor.simplify(goal="beauty")


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


def test_circuits_draw_themselves_in_the_colours_of_the_page(xor, monkeypatch):
    pictures = []
    if shutil.which("dot"):
        pictures.append(xor._repr_svg_())
    monkeypatch.setenv("PATH", "/nowhere")  # no graphviz
    pictures.append(xor._repr_svg_())
    for picture in pictures:
        minidom.parseString(picture[picture.index("<svg"):])
        assert "currentColor" in picture and 'fill="white"' not in picture and 'stroke="black"' not in picture
        assert all(name in picture for name in ("XOR", ">a<", ">b<", ">y<"))
    assert "<svg" in xor._repr_html_() and "<?xml" not in xor._repr_html_()
    large = espalier.LogicAutomaton(channels=8, kernels=4, seed=1).circuit(simplify=False)
    assert large.gates > 150 and large._repr_svg_() is None and large._repr_html_() is None


def test_a_circuit_is_made_of_a_file(xor, tmp_path):
    xor.export("blif", tmp_path / "y.blif")
    assert espalier.Circuit(tmp_path / "y.blif").verify(xor)
    with pytest.raises(TypeError):
        espalier.Circuit()
    with pytest.raises(espalier.Error):
        xor.export("blif", name=3)
