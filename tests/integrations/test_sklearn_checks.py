"""scikit-learn's own checks of every estimator."""

import pytest
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from photinus.integrations.sklearn_search import PhotinusSearchCV

# One of the checks casts infinite labels to integers on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")

SEARCHES = [
    PhotinusSearchCV(
        Ridge(),
        {"alpha": (0.1, 10.0, "log-uniform")},
        n_iter=2,
        cv=2,
        error_score="raise",
        algorithm="random",
        random_state=0,
    ),
    PhotinusSearchCV(
        RidgeClassifier(),
        {"alpha": [0.1, 1.0]},
        n_iter=2,
        cv=2,
        error_score="raise",
        algorithm="random",
        random_state=0,
    ),
]


@parametrize_with_checks(SEARCHES)
def test_it_is_an_estimator_like_any_other(estimator, check):
    check(estimator)
