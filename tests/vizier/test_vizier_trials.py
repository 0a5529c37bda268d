"""Trials of google-vizier's client: handed out, measured, ended, deleted."""

import datetime
import math

import grpc
import pytest
from vizier._src.service import vizier_client
from vizier.service import clients
from vizier.service import pyvizier as vz
from vizier_servers import mixed_config, refused, simple_config

import photinus as ph

pytestmark = pytest.mark.usefixtures("connected")


@pytest.fixture
def study(request):
    """A study of the test's own, whose algorithm draws at random."""
    return clients.Study.from_study_config(simple_config(), owner="trials", study_id=request.node.name)


@pytest.fixture
def ours(connected, study, request):
    """The same study, as our own client sees it."""
    with ph.connect(connected.url, project="trials") as server:
        yield server.load_study(request.node.name)


def measured(**metrics):
    return vz.Measurement(metrics)


def test_clients_get_their_own_trials_again(study):
    first = study.suggest(count=2, client_id="first")
    second = study.suggest(count=2, client_id="second")
    assert not {t.id for t in first} & {t.id for t in second}
    assert [t.id for t in study.suggest(count=2, client_id="first")] == [t.id for t in first]
    assert [t.id for t in study.suggest(count=3, client_id="first")][:2] == [t.id for t in first]
    first[0].complete(measured(gain=1.0))
    assert first[0].id not in {t.id for t in study.suggest(count=3, client_id="first")}
    assert second[0].materialize().assigned_worker == "second"


def test_names_of_clients_may_be_odd(study):
    odd = "host/1 %2F:ä?"
    [trial] = study.suggest(count=1, client_id=odd)
    assert trial.materialize().assigned_worker == odd
    assert [t.id for t in study.suggest(count=1, client_id=odd)] == [trial.id]
    refused(
        lambda: study.suggest(count=1, client_id="x" * 251), grpc.StatusCode.INVALID_ARGUMENT, "client_id"
    )


def test_without_a_count_there_is_one_trial(study):
    assert len(study.suggest()) == 1


def test_a_count_beyond_the_limit_is_refused(study):
    refused(lambda: study.suggest(count=1001), grpc.StatusCode.INVALID_ARGUMENT, "suggestion_count", "1000")
    assert list(study.trials()) == []


def test_curves_are_kept_as_they_come(study, ours):
    [trial] = study.suggest(count=1)
    given = [
        vz.Measurement({"gain": 0.1}, steps=5, elapsed_secs=7.0),
        vz.Measurement(
            {"gain": 0.2, "loss": 3.0}, steps=5, elapsed_secs=9.0
        ),  # the same step, another metric
        vz.Measurement({"loss": 2.0}, steps=7),  # without the objective
        vz.Measurement({"gain": 0.4}, steps=3),  # back in time
    ]
    for measurement in given:
        trial.add_measurement(measurement)
    assert trial.materialize().measurements == given
    reports = ours.trials[0].reports
    assert [report.step for report in reports] == [3, 5, 6, 7]
    assert [report.values["gain"] for report in reports[:3]] == [0.4, 0.1, 0.2]
    assert math.isnan(reports[3].values["gain"])
    assert trial.complete() == given[-1]
    assert ours.trials[0].values == {"gain": 0.4}


def test_reports_of_our_own_workers_are_measurements(study, ours):
    [trial] = ours.ask(1)
    trial.report(0.25, 3)
    assert study.get_trial(1).materialize().measurements == [vz.Measurement({"gain": 0.25}, steps=3)]


def test_a_result_has_all_that_was_given(study, ours):
    [trial] = study.suggest(count=1)
    given = vz.Measurement({"gain": 0.5, "memory": 12.0}, steps=9, elapsed_secs=30.0)
    assert trial.complete(given) == given
    found = trial.materialize()
    assert found.final_measurement == given
    assert found.status == vz.TrialStatus.COMPLETED
    assert ours.trials[0].values == {"gain": 0.5}
    assert found.creation_time <= found.completion_time < found.creation_time + datetime.timedelta(hours=1)
    assert found.completion_time.timestamp() == pytest.approx(
        ours.trials[0].completed_at.timestamp(), abs=1e-3
    )


def test_the_first_result_counts(study):
    [trial] = study.suggest(count=1)
    trial.complete(measured(gain=1.0))
    trial.complete(measured(gain=1.0))  # a repeated call is no other one
    trial.complete(measured(gain=1.0, memory=7.0))
    refused(lambda: trial.complete(measured(gain=999.0)), grpc.StatusCode.FAILED_PRECONDITION, "amend")
    refused(lambda: trial.complete(infeasible_reason="late"), grpc.StatusCode.FAILED_PRECONDITION)
    assert trial.materialize().final_measurement == measured(gain=1.0)


@pytest.mark.parametrize("metrics", [{"loss": 1.0}, {"gain": math.inf}])
def test_a_result_without_finite_objectives_is_refused(study, metrics):
    [trial] = study.suggest(count=1)
    refused(lambda: trial.complete(vz.Measurement(metrics)), grpc.StatusCode.INVALID_ARGUMENT, "'gain'")
    refused(trial.complete, grpc.StatusCode.INVALID_ARGUMENT, "no measurement")
    assert trial.materialize().status == vz.TrialStatus.ACTIVE


def test_infeasible_trials_say_why(study, ours):
    [first, second, third] = study.suggest(count=3)
    assert first.complete(infeasible_reason="diverged") is None
    found = first.materialize()
    assert (found.infeasible, found.infeasibility_reason) == (True, "diverged")
    assert (str(ours.trials[0].state), ours.trials[0].message) == ("infeasible", "diverged")
    given = vz.Measurement({"memory": 99.0})
    assert second.complete(given, infeasible_reason="too large") == given
    assert second.materialize().final_measurement == given
    third.complete(infeasible_reason="")
    assert third.materialize().infeasible
    refused(lambda: third.complete(infeasible_reason="x" * 10_001), grpc.StatusCode.INVALID_ARGUMENT, "10000")


def test_failed_trials_look_infeasible_and_say_so(study, ours):
    [trial] = ours.ask(1)
    ours.tell(trial, failed="the disk is full")
    found = study.get_trial(1).materialize()
    assert (found.infeasible, found.infeasibility_reason) == (True, "failed: the disk is full")


def test_trials_measured_elsewhere_are_added_with_their_outcome(study, ours):
    good = vz.Trial({"x": 0.5}).complete(vz.Measurement({"gain": 3.0}, elapsed_secs=5))
    bad = vz.Trial({"x": 0.25}).complete(vz.Measurement(), infeasibility_reason="broke")
    bad.metadata["batch"] = "7"
    assert study.add_trial(good).materialize().final_measurement.elapsed_secs == 5
    assert study.add_trial(bad).materialize().infeasible
    assert [(str(t.state), t.values, t.message) for t in ours.trials] == [
        ("completed", {"gain": 3.0}, None),
        ("infeasible", None, "broke"),
    ]
    assert ours.trials[1].metadata["batch"] == "7"
    client = vizier_client.VizierClient(study.resource_name, "somebody")
    refused(lambda: client.add_trial(vz.Trial({"x": 2.0})), grpc.StatusCode.INVALID_ARGUMENT, "'x'", "2.0")
    refused(lambda: client.add_trial(vz.Trial({"x": "a"})), grpc.StatusCode.INVALID_ARGUMENT, "'x'")
    refused(lambda: client.add_trial(vz.Trial({})), grpc.StatusCode.INVALID_ARGUMENT, "missing 'x'")
    assert len(ours.trials) == 2


def test_requested_trials_come_first(study):
    study.request(vz.TrialSuggestion({"x": 0.125}))
    trials = study.suggest(count=2)
    assert [trials[0].parameters["x"], trials[0].id] == [0.125, 1]
    assert trials[0].materialize().status == vz.TrialStatus.ACTIVE


def test_only_a_trial_that_somebody_stopped_should_stop(study, connected, request):
    [trial] = study.suggest(count=1)
    trial.add_measurement(vz.Measurement({"gain": 1e9}, steps=1))
    assert [trial.check_early_stopping() for _ in range(3)] == [False, False, False]
    connected.call("POST", connected.study_path("trials", request.node.name) + "/trials/0/stop")
    assert trial.check_early_stopping()
    assert trial.materialize().status == vz.TrialStatus.STOPPING
    trial.stop()
    trial.complete()
    trial.stop()
    assert trial.materialize().status == vz.TrialStatus.COMPLETED
    refused(trial.check_early_stopping, grpc.StatusCode.FAILED_PRECONDITION, "completed")


def test_what_is_not_there_is_not_found(study):
    refused(lambda: study.get_trial(1), grpc.StatusCode.NOT_FOUND, "no trial of id 1")
    refused(lambda: study.get_trial(0), grpc.StatusCode.NOT_FOUND, "no trial of id 0")
    study.suggest(count=1)
    assert study.get_trial(1).id == 1
    refused(lambda: study.get_trial(2), grpc.StatusCode.NOT_FOUND)
    client = vizier_client.VizierClient("owners/trials/studies/nowhere", "somebody")
    refused(client.list_trials, grpc.StatusCode.NOT_FOUND, "nowhere")


def test_notes_of_trials_are_set_together_or_not_at_all(study, connected, request):
    study.suggest(count=2)
    path = connected.study_path("trials", request.node.name)
    client = vizier_client.VizierClient(study.resource_name, "somebody")
    delta = vz.MetadataDelta(on_study=vz.Metadata({"a": "1"}))
    delta.on_trials[1]["b"] = "2"
    delta.on_trials[9]["c"] = "3"
    with pytest.raises(RuntimeError, match="no trial of id 9"):
        client.update_metadata(delta)
    assert connected.call("GET", path)["metadata"] == {}
    assert connected.call("GET", f"{path}/trials/0")["metadata"] == {}
    del delta.on_trials[9]
    client.update_metadata(delta)
    assert connected.call("GET", path)["metadata"] == {"a": "1"}
    assert connected.call("GET", f"{path}/trials/0")["metadata"] == {"b": "2"}


def test_notes_of_the_server_itself_are_not_shown(study):
    [trial] = study.suggest(count=1)
    trial.complete(vz.Measurement({"gain": 1.0}, elapsed_secs=3))
    assert list(trial.materialize().metadata.namespaces()) in ([], [vz.Namespace()])


def test_the_best_of_several_objectives_are_those_that_none_beats():
    study = clients.Study.from_study_config(mixed_config(), owner="trials", study_id="pareto")
    trials = study.suggest(count=4)
    for trial, (accuracy, seconds) in zip(trials, [(0.9, 5), (0.5, 1), (0.4, 2), (0.8, 6)], strict=True):
        trial.complete(measured(accuracy=accuracy, seconds=seconds))
    assert [trial.id for trial in study.optimal_trials()] == [1, 2]
    trials[0].delete()
    assert [trial.id for trial in study.optimal_trials()] == [2, 4]


def test_a_deleted_trial_is_neither_seen_nor_handed_out(study, ours):
    study.request(vz.TrialSuggestion({"x": 0.125}))
    study.request(vz.TrialSuggestion({"x": 0.375}))
    study.get_trial(1).delete()
    refused(lambda: study.get_trial(1), grpc.StatusCode.NOT_FOUND)
    [second, third] = study.suggest(count=2, client_id="worker")
    assert [second.id, second.parameters["x"], third.id] == [2, 0.375, 3]
    second.delete()
    assert [trial.id for trial in study.suggest(count=1, client_id="worker")] == [3]
    refused(lambda: second.complete(measured(gain=1.0)), grpc.StatusCode.NOT_FOUND)
    assert [trial.id for trial in study.trials()] == [3]
    assert [str(trial.state) for trial in ours.trials] == ["failed", "failed", "active"]
