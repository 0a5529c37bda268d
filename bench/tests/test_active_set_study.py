import pytest

from photinus_bench import active_set_study
from photinus_bench.tasks import Task, build


def test_a_history_improves_and_is_repeatable():
    experimenter = build(Task.parse("bbob/f08/4d/categorical50"), 0)
    trials = active_set_study.history(experimenter, 60, 15, 0)
    assert trials == active_set_study.history(experimenter, 60, 15, 0)
    [metric] = experimenter.problem.metric_names
    values = [trial.values[metric] for trial in trials]
    assert min(values[15:]) < min(values[:15])


def test_limits_that_leave_nothing_out_change_nothing(monkeypatch):
    monkeypatch.setattr(
        active_set_study, "LIMITS", {"exact": (None, None), "wide": (64, 64), "few": (16, 32)}
    )
    exact, wide, few = active_set_study.compare("rastrigin/8d", 60, 30)
    assert wide["near"] == exact["near"]
    assert few["near"] != exact["near"]
    assert exact["near"]["rmse"] == pytest.approx(few["near"]["rmse"], rel=1.0)
    assert "rastrigin/8d" in active_set_study.table([exact, few])
