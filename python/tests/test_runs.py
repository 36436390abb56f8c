"""Training from Python: the same options, messages and bits as the program."""
import json
import os
import signal
import threading
import time

import numpy as np
import pytest

import espalier


def small(**more):
    return espalier.train("checkerboard-small", train_steps=30, progress=False, **more)


def test_the_weights_are_those_of_the_program(program, tmp_path):
    report = json.loads(program("train", "checkerboard-small", "--train-steps", 30, "--quiet", "--json", "--out",
                                tmp_path / "run"))
    assert small().weights_hash == report["weights_hash"]


def test_any_number_of_threads_gives_the_same_bits(threads):
    assert small(threads=threads).weights_hash == small(threads=1).weights_hash


def test_a_run_says_what_it_reached():
    run = small(seed=2)
    assert run.task == "checkerboard-small" and run.seed == 2 and run.steps <= 30
    assert 0 <= run.score <= 1 and run.seconds > 0 and not run.interrupted and run.folder is None
    assert run.solved in (True, False)
    metrics = run.metrics
    assert metrics["step"][-1] == run.steps and set(metrics) >= {"loss", "score", "validation_loss", "active_gates"}
    assert len({len(v) for v in metrics.values()}) == 1
    assert "seed 2" in repr(run) and "<svg" in run._repr_html_()


def test_metrics_from_a_folder_are_those_in_memory(tmp_path):
    kept, plain = small(out=tmp_path / "run"), small()
    assert kept.folder == str(tmp_path / "run")
    for name, values in plain.metrics.items():
        if name != "seconds":
            np.testing.assert_allclose(kept.metrics[name], values, rtol=1e-9)


def test_metrics_become_a_frame():
    pandas = pytest.importorskip("pandas")
    assert isinstance(small().to_pandas(), pandas.DataFrame)


def test_several_seeds_give_the_lowest_that_solves_it():
    run = espalier.train("checkerboard-small", seeds=3, train_steps=20, progress=False)
    assert len(run.seeds) == 3 and run.seed in (1, 2, 3)


def test_options_are_checked_with_the_messages_of_the_program():
    with pytest.raises(espalier.Error, match="steps"):
        espalier.train("life", trian_steps=3, progress=False)
    with pytest.raises(espalier.Error, match="lr"):
        espalier.train("life", lr=-1, progress=False)
    with pytest.raises(espalier.Error, match="checkerboard"):
        espalier.train("chekerboard", progress=False)
    with pytest.raises(ValueError):
        espalier.train("life", lr=[[1]], progress=False)
    with pytest.raises(espalier.Error, match="callback"):
        small(callback=3)
    with pytest.raises(espalier.Error, match="threads"):
        small(threads=0)


def test_flags_and_numpy_numbers_are_keywords():
    run = espalier.train("life", train_steps=np.int64(5), until_solved=False, lr=np.float32(0.05), progress=False)
    assert run.steps == 5


def test_tasks_and_options_are_listed():
    assert {"life", "checkerboard", "table", "simplify"} <= set(espalier.tasks())
    default, help_text = espalier.options("checkerboard")["fire_rate"]
    assert default == 1 and help_text


def test_a_callback_sees_every_evaluation_and_may_stop():
    seen = []
    run = small(eval_every=5, callback=lambda e: seen.append((e.kind, e.step)))
    assert [s for k, s in seen if k == "evaluated"] == list(range(5, run.steps + 1, 5))
    assert seen[0][0] == "seed_started" and seen[-1][0] == "seed_ended"
    stopped = espalier.train("checkerboard-small", train_steps=10**6, until_solved=False, progress=False,
                             callback=lambda e: e.kind != "evaluated")
    assert stopped.interrupted and stopped.steps < 10**6


def test_what_a_callback_raises_comes_out():
    def fail(event):
        raise RuntimeError("mine")
    with pytest.raises(RuntimeError, match="mine"):
        espalier.train("checkerboard-small", train_steps=10**6, until_solved=False, progress=False, callback=fail)
    assert espalier.last_run().interrupted


def test_interrupting_stops_within_a_second_and_leaves_a_run(tmp_path):
    started = []
    threading.Timer(1.0, lambda: (started.append(time.monotonic()), os.kill(os.getpid(), signal.SIGINT))).start()
    with pytest.raises(KeyboardInterrupt) as caught:
        espalier.train("checkerboard", seeds=2, train_steps=10**5, until_solved=False, out=tmp_path / "run", progress=False)
    assert time.monotonic() - started[0] < 5  # generous: a busy machine
    run = caught.value.run
    assert run.interrupted and run is espalier.last_run() and run.model.channels == 8


def test_a_run_goes_on_where_it_stopped_to_the_same_bits(tmp_path):
    settings = dict(train_steps=300, until_solved=False, progress=False, eval_every=1)
    whole = espalier.train("checkerboard-small", **settings)
    stopped = espalier.train("checkerboard-small", out=tmp_path / "cut", **settings,
                             callback=lambda e: not (e.kind == "evaluated" and e.step >= 7))
    assert stopped.interrupted and 7 <= stopped.steps < 300
    run = espalier.resume(tmp_path / "cut", progress=False)
    assert run.steps == 300 and run.weights_hash == whole.weights_hash and len(run.metrics["step"]) == 300
    assert espalier.resume(tmp_path / "cut", train_steps=310, progress=False).steps == 310


def test_other_threads_go_on_meanwhile():
    counted = 0
    done = threading.Event()

    def count():
        nonlocal counted
        while not done.is_set():
            counted += 1
            time.sleep(0.001)
    thread = threading.Thread(target=count)
    thread.start()
    espalier.train("checkerboard", seeds=1, train_steps=30, progress=False)
    done.set()
    thread.join()
    assert counted > 10


def test_two_threads_may_train_at_once():
    expected = [small(seed=s).weights_hash for s in (1, 2)]
    got = [None, None]

    def work(k):
        got[k] = small(seed=k + 1, threads=2).weights_hash
    threads = [threading.Thread(target=work, args=(k,)) for k in (0, 1)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert got == expected


def test_models_are_saved_and_loaded(tmp_path, program):
    run = small(out=tmp_path / "run")
    model = espalier.load(tmp_path / "run")
    assert model.weights_hash == run.model.weights_hash
    run.model.save(tmp_path / "model.safetensors")
    again = espalier.load(tmp_path / "model.safetensors")
    assert again.weights_hash == model.weights_hash
    assert "checkerboard" in program("info", tmp_path / "model.safetensors")
    with pytest.raises(espalier.Error):
        espalier.load(tmp_path / "missing")


def test_tables_are_trained_and_asked(tmp_path):
    rows = ["a,b,kind"] + [f"{i % 7},{i % 3},{'even' if i % 2 else 'odd'}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(rows))
    run = espalier.train("table", csv=tmp_path / "t.csv", target="kind", train_steps=30, progress=False)
    model = run.model
    assert model.columns == ["a", "b"] and model.classes == ["even", "odd"]
    assert model.predict({"a": [1, 2], "b": [0, 1]}).shape == (2,)
    np.testing.assert_allclose(model.predict_proba({"a": [1, 2], "b": [0, 1]}).sum(axis=1), 1)
    assert model.network.num_inputs == 2 and model.facts and model.weights_hash
    model.save(tmp_path / "table.safetensors")
    assert espalier.load(tmp_path / "table.safetensors").columns == ["a", "b"]
    with pytest.raises(espalier.Error, match="column 'b'"):
        model.predict({"a": [1]})


def test_expressions_are_rewritten(tmp_path):
    run = espalier.train("simplify", train_steps=5, progress=False)
    passes = run.model("(+ x 0)")
    assert passes[0] == "(+ x 0)"
    run.model.save(tmp_path / "rewrite.safetensors")
    assert espalier.load(tmp_path / "rewrite.safetensors").weights_hash == run.model.weights_hash
    with pytest.raises(espalier.Error):
        run.model("(+ x")
