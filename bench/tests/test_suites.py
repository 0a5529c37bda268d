"""Suites: texts that mean runs, and the order in which these are run."""

from collections import Counter
from pathlib import Path

import pytest

from photinus_bench import suite
from photinus_bench.fleet import parse_algorithm
from photinus_bench.record import RunKey
from photinus_bench.rivals import RIVALS
from photinus_bench.runner import plan
from photinus_bench.suite import SuiteError, expand, in_order, is_ours
from photinus_bench.tasks import Task

EIGHT = {f"bbob/f{number}/20d" for number in ("01", "03", "08", "12", "15", "17", "21", "24")}
RIVAL_SUITES = ("bbob-20d", "combo", "categorical-share", "batches", "multi-objective")


@pytest.mark.parametrize("name", suite.names())
def test_every_suite_means_runs_that_can_be_run(name: str):
    keys = suite.load(name)
    assert len(keys) == len(set(keys)) > 0
    for task in {key.task for key in keys}:
        assert Task.parse(task).id == task
    for algorithm in {key.algorithm for key in keys}:
        if is_ours(algorithm):
            parse_algorithm(algorithm)
        else:
            assert algorithm in RIVALS


def test_everyone_has_a_place_in_the_order():
    assert set(suite.ORDER) == set(RIVALS)


def repeats_by_task(name: str, algorithm: str) -> Counter:
    return Counter(key.task for key in suite.load(name) if key.algorithm == algorithm)


def test_the_main_suite_has_all_functions_for_us_and_eight_for_rivals():
    ours = repeats_by_task("bbob-20d", "photinus-paper")
    assert len(ours) == 24 and set(ours.values()) == {20}
    for rival in ("optuna-gp", "ax", "hebo", "optuna-tpe", "smac", "cma"):
        assert repeats_by_task("bbob-20d", rival) == dict.fromkeys(EIGHT, 3)
    for rival in ("vizier", "vizier-gp-bandit"):
        assert len(tasks := repeats_by_task("bbob-20d", rival)) == 4
        assert set(tasks) < EIGHT and set(tasks.values()) == {1}


@pytest.mark.parametrize("name", RIVAL_SUITES)
def test_rivals_meet_us_where_they_run(name: str):
    keys = suite.load(name)
    ours = {(k.task, k.repeat, k.batch_size) for k in keys if k.algorithm == "photinus-paper"}
    rivals = {(k.task, k.repeat, k.batch_size) for k in keys if not is_ours(k.algorithm)}
    assert {"optuna-gp", "ax", "hebo"} < {key.algorithm for key in keys}
    assert rivals <= ours


def test_a_run_that_two_suites_name_is_one_run():
    shared = set(suite.load("bbob-20d")) & set(suite.load("batches")) & set(suite.load("categorical-share"))
    assert {key.task for key in shared} >= EIGHT
    both = plan(["bbob-20d", "single-functions"], None, None)
    assert len(both) == len(set(both)) == len(suite.load("bbob-20d"))


def test_the_dimension_follows_the_number_of_objectives():
    tasks = {key.task for key in suite.load("objectives")}
    assert {"dtlz/2/5d/2m", "wfg/9/11d/8m"} < tasks
    assert len(tasks) == 16 * 7


def test_first_repeats_come_first_and_rivals_in_their_order():
    keys = in_order(suite.load("bbob-20d"))
    assert [key.repeat for key in keys] == sorted(key.repeat for key in keys)
    first = [key.algorithm for key in keys if key.repeat == 0]
    names = list(dict.fromkeys(first))
    assert first == [name for name in names for _ in range(first.count(name))]
    assert names[4:7] == ["optuna-gp", "ax", "hebo"]
    assert names[-2:] == ["vizier", "vizier-gp-bandit"]


def test_repeats_and_algorithms_can_be_chosen():
    keys = plan(["bbob-20d"], 1, ["ax", "random"])
    assert Counter(key.algorithm for key in keys) == {"ax": 8, "random": 24}
    assert len(plan(["bbob-20d"], 40, ["random"])) == 24 * 40
    with pytest.raises(SuiteError, match="no algorithm 'ax-ucb' in this suite: it has ax, bayesopt"):
        plan(["bbob-20d"], 1, ["ax-ucb"])


def test_a_file_of_ones_own_is_a_suite_too(tmp_path: Path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'trials = 5\n[[runs]]\nproblems = ["rastrigin", "combo/is*"]\ndimensions = [8]\nrepeats = 1\n'
        'batch_sizes = [2]\nvariants = ["", "negated"]\nalgorithms = ["ax"]\n'
    )
    tasks = ["rastrigin/8d", "rastrigin/8d/negated", "combo/ising", "combo/ising/negated"]
    assert suite.load(str(path)) == [RunKey(task, "ax", 0, 5, 2) for task in tasks]


TABLE = {"problems": ["bbob/f01"], "dimensions": [5], "repeats": 1, "algorithms": ["ax"]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"problems": ["bbob/f25"]}, "no problem is like 'bbob/f25'"),
        ({"algorithms": ["bx"]}, "no algorithm is named 'bx'"),
        ({"algorithms": ["ax/no-log"]}, "no algorithm is named 'ax/no-log'"),
        ({"repeats": "3"}, "repeats must be of type int"),
        ({"seeds": 3}, "got 'seeds'"),
        ({"variants": ["frozen"]}, "no variant is named 'frozen'"),
        ({"dimensions": ["D+1"]}, "whole numbers or"),
        ({"objectives": [2]}, "bbob needs dimensions but no objectives"),
        ({"problems": ["dtlz/2"]}, "dtlz needs dimensions and objectives"),
    ],
)
def test_what_means_no_runs_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        expand({"runs": [TABLE | change]})


def test_a_suite_is_title_trials_and_tables_of_runs():
    with pytest.raises(SuiteError, match="got repeats"):
        expand({"repeats": 3, "runs": [TABLE]})
    with pytest.raises(SuiteError, match="one table"):
        expand({"title": "empty"})
    for name in ("problems", "repeats", "algorithms"):
        with pytest.raises(SuiteError, match=f"needs {name}"):
            expand({"runs": [{k: v for k, v in TABLE.items() if k != name}]})
    with pytest.raises(SuiteError, match="no suite 'nothing': there are ax-ucb, batches"):
        suite.load("nothing")
    with pytest.raises(ValueError, match="no part of the algorithm is named 'no-thing': there are warped"):
        parse_algorithm("photinus-paper/no-thing")
