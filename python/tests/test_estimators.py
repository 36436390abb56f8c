"""The estimators under scikit-learn's own checks."""
import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")
from sklearn.datasets import load_diabetes, load_iris  # noqa: E402
from sklearn.linear_model import LinearRegression  # noqa: E402
from sklearn.model_selection import cross_val_score  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

import espalier  # noqa: E402


@pytest.mark.parametrize("estimator", [espalier.DagClassifier(), espalier.DagRegressor()], ids=["classifier", "regressor"])
def test_scikit_learn_accepts_them(estimator):
    check_estimator(estimator)


def test_iris_is_told_apart():
    X, y = load_iris(return_X_y=True)
    assert cross_val_score(espalier.DagClassifier(), X, y, cv=3).mean() > 0.9


def test_numbers_are_predicted_about_as_well_as_by_a_line():
    X, y = load_diabetes(return_X_y=True)
    ours = cross_val_score(espalier.DagRegressor(), X, y, cv=3).mean()
    assert ours > cross_val_score(LinearRegression(), X, y, cv=3).mean() - 0.05


def test_a_table_and_its_arrays_give_the_same_network(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    rows = ["a,b,c,y"] + [f"{a!r},{b!r},{c!r},{t!r}" for (a, b, c), t in zip(X[:, :3].tolist(), y.tolist())]
    (tmp_path / "rows.csv").write_text("\n".join(rows))
    seed = int(np.random.default_rng(0).integers(2**31))
    run = espalier.train("table", csv=tmp_path / "rows.csv", target="y", seed=seed, test_fraction=0, progress=False)
    estimator = espalier.DagRegressor().fit(X[:, :3], y)
    assert estimator.network_.weights_hash == run.model.network.weights_hash


def test_pruned_networks_still_work_and_threads_do_not_matter():
    X, y = load_iris(return_X_y=True)
    one = espalier.DagClassifier(train_steps=200, prune=50, threads=1).fit(X, y)
    two = espalier.DagClassifier(train_steps=200, prune=50, threads=2).fit(X, y)
    assert one.score(X, y) > 0.9 and (one.predict_proba(X) == two.predict_proba(X)).all()
    assert len(one.network_.edges) < (16 * 7 + 12) * 0.8
    assert np.allclose(one.predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize("setting", [dict(train_steps=-1), dict(train_steps=0), dict(train_steps=2.5), dict(batch_size=0), dict(batch_size="all"),
                                     dict(prune=200), dict(prune=np.nan), dict(lr=-1), dict(hidden=0), dict(activation="wild")])
@pytest.mark.parametrize("kind", ["DagClassifier", "DagRegressor"])
def test_settings_that_make_no_sense_are_named(kind, setting):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(espalier.Error, match=rf"\[({'|'.join(setting)}|sizes)\]"):
        getattr(espalier, kind)(**setting).fit(X, y)
