"""What goes through Vizier's messages comes back as it was."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

import photinus as ph
from photinus.arguments import MAX_COUNT
from photinus.errors import ArgumentError, ParameterError, UnsupportedError
from photinus.problem import Problem
from photinus.record import StudyRecord, StudyState
from photinus.service.vizier.measurements import Measured, completed, free_step
from photinus.service.vizier.messages import KeyValue, ParameterSpec, StudySpec, Trial
from photinus.service.vizier.names import (
    StudyName,
    SuggestionName,
    parse_owner,
    parse_study,
    parse_suggestion,
    parse_trial,
)
from photinus.service.vizier.notes import OWN, new_notes, read_entries, read_own, write_entries
from photinus.service.vizier.parameters import (
    read_params,
    read_space,
    to_word,
    write_parameter,
    write_params,
)
from photinus.service.vizier.studies import read_spec, write_study
from photinus.service.vizier.trials import read_new_trial, write_trial
from photinus.space import Categorical, SearchSpace
from photinus.testing import strategies as ours
from photinus.trial import Report, TrialState
from photinus.trial import Trial as OurTrial

NOW = datetime(2026, 1, 31, tzinfo=UTC)
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
namespaces = st.just("") | st.lists(words.map(lambda word: ":" + word.replace(":", "\\:")), min_size=1).map(
    "".join
)


def is_sayable(space: SearchSpace) -> bool:
    """Whether Vizier can tell all choices apart."""
    return all(
        len({to_word(value) for value in parameter.values}) == len(parameter.values)
        for parameter in space.parameters.values()
        if isinstance(parameter, Categorical)
    )


def record_of(problem: Problem, **fields: object) -> StudyRecord:
    known = {"project": "me", "name": "s", "algorithm": "default", "metadata": {}, **fields}
    return StudyRecord(id=1, problem=problem, seed=0, state=StudyState.ACTIVE, created_at=NOW, **known)  # pyright: ignore


@given(
    st.dictionaries(ours.names, ours.floats() | ours.ints() | ours.discretes(), min_size=1).map(SearchSpace)
)
def test_spaces_of_numbers_are_the_same_on_both_sides(space):
    assert (
        read_space([write_parameter(name, parameter) for name, parameter in space.parameters.items()])
        == space
    )


@given(st.lists(words, min_size=1, unique=True) | st.lists(st.booleans(), min_size=1, unique=True))
def test_words_and_booleans_are_the_same_on_both_sides(choices):
    space = SearchSpace({"c": Categorical(choices)})
    assert read_space([write_parameter("c", space["c"])]) == space


@given(st.data())
def test_points_are_the_same_on_both_sides(data):
    space = data.draw(ours.spaces().filter(is_sayable))
    point = data.draw(ours.points_of(space))
    message = Trial()
    write_params(message, space, point)
    back = read_params(space, Trial.FromString(message.SerializeToString()).parameters)
    assert {name: (type(value), value) for name, value in back.items()} == {
        name: (type(value), value) for name, value in space.validate(point).items()
    }


def test_choices_that_look_the_same_are_refused():
    with pytest.raises(UnsupportedError, match="cannot tell the choices"):
        write_parameter("c", ph.Categorical([1, "1"]))


def test_a_default_value_must_fit():
    spec = StudySpec(metrics=[{"metric_id": "m", "goal": 1}])
    parameter = spec.parameters.add(parameter_id="n")
    parameter.integer.min_value, parameter.integer.max_value = 1, 3
    parameter.integer.default_value.value = 0
    with pytest.raises(ParameterError, match=r"default value of parameter 'n' must be .* got 0"):
        read_spec(spec)
    parameter.integer.min_value = 0
    assert "defaults" in read_own(read_spec(spec).metadata, "spec")


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"scale_type": 9, "double": {"max_value": 1.0}}, "`scale_type` must be one of"),
        ({}, "one of the kinds double"),
        ({"discrete": {"values": []}}, "parameter 'x': .*must not be empty"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(fields, complaint):
    with pytest.raises(ph.errors.SpaceError, match=complaint):
        read_space([ParameterSpec(parameter_id="x", **fields)])


def test_a_parameter_may_come_once():
    spec = ParameterSpec(parameter_id="x", double={"max_value": 1.0})
    with pytest.raises(ph.errors.SpaceError, match="'x' twice"):
        read_space([spec, spec])
    message = Trial()
    for _ in range(2):
        message.parameters.add(parameter_id="x").value.number_value = 0.5
    with pytest.raises(ArgumentError, match="one number or text for each parameter"):
        read_params(SearchSpace({"x": ph.Float(0, 1)}), message.parameters)


@given(st.dictionaries(st.tuples(namespaces, words), words | st.binary(max_size=8), max_size=5))
def test_metadata_is_the_same_on_both_sides(content):
    entries = []
    for (namespace, key), value in content.items():
        kind = {"value": value} if isinstance(value, str) else {"proto": {"type_url": "a/b", "value": value}}
        entries.append(KeyValue(ns=namespace, key=key, **kind))
    if any(entry.ns.split(":")[:2] == ["", "vizier"] for entry in entries):
        return
    notes = new_notes(entries)
    assert len(notes) == len(entries)
    back = {(entry.ns, entry.key): entry for entry in write_entries(notes)}
    assert back == {(entry.ns, entry.key): entry for entry in entries}


@given(st.dictionaries(words, words, max_size=5))
def test_notes_of_others_never_break_a_message(notes):
    assert len(write_entries(notes)) == sum(not name.startswith(OWN) for name in notes)


def test_a_text_replaces_a_packed_message_and_the_other_way():
    packed = KeyValue(key="k", proto={"type_url": "a/b"})
    assert read_entries([packed, KeyValue(key="k", value="t")]) == {"k": "t", "@/k": None}
    assert read_entries([packed])["k"] is None


def test_notes_have_the_limit_of_the_http_api():
    with pytest.raises(ArgumentError, match="at most 1000000 characters"):
        read_entries([KeyValue(key="k", value="x" * 1_000_001)])


@given(
    st.integers(0, 2**62),
    st.floats(0, 1e6).map(lambda seconds: round(seconds, 6)),
    st.dictionaries(words, st.floats(allow_nan=False), max_size=3),
)
def test_measurements_are_the_same_on_both_sides(step, elapsed_s, metrics):
    measured = Measured(step, elapsed_s, metrics)
    back = Measured.read(measured.write())
    assert (back.step, back.metrics) == (step, metrics)
    assert back.elapsed_s == pytest.approx(elapsed_s, abs=1e-8)
    kept = {name: value for name, value in metrics.items() if name < "m"}
    notes = measured.note("key", kept=kept, step=5)
    assert completed(read_own(notes, "key"), kept, 5) == measured


@pytest.mark.parametrize("elapsed_s", [-1.0, 1e12])
def test_durations_that_could_not_be_written_again_are_refused(elapsed_s):
    with pytest.raises(ArgumentError, match="elapsed seconds of a measurement must be >= 0 and at most"):
        Measured.read(Measured(elapsed_s=elapsed_s).write())


def test_steps_have_limits():
    with pytest.raises(ArgumentError, match="must be >= 0, got -1"):
        Measured.read(Measured(step=-1).write())
    reports = (Report(2, {"m": 1.0}, NOW), Report(MAX_COUNT, {"m": 1.0}, NOW))
    trial = OurTrial(number=0, params={}, state=TrialState.ACTIVE, reports=reports[:1])
    assert (free_step(trial, 1), free_step(trial, 2)) == (1, 3)
    with pytest.raises(ArgumentError, match="at step 2 and at the last one"):
        free_step(replace(trial, reports=reports), 2)


def test_a_metric_needs_a_goal():
    spec = StudySpec(metrics=[{"metric_id": "m"}])
    spec.parameters.add(parameter_id="x").double.max_value = 1.0
    with pytest.raises(ph.errors.ProblemError, match=r"needs a goal, .* got 0 for 'm'"):
        read_spec(spec)


@given(st.data())
def test_trials_of_any_state_are_shown(data):
    problem = data.draw(ours.problems().filter(lambda problem: is_sayable(problem.space)))
    trial = data.draw(
        ours.trials(problem).filter(lambda trial: all(r.step <= MAX_COUNT for r in trial.reports))
    )
    message = write_trial(record_of(problem), trial)
    assert (message.id, message.name) == (
        str(trial.number + 1),
        f"owners/me/studies/s/trials/{trial.number + 1}",
    )
    assert len(message.measurements) == len(trial.reports)
    assert message.HasField("final_measurement") == (trial.values is not None)
    if trial.state.is_finished:
        again = read_new_trial(record_of(problem), message)
        assert again.params == problem.space.validate(trial.params)
        assert again.measurement is not None and again.measurement.values == trial.values


@given(st.data())
def test_studies_are_the_same_on_both_sides(data):
    problem = data.draw(ours.problems().filter(lambda problem: is_sayable(problem.space)))
    algorithm = data.draw(st.sampled_from(["default", "paper", "quasi_random", "random"]))
    read = read_spec(write_study(record_of(problem, algorithm=algorithm)).study_spec)
    assert (read.algorithm, read.problem.metrics, read.metadata) == (algorithm, problem.metrics, {})
    assert list(read.problem.space) == list(problem.space)


@given(words, st.integers(1, 10**6))
def test_the_name_of_an_operation_says_all_about_it(client_id, count):
    name = SuggestionName(StudyName("me", "s: 1"), client_id, count, "0" * 32)
    assert parse_suggestion(str(name)) == name


def test_names_of_another_form_are_refused():
    assert parse_owner("owners/me") == "me"
    assert parse_study("owners/me/studies/s") == StudyName("me", "s")
    assert parse_trial("owners/me/studies/s/trials/7") == (StudyName("me", "s"), 6)
    wrong = {
        parse_owner: ["", "owners/", "owners/a/b", "projects/a"],
        parse_study: ["owners/a", "owners/a/studies/", "owners/a/studies/b/c"],
        parse_trial: ["owners/a/studies/b", "owners/a/studies/b/trials/-1", "owners/a/studies/b/trials/x"],
        parse_suggestion: ["", "owners/a/operations/suggestion/b/c/1/key"],
    }
    for parse, texts in wrong.items():
        for text in texts:
            with pytest.raises(ArgumentError, match="a name here has the form"):
                parse(text)
