"""Studies of google-vizier's client: ordinary ones of ours, configured as its user said."""

from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from vizier._src.service import vizier_client, vizier_service_pb2, vizier_service_pb2_grpc
from vizier.service import clients
from vizier.service import pyvizier as vz
from vizier_servers import mixed_config, refused, simple_config

import photinus as ph

pytestmark = pytest.mark.usefixtures("connected")


def create(config, study_id, owner="studies"):
    return clients.Study.from_study_config(config, owner=owner, study_id=study_id)


def test_a_study_is_an_ordinary_one(connected):
    study = create(mixed_config(), "ordinary")
    [trial, _] = study.suggest(count=2, client_id="worker")
    trial.complete(vz.Measurement({"accuracy": 0.5, "seconds": 3.0}))
    with ph.connect(connected.url, project="studies") as server:
        ours = server.load_study("ordinary")
        assert list(ours.problem.space.parameters.items()) == [
            ("lr", ph.Float(1e-4, 1e-1, scale="log")),
            ("layers", ph.Int(1, 8)),
            ("batch", ph.Discrete([16, 32, 64])),
            ("rate", ph.Discrete([0.1, 0.5])),
            ("is_deep", ph.Categorical([False, True])),
            ("optimizer", ph.Categorical(["adam", "sgd"])),
        ]
        assert [(t.number, str(t.state), t.worker) for t in ours.trials] == [
            (0, "completed", "worker"),
            (1, "active", "worker"),
        ]
        assert ours.trials[0].values == {"accuracy": 0.5, "seconds": 3.0}
        assert ours.trials[0].params == {**trial.parameters, "is_deep": trial.parameters["is_deep"]}
        ours.tell(1, {"accuracy": 0.9, "seconds": 1.0})
    assert [trial.id for trial in study.optimal_trials()] == [2]


def test_studies_of_other_programs_are_there_as_well(connected):
    space = {
        "x": ph.Float(1, 100, scale="reverse_log"),
        "n": ph.Int(1, 3),
        "c": ph.Categorical([2, None, "a"]),
    }
    with ph.connect(connected.url, project="studies") as server:
        ours = server.create_study(space, {"cost": "minimize"}, name="theirs", algorithm="quasi_random")
        study = clients.Study.from_owner_and_id("studies", "theirs")
        config = study.materialize_study_config()
        assert config.algorithm == "QUASI_RANDOM_SEARCH"
        assert config.search_space.get("x").scale_type == vz.ScaleType.REVERSE_LOG
        assert config.search_space.get("c").feasible_values == ["2", "None", "a"]
        [trial] = study.suggest(count=1)
        assert isinstance(trial.parameters["n"], int)
        trial.complete(vz.Measurement({"cost": 4.0}))
        added = study.add_trial(
            vz.Trial({"x": 2.0, "n": 3, "c": "None"}).complete(vz.Measurement({"cost": 1.0}))
        )
        assert ours.trials[added.id - 1].params == {"x": 2.0, "n": 3, "c": None}
        assert ours.best_trial.number == added.id - 1


def test_a_configuration_comes_back_as_it_was():
    config = mixed_config("GAUSSIAN_PROCESS_BANDIT")
    config.observation_noise = vz.ObservationNoise.HIGH
    config.automated_stopping_config = vz.AutomatedStoppingConfig.default_stopping_spec()
    config.metadata["team"] = "blue"
    config.metadata.ns("a").ns("b/c%")["key"] = "value"
    study = create(config, "configured")
    assert study.materialize_study_config().to_proto() == config.to_proto()
    assert study.materialize_problem_statement() == config.to_problem()


def test_loading_needs_the_same_definition(connected):
    create(simple_config(), "loaded").suggest(count=1)
    assert len(list(create(simple_config(), "loaded").trials())) == 1
    other = simple_config()
    other.search_space.root.add_float_param("y", 0.0, 1.0)
    refused(lambda: create(other, "loaded"), grpc.StatusCode.ALREADY_EXISTS, "'y'", "another name")
    refused(lambda: create(simple_config("GP_UCB_PE"), "loaded"), grpc.StatusCode.ALREADY_EXISTS, "'paper'")


@pytest.mark.parametrize(
    ("given", "ours"),
    [
        ("ALGORITHM_UNSPECIFIED", "default"),
        ("DEFAULT", "default"),
        ("GP_UCB_PE", "paper"),
        ("GAUSSIAN_PROCESS_BANDIT", "paper"),
        ("RANDOM_SEARCH", "random"),
        ("QUASI_RANDOM_SEARCH", "quasi_random"),
        ("paper", "paper"),
    ],
)
def test_algorithms_have_names_on_both_sides(given, ours, connected):
    study = create(simple_config(given), f"algorithm {given}")
    assert study.materialize_study_config().algorithm == given
    with ph.connect(connected.url, project="studies") as server:
        assert server.load_study(f"algorithm {given}").algorithm == ours


def test_an_unknown_algorithm_is_answered_with_those_there_are():
    config = simple_config("CMA_ES")
    refused(
        lambda: create(config, "cma"), grpc.StatusCode.INVALID_ARGUMENT, "CMA_ES", "GP_UCB_PE", "quasi_random"
    )
    with pytest.raises(clients.ResourceNotFoundError):
        clients.Study.from_owner_and_id("studies", "cma")


def conditional():
    config = simple_config()
    choice = config.search_space.root.add_categorical_param("model", ["linear", "deep"])
    choice.select_values(["deep"]).add_int_param("layers", 1, 5)
    return config


def safe():
    config = simple_config()
    goal = vz.ObjectiveMetricGoal.MAXIMIZE
    config.metric_information.append(vz.MetricInformation(name="heat", goal=goal, safety_threshold=3.0))
    return config


def elsewhere():
    config = simple_config()
    config.pythia_endpoint = "localhost:1"
    return config


@pytest.mark.parametrize(("make", "word"), [(conditional, "model"), (safe, "heat"), (elsewhere, "pythia")])
def test_what_is_not_supported_is_refused_rather_than_ignored(make, word):
    refused(lambda: create(make(), f"unsupported {word}"), grpc.StatusCode.UNIMPLEMENTED, word)


def test_what_makes_no_sense_is_refused():
    config = vz.StudyConfig(algorithm="RANDOM_SEARCH")
    config.search_space.root.add_float_param("x", 0.0, 1.0, scale_type=vz.ScaleType.LOG)
    refused(lambda: create(config, "nothing"), grpc.StatusCode.INVALID_ARGUMENT, "parameter 'x'", "low > 0")
    config = vz.StudyConfig(algorithm="RANDOM_SEARCH")
    config.search_space.root.add_float_param("x", 0.0, 1.0)
    refused(lambda: create(config, "nothing"), grpc.StatusCode.INVALID_ARGUMENT, "one or more objectives")
    refused(lambda: create(simple_config(), "a/b"), grpc.StatusCode.INVALID_ARGUMENT, "without slashes")
    refused(lambda: create(simple_config(), "x" * 251), grpc.StatusCode.INVALID_ARGUMENT, "250 characters")


def test_default_values_are_the_first_suggestion_and_only_once():
    with ThreadPoolExecutor(4) as threads:
        [study, *_] = threads.map(lambda _: create(mixed_config(), "defaults"), range(8))
    [first, second] = study.suggest(count=2)
    chosen = first.parameters
    assert (chosen["lr"], chosen["optimizer"]) == (1e-2, "sgd")
    assert (chosen["layers"], chosen["batch"], chosen["rate"]) == (4, 32, 0.5)  # middles
    assert (first.id, second.id) == (1, 2)
    assert second.parameters != chosen


def test_a_deleted_study_is_gone_with_all_its_operations():
    study = create(simple_config(), "short-lived")
    study.suggest(count=1, client_id="worker")
    study.delete()
    name = study.resource_name
    with pytest.raises(clients.ResourceNotFoundError):
        clients.Study.from_resource_name(name)
    refused(study.delete, grpc.StatusCode.NOT_FOUND, "short-lived")
    refused(lambda: study.suggest(count=1), grpc.StatusCode.NOT_FOUND)
    again = create(simple_config(), "short-lived")
    assert [trial.id for trial in again.suggest(count=1, client_id="worker")] == [1]


def test_studies_are_listed_by_owner(connected):
    create(simple_config(), "one", owner="lister")
    create(simple_config(), "two", owner="lister")
    with ph.connect(connected.url, project="lister") as server:
        server.create_study({"x": ph.Float(0, 1)}, name="has/slash")
        server.create_study({"c": ph.Categorical([1, "1"])}, name="choices that look the same")
    listed = vizier_client.VizierClient("owners/lister/studies/one", "somebody").list_studies()
    assert len(listed) == 2
    assert '"displayName": "one"' in listed[0] and '"displayName": "two"' in listed[1]


def test_an_ended_study_gives_no_trials_but_takes_results(connected):
    study = create(simple_config(), "ended")
    assert study.materialize_state() == vz.StudyState.ACTIVE
    [trial] = study.suggest(count=1)
    study.set_state(vz.StudyState.COMPLETED)
    assert study.materialize_state() == vz.StudyState.COMPLETED
    assert study.suggest(count=3) == []
    new = vz.Trial({"x": 0.5}).complete(vz.Measurement({"gain": 1.0}))
    refused(lambda: study.add_trial(new), grpc.StatusCode.FAILED_PRECONDITION, "has ended")
    assert len(list(study.trials())) == 1
    trial.complete(vz.Measurement({"gain": 2.0}))
    study.set_state(vz.StudyState.ABORTED)
    assert study.materialize_state() == vz.StudyState.ABORTED
    connected.call("POST", connected.study_path("studies", "ended") + "/resume")
    assert study.materialize_state() == vz.StudyState.ACTIVE
    assert len(study.suggest(count=1)) == 1


def test_a_study_has_no_other_states(connected):
    study = create(simple_config(), "stateless")
    with grpc.insecure_channel(connected.endpoint) as channel:
        stub = vizier_service_pb2_grpc.VizierServiceStub(channel)
        request = vizier_service_pb2.SetStudyStateRequest(parent=study.resource_name, state=0)
        refused(lambda: stub.SetStudyState(request), grpc.StatusCode.INVALID_ARGUMENT, "1 (active)")
    assert study.materialize_state() == vz.StudyState.ACTIVE


def test_metadata_is_merged_and_read_on_both_sides(connected):
    study = create(simple_config(), "noted")
    study.update_metadata(vz.Metadata({"owner": "ann", ":odd": "1", "@odd": "2", "/odd": "3"}))
    inner = vz.Metadata()
    inner.ns("a:b").ns("c/d")["key"] = "inner"
    study.update_metadata(inner)
    path = connected.study_path("studies", "noted")
    assert connected.call("GET", path)["metadata"]["owner"] == "ann"
    connected.call("PATCH", f"{path}/metadata", {"place": "lab", "@home": "no message", ":colon": "none"})
    found = study.materialize_problem_statement().metadata
    assert {**found} == {
        **{"owner": "ann", ":odd": "1", "@odd": "2", "/odd": "3"},
        **{"place": "lab", "@home": "no message", ":colon": "none"},
    }
    assert found.ns("a:b").ns("c/d")["key"] == "inner"


def test_packed_messages_are_metadata_too():
    study = create(simple_config(), "packed")
    message = simple_config().to_proto()
    study.update_metadata(vz.Metadata({"config": message, "other": "text"}))
    metadata = study.materialize_problem_statement().metadata
    assert metadata.get_proto("config", cls=type(message)) == message
    study.update_metadata(vz.Metadata({"config": "now a text", "other": message}))
    metadata = study.materialize_problem_statement().metadata
    assert metadata["config"] == "now a text"
    assert metadata.get_proto("other", cls=type(message)) == message


def test_the_server_keeps_a_namespace_for_itself():
    study = create(simple_config(), "reserved")
    for names in (["vizier"], ["vizier", "deeper"]):
        metadata = vz.Metadata()
        metadata.abs_ns(vz.Namespace(names))["spec"] = "{}"
        refused(
            lambda given=metadata: study.update_metadata(given), grpc.StatusCode.INVALID_ARGUMENT, ":vizier"
        )
