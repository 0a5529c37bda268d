"""google-vizier's comparator, against scores that it gave itself (bench/golden/make_comparator.py)."""

import json
from pathlib import Path

import numpy as np
import pytest

from photinus.problem import Goal
from photinus_bench.analysis.vizier_comparator import scores, vizier_score

STORED = json.loads((Path(__file__).parent / "golden" / "vizier_comparator.json").read_text())
CURVES = np.array([[1.0, 2.0, 2.0, 3.0, 5.0], [0.0, 1.0, 3.0, 3.0, 4.0]])


@pytest.mark.parametrize("case", STORED["cases"], ids=range(len(STORED["cases"])))
def test_score_is_the_one_google_vizier_gives(case: dict):
    found = vizier_score(np.array(case["baseline"]), np.array(case["compared"]), Goal(case["goal"]))
    assert found == pytest.approx(case["score"], abs=1e-9)


def test_recorded_scores_are_of_all_sizes():
    recorded = np.array([case["score"] for case in STORED["cases"]])
    assert np.sum(np.abs(recorded) < 1.9) > 30
    assert np.any(recorded > 0.1)
    assert np.any(recorded < -0.1)


def test_score_of_a_resample_is_that_of_its_rows():
    rng = np.random.default_rng(3)
    baseline, compared = np.maximum.accumulate(rng.normal(size=(2, 6, 25)), axis=2)
    rows_base, rows = rng.integers(6, size=(2, 8, 6))
    found = scores(baseline, compared, Goal.MAXIMIZE, rows_base, rows)
    expected = [
        vizier_score(baseline[a], compared[b], Goal.MAXIMIZE) for a, b in zip(rows_base, rows, strict=True)
    ]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert len(np.unique(found)) > 1


def test_what_the_comparator_cannot_score_is_refused():
    with pytest.raises(ValueError, match="at least 3 trials, got 5 and 4"):
        vizier_score(CURVES, CURVES[:, :4], Goal.MAXIMIZE)
    with pytest.raises(ValueError, match="at least 3 trials, got 2 and 2"):
        vizier_score(CURVES[:, :2], CURVES[:, :2], Goal.MAXIMIZE)
    with pytest.raises(ValueError, match="no rule for runs without a value"):
        vizier_score(CURVES, np.where(CURVES == 0, -np.inf, CURVES), Goal.MAXIMIZE)
