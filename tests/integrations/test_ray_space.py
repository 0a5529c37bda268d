"""Ray Tune's search spaces, converted. No cluster is needed for that."""

import math

import pytest

tune = pytest.importorskip("ray.tune")

import photinus as ph  # noqa: E402
from photinus.errors import ParameterError, SpaceError  # noqa: E402
from photinus.integrations.ray_space import RaySpace, has_domains, nested  # noqa: E402

THING = object()  # a choice of no plain type

DOMAINS = [
    (tune.uniform(-1, 2), ph.Float(-1, 2)),
    (tune.loguniform(1e-4, 1), ph.Float(1e-4, 1, scale="log")),
    (tune.quniform(0, 1, 0.25), ph.Discrete([0, 0.25, 0.5, 0.75, 1])),
    (tune.qloguniform(0.5, 4, 0.5), ph.Discrete([0.5 * k for k in range(1, 9)], scale="log")),
    (tune.randint(1, 5), ph.Int(1, 4)),
    (tune.qrandint(2, 8, 3), ph.Discrete([3, 6])),
    (tune.qrandint(0, 5, 1), ph.Int(0, 4)),
    (tune.lograndint(1, 100), ph.Int(1, 99, scale="log")),
    (tune.qlograndint(8, 64, 8), ph.Discrete(range(8, 65, 8), scale="log")),
    (tune.choice(["a", 1, None, True, 0.5]), ph.Categorical(["a", 1, None, True, 0.5])),
    (tune.grid_search([16, 32]), ph.Categorical([16, 32])),
    (tune.quniform(0, 1, 1e-4), ph.Int(0, 10_000)),
    (tune.choice([(1, 2), (3,)]), ph.Categorical(["0: (1, 2)", "1: (3,)"])),
]


@pytest.mark.parametrize(("domain", "parameter"), DOMAINS, ids=lambda value: str(value)[:40])
def test_a_domain_becomes_a_parameter(domain, parameter):
    assert RaySpace({"x": domain}).space["x"] == parameter


@pytest.mark.parametrize("domain", [domain for domain, _ in DOMAINS], ids=lambda value: str(value)[:40])
def test_every_suggestion_is_one_that_ray_could_have_made_and_finds_its_way_back(domain):
    space = RaySpace({"x": domain})
    study = ph.create_study(space.space, algorithm="quasi_random", seed=0)
    for trial in study.ask(20):
        config = space.to_config(trial.params)
        allowed = domain["grid_search"] if isinstance(domain, dict) else None
        assert config["x"] in allowed if allowed else domain.is_valid(config["x"])
        assert space.space.validate(space.to_params(config)) == trial.params


@pytest.mark.parametrize(
    "domain", [d for d, _ in DOMAINS if not isinstance(d, dict)], ids=lambda value: str(value)[:40]
)
def test_every_sample_of_rays_is_a_point_of_the_space(domain):
    space = RaySpace({"x": domain})
    for _ in range(30):
        space.space.validate(space.to_params({"x": domain.sample()}))


NESTED = {
    "model": {"width": tune.randint(1, 9), "depth": 3, "head": {"kind": tune.choice(["a", "b"])}},
    "layers": [tune.uniform(0, 1), "fixed", tune.uniform(2, 3)],
    "epochs": 10,
}


def test_nested_spaces_keep_their_shape_and_lose_their_constants():
    space = RaySpace(NESTED)
    assert list(space.space) == ["model/width", "model/head/kind", "layers/0", "layers/2"]
    params = {"model/width": 4, "model/head/kind": "b", "layers/0": 0.5, "layers/2": 2.5}
    config = space.to_config(params)
    assert config == {"model": {"width": 4, "head": {"kind": "b"}}, "layers": [0.5, "fixed", 2.5]}
    assert space.to_params(config | {"epochs": 10}) == params
    assert space.to_params(params) == params  # flat, as Ray writes it down


def test_choices_of_any_kind_come_back_as_they_are():
    space = RaySpace({"x": tune.choice([THING, {"a": 1}, THING, 1])})
    labels = space.space["x"].values
    assert [space.to_config({"x": label})["x"] for label in labels] == [THING, {"a": 1}, THING, 1]
    assert space.to_params({"x": {"a": 1}}) == {"x": labels[1]}
    with pytest.raises(ParameterError, match="'x': must be one of the choices"):
        space.to_params({"x": 2})


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"x": tune.randn(0, 1)}, "'x': must have bounds"),
        ({"a": {"x": tune.sample_from(lambda: 1)}}, "'a/x': must be a range or a choice"),
        ({"x": tune.grid_search([{"a": 1}])}, "'x': Ray cannot put a dict in the place of a grid"),
        ({"x": tune.qrandint(4, 5, 3)}, "'x': must hold a multiple of 3"),
        ({"a/b": tune.uniform(0, 1), "a": {"b": tune.uniform(0, 1)}}, "two are at 'a/b'"),
        ({"x": 3}, "needs a domain such as tune.uniform"),
    ],
)
def test_what_cannot_be_searched_is_refused_by_name(config, message):
    with pytest.raises(SpaceError, match=message):
        RaySpace(config)


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ({"x": 0.3}, "'x': must be a multiple of 0.25, got 0.3"),
        ({"x": math.nan}, "'x': must be a multiple of 0.25, got nan"),
        ({"y": 0.5}, "must have a value for 'x'"),
    ],
)
def test_points_that_do_not_fit_are_refused(point, message):
    with pytest.raises(ParameterError, match=message):
        RaySpace({"x": tune.quniform(0, 1, 0.25)}).to_params(point)


def test_rounding_does_not_matter():
    space = RaySpace({"x": tune.quniform(0, 1, 0.1)})
    assert space.space.validate(space.to_params({"x": 0.3})) == {"x": 3 * 0.1}


def test_domains_are_found_anywhere():
    assert has_domains(NESTED)
    assert has_domains({"x": tune.grid_search([1])})
    assert not has_domains({"a": [1, {"b": 2}], "c": "text"})


def test_results_get_their_dicts_back():
    assert nested({"a": 1, "b/c": 2, "b/d/e": [3]}) == {"a": 1, "b": {"c": 2, "d": {"e": [3]}}}
    assert nested({"a": 1, "a/b": 2}) == {"a": 1}
