"""A model written by the program opens in Python's safetensors package as it is, and the other way round.

usage: model_test.py ESPALIER FOLDER
"""
import json
import pathlib
import subprocess
import sys

import numpy
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
run = folder / "run"


def espalier(*arguments):
    result = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    assert result.returncode == 0, f"{arguments}: {result.stderr}"
    return result.stdout


folder.mkdir(parents=True, exist_ok=True)
summary = json.loads(espalier("train", "checkerboard-small", "--train-steps", 3, "--seed", 7, "--out", run, "--force", "--json"))
for name in ("model.safetensors", "checkpoint.safetensors"):
    path = run / name
    described = json.loads(espalier("info", path, "--json"))
    kinds = {"F32": numpy.float32, "I32": numpy.int32, "I64": numpy.int64, "U8": numpy.uint8}
    with safe_open(path, framework="numpy") as file:
        assert sorted(file.keys()) == sorted(described["tensors"]), name
        assert len(file.keys()) > 0, name
        for key in file.keys():
            tensor = file.get_tensor(key)
            assert list(tensor.shape) == described["tensors"][key]["shape"], key
            assert tensor.dtype == kinds[described["tensors"][key]["dtype"]], key
        metadata = file.metadata()
    assert metadata["format"].startswith("espalier "), metadata
    assert sorted(metadata) == sorted(described["metadata"]), name

# The metadata of a model repeats its run.
with safe_open(run / "model.safetensors", framework="numpy") as file:
    config = json.loads(file.metadata()["config"])
assert config["task"] == "checkerboard-small" and config["seed"] == 7 and config["train-steps"] == 3, config

# The weights: as many as the program says, and finite.
weights = load_file(run / "checkpoint.safetensors")["weights"]
assert weights.dtype == numpy.float32 and weights.size == summary["num_parameters"], weights.shape
assert numpy.isfinite(weights).all() and numpy.any(weights != 0)

# A file written by Python is read by the program, value for value (through info's view of it).
save_file({"a": numpy.arange(6, dtype=numpy.float32).reshape(2, 3), "b": numpy.array([1, 2], dtype=numpy.int64)},
          folder / "python.safetensors", metadata={"from": "python"})
described = json.loads(espalier("info", folder / "python.safetensors", "--json"))
assert described["tensors"]["a"] == {"dtype": "F32", "shape": [2, 3]}, described
assert described["tensors"]["b"] == {"dtype": "I64", "shape": [2]}, described
assert described["metadata"] == {"from": "python"}, described
print("ok")
