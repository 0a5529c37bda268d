import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from photinus.engine.gp.cholesky import TINY
from photinus.engine.padding import FINEST, next_size, pad_rows, padded_size


@given(st.integers(0, 10_000))
def test_a_size_holds_its_rows_and_wastes_little(rows: int):
    size = padded_size(rows)
    assert size >= rows
    assert size - rows <= max(FINEST, rows / 4)


@given(st.integers(0, 10_000))
def test_sizes_are_whole_blocks_of_the_factorisation(rows: int):
    assert padded_size(rows) % TINY == 0


@given(st.integers(0, 10_000))
def test_a_padded_size_is_its_own(rows: int):
    assert padded_size(padded_size(rows)) == padded_size(rows)


@given(st.integers(0, 10_000))
def test_nothing_lies_between_a_size_and_the_next(rows: int):
    size = padded_size(rows)
    assert size < next_size(size) == padded_size(size + 1)
    assert {padded_size(r) for r in range(size + 1, next_size(size) + 1)} == {next_size(size)}


def test_a_growing_study_meets_few_sizes():
    assert len({padded_size(rows) for rows in range(101)}) == 7
    assert len({padded_size(rows) for rows in range(1001)}) <= 20


def test_rows_are_padded_with_zeros_of_their_own_type():
    padded = pad_rows(np.array([[1, 2], [3, 4]], np.int32), 3)
    assert padded.tolist() == [[1, 2], [3, 4], [0, 0]]
    assert padded.dtype == np.int32
