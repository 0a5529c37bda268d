"""Recorded values of google-vizier as test parameters; tests/golden/README.md describes the files."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from photinus.engine.features import Features
from photinus.engine.gp.kernel import Hyperparameters

FOLDER = Path(__file__).parents[1] / "golden"
TOLERANCE = 1e-8


def cases(name: str) -> list[Any]:
    """All cases of one file, one test parameter each."""
    stored = json.loads((FOLDER / f"{name}.json").read_text())["cases"]
    return [pytest.param(case, id=f"{i}-{case['name']}") for i, case in enumerate(stored)]


def numbers(values: Any) -> np.ndarray:
    """A stored array: missing numbers become NaN, infinities are written as text."""
    return np.array(values, dtype=np.float64)


def features(case: dict[str, Any], prefix: str = "") -> Features:
    """Points of a case; a list without rows has lost its width, which the completed points still have."""
    x, c = np.array(case["continuous"], float), np.array(case["categorical"], np.int32)
    rows = len(case[f"{prefix}continuous"])
    return Features(
        np.array(case[f"{prefix}continuous"], np.float64).reshape(rows, x.shape[1]),
        np.array(case[f"{prefix}categorical"], np.int32).reshape(rows, c.shape[1]),
    )


def hyperparameters(case: dict[str, Any]) -> Hyperparameters:
    """Hyperparameters of a case, under our names."""
    stored = case["hyperparameters"]
    return Hyperparameters(
        np.float64(stored["signal_variance"]),
        numbers(stored["continuous_length_scale_squared"]),
        numbers(stored["categorical_length_scale_squared"]),
        np.float64(stored["observation_noise_variance"]),
    )  # pyright: ignore[reportArgumentType]
