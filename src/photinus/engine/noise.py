"""Uniform random numbers by hashing a counter: the search draws millions, and quality beyond that buys nothing.

JAX's own generator costs several times as much here. Both are pure functions of key and counter, the same on every
device and for every vmap width.
"""

import jax.numpy as jnp

from photinus.engine.arrays import Array, Float, Int, KeyData

_WEYL = 0x9E3779B1  # odd, near 2³² divided by the golden ratio: consecutive counters land far apart


def uniform(key: KeyData, step: Int[Array, ""], shape: tuple[int, int]) -> Float[Array, "A B"]:
    """Numbers in [0, 1), single precision, for one step of a loop."""
    count = shape[0] * shape[1]
    counter = jnp.arange(count, dtype=jnp.uint32) + step.astype(jnp.uint32) * jnp.uint32(count)
    bits = _mix(_mix(counter * jnp.uint32(_WEYL) ^ key[0]) + key[1])
    # The top 24 bits are all that single precision holds.
    return ((bits >> 8).astype(jnp.float32) * jnp.float32(2.0**-24)).reshape(shape)


def _mix(h: Array) -> Array:
    """Finalising step of MurmurHash3: every input bit changes every output bit with probability near 1/2."""
    h = (h ^ (h >> 16)) * jnp.uint32(0x85EBCA6B)
    h = (h ^ (h >> 13)) * jnp.uint32(0xC2B2AE35)
    return h ^ (h >> 16)
