"""The same history gives the same next suggestion, to the last bit: in one process, in two, and in threads."""

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import photinus as ph
from photinus.engine import designers
from photinus.engine.cache import FOLDER_VARIABLE
from photinus.engine.designers import gp_bandit
from photinus.study import Study
from photinus.testing.designer import SPACE
from photinus.trial import Suggestion, Trial

PAIR = {"x": ph.Float(0, 1), "y": ph.Float(-5, 10)}
ALGORITHM = "default"  # and "paper" in `make test-long`

pytestmark = pytest.mark.usefixtures("algorithm")


@pytest.fixture(autouse=True)
def nothing_compiled_ahead(monkeypatch):
    monkeypatch.setattr(gp_bandit, "PREPARE_AHEAD", 0)


def pair_value(params: dict[str, Any]) -> float:
    return (params["x"] - 0.3) ** 2 + (params["y"] - 2) ** 2 / 100


def mixed_value(params: dict[str, Any]) -> float:
    return params["lr"] * params["layers"] + (params["optimizer"] == "sgd") - params["batch"] / 99


def make(space: dict[str, Any] = PAIR, seed: int = 5) -> Study:
    return ph.create_study(space, algorithm=ALGORITHM, seed=seed)


def advance(study: Study, value, count: int, worker: str | None = None) -> list[Any]:
    """Ask and tell, with a failed and an infeasible trial in every five; what was suggested, and why."""
    seen = []
    for _ in range(count):
        [trial] = study.ask(worker=worker)
        seen.append((trial.params, trial.reason))
        match trial.number % 5:
            case 2:
                study.tell(trial, failed="lost")
            case 3:
                study.tell(trial, infeasible="diverged")
            case _:
                study.tell(trial, value(trial.params))
    return seen


SPACES = {"pair": (PAIR, pair_value), "mixed": (SPACE, mixed_value)}


@pytest.mark.parametrize(("space", "value"), SPACES.values(), ids=SPACES)
def test_two_runs_of_one_seed_are_the_same(space: dict, value):
    first, second = make(space), make(space)
    assert advance(first, value, 7) == advance(second, value, 7)
    assert [(t.params, t.reason) for t in first.ask(2)] == [(t.params, t.reason) for t in second.ask(2)]


def test_another_seed_is_another_run():
    assert advance(make(seed=5), pair_value, 4) != advance(make(seed=6), pair_value, 4)


@pytest.mark.parametrize(("space", "value"), SPACES.values(), ids=SPACES)
def test_trials_that_were_stored_and_read_again_give_the_same_suggestion(space: dict, value):
    study = make(space)
    advance(study, value, 6)
    study.ask()  # one more, pending
    trials = [Trial.from_dict(json.loads(json.dumps(trial.to_dict()))) for trial in study.trials]
    again = designers.suggest(study.problem, trials, 2, study.seed, algorithm=ALGORITHM)
    assert again == [Suggestion(t.params, t.reason) for t in study.ask(2)]


def test_a_worker_that_comes_back_goes_on_as_if_it_had_not_been_away():
    whole, broken = make(), make()
    expected = advance(whole, pair_value, 8, worker="w")
    seen = advance(broken, pair_value, 4, worker="w")
    [lost] = broken.ask(worker="w")  # killed before it could tell
    assert (lost.params, lost.reason) == expected[4]
    seen += advance(broken, pair_value, 4, worker="w")  # is given the lost trial first
    assert seen == expected


def test_asking_by_hand_or_by_optimize_is_the_same():
    by_hand, by_optimize = make(), make()
    for _ in range(5):
        [trial] = by_hand.ask()
        by_hand.tell(trial, pair_value(trial.params))
    by_optimize.optimize(lambda trial: pair_value(trial.params), n_trials=5)
    assert [t.params for t in by_optimize.trials] == [t.params for t in by_hand.trials]
    assert [t.reason for t in by_optimize.trials] == [t.reason for t in by_hand.trials]


CONTINUE = """
import json, sys
from photinus.engine import designers
from photinus.problem import Problem
from photinus.trial import Trial

log = json.load(sys.stdin)
problem, trials = Problem.from_dict(log["problem"]), [Trial.from_dict(t) for t in log["trials"]]
found = designers.suggest(problem, trials, 2, log["seed"], algorithm=log["algorithm"])
print(json.dumps([[s.params, s.reason] for s in found]))
"""


def test_another_process_goes_on_identically(tmp_path: Path, monkeypatch):
    """With an empty cache, with the cache that it has filled, and with this process's own."""
    study = make()
    advance(study, pair_value, 6)
    log = {
        "problem": study.problem.to_dict(),
        "trials": [trial.to_dict() for trial in study.trials],
        "seed": study.seed,
        "algorithm": ALGORITHM,
    }

    def elsewhere() -> list[Any]:
        done = subprocess.run(
            [sys.executable, "-c", CONTINUE],
            input=json.dumps(log),
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    found = [elsewhere()]
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "programs"))
    found += [elsewhere(), elsewhere()]
    expected = [[t.params, t.reason] for t in study.ask(2)]
    assert found == [expected] * 3


def test_studies_in_threads_are_the_same_as_alone():
    seeds = range(4)
    alone = [advance(make(seed=seed), pair_value, 5) for seed in seeds]
    together: dict[int, Any] = {}
    start = threading.Barrier(len(seeds))

    def work(seed: int) -> None:
        start.wait()
        together[seed] = advance(make(seed=seed), pair_value, 5)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in seeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [together[seed] for seed in seeds] == alone


def test_the_users_own_jax_stays_as_it_is():
    """Single precision, flags untouched, before, after and in every thread, also while a suggestion is being made."""
    flags = dict(jax.config.values)
    dtypes = [jnp.ones(1).dtype]
    study = make()
    advance(study, pair_value, 2)
    dtypes.append(jnp.ones(1).dtype)
    done = threading.Event()

    def watch() -> None:
        dtypes.append(jnp.ones(1).dtype)
        advance(make(seed=9), pair_value, 3)
        dtypes.append(jax.jit(lambda x: x / 3)(jnp.ones(1)).dtype)

    def look() -> None:
        while not done.is_set():
            dtypes.append(jnp.ones(1).dtype)

    threads = [threading.Thread(target=watch), threading.Thread(target=look)]
    for thread in threads:
        thread.start()
    advance(study, pair_value, 3)
    threads[0].join()
    done.set()
    threads[1].join()
    assert set(dtypes) == {jnp.dtype("float32")}
    assert dict(jax.config.values) == flags


def test_suggestions_are_made_in_double_precision():
    """Single precision holds 24 binary digits; a suggested point has more."""
    study = make()
    advance(study, pair_value, 2)
    x = [trial.params["x"] for trial in study.ask(4)]
    assert any(value * 2**30 % 1 for value in x)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_user_who_works_in_double_precision_gets_the_same(dtype: str):
    with jax.enable_x64(dtype == "float64"):
        seen = advance(make(), pair_value, 4)
        assert jnp.ones(1).dtype == dtype
    assert seen == advance(make(), pair_value, 4)


USER = """
import sys
import jax
import photinus as ph

for name, value in {settings!r}.items():
    jax.config.update(name, value)
study = ph.create_study({{"x": ph.Float(0, 1), "y": ph.Float(-5, 10)}}, algorithm={algorithm!r}, seed=5)
for x in (0.1, 0.5, 0.8):
    study.add_trial({{"x": x, "y": 10 * x}}, x * x)
print(study.ask()[0].params)
for name, value in {settings!r}.items():
    assert getattr(jax.config, name) == value, name
"""
STRICT = {
    "jax_numpy_rank_promotion": "raise",
    "jax_numpy_dtype_promotion": "strict",
    "jax_default_prng_impl": "rbg",
    "jax_threefry_partitionable": False,
    "jax_debug_nans": True,
    "jax_transfer_guard": "disallow",
    "jax_num_cpu_devices": 2,
}


def test_settings_of_the_users_jax_do_not_reach_the_engine(tmp_path: Path, monkeypatch):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))  # the second process finds the first one's programs
    said = []
    for settings in ({}, STRICT, STRICT):
        result = subprocess.run(
            [sys.executable, "-c", USER.format(settings=settings, algorithm=ALGORITHM)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        said.append(result.stdout)
    assert said[0] == said[1] == said[2]
