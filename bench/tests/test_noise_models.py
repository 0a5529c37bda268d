import numpy as np
import pytest
from scipy import stats

from photinus_bench import noise

COUNT = 4000


def draw(model: noise.Noise, value: float, num_parameters: int = 20) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.array([model(value, num_parameters, rng) for _ in range(COUNT)])


def test_gaussian_noise_is_a_log_normal_factor() -> None:
    assert stats.kstest(np.log(draw(noise.gaussian, 3.0) / 3.0), stats.norm.cdf).pvalue > 0.01


def test_uniform_noise_is_a_uniform_factor_of_huge_values() -> None:
    assert stats.kstest(draw(noise.uniform, 1e10) / 1e10, stats.uniform.cdf).pvalue > 0.01


@pytest.mark.parametrize("num_parameters", [2, 20])
def test_uniform_noise_widens_towards_the_optimum(num_parameters: int) -> None:
    value = 0.01
    drawn = np.log(draw(noise.uniform, value, num_parameters) / value)
    # log U + k U' with k = (0.49 + 1/D) log(1e9 / f), from draws of its own.
    k = (0.49 + 1 / num_parameters) * np.log(1e9 / value)
    expected = np.log(np.random.default_rng(1).random(COUNT)) + k * np.random.default_rng(2).random(COUNT)
    assert stats.ks_2samp(drawn, expected).pvalue > 0.01


def test_cauchy_noise_adds_1000_and_to_a_fifth_of_the_values_an_outlier() -> None:
    added = draw(noise.cauchy, 7.0) - 7.0
    assert np.all(added >= 0)
    is_outlier = np.abs(added - 1000) > 1e-9
    assert np.mean(is_outlier) == pytest.approx(0.2, abs=0.03)
    assert stats.kstest(added[is_outlier] - 1000, stats.cauchy.cdf).pvalue > 0.01


@pytest.mark.parametrize("num_parameters", [1, 20])
def test_multiplicative_noise_leaves_the_optimum_alone(num_parameters: int) -> None:
    assert np.all(draw(noise.gaussian, 0.0, num_parameters) == 0)
    assert np.all(draw(noise.uniform, 0.0, num_parameters) == 0)
