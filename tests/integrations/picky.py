"""An estimator whose score is known beforehand, and which can refuse to be fitted."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class Picky(ClassifierMixin, BaseEstimator):
    """Scores `1 - (a - 0.3)² - (b - 0.8)²`, and cannot be fitted where `a` is greater than `limit`."""

    def __init__(self, a=0.0, b=0.8, limit=2.0):
        self.a = a
        self.b = b
        self.limit = limit

    def fit(self, X, y):
        if self.a > self.limit:
            raise RuntimeError(f"a is {self.a}")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def score(self, X, y):
        return 1 - (self.a - 0.3) ** 2 - (self.b - 0.8) ** 2
