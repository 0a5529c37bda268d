import json
import math
import pickle
from dataclasses import FrozenInstanceError, fields, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from photinus.testing import strategies
from photinus.trial import Measurement, Report, Suggestion, Trial, TrialState

NOW = datetime(2030, 1, 1, tzinfo=UTC)
TRIAL = Trial(number=3, params={"x": 0.5}, state=TrialState.COMPLETED, values={"value": 1.0}, created_at=NOW)


@settings(max_examples=40)
@given(st.data())
def test_a_trial_survives_json_and_pickle(data):
    trial = data.draw(strategies.problems().flatmap(strategies.trials))
    assert Trial.from_dict(json.loads(json.dumps(trial.to_dict(), allow_nan=False))) == trial
    assert pickle.loads(pickle.dumps(trial)) == trial


def test_every_field_is_stored():
    assert list(TRIAL.to_dict()) == [field.name for field in fields(Trial)]


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_reports_that_are_not_finite_survive_json(value):
    trial = replace(TRIAL, reports=(Report(1, {"value": value}, NOW),))
    text = json.dumps(trial.to_dict(), allow_nan=False)
    again = Trial.from_dict(json.loads(text)).reports[0].values["value"]
    assert again == value or (math.isnan(again) and math.isnan(value))


def test_states():
    finished = {state.value for state in TrialState if state.is_finished}
    running = {state.value for state in TrialState if state.is_running}
    assert finished == {"completed", "infeasible", "failed"}
    assert running == {"active", "stopping"}
    assert len(TrialState) == 7


def test_measurements():
    assert TRIAL.measurement == Measurement.completed({"value": 1.0})
    failed = replace(TRIAL, state=TrialState.FAILED, values=None, message="lost")
    assert failed.measurement == Measurement.failed("lost") != Measurement.infeasible("lost")
    assert replace(TRIAL, state=TrialState.ACTIVE, values=None).measurement is None


def test_durations():
    assert TRIAL.duration_s is None
    assert replace(TRIAL, started_at=NOW, completed_at=NOW + timedelta(seconds=90)).duration_s == 90


def test_repr_is_short():
    assert repr(TRIAL) == "Trial(number=3, state=completed, params={'x': 0.5}, outcome={'value': 1.0})"


def test_trials_and_suggestions_are_frozen():
    with pytest.raises(FrozenInstanceError):
        TRIAL.number = 4
    with pytest.raises(FrozenInstanceError):
        Suggestion({"x": 1.0}, {}).params = {}
