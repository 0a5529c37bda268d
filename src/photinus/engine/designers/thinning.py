"""A few trials that stand for many, where a model of all of them would cost too much."""

from collections.abc import Sequence

import numpy as np

from photinus.engine.designers.active_set import best_first, spread
from photinus.engine.encoding import encode_labels
from photinus.problem import Goal, Problem
from photinus.trial import Trial, TrialState

BEST_SHARE = 4  # ours: with half of them, all that is not best would lie below the median, and warp badly


def thin(problem: Problem, trials: Sequence[Trial], limit: int) -> list[Trial]:
    """At most `limit` labelled trials by number: a quarter of them the best, the others evenly spread.

    With several objectives the best are those with the smallest sum of ranks. Trials without a label go first:
    predictions do not depend on them. No more than `limit` trials of any kind come back as they are.
    """
    if len(trials) <= limit:
        return list(trials)
    labelled = [t for t in trials if t.state in (TrialState.COMPLETED, TrialState.INFEASIBLE)]
    if len(labelled) <= limit:
        return labelled
    signs = [1.0 if m.goal is Goal.MAXIMIZE else -1.0 for m in problem.metrics]
    labels = encode_labels((t.values for t in labelled), problem.metric_names, signs)
    order = best_first(np.where(np.isnan(labels), -np.inf, labels))
    num_best = limit // BEST_SHARE
    best, others = order[:num_best], spread(np.sort(order[num_best:]), limit - num_best)
    return [labelled[i] for i in sorted([*best.tolist(), *others.tolist()])]
