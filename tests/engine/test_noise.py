"""The counter-based generator: not for cryptography, but a search must not be able to tell it from chance."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from photinus.engine import noise

KEYS = [
    np.array(key, np.uint32)
    for key in ((0, 0), (0, 1), (1, 0), (2**32 - 1, 2**32 - 1), (123456789, 987654321))
]
SHAPE = (200, 500)
COUNT = SHAPE[0] * SHAPE[1]


def draw(key: np.ndarray, step: int = 0, shape: tuple[int, int] = SHAPE) -> np.ndarray:
    return np.asarray(noise.uniform(jnp.asarray(key), jnp.int32(step), shape))


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_numbers_are_uniform(key: np.ndarray):
    u = draw(key).ravel().astype(float)
    assert u.min() >= 0.0
    assert u.max() < 1.0
    assert abs(u.mean() - 0.5) < 5 * np.sqrt(1 / 12 / COUNT)
    assert abs(u.var() - 1 / 12) < 5 * np.sqrt(1 / 180 / COUNT)
    # Kolmogorov's distance, which exceeds 1.95/√n once in a thousand.
    assert np.abs(np.sort(u) - (np.arange(COUNT) + 0.5) / COUNT).max() < 1.95 / np.sqrt(COUNT)


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_every_bit_is_balanced(key: np.ndarray):
    bits = (draw(key).ravel() * 2**24).astype(np.int64)
    shares = [np.mean(bits >> place & 1) for place in range(24)]
    assert np.abs(np.array(shares) - 0.5).max() < 5 * 0.5 / np.sqrt(COUNT)


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("lag", [1, 2, 25, 500])
def test_neighbours_are_uncorrelated(key: np.ndarray, lag: int):
    u = draw(key).ravel().astype(float)
    assert abs(np.corrcoef(u[lag:], u[:-lag])[0, 1]) < 5 / np.sqrt(COUNT - lag)


def test_streams_of_different_keys_and_steps_are_unrelated():
    streams = [draw(key, step).ravel().astype(float) for key in KEYS for step in (0, 1, 2, 2999)]
    for a, b in itertools.combinations(streams, 2):
        assert abs(np.corrcoef(a, b)[0, 1]) < 5 / np.sqrt(COUNT)
        assert np.mean(a == b) < 1e-4


def test_one_step_goes_on_where_the_last_one_ended():
    whole, part = draw(KEYS[4], 0, (6, 10)), draw(KEYS[4], 1, (3, 10))
    assert (whole[3:] == part).all()


def test_numbers_are_single_precision_whatever_the_context(engine):
    assert draw(KEYS[0]).dtype == np.float32


@pytest.mark.parametrize("width", [1, 7])
def test_numbers_do_not_depend_on_the_vmap_width(width: int):
    keys = np.stack([KEYS[4] + np.uint32(i) for i in range(width)])
    many = jax.vmap(lambda key: noise.uniform(key, jnp.int32(3), (4, 5)))(jnp.asarray(keys))
    for row, key in zip(np.asarray(many), keys, strict=True):
        assert (row == draw(key, 3, (4, 5))).all()
