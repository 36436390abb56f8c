"""Logic automata over NumPy boards: against plain NumPy, against the program, and in a loop of one's own."""
import subprocess
import sys

import numpy as np
import pytest

import espalier


def small(seed=1, **more):
    return espalier.LogicAutomaton(channels=3, kernels=4, perceive="8,4,2", update=[16, 8, 4, 3], seed=seed, **more)


def random_model(**more):
    model = small(**more)
    rng = np.random.default_rng(5)
    for values in model.parameters.values():
        values[...] = rng.normal(size=values.shape)
    return model


def boards(count=5, height=6, width=7, channels=3, seed=0):
    return np.random.default_rng(seed).integers(0, 2, (count, height, width, channels))


def test_rollouts_have_every_step_or_the_last():
    model, start = random_model(), boards()
    every = model.rollout(start, 4)
    assert every.shape == (5, 5, 6, 7, 3) and every.dtype == np.uint8
    assert (every[0] == start).all()
    assert (model.rollout(start, 4, last=True) == every[-1]).all()
    assert (model.rollout(start[0], 4) == every[:, 0]).all()
    assert model.rollout(start, 0).shape == (1, 5, 6, 7, 3)


@pytest.mark.parametrize("candidates", [1, 3])
def test_soft_rollouts_of_certain_gates_are_hard_ones(candidates):
    model, start = random_model(candidates=candidates), boards()
    hard = model.rollout(start, 3)
    for values in model.parameters.values():
        values[...] = np.where(values == values.max(axis=-1, keepdims=True), 1000, 0)
    soft = model.rollout(start, 3, soft=True)
    assert soft.dtype == np.float32
    np.testing.assert_allclose(soft, hard, atol=1e-5)


def test_wires_are_trained_where_they_have_candidates():
    model, start = small(candidates=3, start_wire_logit=2), boards()
    wires = model.parameters["update.0.wires"]
    assert wires.shape == (16, 2, 3) and (wires == [2, 0, 0]).all()
    assert "update.0.wires" not in small().parameters
    _, gradients = model.loss_and_grad(start, start[..., :1], 2)
    assert np.abs(gradients["update.0.wires"]).max() > 0
    for bad in (0, 300, "many"):
        with pytest.raises(espalier.Error):
            small(candidates=bad)


def test_long_soft_rollouts_are_short_ones_one_after_the_other():
    model, start = random_model(), boards().astype(np.float32)
    every = model.rollout(start, 45, soft=True)
    assert every.shape == (46, 5, 6, 7, 3) and (every[0] == start).all()
    now = start
    for step in range(45):
        now = model.rollout(now, 1, soft=True, last=True)
        np.testing.assert_array_equal(every[step + 1], now)
    np.testing.assert_array_equal(model.rollout(start, 45, soft=True, last=True), now)
    some = model.rollout(start, 45, soft=True, fire_rate=0.5, seed=3)
    np.testing.assert_array_equal(model.rollout(start, 45, soft=True, fire_rate=0.5, seed=3, last=True), some[-1])


def test_a_long_soft_rollout_takes_little_more_than_its_result():
    code = """
import numpy as np, espalier
def peak():  # of this process alone: what getrusage says begins with that of its parent
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
model = espalier.LogicAutomaton(channels=8, kernels=2, update="20,10,8", threads=1)
start = np.zeros((1, 64, 64, 8), np.float32)
model.rollout(start, 20, soft=True)
before = peak()
size = model.rollout(start, 600, soft=True).nbytes
print((peak() - before) * 1024 / size)
"""
    grown = float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert 0.9 < grown < 1.3


@pytest.mark.parametrize("channels, kernels", [(1, 16), (2, 16), (3, 16), (4, 16), (5, 16), (8, 16), (9, 16), (16, 8), (40, 4)])
def test_the_usual_layers_fit_any_number_of_channels(channels, kernels):
    model = espalier.LogicAutomaton(channels=channels, kernels=kernels)
    assert model.facts["update"].endswith(f",{channels}")
    assert model.rollout(np.zeros((3, 3, channels)), 1).shape == (2, 3, 3, channels)


def test_the_usual_layers_of_eight_channels_are_those_of_the_program():
    assert espalier.LogicAutomaton().facts["update"] == espalier.options("checkerboard")["update"][0]
    assert espalier.LogicAutomaton(channels=8.0).weights_hash == espalier.LogicAutomaton().weights_hash


def test_the_circuit_of_a_cell_is_the_rollout(threads):
    model, start = random_model(boundary="periodic", threads=threads), boards(count=70)
    circuit = model.circuit()
    assert (circuit.simulate(start, 4) == model.rollout(start, 4)).all()
    raw = model.circuit(simplify=False)
    assert raw.verify(circuit) and circuit.gates <= raw.gates and circuit.proof


def test_cells_that_do_not_fire_stay():
    model, start = random_model(), boards()
    assert (model.rollout(start, 5, fire_rate=0, last=True) == start).all()
    once, again = model.rollout(start, 5, fire_rate=0.5, seed=3), model.rollout(start, 5, fire_rate=0.5, seed=3)
    assert (once == again).all()
    assert (once[-1] == model.rollout(start, 5, fire_rate=0.5, seed=3, last=True)).all()
    assert (once != model.rollout(start, 5, fire_rate=0.5, seed=4)).any()


def test_gradients_are_those_of_finite_differences():
    model = random_model()
    start, target = boards(2).astype(float), boards(2, channels=1, seed=1)
    model.zero_grad()
    loss, gradients = model.loss_and_grad(start, target, 3)
    assert loss == model.loss(start, target, 3)
    name, values = next(iter(model.parameters.items()))
    rng = np.random.default_rng(0)
    for _ in range(5):
        place = tuple(rng.integers(n) for n in values.shape)
        before = values[place]
        values[place] = before + 0.01
        up = model.loss(start, target, 3)
        values[place] = before - 0.01
        down = model.loss(start, target, 3)
        values[place] = before
        assert gradients[name][place] == pytest.approx((up - down) / 0.02, rel=0.02, abs=2e-3)


def test_gradients_add_up_and_are_the_same_for_any_number_of_threads(threads):
    model, one = random_model(threads=threads), random_model(threads=1)
    start, target = boards(8), boards(8, channels=2, seed=1)
    for m in (model, one):
        m.zero_grad()
        m.loss_and_grad(start, target, 4, fire_rate=0.7, seed=2, step=9, gumbel=0.5, temperature=0.8)
    for name, gradient in model.gradients.items():
        assert (gradient == one.gradients[name]).all()
    before = {k: v.copy() for k, v in one.gradients.items()}
    one.loss_and_grad(start, target, 4, fire_rate=0.7, seed=2, step=9, gumbel=0.5, temperature=0.8)
    for name, gradient in one.gradients.items():
        np.testing.assert_allclose(gradient, 2 * before[name], rtol=1e-5, atol=1e-6)


def test_norms_and_clipping():
    model = random_model()
    model.zero_grad()
    assert model.gradient_norm() == 0
    model.loss_and_grad(boards(), boards(channels=1, seed=1), 2)
    norm = model.gradient_norm()
    assert norm > 0 and model.clip_gradients(norm / 2) == pytest.approx(norm)
    assert model.gradient_norm() == pytest.approx(norm / 2, rel=1e-5)


def test_a_loop_of_ones_own_learns():
    model = espalier.LogicAutomaton(channels=1, kernels=4, perceive="8,4,2", update="32,16,8,4,2,1", boundary="periodic",
                                    seed=2)
    optimizer = espalier.AdamW(model, lr=0.1)
    rng = np.random.default_rng(0)
    losses = []
    for step in range(60):
        start = rng.integers(0, 2, (16, 3, 3, 1))
        optimizer.zero_grad()
        loss, _ = model.loss_and_grad(start, 1 - start, 1)
        optimizer.step()
        losses.append(loss)
    assert np.mean(losses[-5:]) < np.mean(losses[:5]) and optimizer.steps == 60


def test_training_on_arrays_and_on_draws(tmp_path):
    start = boards(40, 4, 4, 1)
    model = espalier.LogicAutomaton(channels=1, kernels=4, perceive="8,4,2", update="16,8,4,2,1", boundary="periodic",
                                    seed=1, start_logit=2)
    result = espalier.train_on(model, start, start, steps=2, train_steps=300, lr=0.1, name="still")
    assert result["solved"] and result["wrong"] == 0 and len(result["metrics"]["step"])
    model.save(tmp_path / "own.safetensors")
    again = espalier.load(tmp_path / "own.safetensors")
    assert again.facts["goal"] == "still" and again.evaluate()[0].exact
    drawn = espalier.train_on(model, draw=lambda step, rng: (lambda b: (b, b))(rng.integers(0, 2, (4, 4, 4, 1))), steps=2,
                              train_steps=5)
    assert drawn["solved"]
    with pytest.raises(espalier.Error, match="train_on"):
        espalier.train_on(model, steps=1)


def test_boards_that_were_drawn_for_training_judge_nothing():
    start = np.random.default_rng(1).integers(0, 2, (20, 6, 6, 1))

    def draw(step, rng):  # from twenty boards alone, whatever it is asked for
        chosen = rng.integers(0, 20, 8)
        return start[chosen], start[chosen]

    model = espalier.LogicAutomaton(channels=1, kernels=4, perceive="8,4,2", update="16,8,4,2,1", seed=1, start_logit=2)
    result = espalier.train_on(model, draw=draw, steps=1, train_steps=100, until_solved=False, lr=0.2)
    assert result["wrong"] == 0 and not result["solved"] and result["test_wrong"] is None


def test_boards_are_evaluated_as_the_program_does():
    model = espalier.LogicAutomaton(channels=2, kernels=4, perceive="8,4,2", update="16,8,4,2", seed=1)
    start = np.random.default_rng(2).integers(0, 2, (3, 5, 6), dtype=np.uint8)
    wide = np.stack([start, np.zeros_like(start)], axis=-1)
    expected = model.rollout(wide, 2, last=True)[..., 0]
    assert model.evaluate(start, expected, 2) == {"score": 1.0, "boards": 3, "exact": 3, "wrong": 0.0}
    assert model.evaluate(wide, expected[..., None], 2)["exact"] == 3
    assert model.evaluate(start, 1 - expected, 2)["wrong"] == 30
    with pytest.raises(espalier.Error, match="one board of 2 channels or many of one"):
        model.evaluate(start[..., :2], start[..., :2], 2)
    with pytest.raises(espalier.Error, match="expected as many boards"):
        model.evaluate(start, expected[:2], 2)


def test_a_trained_model_starts_runs_and_is_judged():
    run = espalier.train("life", train_steps=20, progress=False)
    model = run.model
    start = model.start(16, 20)
    assert start.shape == (16, 20, model.channels)
    trials = model.evaluate()
    assert trials[0].name == "boards" and 0 <= trials[0].score <= 1
    assert "data:image/gif" in model._repr_html_() and "B3/S23" in repr(model)
    assert model.num_parameters == sum(v.size for v in model.parameters.values())


def test_a_model_that_learned_nothing_says_so(tmp_path):
    with pytest.raises(espalier.Error, match=r"learned nothing.*learn_from\(\)"):
        small().save(tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_arrays_of_other_kinds_are_copied_or_refused():
    model = random_model()
    start = boards()
    expected = model.rollout(start, 2)
    for same in (start.astype(float), start.astype(bool), np.asfortranarray(start), start[:, ::-1][:, ::-1], start.tolist()):
        assert (model.rollout(same, 2) == expected).all()
    frozen = start.astype(np.uint8)
    frozen.flags.writeable = False
    assert (model.rollout(frozen, 2) == expected).all()
    for bad in (start * 2, start + 0.5, start[..., :2], start[0, 0], np.full(start.shape, np.nan), "text", None, [[1], [1, 2]],
                start.astype(complex), np.zeros((0, 4, 4, 3))):
        with pytest.raises(espalier.Error):
            model.rollout(bad, 2)
    for bad in (np.full(start.shape, np.nan), start[..., :2], np.full(start.shape, np.inf)):
        with pytest.raises(espalier.Error):
            model.loss(bad, start[..., :1], 2)
    with pytest.raises(espalier.Error):
        model.loss(start, start[:3], 2)
    with pytest.raises(espalier.Error):
        model.loss(start, start, 0)
    with pytest.raises(espalier.Error):
        espalier.LogicAutomaton(channels=3, update=[4, 4])
    with pytest.raises(espalier.Error):
        espalier.LogicAutomaton(wiring="wild")


def test_what_is_refused_is_named_in_one_line():
    model, start = random_model(), boards()
    for bad, said in ((start.astype(object), "type object"), (start.astype(str), "type <U"), ("text", "'text'"),
                      ([[1], [1, 2]], "several lengths")):
        with pytest.raises(espalier.Error, match=said) as caught:
            model.rollout(bad, 2)
        assert "\n" not in str(caught.value)
    for mistake, said in ((lambda: model.rollout(2 * start, 2), r"^\[initial\] got 2, .*np.eye"),
                          (lambda: model.rollout(start / 2, 2), r"^\[initial\] got 0.5, .*threshold"),
                          (lambda: model.rollout(start[..., :1], 2), r"got 1 channel, expected \d, .*may start as 0"),
                          (lambda: espalier.train_on(model, 2 * start, start, steps=1), r"^\[train_on\] got 2, "),
                          (lambda: espalier.train_on(model, start, np.repeat(start, 9, axis=-1), steps=1),
                           r"^\[train_on\] got targets of \d+ channels")):
        with pytest.raises(espalier.Error, match=said):
            mistake()


def test_views_outlive_their_model():
    view = random_model().parameters["update.0"]
    assert np.isfinite(view).all()
    view[...] = 1


def test_boards_show_themselves_and_compute_as_plain_arrays(tmp_path):
    model, start = random_model(), boards()
    frames = model.rollout(start, 4)
    for shown in (frames, frames[:, 0], frames[0], frames[-1, 0], model.rollout(start, 2, soft=True),
                  model.circuit().simulate(start[0], 2)):
        assert isinstance(shown, espalier.Boards)
        assert "data:image/gif;base64," in shown._repr_html_()
    assert frames[0, 0, 0]._repr_html_() is None and frames[:0]._repr_html_() is None
    frames.gif(tmp_path / "boards.gif", zoom=2)
    assert (tmp_path / "boards.gif").read_bytes() == frames.gif(zoom=2)
    with pytest.raises(espalier.Error, match="shape"):
        frames[0, 0, 0].gif()
    assert type(frames + 1) is np.ndarray and not isinstance(frames.sum(), np.ndarray)


def test_boards_know_their_dimensions():
    model, start = random_model(), boards()
    frames = model.rollout(start, 4)
    assert frames.axes == "TBHWC" and model.rollout(start, 4, last=True).axes == "BHWC"
    assert frames[:, 0].axes == "THWC" and frames[..., 0].axes == "TBHW" and frames[-1, 0].axes == "HWC"
    assert model.rollout(start[0], 4, last=True).axes == "HWC" and frames[[0, 1]].axes is None
    # one channel of a film is a film, several boards at the end are one picture
    assert frames[:, 0, ..., 0].gif(zoom=1) == frames[:, 0, ..., :1].gif(zoom=1)
    last = model.rollout(start, 4, last=True)
    assert last.gif(zoom=1) == last[0].gif(zoom=1)
    own = np.zeros((4, 5, 1), np.uint8).view(espalier.Boards)
    assert own.gif()[:3] == b"GIF"


def test_what_training_on_boards_cannot_take_is_an_error():
    model, start = random_model(), boards()
    good = dict(steps=1, train_steps=2)
    pair = (start, start)
    for mistake in (lambda: espalier.train_on(model, *pair, eval_every=0, **good), lambda: espalier.train_on(model, start[:0], start[:0], **good),
                    lambda: espalier.train_on(model, *pair, validate=np.stack(pair), **good),
                    lambda: espalier.train_on(model, *pair, validate=3, **good),
                    lambda: espalier.train_on(model, *pair, validate=(start,), **good),
                    lambda: espalier.train_on(model, *pair, validate=len, **good),
                    lambda: espalier.train_on(model, *pair, callback=3, **good), lambda: espalier.train_on(model, draw=3, **good),
                    lambda: espalier.train_on(model, draw=lambda step, rng: None, **good),
                    lambda: espalier.train_on(model, *pair, eval_every="x", **good),
                    lambda: espalier.train_on(espalier.DagNN(), *pair, **good),
                    lambda: espalier.train_on(model, start, draw=lambda step, rng: pair, **good),
                    lambda: espalier.train_on(model, start, **good), lambda: espalier.train_on(model, **good),
                    lambda: espalier.train_on(model, start, start[:1], **good),
                    lambda: espalier.LogicAutomaton(update=[[1], [1, 2]]), lambda: espalier.LogicAutomaton(update=3),
                    lambda: model.rollout(np.ma.masked_array(start, start > 0), 1)):
        with pytest.raises(espalier.Error):
            mistake()
    with pytest.raises(espalier.Error, match=r"^\[draw\]"):  # also where it draws the boards to judge by
        espalier.train_on(model, draw=lambda step, rng: 3, **good)


@pytest.mark.parametrize("raised", [KeyboardInterrupt, RuntimeError])
def test_training_on_boards_that_is_cut_short_keeps_the_best(raised):
    model, start = random_model(), boards()
    seen = []

    def stop(step, loss, wrong):
        seen.append(wrong)
        if step >= 6:
            raise raised
    with pytest.raises(raised):
        espalier.train_on(model, start, start, validate=(start, start), steps=1, train_steps=50, eval_every=2,
                          until_solved=False, callback=stop)
    out = model.rollout(start, 1, seed=1, last=True)
    assert (out != start).sum() / len(start) == min(seen)
    assert model.evaluate()[0].name == "boards"


def test_starts_are_boards():
    model = espalier.train("checkerboard-small", train_steps=5, refine=0, progress=False).model
    assert "image/gif" in model.start()._repr_html_()
