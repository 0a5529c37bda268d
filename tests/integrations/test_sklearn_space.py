"""Search spaces in other packages' words."""

import math
from collections import Counter

import numpy as np
import pytest
import scipy.stats as st
from optuna.distributions import FloatDistribution
from sklearn.linear_model import Ridge
from sklearn.svm import SVC
from skopt import space as skopt

import photinus as ph
from photinus.errors import ArgumentError, SpaceError
from photinus.integrations.sklearn_space import read_spaces


class Real:
    """As scikit-optimize's, which need not be installed."""

    def __init__(self, low, high, prior="uniform"):
        self.low, self.high, self.prior = low, high, prior


class Integer(Real):
    """As scikit-optimize's."""


class Categorical:
    """As scikit-optimize's."""

    def __init__(self, categories):
        self.categories = categories


def dimension(content):
    [space] = read_spaces({"p": content}, None, 10)
    return space.dimensions["p"]


@pytest.mark.parametrize(
    ("content", "parameter"),
    [
        ([1, 2, 4], ph.Categorical([1, 2, 4])),
        (["a", "b", "a"], ph.Categorical(["a", "b"])),
        (("a", "b"), ph.Categorical(["a", "b"])),
        ((True, False), ph.Categorical([True, False])),
        ([True, 1, None], ph.Categorical([True, 1, None])),
        ((1, 2, 3), ph.Categorical([1, 2, 3])),
        (np.array([1, 2]), ph.Categorical([1, 2])),
        (range(3), ph.Categorical([0, 1, 2])),
        ((1, 9), ph.Int(1, 9)),
        ((0.0, 1), ph.Float(0, 1)),
        ((1e-3, 1e3, "log-uniform"), ph.Float(1e-3, 1e3, "log")),
        ((1, 100, "log-uniform"), ph.Int(1, 100, "log")),
        ((1, 100, "uniform", 2), ph.Int(1, 100)),
        (Real(0.1, 0.9), ph.Float(0.1, 0.9)),
        (Real(0.1, 0.9, "log-uniform"), ph.Float(0.1, 0.9, "log")),
        (Integer(1, 5), ph.Int(1, 5)),
        (Categorical(("x", "y")), ph.Categorical(["x", "y"])),
        (st.uniform(2, 3), ph.Float(2, 5)),
        (st.uniform, ph.Float(0, 1)),
        (st.loguniform(1e-2, 1e2), ph.Float(1e-2, 1e2, "log")),
        (st.reciprocal(1e-2, 1e2), ph.Float(1e-2, 1e2, "log")),
        (st.loguniform(1, 10, scale=3), ph.Float(3, 30, "log")),
        (st.randint(2, 7), ph.Int(2, 6)),
        (st.randint(0, 3, loc=5), ph.Int(5, 7)),
        (ph.Discrete([1, 10, 100], "log"), ph.Discrete([1, 10, 100], "log")),
        (ph.Float(0, 1, "linear"), ph.Float(0, 1)),
    ],
)
def test_what_a_dimension_becomes(content, parameter):
    assert dimension(content).parameter == parameter


def test_scikit_optimizes_own_dimensions():
    assert dimension(skopt.Real(0.1, 10, prior="log-uniform")).parameter == ph.Float(0.1, 10, "log")
    assert dimension(skopt.Integer(1, 5)).parameter == ph.Int(1, 5)
    assert dimension(skopt.Integer(1, 500, prior="log-uniform", base=2)).parameter == ph.Int(1, 500, "log")
    assert dimension(skopt.Categorical(["a", "b"])).parameter == ph.Categorical(["a", "b"])


@pytest.mark.parametrize(
    "distribution",
    [
        st.expon(scale=100),
        st.norm(3, 2),
        st.beta(2, 5),
        st.loguniform(1, 10, loc=2),
        st.poisson(4),
        st.binom(9, 0.5),
        st.skellam(9, 3),  # whole numbers without a smallest one
    ],
    ids=lambda d: d.dist.name,
)
def test_other_distributions_are_searched_in_their_quantiles(distribution):
    p = dimension(distribution)
    assert isinstance(p.parameter, ph.Float)
    values = [p.decode(u) for u in np.linspace(p.parameter.low, p.parameter.high, 401)]
    assert all(math.isfinite(value) for value in values)
    assert values == sorted(values)
    assert np.median(values) == pytest.approx(distribution.median(), rel=0.01)
    low, high = distribution.support()
    assert low <= values[0] and values[-1] <= high
    assert hasattr(distribution, "pmf") or low < values[0]
    kinds = {type(value) for value in values}
    assert kinds == ({int} if hasattr(distribution, "pmf") else {float})


def test_a_discrete_distribution_of_fractions():
    p = dimension(st.rv_discrete(values=([0.25, 1.5, 3], [0.2, 0.5, 0.3])))
    values = [p.decode(u) for u in np.linspace(p.parameter.low, p.parameter.high, 101)]
    assert list(dict.fromkeys(values)) == [0.25, 1.5, 3]


def test_choices_may_be_any_objects():
    choices = [SVC(C=1), Ridge(), (50, 50), (100,), np.array([1.0, 2.0]), "text", math.nan]
    p = dimension(choices)
    assert p.parameter.num_values == len(choices)
    assert all(isinstance(label, str) for label in p.parameter.values)
    assert [p.decode(label) for label in p.parameter.values] == choices or all(
        p.decode(label) is choice for label, choice in zip(p.parameter.values, choices, strict=True)
    )


def test_objects_that_look_alike_stay_apart():
    class Alike:
        def __repr__(self):
            return "<alike>" + 100 * "!"

    choices = [Alike(), Alike(), Alike()]
    p = dimension(choices)
    assert all(p.decode(label) is choice for label, choice in zip(p.parameter.values, choices, strict=True))
    assert all(len(label) < 70 for label in p.parameter.values)


def test_types_of_choices_are_kept():
    choices = np.array([1, 2, 3], dtype=np.int16)
    p = dimension(choices)
    assert {type(p.decode(label)) for label in p.parameter.values} == {np.int16}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("rbf", "parameter 'p': must be a list of choices, a range"),
        (3.0, "parameter 'p': must be a list of choices, a range"),
        ([], "parameter 'p': values of a Categorical must not be empty"),
        ((2, 1), r"parameter 'p': `low <= high` must hold, got low=2, high=1"),
        ((0, 1, "log-uniform"), "parameter 'p': `low > 0` must hold on a log scale"),
        (st.expon(scale=-1), r"parameter 'p': a distribution must have finite quantiles, got low=nan"),
        (FloatDistribution(1e-3, 1.0, log=True), "parameter 'p': must be a list of choices, a range"),
        (
            Real(0, 1, "normal"),
            "parameter 'p': the prior of a range must be one of uniform, log-uniform, got 'normal'",
        ),
    ],
)
def test_bad_dimensions_are_refused(content, message):
    with pytest.raises(SpaceError, match=message):
        dimension(content)


def test_a_distribution_without_quantiles_is_refused():
    class Drawn:
        def rvs(self, random_state=None):
            return 1.0

    with pytest.raises(
        SpaceError, match=r"parameter 'p': a distribution must be SciPy's, with quantiles \(`ppf`\)"
    ):
        dimension(Drawn())


def test_counts_of_several_spaces():
    a, b, c = ({name: (0.0, 1.0)} for name in "abc")

    def counts(**arguments):
        spaces = read_spaces(arguments.get("param_distributions"), arguments.get("search_spaces"), 10)
        return [(next(iter(space.dimensions)), space.num_trials) for space in spaces]

    assert counts(param_distributions=a) == [("a", 10)]
    assert counts(param_distributions=[a, b, c]) == [("a", 4), ("b", 3), ("c", 3)]
    assert counts(param_distributions=[(a, 2), b]) == [("a", 2), ("b", 10)]
    assert counts(search_spaces=[a, b]) == [("a", 10), ("b", 10)]
    assert counts(search_spaces=[(a, 3), (b, 4)]) == [("a", 3), ("b", 4)]
    assert counts(param_distributions=[a] * 12) == [("a", 1)] * 10  # two are left without


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            (None, None, 5),
            ArgumentError,
            "exactly one of `param_distributions` and `search_spaces` must be given",
        ),
        (({"a": [1]}, {"a": [1]}, 5), ArgumentError, "exactly one of"),
        (({}, None, 5), SpaceError, "a search space must be a dict of at least one parameter"),
        (([], None, 5), SpaceError, "a search space must be a dict, or a list of dicts"),
        (("C", None, 5), SpaceError, "a search space must be a dict, or a list of dicts"),
        (([3], None, 5), SpaceError, "a search space must be a dict of at least one parameter, got 3"),
        (({"a": [1]}, None, 0), ArgumentError, "`n_iter` must be an integer >= 1, got 0"),
        ((None, [({"a": [1]}, 0)], 5), ArgumentError, "`number of candidates of a search space` must be"),
    ],
)
def test_bad_spaces_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        read_spaces(*arguments)


def test_points_of_a_small_space():
    [space] = read_spaces({"a": ["x", "y"], "n": (1, 3), "d": ph.Discrete([5]), "f": (2.0, 2.0)}, None, 10)
    assert space.size == 6
    points = list(space.points())
    assert Counter(point["a"] for point in points) == {"x": 3, "y": 3}
    assert len({(point["a"], point["n"]) for point in points}) == 6
    assert all((point["d"], point["f"]) == (5, 2.0) for point in points)
    [space] = read_spaces({"a": ["x"], "f": (0.0, 1.0)}, None, 10)
    assert space.size == math.inf
