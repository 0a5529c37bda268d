"""Studies that are timed beside those of real parameters, and the trials they come with."""

import collections

import numpy as np
import pytest

from photinus.engine.encoding import Encoder
from photinus.trial import TrialState
from photinus_bench import latency_kinds
from photinus_bench.histories import beyond_a_plane, history, losses_of
from photinus_bench.latency_kinds import KINDS, Kind, measured, time_suggestions
from photinus_bench.rivals import RIVALS, Answer, Search
from photinus_bench.tasks import Task, build

MIXED = "rastrigin/6d/categorical50"


@pytest.mark.parametrize("task", [MIXED, "rastrigin/4d/integer16", "dtlz/2/5d/2m"])
def test_a_history_has_every_point_once_and_what_it_measures(task: str):
    experimenter = build(Task.parse(task), 0)
    trials = history(experimenter, 60, num_random=10, seed=1)
    assert [trial.number for trial in trials] == list(range(60))
    assert len({tuple(trial.params.values()) for trial in trials}) == 60
    assert all(trial.values == experimenter.truth(trial.params) for trial in trials)
    assert [t.params for t in history(experimenter, 60, num_random=10, seed=1)] == [t.params for t in trials]
    assert history(experimenter, 60, num_random=10, seed=2)[0].params != trials[0].params


def test_a_history_gets_better_and_comes_close_to_its_best():
    experimenter = build(Task.parse("rastrigin/6d"), 0)
    trials = history(experimenter, 200, num_random=20, seed=1)
    losses = losses_of(experimenter.problem, [trial.values or {} for trial in trials])[:, 0]
    assert losses[20:].min() < losses[:20].min()
    x = Encoder(experimenter.problem.space).encode([trial.params for trial in trials]).continuous
    distance = np.linalg.norm(x - x[losses.argmin()], axis=1)
    assert np.median(distance[-50:]) < 0.5 * np.median(distance[:20])


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5])
def test_what_lies_beyond_a_plane_is_infeasible_and_the_best_never(share: float):
    experimenter = build(Task.parse("rastrigin/6d"), 0)
    trials = history(experimenter, 50, num_random=50, seed=1)
    made = beyond_a_plane(experimenter.problem, trials, share, seed=2)
    states = collections.Counter(trial.state for trial in made)
    assert states[TrialState.INFEASIBLE] == round(50 * share)
    best = losses_of(experimenter.problem, [trial.values or {} for trial in trials])[:, 0].argmin()
    assert made[best] == trials[best]
    # A plane: some direction has all of one kind before all of the other.
    x = Encoder(experimenter.problem.space).encode([trial.params for trial in made]).continuous
    position = x @ np.random.default_rng(2).normal(size=6)
    is_infeasible = np.array([trial.state is TrialState.INFEASIBLE for trial in made])
    assert np.sum(np.diff(is_infeasible[np.argsort(position)])) == (share > 0)


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_is_a_study_of_its_own_trials(name: str):
    kind = KINDS[name]
    problem, trials = measured(kind, 30, 1)
    states = collections.Counter(trial.state for trial in trials)
    assert states[TrialState.INFEASIBLE] == round(30 * kind.infeasible_share)
    assert all(set(trial.values) == set(problem.metric_names) for trial in trials if trial.values)


def test_seconds_are_those_of_a_point_after_a_warm_up(tmp_path, monkeypatch: pytest.MonkeyPatch):
    """With a search that really runs; only how long it says an answer took is ours."""
    took = iter([100.0, 3.0, 6.0])
    with RIVALS["random"].search(tmp_path / "log") as search:
        ask, brought = search.ask, []
        monkeypatch.setattr(search, "ask", lambda count: Answer(ask(count).points, next(took), 12.0))
        monkeypatch.setattr(
            search,
            "bring",
            lambda points, values: brought.append((points, values)) or Search.bring(search, points, values),
        )
        kind = Kind(MIXED, batch_size=3, infeasible_share=0.5)
        answer = time_suggestions(search, kind, 8, seed=1, repeats=2, budget_s=60.0)
    assert answer["seconds"] == [1.0, 2.0] and answer["peak_mb"] == 12.0 and "photinus" in answer["packages"]
    assert len(brought) == 3 and all(each == brought[0] for each in brought)
    assert [values is None for values in brought[0][1]].count(True) == 4


def test_a_spent_budget_ends_the_repeats_after_one(tmp_path):
    with RIVALS["random"].search(tmp_path / "log") as search:
        answer = time_suggestions(search, Kind(MIXED), 5, seed=1, repeats=4, budget_s=0.0)
    assert len(answer["seconds"]) == 1
    assert latency_kinds.NUM_RANDOM > 5  # so all of these trials were random ones
