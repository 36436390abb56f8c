"""Training from Python: the same options, messages and bits as the program."""
import json
import os
import signal
import sys
import threading
import time
import types

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
    run = small()
    assert isinstance(run.to_pandas(), pandas.DataFrame)
    pandas.testing.assert_frame_equal(run.metrics.to_pandas(), run.to_pandas())


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
    for mistake, said in ((dict(train_stps=3), r'"train_stps".*did you mean train_steps\?'), (dict(eval_every="many"), r"^\[eval_every\] got"),
                          (dict(lr=np.zeros((2, 2))), r"^\[lr\] got an array of shape \[2, 2\].*np.savez")):
        with pytest.raises(espalier.Error, match=said):
            small(**mistake)
    with pytest.raises(espalier.Error, match="callback"):
        small(callback=3)
    with pytest.raises(espalier.Error, match="threads"):
        small(threads=0)


def test_a_shape_that_something_else_decides_is_refused(tmp_path):
    with pytest.raises(espalier.Error, match="boundary periodic, expected boundary zero"):
        espalier.train("letter", heal=True, boundary="periodic", progress=False)
    small(out=tmp_path / "first")
    begin = {"from": str(tmp_path / "first")}
    with pytest.raises(espalier.Error, match="channels 3, expected channels 4"):
        small(channels=3, **begin)
    assert small(channels=4, **begin).folder is None


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


def test_a_model_that_a_search_improved_is_its_circuit_and_not_its_weights(tmp_path, program):
    run = espalier.train("checkerboard-small", train_steps=3, refine=20000, budget=0, seeds=1, out=tmp_path / "run", progress=False)
    model = run.model
    assert model.facts["refined"]
    judged = json.loads(program("eval", tmp_path / "run", "--json"))
    assert [t.score for t in model.evaluate()] == [t["score"] for t in judged["trials"]]
    start = model.start(seed=3)
    assert np.array_equal(model.rollout(start, 20, last=True), model.circuit().simulate(start, 20, last=True))
    model.save(tmp_path / "again.safetensors")
    assert espalier.load(tmp_path / "again.safetensors").circuit(simplify=False) == model.circuit(simplify=False)
    next(iter(model.parameters.values()))[...] = 0  # other weights, another circuit
    assert not model.facts["refined"]


def test_frames_have_gaps_and_columns_twice(tmp_path):
    pandas = pytest.importorskip("pandas")
    rows = ["a,b,kind"] + [f"{i % 7},{i % 3},{'even' if i % 2 else 'odd'}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(rows))
    settings = dict(csv=tmp_path / "t.csv", target="kind", train_steps=5, progress=False)
    frame = pandas.DataFrame({"a": pandas.array([1, pandas.NA], dtype="Int64"), "b": [0, 1]})
    model = espalier.train("table", **settings).model
    with pytest.raises(espalier.Error, match='a missing value in column "a", line 2'):
        model.predict(frame)
    assert espalier.train("table", impute=True, **settings).model.predict(frame).shape == (2,)
    with pytest.raises(espalier.Error, match="column 'a' twice"):
        model.predict(pandas.concat([frame, frame], axis=1))


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


def test_ctrl_c_in_a_callback_leaves_a_run_too():
    def stop(event):
        if event.kind == "evaluated":
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)  # Python hears it here
    with pytest.raises(espalier.Interrupted) as caught:
        espalier.train("checkerboard-small", train_steps=10**6, until_solved=False, progress=False, callback=stop)
    assert caught.value.run.interrupted and caught.value.run.model.channels == 4


def test_what_a_signal_handler_raises_comes_out():
    def alarm(*_):
        raise TimeoutError("mine")
    before = signal.signal(signal.SIGALRM, alarm)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(TimeoutError, match="mine"):
            espalier.train("checkerboard-small", train_steps=10**6, until_solved=False, progress=False)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert espalier.last_run().interrupted


def test_a_run_ends_when_its_time_is_up(tmp_path):
    run = espalier.train("checkerboard-small", train_steps=10**6, until_solved=False, seconds=0.3, out=tmp_path / "run",
                         progress=False)
    assert run.interrupted and 0 < run.steps < 10**6
    assert espalier.resume(tmp_path / "run", seconds=0.3, progress=False).steps > run.steps


def test_published_settings_are_taken_unless_given(program, tmp_path):
    run = espalier.train("life", published=True, train_steps=3, progress=False)
    program("train", "life", "--published", "--train-steps", 3, "--quiet", "--out", tmp_path / "run")
    assert json.loads(run.config) == json.loads((tmp_path / "run" / "config.json").read_text())
    with pytest.raises(espalier.Error, match="publication"):
        espalier.train("simplify", published=True, progress=False)


def files_in(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "lock"}


def test_neither_what_a_run_reads_nor_files_of_others_are_replaced(tmp_path):
    small(until_solved=False, refine=0, out=tmp_path / "run")
    before = files_in(tmp_path / "run")
    with pytest.raises(espalier.Error, match="reads"):
        small(refine=0, out=tmp_path / "run", force=True, **{"from": str(tmp_path / "run")})
    assert files_in(tmp_path / "run") == before
    (tmp_path / "run" / "notes.txt").write_text("mine")
    with pytest.raises(espalier.Error, match="notes.txt") as refused:
        small(refine=0, out=tmp_path / "run", force=True)
    assert "force" not in str(refused.value)
    assert files_in(tmp_path / "run") == {**before, "notes.txt": b"mine"}


def test_checkpoints_come_as_often_as_asked_for(tmp_path):
    seen = []
    small(until_solved=False, refine=0, checkpoint_every=10, out=tmp_path / "run", callback=lambda e: seen.append((e.kind, e.step)))
    assert {10, 20} <= {step for kind, step in seen if kind == "checkpoint"}


def test_a_run_that_goes_on_may_have_a_larger_budget(tmp_path):
    settings = dict(train_steps=2, refine=0, trials=False, progress=False, by="training")
    first = espalier.train("lizard", budget=2, out=tmp_path / "run", **settings)
    assert len(first.seeds) == 1 and not first.solved
    assert len(espalier.resume(tmp_path / "run", budget=6, progress=False).seeds) == 3


def test_searches_are_told_of(capsys):
    seen = []
    settings = dict(train_steps=2, refine=40000, budget=0, seed=1)
    espalier.train("life", progress=False, callback=seen.append, **settings)
    pieces = [e.search for e in seen if e.kind == "search"]
    assert pieces and pieces[0]["done"] > 0 and pieces[-1]["total"] == 40000 and {"wrong", "gates"} <= set(pieces[-1])
    assert all(e.search is None for e in seen if e.kind == "evaluated")
    pytest.importorskip("tqdm")
    espalier.train("life", **settings)
    assert "mutants" in capsys.readouterr().err


def test_progress_without_tqdm_is_a_line_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    shown = dict(train_steps=30, progress=True)
    espalier.train("checkerboard-small", **shown)
    assert "\r" not in capsys.readouterr().err  # no terminal
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    espalier.train("checkerboard-small", **shown)
    assert "/30 steps, score" in capsys.readouterr().err


def test_a_seed_that_fails_is_told_of(tmp_path):
    def in_the_way(event):
        (tmp_path / "run" / "seed-3").write_text("")
    with pytest.warns(RuntimeWarning, match="seed 3 failed"):
        run = espalier.train("checkerboard-small", seeds=3, threads=1, train_steps=150, until_solved=False, refine=0,
                             out=tmp_path / "run", progress=False, callback=in_the_way)
    assert run.seed in (1, 2) and run.seeds[2]["outcome"] == "failed" and "seed-3" in run.seeds[2]["error"]
    assert run.seeds[0]["error"] is None


def test_models_of_all_kinds_show_themselves(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{i},{2 * i}\n" for i in range(20)))
    table = espalier.train("table", csv=tmp_path / "t.csv", target="b", train_steps=5, progress=False).model
    assert "TableModel" in table._repr_html_() and "numbers" in table._repr_html_()
    assert "RewriteModel" in espalier.train("simplify", train_steps=2, progress=False).model._repr_html_()
    with pytest.raises(espalier.Error):
        table.predict(3)


def test_a_kind_of_model_that_the_package_does_not_know_is_an_error():
    with pytest.raises(espalier.Error, match="crystal ball.*logic automaton"):
        espalier._runs._model(types.SimpleNamespace(kind="crystal ball"))
