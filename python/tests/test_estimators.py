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
    assert cross_val_score(espalier.DagClassifier(epochs=60), X, y, cv=3).mean() > 0.9


def test_numbers_are_predicted_about_as_well_as_by_a_line():
    X, y = load_diabetes(return_X_y=True)
    ours = cross_val_score(espalier.DagRegressor(hidden=(8,), epochs=40, weight_decay=1.0), X, y, cv=3).mean()
    assert ours > cross_val_score(LinearRegression(), X, y, cv=3).mean() - 0.1


def test_pruned_networks_still_work_and_threads_do_not_matter():
    X, y = load_iris(return_X_y=True)
    one = espalier.DagClassifier(epochs=30, prune=50, threads=1).fit(X, y)
    two = espalier.DagClassifier(epochs=30, prune=50, threads=2).fit(X, y)
    assert one.score(X, y) > 0.9 and (one.predict_proba(X) == two.predict_proba(X)).all()
    assert len(one.network_.edges) < 32 * 7
    assert np.allclose(one.predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize("setting", [dict(epochs=-1), dict(epochs=0), dict(epochs=2.5), dict(batch_size=0), dict(batch_size="all"),
                                     dict(prune=200), dict(prune=np.nan), dict(lr=-1), dict(hidden=0), dict(activation="wild")])
@pytest.mark.parametrize("kind", ["DagClassifier", "DagRegressor"])
def test_settings_that_make_no_sense_are_named(kind, setting):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(espalier.Error, match=rf"\[({'|'.join(setting)}|sizes)\]"):
        getattr(espalier, kind)(**setting).fit(X, y)
