"""scikit-learn estimators over DagNN. Needs scikit-learn."""

import numpy as np

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted
except ImportError as error:  # pragma: no cover
    raise ImportError("espalier's estimators need scikit-learn: pip install scikit-learn") from error

from . import _core
from ._arrays import number, threads_of, whole
from ._networks import DagNN

try:
    from sklearn.utils.validation import validate_data as _validate
except ImportError:  # before 1.6
    def _validate(estimator, X, y=None, **settings):
        if y is None:
            return estimator._validate_data(X, **settings)
        return estimator._validate_data(X, y, **settings)


class _DagEstimator(BaseEstimator):
    """A DAG network trained by the recipe of the task ``table``; the defaults are that task's."""

    def __init__(self, hidden=(16,), *, activation="tanh", density=1.0, lr=0.01, train_steps=600, eval_every=None,
                 batch_size=32, validation_fraction=0.2, weight_decay=0.3, clip_norm=0.0, prune=0.0, random_state=0,
                 threads=None):
        self.hidden = hidden
        self.activation = activation
        self.density = density
        self.lr = lr
        self.train_steps = train_steps
        self.eval_every = eval_every
        self.batch_size = batch_size
        self.validation_fraction = validation_fraction
        self.weight_decay = weight_decay
        self.clip_norm = clip_norm
        self.prune = prune
        self.random_state = random_state
        self.threads = threads

    def _train(self, X, y, classes):
        steps = whole(self.train_steps, "train_steps", 1, 10**9)
        every = max(1, steps // 3) if self.eval_every is None else whole(self.eval_every, "eval_every", 1, 10**9)
        rng = np.random.default_rng(self.random_state if self.random_state is None or isinstance(
            self.random_state, (int, np.integer)) else self.random_state.randint(2**31 - 1))
        settings = [("hidden", ",".join(str(width) for width in np.ravel(self.hidden))), ("activation", self.activation),
                    ("density", self.density), ("lr", number(self.lr, "lr", 0, 1e3)), ("train-steps", steps),
                    ("eval-every", every), ("batch-size", whole(self.batch_size, "batch_size", 1, 10**6)),
                    ("validation-fraction", self.validation_fraction), ("weight-decay", self.weight_decay),
                    ("clip-norm", self.clip_norm), ("prune", number(self.prune, "prune", 0, 100))]
        model, means, scales = _core.fit_table(np.ascontiguousarray(X, np.float64), np.ascontiguousarray(y, np.float64),
                                               classes, settings, int(rng.integers(2**31)), threads_of(self.threads))
        self.network_ = DagNN._of(_core.table_network(model, threads_of(self.threads)))
        self.mean_, self.target_mean_ = means[:-1], means[-1]
        self.scale_, self.target_scale_ = scales[:-1], scales[-1]
        self.n_iter_ = steps
        return self

    def _scaled(self, X):
        return np.clip((X - self.mean_) / self.scale_, -1e6, 1e6)

    def _outputs(self, X):
        check_is_fitted(self)
        X = _validate(self, X, reset=False)
        return self.network_.forward(self._scaled(X)).astype(np.float64)


class DagClassifier(ClassifierMixin, _DagEstimator):
    """Classes of table rows by a DAG network.

    It is trained as the task ``table`` is. Beside the hidden layers every input has an edge to every output. Of the rows,
    ``validation_fraction`` are not trained on: by them the weights are chosen, from ``eval_every`` steps to ``eval_every``
    steps (three times in all unless given). ``hidden``: widths of the hidden layers; ``density``: share of the edges
    between neighbouring layers; ``prune``: percent of the edges that are cut in the second half of training.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(espalier.DagClassifier().fit(X, y).score(X, y) > 0.95)
    True
    """

    def fit(self, X, y):
        """Trains on rows X and their classes y."""
        X, y = _validate(self, X, y, ensure_min_samples=3)
        check_classification_targets(y)
        self.classes_, number = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"Classifier can't train when only one class is present: {self.classes_!r}")

        return self._train(X, number, classes=True)

    def predict_proba(self, X):
        """The probability of every class, in the order of classes_."""
        return _softmax(self._outputs(X))

    def predict(self, X):
        """The likeliest class of every row."""
        likeliest = self._outputs(X).argmax(axis=1)
        return self.classes_[likeliest]


class DagRegressor(RegressorMixin, _DagEstimator):
    """Numbers from table rows by a DAG network; see DagClassifier for the settings. It begins as the linear model with
    the least squared error, and stays that one unless the validation rows show the network to be better.

    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> model = espalier.DagRegressor(lr=0.05, weight_decay=0.01).fit(X, X[:, 0] ** 2)
    >>> bool(model.score(X, X[:, 0] ** 2) > 0.9)
    True
    """

    def fit(self, X, y):
        """Trains on rows X and their numbers y."""
        X, y = _validate(self, X, y, y_numeric=True, ensure_min_samples=3)
        return self._train(X, y, classes=False)

    def predict(self, X):
        """The number of every row."""
        outputs = self._outputs(X)[:, 0]
        return outputs * self.target_scale_ + self.target_mean_


def _softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
