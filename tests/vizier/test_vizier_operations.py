"""Suggestions as operations: they end, whatever happens to the server, its engine or the client."""

import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import httpx
import pytest
from google.longrunning import operations_pb2
from pages import ROOT
from serving import PATIENCE_S, wait_until
from vizier._src.service import vizier_service_pb2, vizier_service_pb2_grpc
from vizier.service import clients
from vizier.service import pyvizier as vz
from vizier_servers import VizierProcess, VizierServer, refused, running, simple_config

NUM_PARAMETERS = 12
NUM_TOLD = 40  # the model needs a while for so many


def slow_study(name):
    """A study whose next suggestions take the model some time."""
    config = vz.StudyConfig(algorithm="DEFAULT")
    for number in range(NUM_PARAMETERS):
        config.search_space.root.add_float_param(f"x{number}", 0.0, 1.0)
    config.metric_information.append(vz.MetricInformation(name="gain", goal=vz.ObjectiveMetricGoal.MAXIMIZE))
    study = clients.Study.from_study_config(config, owner="operations", study_id=name)
    for number in range(NUM_TOLD):
        point = {f"x{axis}": (number * (axis + 3) % 41) / 41 for axis in range(NUM_PARAMETERS)}
        study.add_trial(vz.Trial(point).complete(vz.Measurement({"gain": sum(point.values()) % 1})))
    return study


def suggest(stub, study, count, client_id="worker"):
    """The call that the client makes, without its patience."""
    return stub.SuggestTrials(
        vizier_service_pb2.SuggestTrialsRequest(
            parent=study.resource_name, suggestion_count=count, client_id=client_id
        )
    )


def trials_of(operation):
    assert operation.done and not operation.HasField("error"), operation
    return vizier_service_pb2.SuggestTrialsResponse.FromString(operation.response.value).trials


def wait_for_operation(stub, name):
    """The operation when it is done."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        operation = stub.GetOperation(operations_pb2.GetOperationRequest(name=name))
        if operation.done:
            return operation
        assert time.monotonic() < deadline, f"{name} is not done after {PATIENCE_S:g} s"


def active_ids(study):
    return [trial.id for trial in study.trials(vz.TrialFilter(status={vz.TrialStatus.ACTIVE}))]


@pytest.fixture
def hasty(tmp_path):
    """A server that lets callers wait for a tenth of a second only."""
    with running(tmp_path, ask_timeout_s=0.1) as server:
        yield server


@pytest.mark.long
def test_what_takes_long_is_found_by_looking_again(hasty: VizierProcess):
    study = slow_study("slow")
    with grpc.insecure_channel(hasty.endpoint) as channel:
        stub = vizier_service_pb2_grpc.VizierServiceStub(channel)
        operation = suggest(stub, study, 6)
        assert not operation.done
        done = wait_for_operation(stub, operation.name)
        ids = [int(trial.id) for trial in trials_of(done)]
        assert ids == list(range(NUM_TOLD + 1, NUM_TOLD + 7))
        assert active_ids(study) == ids  # asking again and again made no more of them
        again = wait_for_operation(stub, operation.name)
        assert [int(trial.id) for trial in trials_of(again)] == ids
    assert [trial.id for trial in study.suggest(count=6, client_id="worker")] == ids
    # The client itself looks again by itself.
    assert len(study.suggest(count=1, client_id="another")) == 1


@pytest.mark.long
def test_an_operation_outlives_the_server_that_began_it(hasty: VizierProcess):
    study = slow_study("killed")
    with grpc.insecure_channel(hasty.endpoint) as channel:
        operation = suggest(vizier_service_pb2_grpc.VizierServiceStub(channel), study, 6)
        assert not operation.done
    hasty.kill()
    hasty.start()
    with grpc.insecure_channel(hasty.endpoint) as channel:
        stub = vizier_service_pb2_grpc.VizierServiceStub(channel)
        ids = [int(trial.id) for trial in trials_of(wait_for_operation(stub, operation.name))]
        listed = stub.ListTrials(vizier_service_pb2.ListTrialsRequest(parent=study.resource_name)).trials
    assert ids == list(range(NUM_TOLD + 1, NUM_TOLD + 7))
    assert len(listed) == NUM_TOLD + 6


def engine_ids(server: VizierProcess) -> list[int]:
    """Processes that the server started."""
    words = ["ps", "-o", "pid=", "--ppid", str(server.pid)]
    return [int(line) for line in subprocess.run(words, capture_output=True, text=True).stdout.split()]


def studies_running(server: VizierProcess) -> bool:
    text = httpx.get(f"{server.url}/metrics", timeout=PATIENCE_S).text
    [line] = [line for line in text.splitlines() if line.startswith("photinus_engine_studies_running ")]
    return float(line.split()[1]) > 0


@pytest.mark.long
def test_an_engine_that_dies_fails_one_call_and_blocks_nobody(tmp_path):
    with running(tmp_path) as server, ThreadPoolExecutor(1) as threads:
        study = slow_study("engine")
        waiting = threads.submit(study.suggest, count=2, client_id="worker")
        # The server answers others meanwhile: nothing here waits for the engine.
        wait_until(lambda: studies_running(server), "the engine is busy with the study")
        for engine in engine_ids(server):
            os.kill(engine, signal.SIGKILL)
        with pytest.raises(RuntimeError, match="engine process ended"):
            waiting.result(PATIENCE_S)
        assert active_ids(study) == []
        assert len(study.suggest(count=2, client_id="worker")) == 2


@pytest.mark.long
def test_too_many_callers_wait_rather_than_fail(tmp_path):
    """A line of one: whoever finds no room looks again."""
    with running(tmp_path, max_queued_asks=1, engine_threads=1):
        study = slow_study("busy")
        with ThreadPoolExecutor(5) as threads:
            asked = [threads.submit(study.suggest, count=1, client_id=f"worker {n}") for n in range(5)]
            ids = [trial.id for future in asked for trial in future.result(PATIENCE_S)]
        assert sorted(ids) == list(range(NUM_TOLD + 1, NUM_TOLD + 6))


@pytest.mark.long
def test_the_example_runs(vizier_server: VizierServer):
    program = [
        sys.executable,
        "-W",
        "error",
        str(ROOT / "examples" / "vizier_client.py"),
        vizier_server.endpoint,
    ]
    done = subprocess.run(program, check=True, capture_output=True, text=True, timeout=PATIENCE_S)
    assert re.fullmatch(r"accuracy 0\.\d+ with {'rate': .*, 'layers': .*}\n", done.stdout)


@pytest.mark.usefixtures("connected")
def test_a_name_that_is_no_operation_is_refused(vizier_server: VizierServer):
    study = clients.Study.from_study_config(simple_config(), owner="operations", study_id="names")
    with grpc.insecure_channel(vizier_server.endpoint) as channel:
        stub = vizier_service_pb2_grpc.VizierServiceStub(channel)
        begun = suggest(stub, study, 1).name
        wrong = {
            "nonsense": grpc.StatusCode.INVALID_ARGUMENT,
            begun.replace("/1/", "/1001/"): grpc.StatusCode.INVALID_ARGUMENT,
            begun.replace("/names/", "/nowhere/"): grpc.StatusCode.NOT_FOUND,
        }
        for name, code in wrong.items():
            asked = operations_pb2.GetOperationRequest(name=name)
            refused(lambda asked=asked: stub.GetOperation(asked), code)
        broken = channel.unary_unary("/vizier.VizierService/GetStudy")
        refused(lambda: broken(b"\xff\xff"), grpc.StatusCode.INVALID_ARGUMENT)
        unheard = channel.unary_unary("/vizier.VizierService/Unheard")
        refused(lambda: unheard(b""), grpc.StatusCode.UNIMPLEMENTED)


@pytest.mark.usefixtures("connected")
def test_a_client_that_waits_while_the_study_is_ended_gets_no_trials(vizier_server: VizierServer):
    study = clients.Study.from_study_config(simple_config(), owner="operations", study_id="ended")
    with grpc.insecure_channel(vizier_server.endpoint) as channel:
        stub = vizier_service_pb2_grpc.VizierServiceStub(channel)
        begun = suggest(stub, study, 1).name
        study.set_state(vz.StudyState.COMPLETED)
        assert list(trials_of(wait_for_operation(stub, begun))) == []


@pytest.mark.usefixtures("connected")
def test_a_nameless_client_is_given_each_trial_that_is_out(vizier_server: VizierServer):
    study = clients.Study.from_study_config(simple_config(), owner="operations", study_id="nameless")
    study.request(vz.TrialSuggestion({"x": 0.125}))
    study.get_trial(1).delete()
    with grpc.insecure_channel(vizier_server.endpoint) as channel:
        stub = vizier_service_pb2_grpc.VizierServiceStub(channel)
        ids = [int(trial.id) for trial in trials_of(suggest(stub, study, 3, client_id=""))]
    assert ids == active_ids(study) == [2, 3, 4]


@pytest.mark.usefixtures("connected")
def test_calls_are_counted_like_requests(vizier_server: VizierServer):
    study = clients.Study.from_study_config(simple_config(), owner="operations", study_id="counted")
    with pytest.raises(grpc.RpcError):
        study.get_trial(1)
    text = httpx.get(f"{vizier_server.url}/metrics", timeout=PATIENCE_S).text
    assert 'route="/vizier.VizierService/GetTrial",status="404"' in text
    assert 'route="/vizier.VizierService/CreateStudy",status="200"' in text
