"""Log-efficiency (paper, App. E): how many times fewer trials than a baseline an algorithm needs, as a logarithm.

R repeats, T trials, z a table of best-so-far curves turned upwards, A the algorithm, B the baseline:

    RequiredBudget(y | A)   mean over repeats of  min {t : z_t >= y},  t = 1, ..., T
    targets                 y_t = (mean z_t(A) + mean z_t(B)) / 2,  t = 1, ..., T
    LogEfficiency(y | A)    ln(RequiredBudget(y | B) / RequiredBudget(y | A)),  clipped to [-2, 2]
    score                   median of LogEfficiency over the targets; above 0 where A needs fewer trials

The text leaves questions open. Settled here:

- The expectation is the mean over repeats, the one in the targets as well as the one in the budgets; the "x_t" in
  the definition of z is a misprint for y_t.
- A run that never reaches a target counts as e times the budget T, which the text does not say: an infinite one
  would make the mean infinite as soon as one run of twenty fails.
- The closing formula takes the median of the ratios, section 4.1 that of the logarithms; it is the logarithms',
  each clipped before the median. (For an odd number of targets this is the same.)
- Every trial t gives a target, also where the averaged curve stands still: equal targets count as often as they
  occur.
- A target is lowered by 1e-12 of the mean |z_t| behind it. The mean of equal numbers is often not that number
  but a rounding above it, and a plateau that both algorithms reach must count as reached.
- A run without a value yet (all trials infeasible) reaches no target; in the averages it counts as the worst
  value of either algorithm. Where neither has any value the score is 0.
- Several objectives: the curves are those of the hypervolume, to be maximised (hypervolume.py).
"""

import numpy as np

from photinus.problem import Goal
from photinus_bench.analysis.convergence import sign, upwards

CLIP = 2.0  # paper, App. E
NEVER = np.e  # times the budget
ROUNDING = 1e-12


def required_budget(curves: np.ndarray, targets: np.ndarray, goal: Goal) -> np.ndarray:
    """Trials that each run needs to reach each target, (R, targets); e times the budget where it never does."""
    return _first_reach(upwards(curves, goal), sign(goal) * np.asarray(targets, float))


def expected_required_budget(curves: np.ndarray, targets: np.ndarray, goal: Goal) -> np.ndarray:
    """The same in the mean over repeats, which is the paper's RequiredBudget."""
    return required_budget(curves, targets, goal).mean(axis=0)


def target_curve(baseline: np.ndarray, compared: np.ndarray, goal: Goal) -> np.ndarray:
    """The averaged curve of both algorithms: the values whose reaching is compared, (T,)."""
    z_base, z = _both(baseline, compared, goal)
    return sign(goal) * _targets(z_base, z, _equal_shares(z_base), _equal_shares(z))[0]


def by_target(baseline: np.ndarray, compared: np.ndarray, goal: Goal) -> np.ndarray:
    """Log-efficiency of the compared algorithm at each target, clipped, (T,)."""
    z_base, z = _both(baseline, compared, goal)
    return _by_target(z_base, z, _equal_shares(z_base), _equal_shares(z))[0]


def log_efficiency(baseline: np.ndarray, compared: np.ndarray, goal: Goal) -> float:
    """The score of the compared algorithm on one problem."""
    return float(np.median(by_target(baseline, compared, goal)))


def scores(
    baseline: np.ndarray, compared: np.ndarray, goal: Goal, rows_base: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """Scores of S resamples, (S,); `rows_base` and `rows` (S, repeats drawn) say which repeats are in each.

    The worst value, which stands for missing ones, is that of all repeats, drawn or not.
    """
    z_base, z = _both(baseline, compared, goal)
    shares_base, shares = _shares(rows_base, len(z_base)), _shares(rows, len(z))
    return np.median(_by_target(z_base, z, shares_base, shares), axis=1)


def _by_target(z_base: np.ndarray, z: np.ndarray, shares_base: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Clipped log-efficiencies (S, T) where repeats carry the given shares (S, R)."""
    # No budget changes between two neighbouring values of the curves. Budgets are computed once for each of these
    # values, averaged for all resamples in one product, and looked up: no search per run, resample and target.
    levels = np.append(_values(z_base, z), np.inf)
    place = np.searchsorted(levels, _targets(z_base, z, shares_base, shares))
    budget_base = np.take_along_axis(_mean(shares_base, _first_reach(z_base, levels)), place, axis=1)
    budget = np.take_along_axis(_mean(shares, _first_reach(z, levels)), place, axis=1)
    return np.clip(np.log(budget_base / budget), -CLIP, CLIP)


def _first_reach(z: np.ndarray, targets: np.ndarray) -> np.ndarray:
    num_trials = z.shape[1]
    before = np.stack([np.searchsorted(row, targets, side="left") for row in z])
    return np.where(before < num_trials, before + 1.0, NEVER * num_trials)


def _targets(z_base: np.ndarray, z: np.ndarray, shares_base: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Averaged curves (S, T), lowered by their rounding."""
    values = _values(z_base, z)
    worst = values[0] if len(values) else 0.0
    z_base, z = np.where(np.isfinite(z_base), z_base, worst), np.where(np.isfinite(z), z, worst)
    mean = (_mean(shares_base, z_base) + _mean(shares, z)) / 2
    magnitude = (_mean(shares_base, np.abs(z_base)) + _mean(shares, np.abs(z))) / 2
    return mean - ROUNDING * magnitude


def _mean(shares: np.ndarray, rows: np.ndarray) -> np.ndarray:
    # Not by BLAS: its threads wait for each other on a busy machine, and its rounding depends on the machine.
    return np.einsum("sr,rk->sk", shares, rows)


def _values(z_base: np.ndarray, z: np.ndarray) -> np.ndarray:
    """All numbers that occur, each once, in ascending order."""
    values = np.unique(np.concatenate([z_base, z], axis=None))
    return values[np.isfinite(values)]


def _both(baseline: np.ndarray, compared: np.ndarray, goal: Goal) -> tuple[np.ndarray, np.ndarray]:
    z_base, z = upwards(baseline, goal), upwards(compared, goal)
    if z_base.shape[1] != z.shape[1]:
        raise ValueError(
            f"both algorithms must have the same budget, got {z_base.shape[1]} and {z.shape[1]} trials; "
            "`best_so_far` extends runs that stopped"
        )
    return z_base, z


def _equal_shares(z: np.ndarray) -> np.ndarray:
    return np.full((1, len(z)), 1 / len(z))


def _shares(rows: np.ndarray, num_repeats: int) -> np.ndarray:
    """How often each repeat is among the drawn ones, as a share, (S, R)."""
    return np.mean(rows[:, :, None] == np.arange(num_repeats), axis=1)
