"""Hypothesis strategies for search spaces, points in them, problems and trials."""

from datetime import UTC, datetime
from typing import Any, get_args

from hypothesis import strategies as st

from photinus.problem import Goal, Metric, Problem
from photinus.space import MAX_INT, Categorical, Discrete, Float, Int, Parameter, Scale, SearchSpace, Value
from photinus.trial import Amendment, Measurement, Report, Trial, TrialState

LARGEST = 1e300  # differences of such floats stay finite
SMALLEST = 1e-300

names: st.SearchStrategy[str] = st.text(min_size=1, max_size=8)
finite: st.SearchStrategy[float] = st.floats(-LARGEST, LARGEST)
positive: st.SearchStrategy[float] = st.floats(SMALLEST, LARGEST)
whole: st.SearchStrategy[int] = st.integers(-MAX_INT, MAX_INT)
scales: st.SearchStrategy[Scale] = st.sampled_from(get_args(Scale))
choices: st.SearchStrategy[Value] = st.none() | st.booleans() | whole | finite | st.text(max_size=8)


@st.composite
def floats(draw: st.DrawFn) -> Float:
    """A Float on any scale, sometimes of a single value."""
    scale = draw(scales)
    low, high = sorted(draw(st.tuples(*[finite if scale == "linear" else positive] * 2)))
    if scale != "linear" and high < 2 * low:  # too narrow for a log scale, unless there is one value
        high = low
    return Float(low, high, scale)


@st.composite
def ints(draw: st.DrawFn) -> Int:
    """An Int on any scale, sometimes of a single value."""
    scale = draw(scales)
    bounds = whole if scale == "linear" else st.integers(1, MAX_INT)
    low, high = sorted(draw(st.tuples(bounds, bounds)))
    if scale != "linear" and high < 2 * low:
        high = low
    return Int(low, high, scale)


@st.composite
def discretes(draw: st.DrawFn) -> Discrete:
    """A Discrete on any scale, its values in any order."""
    scale = draw(scales)
    numbers = whole | finite if scale == "linear" else st.integers(1, MAX_INT) | positive
    values = draw(st.lists(numbers, min_size=1, max_size=6, unique=True))
    if scale != "linear" and max(values) < 2 * min(values):
        values = values[:1]
    return Discrete(values, scale)


def categoricals() -> st.SearchStrategy[Categorical]:
    """A Categorical of choices of any type."""
    unique = st.lists(choices, min_size=1, max_size=6, unique_by=lambda choice: (type(choice), choice))
    return unique.map(Categorical)


parameters: st.SearchStrategy[Parameter] = st.one_of(floats(), ints(), discretes(), categoricals())


def spaces(max_size: int = 5) -> st.SearchStrategy[SearchSpace]:
    """A search space of a few parameters of any kind."""
    return st.dictionaries(names, parameters, min_size=1, max_size=max_size).map(SearchSpace)


def values_of(parameter: Parameter) -> st.SearchStrategy[Value]:
    """A valid value of the parameter."""
    match parameter:
        case Float(low=low, high=high):
            return st.floats(low, high)
        case Int(low=low, high=high):
            return st.integers(low, high)
        case _:
            return st.sampled_from(parameter.values)


def points_of(space: SearchSpace) -> st.SearchStrategy[dict[str, Value]]:
    """A valid point of the space."""
    return st.fixed_dictionaries({name: values_of(parameter) for name, parameter in space.parameters.items()})


def problems(max_metrics: int = 3) -> st.SearchStrategy[Problem]:
    """A problem of one or several metrics."""
    metrics = st.lists(
        st.builds(Metric, names, st.sampled_from(Goal)),
        min_size=1,
        max_size=max_metrics,
        unique_by=lambda metric: metric.name,
    )
    return st.builds(Problem, spaces(), metrics.map(tuple))


def measured_values(problem: Problem) -> st.SearchStrategy[dict[str, float]]:
    """Finite values of every metric."""
    return st.fixed_dictionaries({name: finite for name in problem.metric_names})


def measurements(problem: Problem) -> st.SearchStrategy[Measurement]:
    """Any outcome."""
    return st.one_of(
        measured_values(problem).map(Measurement.completed),
        st.text(min_size=1).map(Measurement.infeasible),
        st.text(min_size=1).map(Measurement.failed),
    )


@st.composite
def trials(draw: st.DrawFn, problem: Problem) -> Trial:
    """A trial in any state, with every field that its state may have."""
    times = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
    measurement = draw(st.none() | measurements(problem))
    unfinished = [state for state in TrialState if not state.is_finished]
    state = draw(st.sampled_from(unfinished)) if measurement is None else measurement.state
    values = None if measurement is None else measurement.values
    reasons: st.SearchStrategy[dict[str, Any]] = st.dictionaries(names, finite | names)
    reports = st.builds(Report, st.integers(0), measured_values(problem), times)
    amendments = st.builds(
        Amendment, measured_values(problem), measured_values(problem), times, st.integers(1)
    )
    return Trial(
        number=draw(st.integers(0, 10**6)),
        params=draw(points_of(problem.space)),
        state=state,
        values=values,
        message=None if measurement is None else measurement.message,
        worker=draw(st.none() | names),
        created_at=draw(times),
        started_at=draw(st.none() | times),
        completed_at=draw(st.none() | times),
        lease_expires_at=draw(st.none() | times),
        attempts=draw(st.integers(0, 10)),
        created_event=draw(st.integers(1, 10**6)),
        asked_event=draw(st.none() | st.integers(1, 10**6)),
        completed_event=draw(st.none() | st.integers(1, 10**6)),
        updated_event=draw(st.integers(1, 10**6)),
        reason=draw(st.none() | reasons),
        algorithm=draw(st.none() | st.just("random")),
        engine_version=draw(st.none() | st.just("1")),
        reports=tuple(draw(st.lists(reports, max_size=2))),
        amendments=tuple(draw(st.lists(amendments, max_size=2))) if values is not None else (),
        metadata=draw(st.dictionaries(names, names, max_size=2)),
    )
