"""One study as the bandit sees it at one moment: rows of arrays, grown by what has been picked since."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from photinus.engine.arrays import Observations
from photinus.engine.ascent import AscentSettings
from photinus.engine.bandit import Past
from photinus.engine.designers.box_length import box_length
from photinus.engine.designers.constants import Preset
from photinus.engine.designers.quasi_random import halton
from photinus.engine.designers.uniform import generator, next_number
from photinus.engine.encoding import Encoder, encode_labels
from photinus.engine.features import Features
from photinus.engine.gp.kernel import Hyperparameters
from photinus.engine.padding import pad_rows, padded_size
from photinus.problem import Goal, Problem
from photinus.trial import Suggestion, Trial, TrialState

MOST_SEEDS = 10  # ours: for categories
SEEDS_LOOKED_AT = 1000  # ours: for one that was not tried
LABELLED = (TrialState.COMPLETED, TrialState.INFEASIBLE)


class Snapshot:
    """The trials of a study, split into completed and visited, and the number that comes next.

    Rows are *told* trials first, that is, measured or infeasible. Where infeasible ones are judged apart they are no
    completed trials to the model of the objective: they come after those, as the first of the visited.
    """

    def __init__(self, problem: Problem, trials: Sequence[Trial], seed: int, preset: Preset) -> None:
        self.problem = problem
        self.encoder = Encoder(problem.space)
        self.seed = seed
        self.preset = preset
        self.number = next_number(trials)
        told = sorted((t for t in trials if t.state in LABELLED), key=_completion)
        visited = [t for t in trials if t.state not in LABELLED]
        signs = [1.0 if m.goal is Goal.MAXIMIZE else -1.0 for m in problem.metrics]
        self.signs = np.array(signs)
        self._told_labels = encode_labels((t.values for t in told), problem.metric_names, signs)
        self._is_measured = np.array([t.state is TrialState.COMPLETED for t in told], dtype=bool)
        self._num_known = _num_known(told)
        # Tools that keep trials of their own may have no events, and do not say who placed a trial: suggestions did.
        has_events = any(map(_has_event, trials))
        self._is_suggested = np.array(
            [t.algorithm is not None or not has_events for t in (*told, *visited)], bool
        )
        self.is_pending = np.array([not t.state.is_finished for t in (*told, *visited)], dtype=bool)
        self._arrange(self.encoder.encode([t.params for t in (*told, *visited)]))
        self.told = [told[row] for row in self._order]
        self._is_first_suggestion = not self._is_suggested.any() and not self._has_centre()
        pending = [t for t in visited if not t.state.is_finished]
        result_of, asked_of = (_completion, _handed_out) if has_events else (_number, _number)
        self._has_new_data = max(map(result_of, told), default=-1) > max(map(asked_of, pending), default=-1)

    def _arrange(self, features: Features) -> None:
        """Put told rows, given in the order of completion and followed by the visited ones, into the model's order."""
        is_measured, num_told = self._is_measured, len(self._is_measured)
        is_apart = self.preset.settings.model.infeasible == "apart" and not self.problem.is_multi_objective
        self._order = np.argsort(~is_measured, kind="stable") if is_apart else np.arange(num_told)
        rows = np.concatenate([self._order, np.arange(num_told, len(features.continuous))])
        self.features = Features(*(v[rows] for v in features))
        completed = self._order[: int(is_measured.sum())] if is_apart else self._order
        self.labels, self.is_feasible = self._told_labels[completed], is_measured[completed]

    @property
    def num_rows(self) -> int:
        """Trials and picks so far."""
        return len(self.features.continuous)

    @property
    def num_completed(self) -> int:
        """Rows that have their labels; they come first."""
        return len(self.labels)

    @property
    def num_told(self) -> int:
        """Rows of trials that were measured or infeasible; they come first."""
        return len(self._is_measured)

    @property
    def num_infeasible(self) -> int:
        """Trials that could not be measured."""
        return int((~self._is_measured).sum())

    @property
    def has_infeasible_apart(self) -> bool:
        """Whether there are infeasible trials that the labels do not tell of."""
        return self.num_told > self.num_completed

    def feasibility(self) -> "Snapshot":
        """The same trials with another label: 1 where they could be measured, -1 where they could not."""
        other = copy.copy(self)
        other.labels = np.where(np.arange(self.num_told) < self.num_completed, 1.0, -1.0)[:, None]
        other.is_feasible = np.ones(self.num_told, dtype=bool)
        return other

    @property
    def max_categories(self) -> int:
        """Largest number of categories, rounded up to a power of two so that spaces share programs."""
        largest = max((len(p.values) for p in self.encoder.categoricals.values()), default=0)
        return 1 << (largest - 1).bit_length() if largest else 0

    @property
    def unfitted(self) -> Hyperparameters:
        """Hyperparameters that only have the right shapes."""
        num_own = self.preset.settings.model.num_own(len(self.problem.metrics))
        sets = () if num_own is None else (num_own,)
        counts = len(self.encoder.axes), len(self.encoder.categoricals)
        continuous, categorical = (np.zeros((*sets, count)) for count in counts)
        return Hyperparameters(np.zeros(sets), continuous, categorical, np.zeros(sets))  # pyright: ignore

    def take_seeds(self, count: int) -> list[Suggestion]:
        """Points that need no model, as many as are due among the next `count` (docs/algorithm.md §8).

        The centre comes first, then Halton points: as long as nothing is completed, and for the first few
        trials of a study with several objectives. With `seeds_are_new` none repeats one that was tried, if others
        are found.
        """
        num_seeds = self._num_seeds()
        taken: list[Suggestion] = []
        while len(taken) < count and self._seed_is_due(num_seeds):
            params, method = self._seed()
            self.add(params)
            taken.append(Suggestion(params=params, reason={"method": method, "intent": "explore"}))
        return taken

    def _seed(self) -> tuple[dict[str, Any], str]:
        """The next seed and what it is. Small spaces have few points, and Halton's come back to them."""
        takes_all = not self.preset.seeds_are_new
        if self._is_first_suggestion:
            centre = self.encoder.centre(generator(self.seed, self.number))
            if takes_all or not self._was_tried(centre):
                return centre, "centre"
        [own] = halton(self.encoder, self.seed, self.number, 1)
        if takes_all or not self._was_tried(own):
            return own, "quasi_random"
        tried = _rows(self.features)
        if len(tried) == self.encoder.num_points:
            return own, "quasi_random"
        others = halton(self.encoder, self.seed, self.number + 1, SEEDS_LOOKED_AT)
        rows = _rows(self.encoder.encode(others))
        return next((others[i] for row, i in rows.items() if row not in tried), own), "quasi_random"

    def new_point(self, params: dict[str, Any]) -> dict[str, Any]:
        """What is suggested where the search has come to these parameters: mostly they themselves.

        In a finite space the search keeps away from tried points, but the box may hold no other, and fine whole numbers
        are one to it. Then the nearest neighbour that is new takes the place of a tried point, if there is one.
        """
        is_exact = isinstance(self.preset.settings.search, AscentSettings)
        if not is_exact or not self.encoder.is_finite or not self._was_tried(params):
            return params
        tried, encode = _rows(self.features).keys(), self.encoder.encode
        others = self.encoder.neighbours(params)
        return next((other for other in others if tried.isdisjoint(_rows(encode([other])))), params)

    def _was_tried(self, params: Mapping[str, Any]) -> bool:
        row = self.encoder.encode([params])
        return bool(
            np.any(np.all(np.hstack([a == b for a, b in zip(self.features, row, strict=True)]), axis=1))
        )

    def _num_seeds(self) -> int:
        preset = self.preset
        if self.problem.is_multi_objective:
            return preset.num_seeds_multi_objective
        wanted = preset.num_seeds + int(preset.seeds_per_category * len(self.encoder.categoricals))
        return max(preset.num_seeds, min(wanted, MOST_SEEDS))

    def _has_centre(self) -> bool:
        """Whether the user brought the centre along, with whatever categories."""
        if not self.encoder.axes:
            return False
        centre = self.encoder.encode([self.encoder.centre(np.random.default_rng(0))]).continuous
        return bool(np.any(np.all(self.features.continuous == centre, axis=1)))

    def _seed_is_due(self, num_seeds: int) -> bool:
        return not self.num_told or self.number < num_seeds or self.encoder.num_features == 0

    def explores(self) -> bool:
        """Whether the next pick is pure exploration: more often without new data than with it."""
        preset = self.preset
        probability = preset.overwrite_probability if self._has_new_data else preset.waiting_probability
        return bool(generator(self.seed, self.number).random() < probability)

    def add(self, params: dict[str, Any]) -> None:
        """Count a new suggestion as visited; the next one has another number and no new data."""
        row = self.encoder.encode([params])
        self.features = Features(*(np.concatenate(pair) for pair in zip(self.features, row, strict=True)))
        self._is_suggested = np.append(self._is_suggested, True)
        self.is_pending = np.append(self.is_pending, True)
        self.number += 1
        self._is_first_suggestion = False
        self._has_new_data = False

    def learn(self, values: Sequence[Mapping[str, float] | None]) -> None:
        """Give all visited trials their outcomes, in order; None for an infeasible one.

        So a study goes on as if it had been read again with its new trials, but for `told`.
        """
        num_told = self.num_told
        if len(values) != self.num_rows - num_told:
            raise ValueError(
                f"{self.num_rows - num_told} visited trials need as many outcomes, got {len(values)}"
            )
        labels = encode_labels(values, self.problem.metric_names, self.signs.tolist())
        rows = np.concatenate([np.argsort(self._order), np.arange(num_told, self.num_rows)])
        self._num_known = np.concatenate([self._num_known, np.full(len(values), num_told)])
        self._told_labels = np.concatenate([self._told_labels, labels])
        self._is_measured = np.concatenate([self._is_measured, [value is not None for value in values]])
        self._arrange(Features(*(v[rows] for v in self.features)))
        self.is_pending = np.zeros(self.num_rows, dtype=bool)
        self._has_new_data = True

    def past(self) -> Past:
        """What only all trials tell."""
        labels = np.where(self._is_measured, self._told_labels[:, 0], -np.inf)
        categories = self.features.categorical[np.argsort(self._order)]
        is_suggested = self._is_suggested[: self.num_told]
        length = box_length(labels, self._num_known, categories, is_suggested, self.encoder.num_features)
        return Past(np.int64(self.num_told), np.float64(length))  # pyright: ignore

    def key(self, purpose: int) -> np.ndarray:
        """Random key that belongs to the next number and a purpose."""
        return np.random.SeedSequence([self.seed, self.number, purpose]).generate_state(2)

    def observations(self, size: int | None = None, rows: np.ndarray | None = None) -> Observations:
        """All rows or those given, ascending, padded to `size` or to the schedule's."""
        rows = np.arange(self.num_rows) if rows is None else rows
        completed = rows[rows < self.num_completed]
        size = size or padded_size(len(rows))
        row: Any = np.arange(size)  # any array will do where the engine takes JAX's

        def pad(values: np.ndarray) -> Any:
            return pad_rows(values, size)

        return Observations(
            features=Features(pad(self.features.continuous[rows]), pad(self.features.categorical[rows])),
            labels=pad(np.where(self.is_feasible[:, None], self.labels, 0.0)[completed]),
            is_completed=row < len(completed),
            is_feasible=pad(self.is_feasible[completed]),
            is_real=row < len(rows),
        )


def _rows(features: Features) -> dict[bytes, int]:
    """The first place of each point among the rows."""
    together = np.hstack([features.continuous, features.categorical])
    return {row.tobytes(): i for i, row in reversed(list(enumerate(together)))}


def _has_event(trial: Trial) -> bool:
    """Whether a store kept it."""
    return bool(trial.created_event or trial.updated_event) or trial.completed_event is not None


def _number(trial: Trial) -> int:
    return trial.number


def _completion(trial: Trial) -> int:
    return -1 if trial.completed_event is None else trial.completed_event


def _num_known(completed: Sequence[Trial]) -> np.ndarray:
    """How many of the results, in their order, were there when each trial was handed out."""
    results = [_completion(t) for t in completed]
    known = np.searchsorted(results, [_handed_out(t) for t in completed], side="left")
    return np.minimum(known, np.arange(len(results)))  # trials without events came one after another


def _handed_out(trial: Trial) -> int:
    return trial.created_event if trial.asked_event is None else trial.asked_event
