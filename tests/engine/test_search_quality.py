"""The firefly search finds what long and costly searches find, to a twentieth of what there is to gain."""

import json
from typing import Any

import jax
import numpy as np
import pytest
from search_reference import CLASSES, GOLDEN, NUM_POSTERIORS, hyperparameters, make_case

from photinus.engine.bandit import warp_metrics
from photinus.engine.cache import engine_context
from photinus.engine.designers import gp_bandit

LARGEST_MEDIAN_GAP = 0.05

pytestmark = pytest.mark.long


def relative_gap(record: dict[str, Any]) -> float:
    """Share of what lies between a random point and the reference that the search left on the table."""
    case = make_case(record["class"], record["index"])
    observations = case.snapshot.observations(case.size)
    with engine_context():
        y, _ = jax.device_get(jax.jit(warp_metrics)(observations))
    found = gp_bandit.pick_program(case.snapshot)(
        case.snapshot.key(gp_bandit.PICK),
        observations,
        y,
        case.snapshot.encoder.domain,
        hyperparameters(record["hyper"]),
        np.bool_(case.explores),
    )
    assert int(found.num_evaluations) == 75_000
    return (record["reference"] - float(found.score)) / (record["reference"] - record["median_random"])


@pytest.mark.parametrize("kind", CLASSES)
def test_the_search_comes_close_to_the_reference(kind: str):
    records = [record for record in json.loads(GOLDEN.read_text())["cases"] if record["class"] == kind]
    assert len(records) == NUM_POSTERIORS
    gaps = np.array([relative_gap(record) for record in records])
    assert np.median(gaps) <= LARGEST_MEDIAN_GAP, np.sort(gaps).round(4)
