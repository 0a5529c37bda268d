import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from photinus.space import Categorical, Discrete, Float, Int
from photinus.trial import TrialState
from photinus_bench.problem import Experimenter
from photinus_bench.tasks import MULTI_OBJECTIVE, NAMES, ONE_SIZE, Task, build
from photinus_bench.variants import draw_value

TEXTS = [
    "bbob/f08/20d",
    "bbob/f08/5d/categorical50",
    "bbob/f24/5d/integer/cauchy-noise",
    "bbob/f03/5d/discrete16/negated",
    "bbob/f03/5d/categorical40/permuted/infeasible25/uniform-noise",
    "combo/ising",
    "combo/pestcontrol/gaussian-noise",
    "rastrigin/8d",
    "dtlz/2/5d/2m",
    "wfg/9/11d/8m",
    "zdt/6/5d/2m",
]
DRAWN = [text for text in TEXTS if not text.startswith(("dtlz", "wfg", "zdt"))]


def told(experimenter: Experimenter, count: int = 5) -> list[float | None]:
    """What is told of some points; None of infeasible ones."""
    rng = np.random.default_rng(0)
    parameters = experimenter.problem.space.parameters
    points = [{name: draw_value(p, rng) for name, p in parameters.items()} for _ in range(count)]
    outcomes = [experimenter.evaluate(point, rng) for point in points]
    assert all(outcome.state in (TrialState.COMPLETED, TrialState.INFEASIBLE) for outcome in outcomes)
    return [outcome.values and sum(outcome.values.values()) for outcome in outcomes]


@pytest.mark.parametrize("text", TEXTS)
def test_the_text_names_the_task(text: str) -> None:
    assert Task.parse(text).id == build(Task.parse(text), 0).name == text


def test_a_task_is_what_a_table_of_a_suite_says() -> None:
    table = {"family": "bbob", "name": "f08", "dimension": 20, "wrappers": ["categorical50"]}
    assert Task(**table) == Task.parse("bbob/f08/20d/categorical50")


@pytest.mark.parametrize("text", TEXTS)
def test_the_same_repeat_is_the_same_function(text: str) -> None:
    assert told(build(Task.parse(text), 1)) == told(build(Task.parse(text), 1))


@pytest.mark.parametrize("text", DRAWN)
def test_another_repeat_is_another_function(text: str) -> None:
    assert told(build(Task.parse(text), 0)) != told(build(Task.parse(text), 1))


def output_of(code: str, hash_seed: str) -> str:
    source = str(Path(__file__).parents[1] / "src")
    environment = {"PYTHONPATH": source, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-c", "from photinus_bench.tasks import Task, build\n" + code]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


def test_functions_are_the_same_in_every_process() -> None:
    code = (
        "e = build(Task.parse('rastrigin/3d/categorical67'), 5)\n"
        "print(e.truth({n: '5.0' if hasattr(p, 'values') else 1.0"
        " for n, p in e.problem.space.parameters.items()})['value'])"
    )
    first, second = output_of(code, "1"), output_of(code, "2")
    assert float(first) == float(second) > 0


def test_families_written_here_need_no_packages_of_others() -> None:
    code = (
        "import sys\n"
        "for text in ('combo/ising', 'combo/pestcontrol', 'rastrigin/8d/integer'): build(Task.parse(text), 0)\n"
        "print({'ioh', 'optproblems', 'jax'} & set(sys.modules))"
    )
    assert output_of(code, "0").strip() == "set()"


def test_a_variant_has_the_shift_of_its_base() -> None:
    base, half = (build(Task.parse(f"bbob/f01/4d{tail}"), 2) for tail in ("", "/categorical50"))
    chosen = [name for name, p in half.problem.space.parameters.items() if isinstance(p, Categorical)]
    assert len(chosen) == 2
    point = dict.fromkeys(base.problem.space, 5.0)
    assert half.truth({**point, **dict.fromkeys(chosen, "5.0")}) == base.truth(point)


@pytest.mark.parametrize(("percent", "count"), [(25, 5), (50, 10), (75, 15), (100, 20)])
def test_the_share_of_categorical_parameters(percent: int, count: int) -> None:
    experimenters = [build(Task.parse(f"bbob/f01/20d/categorical{percent}"), repeat) for repeat in range(2)]
    kinds = [[type(p) for p in each.problem.space.parameters.values()] for each in experimenters]
    assert [each.count(Categorical) for each in kinds] == [count, count]
    assert (kinds[0] != kinds[1]) == (percent < 100)


@pytest.mark.parametrize(("word", "kind"), [("integer", Int), ("discrete", Discrete)])
def test_levels_are_given_or_drawn(word: str, kind: type) -> None:
    def levels(tail: str) -> list[int]:
        parameters = build(Task.parse(f"bbob/f01/40d/{word}{tail}"), 0).problem.space.parameters.values()
        assert all(isinstance(p, kind) for p in parameters)
        return [p.num_values for p in parameters]

    assert levels("8") == [8] * 40
    assert min(levels("")) >= 2 and max(levels("")) <= 16
    assert len(set(levels(""))) > 8


def test_the_latency_task_is_rastrigin() -> None:
    experimenter = build(Task.parse("rastrigin/8d"), 0)
    assert all(p == Float(-5, 5) for p in experimenter.problem.space.parameters.values())
    at = experimenter.optimum_at
    assert experimenter.truth(at) == experimenter.optimum == {"value": 0.0}
    # A step of 1/2 in one coordinate: 1/4 of the bowl and the top of a wave, 20.
    assert experimenter.truth({**at, "x0": at["x0"] + 0.5})["value"] == pytest.approx(20.25)


def test_every_name_is_built() -> None:
    for family, names in NAMES.items():
        for name in names:
            dimension = None if family in ONE_SIZE else 5
            num_objectives = 2 if family in MULTI_OBJECTIVE else 1
            task = Task(family=family, name=name, dimension=dimension, num_objectives=num_objectives)
            assert len(build(task, 0).problem.metrics) == num_objectives


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bbob", "no problem ''"),
        ("bbob/f25/5d", "no problem 'f25'"),
        ("bbob/f8/5d", "no problem 'f8'"),
        ("zdt/5/5d/2m", "no problem '5'"),
        ("cec/1/5d", "of family 'cec': there are bbob, combo"),
        ("bbob/f08", "needs a dimension"),
        ("combo/ising/24d", "needs a dimension"),
        ("bbob/f08/5d/2m", "several objectives"),
        ("dtlz/2/5d", "several objectives"),
        ("bbob/f08/5d/categorical", "no variant is named 'categorical'"),
        ("bbob/f08/5d/integer17", "no variant is named 'integer17'"),
        ("bbob/f08/5d/frozen", "no variant is named 'frozen'"),
        ("bbob/f08/5d/negated2", "no variant is named 'negated2'"),
        ("bbob//5d", "no task is named"),
    ],
)
def test_what_is_no_task_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Task.parse(text)
