"""Going on with a stored study."""

import logging

import pytest

import photinus as ph
from photinus.errors import ArgumentError, StorageError, SuggestionError
from photinus.local import LocalBackend
from photinus.storage import MemoryStorage, Storage
from photinus.storage.sql import SqlStorage
from photinus.study import Study
from photinus.testing.storage import PROBLEM, create, suggest

SPACE = {"x": ph.Float(0, 1), "n": ph.Int(1, 9), "c": ph.Categorical(["a", "b"])}


@pytest.mark.parametrize("algorithm", ["random", "quasi_random"])
def test_a_study_goes_on_as_if_it_had_not_been_interrupted(address, algorithm):
    settings = {"name": "s", "seed": 3, "algorithm": algorithm, "load_if_exists": True}
    for _ in range(6):  # each time as a new process would
        study = ph.create_study(SPACE, storage=SqlStorage(address), **settings)
        study.tell(study.ask(worker="w")[0], 1.0)
    whole = ph.create_study(SPACE, seed=3, algorithm=algorithm)
    for _ in range(6):
        whole.tell(whole.ask(worker="w")[0], 1.0)
    assert [trial.params for trial in study.trials] == [trial.params for trial in whole.trials]
    assert [trial.updated_event for trial in study.trials] == [trial.updated_event for trial in whole.trials]


def test_every_algorithm_gives_the_same_points_in_every_store(address):
    for algorithm in ("random", "quasi_random"):
        stored = ph.create_study(SPACE, storage=address, seed=3, algorithm=algorithm)
        in_memory = ph.create_study(SPACE, seed=3, algorithm=algorithm)
        assert [trial.params for trial in stored.ask(5)] == [trial.params for trial in in_memory.ask(5)]


@pytest.mark.parametrize("algorithm", ["random", "quasi_random"])
def test_another_engine_version_is_said_once(storage: Storage, caplog, monkeypatch, algorithm):
    record = create(storage, algorithm=algorithm)
    suggest(storage, record.id, 2)  # by version "1", says the contract
    monkeypatch.setattr("photinus.asking.ENGINE_VERSION", "2")
    study = Study(LocalBackend(storage), record)
    with caplog.at_level(logging.WARNING, logger="photinus"):
        study.ask()
        study.ask()
    [said] = caplog.messages
    assert "'s' has trials suggested by engine version 1, this is version 2" in said


def test_the_same_engine_version_is_not_worth_a_word(storage: Storage, caplog):
    backend = LocalBackend(storage)
    study = Study.create(backend, PROBLEM, name="s", seed=1, algorithm="random")
    with caplog.at_level(logging.WARNING, logger="photinus"):
        study.ask()
        Study(LocalBackend(storage), storage.find_study("default", "s")).ask()
    assert caplog.records == []


def test_the_first_error_is_the_one_that_is_raised(monkeypatch):
    """Also where handing back what was claimed fails too, as it does when the disk is full."""

    class Failing(MemoryStorage):
        def release(self, study_id, number, **holder):
            raise StorageError(f"trial {number} cannot be released")

        def release_suggest_lock(self, study_id, owner):
            raise StorageError("the lock cannot be given back")

    def broken(*args, **settings):
        raise FloatingPointError("no Cholesky")

    monkeypatch.setattr("photinus.engine.designers.suggest", broken)
    study = Study.create(LocalBackend(Failing()), PROBLEM, name="s", algorithm="quasi_random")
    study.enqueue({"x": 0.5, "flag": True})
    with pytest.raises(SuggestionError, match="no Cholesky"):
        study.ask(2)


NAMES = [
    "it's",
    'a "b"',
    "a/b\\c",
    "🔥 Größe",
    "%s {} $1 --",
    " ",
    "a\nb",
    "'; DROP TABLE photinus_trials; --",
    "x" * 250,
]


@pytest.mark.parametrize("name", NAMES)
def test_names_are_kept_as_they_are(storage: Storage, name):
    backend = LocalBackend(storage)
    study = Study.create(backend, PROBLEM, name=name, project=name, seed=1, algorithm="random")
    [trial] = study.ask(worker=name)
    study.tell(trial, failed=name)
    assert storage.find_study(name, name).name == name
    [stored] = study.trials
    assert (stored.worker, stored.message) == (name, name)
    with pytest.raises(ph.errors.DuplicateStudy):
        Study.create(backend, PROBLEM, name=name, project=name, algorithm="random")


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "x" * 251])
def test_names_that_a_database_cannot_keep_are_refused_by_all(storage: Storage, name):
    backend = LocalBackend(storage)
    for settings in ({"name": name}, {"name": "s", "project": name}):
        with pytest.raises(ArgumentError, match="must be at most 250 characters, without NUL"):
            Study.create(backend, PROBLEM, algorithm="random", **settings)
    study = Study.create(backend, PROBLEM, name="s", algorithm="random")
    with pytest.raises(ArgumentError, match="`worker` must be at most 250"):
        study.ask(worker=name)
    assert len(study) == 0


def test_a_message_may_hold_anything(storage: Storage):
    """It may come from a crashed program: what no database can hold is marked, and the rest is kept."""
    study = Study.create(LocalBackend(storage), PROBLEM, name="s", algorithm="random")
    [trial] = study.ask()
    message = "core dump: \0\x01 \udcff 🔥" + "x" * 10_000
    told = study.tell(trial, failed=message)
    assert told.message == message.replace("\0", "�").replace("\udcff", "�")
    assert study.tell(trial, failed=message) == told
    assert study.trials == [told]


def test_numbers_beyond_any_database_are_unknown_trials(storage: Storage):
    study = Study.create(LocalBackend(storage), PROBLEM, name="s", algorithm="random")
    with pytest.raises(ph.errors.UnknownTrial, match="has 0 trials"):
        study.tell(10**30, 1.0)
    [trial] = study.ask()
    with pytest.raises(ArgumentError, match="`step` must be an integer between"):
        trial.report(1.0, 2**63)
    trial.report(1.0, 2**63 - 1)
    assert study.trials[0].reports[0].step == 2**63 - 1
