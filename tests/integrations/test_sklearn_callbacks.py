"""Callbacks of `PhotinusSearchCV.fit`: our users' own, and those of scikit-optimize as they are."""

import pickle

import numpy as np
import pytest
import scipy.stats as st
import skopt
from picky import Picky
from sklearn.exceptions import FitFailedWarning
from skopt import callbacks as theirs

from photinus.errors import ArgumentError
from photinus.integrations.sklearn_search import PhotinusSearchCV

X, y = np.zeros((20, 1)), np.arange(20) % 2
SPACE = {"b": (0.0, 1.0), "a": st.uniform(0, 1)}


def search(space=SPACE, limit=2.0, **settings):
    chosen = {"n_iter": 6, "cv": 2, "algorithm": "random", "random_state": 0} | settings
    return PhotinusSearchCV(Picky(limit=limit), space, **chosen)


def num_tried(fitted) -> int:
    assert len(fitted.cv_results_["params"]) == sum(map(len, fitted.studies_))
    return len(fitted.cv_results_["params"])


def test_after_every_batch_it_is_told_the_result_so_far():
    results = []
    fitted = search(n_points=2, n_iter=5).fit(X, y, callback=results.append)
    assert [len(result.x_iters) for result in results] == [2, 4, 5]
    last, table = results[-1], fitted.cv_results_
    assert list(last.space) == ["a", "b"]  # sorted by name, as everything in the result
    assert last.x_iters == [[params["a"], params["b"]] for params in table["params"]]
    np.testing.assert_array_equal(last.func_vals, -table["mean_test_score"])
    assert last.fun == last["fun"] == -fitted.best_score_
    assert last.x == [fitted.best_params_["a"], fitted.best_params_["b"]]


def test_true_ends_the_search_and_what_was_found_is_kept():
    fitted = search().fit(X, y, callback=lambda result: len(result.x_iters) == 3)
    assert num_tried(fitted) == 3
    assert fitted.predict(X).shape == (20,)
    assert num_tried(fitted.fit(X, y)) == 6  # callbacks are of one fit


def test_all_of_a_list_are_called_also_behind_one_that_wants_to_stop():
    called = []
    fitted = search().fit(X, y, callback=[lambda result: True, called.append])
    assert num_tried(fitted) == len(called) == 1


def test_a_space_that_is_tried_point_by_point_can_be_left_early():
    fitted = search({"a": [0.1, 0.2, 0.3, 0.4]}, n_iter=4).fit(
        X, y, callback=lambda result: result.fun < -0.98
    )
    assert [params["a"] for params in fitted.cv_results_["params"]] == [0.1, 0.2]
    assert num_tried(fitted) == 2


def test_every_space_has_a_result_of_its_own_and_ends_by_itself():
    spaces = [({"a": (0.0, 1.0)}, 4), ({"b": (0.0, 1.0)}, 3)]
    seen = []

    def watch(result):
        seen.append((*result.space, len(result.x_iters)))
        return len(result.x_iters) == 2

    fitted = search(None, search_spaces=spaces).fit(X, y, callback=watch)
    assert seen == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]
    assert [len(study) for study in fitted.studies_] == [2, 2]


def test_what_could_not_be_scored_is_infinitely_bad():
    results = []
    with pytest.warns(FitFailedWarning, match="2 of 3 candidates could not be scored"):
        search({"a": [0.9, 0.8, 0.2, 0.1]}, limit=0.5, n_iter=4).fit(
            X, y, callback=[results.append, lambda result: len(result.x_iters) == 3]
        )
    assert [result.fun for result in results[:2]] == [np.inf, np.inf]
    assert results[2].func_vals.tolist() == pytest.approx([np.inf, np.inf, -0.99])
    assert results[2].x == [0.2]


@pytest.mark.parametrize(
    ("stopper", "num_trials"),
    [
        (theirs.DeltaYStopper(delta=10, n_best=3), 3),
        (theirs.HollowIterationsStopper(2, threshold=10), 3),
        (theirs.DeadlineStopper(0), 1),
        (theirs.ThresholdStopper(10), 1),
        (theirs.ThresholdStopper(-10), 6),
        (theirs.TimerCallback(), 6),
        (theirs.VerboseCallback(6), 6),
    ],
    ids=lambda value: type(value).__name__,
)
def test_scikit_optimizes_own_callbacks_understand_it(stopper, num_trials):
    assert num_tried(search().fit(X, y, callback=stopper)) == num_trials


def test_the_result_so_far_can_be_kept_on_disk(tmp_path):
    path = tmp_path / "result.pkl"
    fitted = search().fit(X, y, callback=theirs.CheckpointSaver(str(path)))
    assert skopt.load(str(path)).fun == -fitted.best_score_


def test_the_search_itself_can_be_pickled_on_the_way():
    ours, copies = search(n_iter=2), []
    ours.fit(X, y, callback=lambda result: copies.append(pickle.dumps(ours)))
    assert num_tried(pickle.loads(copies[0]).fit(X, y)) == 2


def test_an_error_of_a_callback_is_the_callers():
    with pytest.raises(ZeroDivisionError):
        search().fit(X, y, callback=lambda result: 1 / 0)


@pytest.mark.parametrize("callback", ["print", [print, 1], 3])
def test_what_cannot_be_called_is_refused(callback):
    with pytest.raises(ArgumentError, match="`callback` must be a callable or a list of callables, got"):
        search().fit(X, y, callback=callback)


def test_several_objectives_have_no_best_to_be_told():
    several = {"scoring": ["accuracy", "f1"], "refit": False}
    with pytest.raises(ArgumentError, match="but accuracy, f1 have no single best: name the one to go by"):
        search(**several).fit(X, y, callback=print)
    results = []
    search(**several, objectives="accuracy", n_iter=2).fit(X, y, callback=results.append)
    assert len(results) == 2


def test_settings_of_another_model_are_refused_by_name():
    with pytest.raises(
        ArgumentError, match=r"`optimizer_kwargs` must be empty, got 'acq_func': .*`algorithm` chooses"
    ):
        search(optimizer_kwargs={"acq_func": "EI"}).fit(X, y)
    assert num_tried(search(optimizer_kwargs={}, n_iter=2).fit(X, y)) == 2


def test_callbacks_are_not_data_to_be_routed():
    assert not hasattr(search(), "set_fit_request")
