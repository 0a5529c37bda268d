"""Sizes to which a growing study is padded.

A compiled program serves one shape. Padding the trials to a few sizes means that a study of a hundred trials
compiles seven times instead of a hundred. Features are not padded: their number never changes within a study.
"""

import numpy as np

FINEST = 16  # ours: sizes are multiples of this up to eight of them, then four to each doubling


def padded_size(num_rows: int) -> int:
    """Smallest size of the schedule that holds `num_rows`."""
    step = FINEST
    while num_rows > 8 * step:
        step *= 2
    return max(FINEST, -(-num_rows // step) * step)


def next_size(size: int) -> int:
    """Return the size that follows `size` in the schedule."""
    return padded_size(size + 1)


def pad_rows(values: np.ndarray, size: int) -> np.ndarray:
    """Append rows of zeros up to `size`."""
    return np.concatenate([values, np.zeros((size - len(values), *values.shape[1:]), values.dtype)])
