"""Search spaces in the words of scikit-learn, SciPy and scikit-optimize.

[1, 10, "auto"]                      choices, as in RandomizedSearchCV; any objects
(1e-3, 1e3, "log-uniform"), (1, 9)   a range, as in BayesSearchCV: of integers if both ends are
Real, Integer, Categorical           of scikit-optimize, which need not be installed
uniform, loguniform, randint         of SciPy: the same ranges
any other frozen distribution        searched evenly in its quantiles, so that it stays the scale of the search
Float, Int, Discrete, Categorical    our own
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from photinus.arguments import check_integer
from photinus.errors import ArgumentError, SpaceError
from photinus.space import Categorical, Discrete, Float, Int, Parameter, Scale, Value, plain_value

PRIORS: dict[str, Scale] = {"uniform": "linear", "log-uniform": "log"}
TAIL = 1e-3  # ours: how much probability is cut off at the ends, which a draw would never hit: infinite, or a mere 0
LONGEST_LABEL = 60


@dataclass(frozen=True, slots=True)
class Dimension:
    """One parameter, and what its values stand for."""

    parameter: Parameter
    decode: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Space:
    """Dimensions by name, and how many points are to be tried there."""

    dimensions: Mapping[str, Dimension]
    num_trials: int

    @property
    def parameters(self) -> dict[str, Parameter]:
        """What the algorithm searches."""
        return {name: dimension.parameter for name, dimension in self.dimensions.items()}

    def decode(self, params: Mapping[str, Value]) -> dict[str, Any]:
        """A point as settings of an estimator."""
        return {name: dimension.decode(params[name]) for name, dimension in self.dimensions.items()}

    @property
    def size(self) -> float:
        """How many points there are; infinite for a continuum."""
        sizes = [dimension.parameter.num_values for dimension in self.dimensions.values()]
        return math.prod(math.inf if size is None else size for size in sizes)

    def points(self) -> Iterator[dict[str, Value]]:
        """Every point, if they can be counted."""
        columns = [_values(parameter) for parameter in self.parameters.values()]
        for row in itertools.product(*columns):
            yield dict(zip(self.dimensions, row, strict=True))


def read_spaces(param_distributions: object, search_spaces: object, n_iter: int) -> list[Space]:
    """The spaces of one search, from the one of its two arguments that is given."""
    if (param_distributions is None) == (search_spaces is None):
        raise ArgumentError(
            "exactly one of `param_distributions` and `search_spaces` must be given, "
            f"got {param_distributions=}, {search_spaces=}"
        )
    num_trials = check_integer("n_iter", n_iter, 1)
    given = param_distributions if search_spaces is None else search_spaces
    if isinstance(given, Mapping):
        return [Space(_dimensions(given), num_trials)]
    if not isinstance(given, list | tuple) or not given:
        raise SpaceError(f"a search space must be a dict, or a list of dicts, got {given!r}")
    entries = [_with_count(entry) for entry in given]
    if search_spaces is None:  # as in RandomizedSearchCV, the dicts share the trials
        uncounted = [i for i, (_, count) in enumerate(entries) if count is None]
        shares = _shares(num_trials, len(uncounted))
        counts = {i: share for i, share in zip(uncounted, shares, strict=True)}
    else:
        counts = dict.fromkeys(range(len(entries)), num_trials)
    spaces = [
        Space(_dimensions(space), counts[i] if count is None else count)
        for i, (space, count) in enumerate(entries)
    ]
    return [space for space in spaces if space.num_trials]


def _with_count(entry: object) -> tuple[object, int | None]:
    """An entry of a list of spaces: a dict, or a dict and how many trials it gets."""
    if isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], Mapping):
        return entry[0], check_integer("number of candidates of a search space", entry[1], 1)
    return entry, None


def _shares(total: int, num_parts: int) -> list[int]:
    """`total` in parts that differ by one at most."""
    return [total // num_parts + (i < total % num_parts) for i in range(num_parts)]


def _dimensions(space: object) -> dict[str, Dimension]:
    if not isinstance(space, Mapping) or not space:
        raise SpaceError(f"a search space must be a dict of at least one parameter, got {space!r}")
    dimensions: dict[str, Dimension] = {}
    for name, content in space.items():
        try:
            dimensions[name] = _dimension(content)
        except SpaceError as error:
            raise SpaceError(f"parameter {name!r}: {error}") from None
    return dimensions


def _dimension(content: Any) -> Dimension:
    if isinstance(content, Float | Int | Discrete | Categorical):
        return Dimension(content, _itself)
    if hasattr(content, "categories"):  # scikit-optimize's Categorical
        return _choices(content.categories)
    if all(hasattr(content, name) for name in ("low", "high", "prior")):  # its Real and Integer
        is_whole = "int" in type(content).__name__.lower()
        return _range(content.low, content.high, content.prior, is_whole)
    if hasattr(content, "rvs"):
        return _distribution(content)
    if _is_range(content):
        low, high, *prior = content
        is_whole = isinstance(low, Integral) and isinstance(high, Integral)
        return _range(low, high, prior[0] if prior else "uniform", is_whole)
    if isinstance(content, str) or not isinstance(content, Iterable):
        raise SpaceError(
            "must be a list of choices, a range such as (1e-3, 1e3, 'log-uniform'), a SciPy distribution, a "
            f"dimension of scikit-optimize or a parameter of photinus, got {content!r}"
        )
    return _choices(content)


def _is_range(content: object) -> bool:
    """Whether it is (low, high), (low, high, prior) or (low, high, prior, base) of scikit-optimize."""
    if not isinstance(content, tuple) or not 2 <= len(content) <= 4:
        return False
    has_numbers = all(isinstance(end, Real) and not isinstance(end, bool) for end in content[:2])
    return has_numbers and (len(content) == 2 or content[2] in PRIORS)


def _range(low: Any, high: Any, prior: str, is_whole: bool) -> Dimension:
    if prior not in PRIORS:
        raise SpaceError(f"the prior of a range must be one of {', '.join(PRIORS)}, got {prior!r}")
    return Dimension((Int if is_whole else Float)(low, high, PRIORS[prior]), _itself)


def _choices(content: Iterable[Any]) -> Dimension:
    """Choices of any type; what is no plain value goes by its text."""
    meanings: dict[tuple[type, Value], Any] = {}
    for choice in content:
        label = _label(choice)
        key = type(label), label
        if key in meanings and not _is_same(meanings[key], choice):
            label = f"{label} #{len(meanings)}"  # another object of the same looks
            key = str, label
        meanings.setdefault(key, choice)
    return Dimension(
        Categorical([label for _, label in meanings]), lambda value: meanings[type(value), value]
    )


def _label(choice: Any) -> Value:
    plain = plain_value(choice)
    if plain is None or isinstance(plain, str | bool):
        return plain
    if isinstance(plain, int | float) and math.isfinite(plain):
        return plain
    text = " ".join(repr(choice).split())
    return text if len(text) <= LONGEST_LABEL else f"{text[: LONGEST_LABEL - 3]}..."


def _is_same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    try:
        return bool(one == other)
    except (TypeError, ValueError):  # arrays, for example
        return False


def _distribution(content: Any) -> Dimension:
    frozen: Any = content if hasattr(content, "dist") else content() if callable(content) else content
    if not hasattr(frozen, "ppf") or not hasattr(frozen, "support"):
        raise SpaceError(
            f"a distribution must be SciPy's, with quantiles (`ppf`), got {content!r}: give a range or a list"
        )
    name = getattr(getattr(frozen, "dist", None), "name", "")
    low, high = (end.item() if hasattr(end, "item") else end for end in frozen.support())
    if name == "uniform":
        return Dimension(Float(low, high), _itself)
    if name == "randint":
        return Dimension(Int(low, high), _itself)
    if name in ("loguniform", "reciprocal") and _is_exact_log(frozen):
        return Dimension(Float(low, high, "log"), _itself)
    is_discrete = hasattr(frozen, "pmf")
    start = 0.0 if is_discrete and math.isfinite(low) else TAIL
    end = 1.0 if is_discrete and math.isfinite(high) else 1.0 - TAIL

    def decode(u: float) -> float | int:
        value = float(max(frozen.ppf(u), low))  # the quantile 0 of a discrete distribution is one too low
        return int(value) if is_discrete and value.is_integer() else value

    if not (math.isfinite(decode(start)) and math.isfinite(decode(end))):
        raise SpaceError(f"a distribution must have finite quantiles, got {low=}, {high=} for {content!r}")
    return Dimension(Float(start, end), decode)


def _is_exact_log(frozen: Any) -> bool:
    """Whether the logarithm is evenly spread: SciPy's `loc` would move it."""
    low, high = frozen.support()
    return low > 0 and math.isclose(frozen.median(), math.sqrt(low * high), rel_tol=1e-6)


def _values(parameter: Parameter) -> Sequence[Value]:
    match parameter:
        case Discrete(values=values) | Categorical(values=values):
            return values
        case Int(low=low, high=high):
            return range(low, high + 1)
        case Float(low=low):
            return [low]  # where there is only one


def _itself(value: Any) -> Any:
    return value
