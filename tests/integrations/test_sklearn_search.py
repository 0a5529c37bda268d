"""PhotinusSearchCV in place of RandomizedSearchCV and BayesSearchCV."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.stats as st
from picky import Picky
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, KFold, RandomizedSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted
from skopt import space

from photinus.errors import ArgumentError, SpaceError
from photinus.integrations.sklearn_search import PhotinusSearchCV

X, y = make_classification(n_samples=120, n_features=8, n_informative=4, random_state=0)
C = {"C": (1e-3, 1e3, "log-uniform")}


def search(estimator=None, space=C, **settings):
    chosen = {"n_iter": 4, "cv": 2, "algorithm": "random", "random_state": 0} | settings
    return PhotinusSearchCV(LogisticRegression() if estimator is None else estimator, space, **chosen)


def test_results_have_the_form_of_randomized_search():
    space = {"C": st.loguniform(1e-3, 1e3), "fit_intercept": [True]}
    settings = {"n_iter": 4, "cv": 3, "random_state": 0, "return_train_score": True}
    theirs = RandomizedSearchCV(LogisticRegression(), space, **settings).fit(X, y)
    ours = PhotinusSearchCV(LogisticRegression(), space, algorithm="random", **settings).fit(X, y)
    assert set(ours.cv_results_) == set(theirs.cv_results_)
    for key, column in theirs.cv_results_.items():
        assert type(ours.cv_results_[key]) is type(column), key
        assert len(ours.cv_results_[key]) == 4
        assert getattr(ours.cv_results_[key], "dtype", None) == getattr(column, "dtype", None), key
    assert set(vars(ours)) - {"studies_"} >= {name for name in vars(theirs) if name.endswith("_")}
    best = ours.best_index_
    assert ours.cv_results_["rank_test_score"][best] == 1
    assert ours.best_score_ == ours.cv_results_["mean_test_score"].max()
    assert ours.best_params_ == ours.cv_results_["params"][best]
    assert ours.best_params_["C"] == ours.best_estimator_.C
    assert ours.score(X, y) == ours.best_estimator_.score(X, y)
    np.testing.assert_array_equal(ours.predict(X), ours.best_estimator_.predict(X))
    assert ours.n_features_in_ == 8


def test_the_model_finds_the_best_place():
    space = {"a": (0.0, 1.0), "b": st.uniform(0, 1)}
    ours = search(Picky(), space, n_iter=8, algorithm="default").fit(X, y)
    assert ours.best_score_ > 0.95
    assert [trial.values["score"] for trial in ours.study_.trials] == ours.cv_results_[
        "mean_test_score"
    ].tolist()
    assert ours.study_.trials[-1].reason["method"] in ("log_ei", "pure_exploration")
    again = search(Picky(), space, n_iter=8, algorithm="default").fit(X, y)
    assert again.cv_results_["params"] == ours.cv_results_["params"]


def test_random_states():
    def points(random_state):
        return search(random_state=random_state).fit(X, y).cv_results_["params"]

    assert points(1) == points(1) != points(2)
    state = np.random.RandomState(1)
    assert points(np.random.RandomState(1)) == points(state) != points(state)
    assert len(points(None)) == 4


def test_batches_on_several_processes():
    ours = search(Picky(), {"a": (0.0, 1.0)}, n_iter=5, n_points=2, n_jobs=2).fit(X, y)
    assert len(ours.cv_results_["params"]) == 5
    alone = search(Picky(), {"a": (0.0, 1.0)}, n_iter=5).fit(X, y)
    assert (
        alone.cv_results_["params"] == ours.cv_results_["params"]
    )  # of an algorithm that does not look at scores


def test_pipelines():
    pipeline = Pipeline(
        [("scale", StandardScaler()), ("pick", SelectKBest()), ("model", LogisticRegression())]
    )
    space = {
        "scale": [StandardScaler(), "passthrough"],
        "pick__k": (1, 8),
        "model__C": st.loguniform(1e-2, 1e2),
    }
    ours = search(pipeline, space, n_iter=6).fit(X, y)
    assert set(ours.best_params_) == set(space)
    assert all(type(params["pick__k"]) is int for params in ours.cv_results_["params"])
    assert {type(scale) for scale in ours.cv_results_["param_scale"]} == {StandardScaler, str}
    assert ours.best_estimator_.named_steps["pick"].k == ours.best_params_["pick__k"]


def test_several_metrics_with_one_to_go_by():
    ours = search(scoring=["accuracy", "roc_auc"], refit="roc_auc").fit(X, y)
    assert [metric.name for metric in ours.study_.problem.metrics] == ["roc_auc"]
    assert ours.best_score_ == ours.cv_results_["mean_test_roc_auc"].max()
    assert {"rank_test_accuracy", "rank_test_roc_auc"} <= set(ours.cv_results_)
    assert ours.multimetric_


def test_refit_is_only_a_yes_where_there_is_one_metric():
    ours = search(scoring="accuracy", refit="accuracy", n_iter=2).fit(X, y)
    assert ours.study_.problem.metric_names == ("score",)


def test_several_metrics_as_several_objectives():
    ours = search(scoring={"one": "accuracy", "two": "roc_auc"}, refit=False).fit(X, y)
    assert ours.study_.problem.metric_names == ("one", "two")
    assert not hasattr(ours, "best_estimator_")
    trial = ours.study_.trials[2]
    assert trial.values == {name: ours.cv_results_[f"mean_test_{name}"][2] for name in ("one", "two")}
    ours = search(scoring=("accuracy", "roc_auc"), refit=lambda results: 1).fit(X, y)
    assert ours.best_index_ == 1
    assert ours.study_.problem.metric_names == ("accuracy", "roc_auc")


def test_objectives_may_be_chosen():
    ours = search(scoring=["accuracy", "roc_auc", "f1"], refit="f1", objectives=["accuracy", "f1"]).fit(X, y)
    assert ours.study_.problem.metric_names == ("accuracy", "f1")
    ours = search(scoring=["accuracy", "f1"], refit=False, objectives="accuracy").fit(X, y)
    assert ours.study_.problem.metric_names == ("accuracy",)


def test_metrics_that_only_a_function_knows():
    def scores(estimator, X, y):
        return {"good": estimator.score(X, y), "small": -estimator.C}

    assert search(scoring=scores, refit="good").fit(X, y).study_.problem.metric_names == ("good",)
    with pytest.raises(
        ArgumentError, match="`objectives` must name metrics of `scoring`, good, small, got 'score'"
    ):
        search(scoring=scores, refit=False).fit(X, y)


def test_refit_may_be_a_function_or_off():
    ours = search(refit=lambda results: int(np.argmin(results["mean_test_score"]))).fit(X, y)
    assert ours.best_params_ == ours.cv_results_["params"][np.argmin(ours.cv_results_["mean_test_score"])]
    ours = search(refit=False).fit(X, y)
    assert ours.best_score_ == ours.cv_results_["mean_test_score"].max()
    with pytest.raises(AttributeError, match="has no attribute 'predict'"):
        ours.predict(X)


def test_a_point_where_nothing_can_be_fitted_does_not_end_the_search():
    space = {"a": [0.9, 0.1, 0.8, 0.2]}  # four points: each is tried, in this order
    with pytest.warns(FitFailedWarning, match=r"2 of 4 candidates could not be scored[\s\S]*a is 0\.9"):
        ours = search(Picky(limit=0.5), space, return_train_score=True).fit(X, y)
    assert [params["a"] for params in ours.cv_results_["params"]] == [0.9, 0.1, 0.8, 0.2]
    assert ours.cv_results_["param_a"].tolist() == [0.9, 0.1, 0.8, 0.2]
    failed = np.isnan(ours.cv_results_["mean_test_score"])
    assert failed.tolist() == [True, False, True, False]
    np.testing.assert_array_equal(np.isnan(ours.cv_results_["split1_test_score"]), failed)
    np.testing.assert_array_equal(np.isnan(ours.cv_results_["mean_train_score"]), failed)
    assert ours.cv_results_["rank_test_score"].tolist() == [3, 2, 3, 1]
    assert ours.best_params_ == {"a": 0.2}
    assert [trial.state for trial in ours.study_.trials] == ["infeasible", "completed"] * 2


def test_failures_with_several_metrics_and_larger_batches():
    space = {"a": [0.9, 0.8, 0.1, 0.7, 0.2, 0.3]}
    with pytest.warns(FitFailedWarning) as caught:
        ours = search(
            Picky(limit=0.5),
            space,
            n_iter=6,
            n_points=2,
            scoring=["accuracy", "balanced_accuracy"],
            refit="accuracy",
        ).fit(X, y)
    assert np.isnan(ours.cv_results_["mean_test_balanced_accuracy"]).tolist() == [
        True,
        True,
        False,
        True,
        False,
        False,
    ]
    assert len(ours.cv_results_["params"]) == 6
    ours_last = [str(warning.message) for warning in caught][-1]
    assert ours_last.startswith("3 of 6 candidates could not be scored")


def test_an_error_score_counts_as_a_score():
    with pytest.warns(FitFailedWarning, match="1 of 2 candidates could not be scored"):
        ours = search(Picky(limit=0.5), {"a": [0.9, 0.1]}, n_iter=2, error_score=-1.0).fit(X, y)
    assert ours.cv_results_["mean_test_score"][0] == -1.0
    assert [trial.state for trial in ours.study_.trials] == ["completed"] * 2


def test_errors_may_be_raised():
    with pytest.raises(RuntimeError, match=r"a is 0\.9"):
        search(Picky(limit=0.5), {"a": [0.9, 0.1]}, n_iter=2, error_score="raise").fit(X, y)


def test_where_nothing_at_all_can_be_fitted_the_error_is_scikit_learns():
    with pytest.raises(ValueError, match=r"All the 2 fits failed[\s\S]*a is 0\.9"):
        search(Picky(limit=0.5), {"a": [0.9, 0.8]}, n_iter=2).fit(X, y)


def test_other_errors_of_a_batch_pass():
    with pytest.raises(ValueError, match="Invalid parameter 'zeta'"):
        search(Picky(), {"zeta": [1, 2]}, n_iter=2).fit(X, y)


def test_scores_that_are_not_finite_are_infeasible():
    def score(estimator, X, y):
        return np.nan if estimator.a > 0.5 else estimator.a

    with pytest.warns(FitFailedWarning, match="1 of 2 candidates could not be scored"):
        ours = search(Picky(), {"a": [0.9, 0.1]}, n_iter=2, scoring=score).fit(X, y)
    assert [trial.state for trial in ours.study_.trials] == ["infeasible", "completed"]
    assert ours.best_params_ == {"a": 0.1}


def test_candidates_are_compared_on_the_same_splits():
    class FirstLabels(Picky):
        def score(self, X, y):
            return float(np.dot(X[:, 0], np.arange(len(X))))  # depends on nothing but the split

    splitter = KFold(3, shuffle=True, random_state=np.random.RandomState(0))
    ours = search(FirstLabels(), {"a": (0.0, 1.0)}, cv=splitter).fit(X, y)
    for i in range(3):
        assert len(set(ours.cv_results_[f"split{i}_test_score"])) == 1
    splits = iter(list(KFold(2).split(X)))
    assert search(cv=splits).fit(X, y).n_splits_ == 2


def test_groups_and_weights_are_passed_on():
    groups = np.arange(len(X)) % 4
    ours = search(cv=GroupKFold(4)).fit(X, y, groups=groups, sample_weight=np.ones(len(X)))
    assert ours.n_splits_ == 4


def test_several_spaces_each_with_its_own_study():
    spaces = [({"C": (0.1, 10.0)}, 3), ({"C": [1.0], "fit_intercept": [True, False]}, 2)]
    ours = search(space=None, search_spaces=spaces).fit(X, y)
    assert [len(study.trials) for study in ours.studies_] == [3, 2]
    column = ours.cv_results_["param_fit_intercept"]
    assert column.mask.tolist() == [True, True, True, False, False]
    with pytest.raises(ArgumentError, match="there are 2 search spaces: use `studies_`"):
        _ = ours.study_


def test_a_small_space_is_tried_to_its_end():
    with pytest.warns(
        UserWarning, match="the search space has 4 points, fewer than n_iter=9: each is tried once"
    ):
        ours = search(
            DecisionTreeClassifier(), {"max_depth": (1, 2), "criterion": ["gini", "entropy"]}, n_iter=9
        ).fit(X, y)
    points = {tuple(params.values()) for params in ours.cv_results_["params"]}
    assert len(points) == len(ours.cv_results_["params"]) == 4


def test_it_can_be_cloned_set_and_pickled():
    ours = search()
    ours.set_params(n_iter=3, estimator__max_iter=200)
    copy = clone(ours)
    assert copy.get_params()["estimator__max_iter"] == 200
    assert (copy.n_iter, copy.param_distributions) == (3, C)
    with pytest.raises(NotFittedError):
        check_is_fitted(copy)
    copy.fit(X, y)
    again = pickle.loads(pickle.dumps(copy))
    assert again.study_.trials == copy.study_.trials
    assert again.study_.best_trial.params == again.best_params_
    np.testing.assert_array_equal(again.predict(X), copy.predict(X))
    assert len(again.study_.ask(2)) == 2


def test_nested_cross_validation():
    scores = cross_val_score(search(n_iter=2), X, y, cv=2, n_jobs=2)
    assert len(scores) == 2


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_iter": 0}, ArgumentError, "`n_iter` must be an integer >= 1"),
        ({"n_points": 0}, ArgumentError, "`n_points` must be an integer >= 1"),
        ({"algorithm": "tpe"}, ArgumentError, "`algorithm` must be one of"),
        ({"space": {"C": "all"}}, SpaceError, "parameter 'C': must be a list of choices"),
        ({"search_spaces": C}, ArgumentError, "exactly one of `param_distributions` and `search_spaces`"),
        (
            {"scoring": ["accuracy", "f1"], "refit": False, "objectives": "speed"},
            ArgumentError,
            "accuracy, f1, got",
        ),
    ],
)
def test_bad_settings_are_refused(settings, error, message):
    with pytest.raises(error, match=message):
        search(**settings).fit(X, y)


def test_beside_scikit_optimizes_own():
    """The same arguments as BayesSearchCV takes."""
    spaces = {
        "C": space.Real(1e-3, 1e3, prior="log-uniform"),
        "fit_intercept": space.Categorical([True, False]),
    }
    ours = PhotinusSearchCV(
        LogisticRegression(), search_spaces=spaces, n_iter=3, cv=2, n_points=3, algorithm="quasi_random"
    ).fit(X, y)
    assert len(ours.cv_results_["params"]) == 3
    assert {type(value) for value in ours.cv_results_["param_fit_intercept"]} <= {bool, np.bool_}


def test_the_example_runs():
    example = Path(__file__).parents[2] / "examples" / "sklearn_search.py"
    done = subprocess.run([sys.executable, example], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "the model expects" in done.stdout
