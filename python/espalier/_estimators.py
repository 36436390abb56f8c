"""scikit-learn estimators over DagNN. Needs scikit-learn."""

import numpy as np

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted
except ImportError as error:  # pragma: no cover
    raise ImportError("espalier's estimators need scikit-learn: pip install scikit-learn") from error

from ._arrays import number, whole
from ._networks import AdamW, DagNN

try:
    from sklearn.utils.validation import validate_data as _validate
except ImportError:  # before 1.6
    def _validate(estimator, X, y=None, **settings):
        if y is None:
            return estimator._validate_data(X, **settings)
        return estimator._validate_data(X, y, **settings)


class _DagEstimator(BaseEstimator):
    """A layered DAG network, trained with AdamW on standardised columns."""

    def __init__(self, hidden=(32,), *, activation="tanh", density=1.0, lr=0.01, epochs=200, batch_size=64,
                 weight_decay=0.0, clip_norm=0.0, prune=0.0, random_state=0, threads=None):
        self.hidden = hidden
        self.activation = activation
        self.density = density
        self.lr = lr
        self.epochs = epochs
        self.batch_size = batch_size
        self.weight_decay = weight_decay
        self.clip_norm = clip_norm
        self.prune = prune
        self.random_state = random_state
        self.threads = threads

    def _train(self, X, outputs, gradient):
        """gradient(y, rows) -> of the loss, summed over the batch's rows."""
        epochs_in_all, batch = whole(self.epochs, "epochs", 1, 10**9), whole(self.batch_size, "batch_size", 1, 10**9)
        prune = number(self.prune, "prune", 0, 100)
        rng = np.random.default_rng(self.random_state if self.random_state is None or isinstance(
            self.random_state, (int, np.integer)) else self.random_state.randint(2**31 - 1))
        self.mean_ = X.mean(axis=0)
        deviation = X.std(axis=0)
        self.scale_ = np.where(deviation > 1e-12 * np.maximum(1, np.abs(self.mean_)), deviation, 1.0)
        self.network_ = DagNN.layered([X.shape[1], *np.ravel(self.hidden).astype(int).tolist(), outputs], hidden=self.activation,
                                      density=self.density, seed=int(rng.integers(2**31)), threads=self.threads)
        scaled = self._scaled(X)
        for phase in range(2 if prune > 0 else 1):
            if phase:
                self.network_.prune_percentile(prune)
            optimizer = AdamW(self.network_, lr=self.lr, weight_decay=self.weight_decay, clip_norm=self.clip_norm)
            epochs = epochs_in_all if phase == 0 else max(1, epochs_in_all // 4)
            for epoch in range(epochs):
                optimizer.lr = self.lr * 0.5 * (1 + np.cos(np.pi * epoch / epochs))
                order = rng.permutation(len(scaled))
                for first in range(0, len(order), batch):
                    rows = order[first:first + batch]
                    optimizer.zero_grad()
                    y = self.network_.forward(scaled[rows]).astype(np.float64)
                    self.network_.backward_accumulate(gradient(y, rows) / len(rows))
                    optimizer.step()
        self.n_iter_ = epochs_in_all
        return self

    def _scaled(self, X):
        return np.clip((X - self.mean_) / self.scale_, -1e6, 1e6)

    def _outputs(self, X):
        check_is_fitted(self)
        X = _validate(self, X, reset=False)
        return self.network_.forward(self._scaled(X)).astype(np.float64)


class DagClassifier(ClassifierMixin, _DagEstimator):
    """Classes of table rows by a DAG network.

    ``hidden``: widths of the hidden layers; ``density``: share of the edges between neighbouring layers; ``prune``:
    percent of the edges to remove after training, followed by a quarter as many epochs.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(espalier.DagClassifier(epochs=50).fit(X, y).score(X, y) > 0.95)
    True
    """

    def fit(self, X, y):
        """Trains on rows X and their classes y."""
        X, y = _validate(self, X, y)
        check_classification_targets(y)
        self.classes_, number = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"Classifier can't train when only one class is present: {self.classes_!r}")

        def gradient(z, rows):
            p = _softmax(z)
            p[np.arange(len(rows)), number[rows]] -= 1
            return p

        return self._train(X, len(self.classes_), gradient)

    def predict_proba(self, X):
        """The probability of every class, in the order of classes_."""
        return _softmax(self._outputs(X))

    def predict(self, X):
        """The likeliest class of every row."""
        likeliest = self._outputs(X).argmax(axis=1)
        return self.classes_[likeliest]


class DagRegressor(RegressorMixin, _DagEstimator):
    """Numbers from table rows by a DAG network; see DagClassifier for the settings.

    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> bool(espalier.DagRegressor(batch_size=10).fit(X, X[:, 0] ** 2).score(X, X[:, 0] ** 2) > 0.9)
    True
    """

    def fit(self, X, y):
        """Trains on rows X and their numbers y."""
        X, y = _validate(self, X, y, y_numeric=True)
        y = y.astype(np.float64)
        self.target_mean_ = y.mean()
        deviation = y.std()
        self.target_scale_ = deviation if deviation > 0 else 1.0
        wanted = ((y - self.target_mean_) / self.target_scale_)[:, None]
        return self._train(X, 1, lambda z, rows: z - wanted[rows])

    def predict(self, X):
        """The number of every row."""
        outputs = self._outputs(X)[:, 0]
        return outputs * self.target_scale_ + self.target_mean_


def _softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
