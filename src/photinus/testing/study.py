"""What a `Study` must do on every back end, as tests: subclass `StudyContract` and give it a `make_study` fixture."""

import pickle
import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from photinus.errors import (
    AlreadyTold,
    ArgumentError,
    DuplicateStudy,
    InvalidState,
    NoCompletedTrial,
    ParameterError,
    ProblemError,
    StudyMismatch,
    UnknownTrial,
    ValuesError,
)
from photinus.problem import Problem
from photinus.record import StudyState
from photinus.space import Categorical, Discrete, Float, Int
from photinus.study import Study
from photinus.testing.storage import run_threads
from photinus.trial import Measurement, TrialState

SPACE = {
    "lr": Float(1e-5, 1e-1, scale="log"),
    "layers": Int(1, 8),
    "batch": Discrete([16, 32, 64]),
    "optimizer": Categorical(["adam", "sgd"]),
}
POINT = {"lr": 1e-3, "layers": 2, "batch": 32, "optimizer": "sgd"}

MakeStudy = Callable[..., Study]  # (problem, **settings of Study.create) -> Study


def problem(objectives: str | Mapping[str, str] = "minimize") -> Problem:
    """The contract's search space with these objectives."""
    return Problem.define(SPACE, objectives)


class StudyContract:
    """Tests for a `Study` on any back end; the algorithm is "random", so that they are quick."""

    @pytest.fixture
    def make_study(self) -> MakeStudy:
        """How to make a study; studies of one test share a back end."""
        raise NotImplementedError("a contract needs the fixture `make_study`")

    @pytest.fixture
    def study(self, make_study: MakeStudy) -> Study:
        """An empty study with one objective, "value", to be minimised."""
        return make_study(problem(), name="contract", seed=1, algorithm="random")

    @pytest.fixture
    def two_goals(self, make_study: MakeStudy) -> Study:
        """An empty study with two objectives."""
        goals = {"loss": "minimize", "accuracy": "maximize"}
        return make_study(problem(goals), name="two goals", seed=1, algorithm="random")

    # Creation.

    def test_a_study_says_what_it_is(self, study: Study) -> None:
        """In attributes and in its repr."""
        assert (study.name, study.project, study.algorithm, study.seed) == (
            "contract",
            "default",
            "random",
            1,
        )
        assert study.problem == problem()
        assert study.state == StudyState.ACTIVE
        assert study.metadata == {}
        assert len(study) == 0
        assert study.trials == []
        for part in ("contract", "lr", "minimize", "random", "trials=0"):
            assert part in repr(study)

    def test_names_and_seeds_are_drawn_when_left_out(self, make_study: MakeStudy) -> None:
        """Different ones each time."""
        first, second = make_study(problem()), make_study(problem())
        assert first.name != second.name
        assert first.seed != second.seed

    def test_a_stored_study_goes_on(self, study: Study, make_study: MakeStudy) -> None:
        """With the same definition only."""
        study.add_trial(POINT, 1.0)
        again = make_study(problem(), name="contract", algorithm="random", load_if_exists=True)
        assert again.best_trial.values == {"value": 1.0}
        assert again.seed == 1
        with pytest.raises(DuplicateStudy, match="load_if_exists"):
            make_study(problem(), name="contract", algorithm="random")
        with pytest.raises(StudyMismatch, match="minimize, now maximize"):
            make_study(problem("maximize"), name="contract", algorithm="random", load_if_exists=True)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"algorithm": "magic"}, "`algorithm` must be one of default, paper, quasi_random, random"),
            ({"load_if_exists": True}, "needs the `name`"),
            ({"name": ""}, "`name` must be a non-empty string"),
            ({"project": 3}, "`project` must be a non-empty string"),
            ({"seed": -1}, "`seed` must be an integer between 0 and 4294967295"),
            ({"seed": True}, "`seed` must be an integer"),
            ({"seed": 2**32}, "`seed` must be an integer"),
        ],
    )
    def test_bad_settings_are_refused(
        self, make_study: MakeStudy, settings: dict[str, Any], message: str
    ) -> None:
        """With what is right instead."""
        with pytest.raises(ArgumentError, match=message):
            make_study(problem(), **settings)

    # Asking.

    def test_asking_gives_valid_trials(self, study: Study) -> None:
        """As many as asked for, stored, and with who suggested them."""
        trials = study.ask(5)
        assert [trial.number for trial in trials] == [0, 1, 2, 3, 4]
        for trial in trials:
            assert trial.state == TrialState.ACTIVE
            assert trial.params == study.problem.space.validate(trial.params)
            assert list(trial.params) == list(SPACE)
            assert trial.values is None
            assert trial.algorithm == "random"
            assert trial.engine_version
            assert trial.lease_expires_at is None
        assert study.trials == trials

    def test_the_seed_decides(self, make_study: MakeStudy) -> None:
        """The same one gives the same points, another one others."""
        points = [
            [trial.params for trial in make_study(problem(), seed=seed, algorithm="random").ask(3)]
            for seed in (1, 1, 2)
        ]
        assert points[0] == points[1] != points[2]

    def test_anonymous_asks_never_share(self, study: Study) -> None:
        """Each gets trials of its own."""
        assert study.ask()[0].number != study.ask()[0].number

    def test_a_named_worker_goes_on_where_it_was(self, study: Study) -> None:
        """It gets its unfinished trials first, topped up with new ones."""
        first, second = study.ask(2, worker="w")
        study.tell(first, 1.0)
        study.ask(worker="other")
        again = study.ask(2, worker="w")
        assert [trial.number for trial in again] == [second.number, 3]
        assert again[0].params == second.params

    def test_leases(self, study: Study) -> None:
        """A trial whose lease ran out goes to the next one who asks, under its number."""
        [trial] = study.ask(lease=0.05, worker="slow")
        assert trial.lease_expires_at is not None
        time.sleep(0.06)
        [again] = study.ask(worker="fast")
        assert (again.number, again.params, again.attempts) == (trial.number, trial.params, 2)
        assert study.tell(trial, 1.0).worker == "slow"
        with pytest.raises(AlreadyTold, match="trial 0 is completed already"):
            study.tell(again, 2.0)

    def test_a_lease_is_extended_and_a_trial_handed_back(self, study: Study) -> None:
        """By those who hold them."""
        [trial] = study.ask(lease=0.05)
        study.extend_lease(trial, 100)
        time.sleep(0.06)
        assert study.ask()[0].number == 1
        assert study.release(trial).state == TrialState.EXPIRED
        assert study.ask()[0].number == 0
        with pytest.raises(ArgumentError, match="`lease` must be a number of seconds > 0"):
            study.extend_lease(trial, 0)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"n": 0}, "`n` must be an integer >= 1"),
            ({"n": 1.5}, "`n` must be an integer >= 1"),
            ({"worker": ""}, "`worker` must be a non-empty string"),
            ({"worker": 7}, "`worker` must be a non-empty string"),
            ({"lease": -1}, "`lease` must be a number of seconds > 0"),
            ({"lease": float("inf")}, "`lease` must be a number of seconds > 0"),
            ({"lease": True}, "`lease` must be a number of seconds > 0"),
        ],
    )
    def test_bad_asks_are_refused(self, study: Study, arguments: dict[str, Any], message: str) -> None:
        """And leave no trial behind."""
        with pytest.raises(ArgumentError, match=message):
            study.ask(**arguments)
        assert len(study) == 0

    # Telling.

    def test_telling_a_value(self, study: Study) -> None:
        """A number, or a dict; by trial or by number."""
        first, second, third = study.ask(3)
        assert study.tell(first, 3).values == {"value": 3.0}
        assert study.tell(second.number, {"value": 2.0}).state == TrialState.COMPLETED
        told = study.tell(third, infeasible="diverged")
        assert (told.state, told.message, told.values) == (TrialState.INFEASIBLE, "diverged", None)
        assert [trial.values for trial in study.trials] == [{"value": 3.0}, {"value": 2.0}, None]

    def test_telling_twice(self, study: Study) -> None:
        """The same is fine, another outcome is not."""
        [trial] = study.ask()
        told = study.tell(trial, failed="worker lost")
        assert study.tell(trial, failed="worker lost") == told
        with pytest.raises(AlreadyTold, match="first outcome counts"):
            study.tell(trial, 1.0)
        assert study.trials == [told]

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            (float("nan"), "must be finite, got nan: tell infeasible="),
            (float("-inf"), "must be finite, got -inf"),
            (10**400, "must be finite, got inf"),
            ({"value": float("nan")}, "must be finite"),
            (True, "must be a number, got True"),
            ("1.0", "must be a number, got '1.0'"),
            ([1.0], "must be a number"),
            ({}, "exactly 'value', got none"),
            ({"loss": 1.0}, "exactly 'value', got 'loss'"),
            ({"value": 1.0, "loss": 1.0}, "exactly 'value', got 'value', 'loss'"),
        ],
    )
    def test_bad_values_are_refused(self, study: Study, values: Any, message: str) -> None:
        """And nothing changes."""
        [trial] = study.ask()
        for call in (study.tell, study.amend):
            with pytest.raises(ValuesError, match=message):
                call(trial, values)
        with pytest.raises(ValuesError, match=message):
            study.add_trial(POINT, values)
        assert study.trials == [trial]

    def test_several_objectives_need_all_values_by_name(self, two_goals: Study) -> None:
        """A bare number is ambiguous."""
        [trial] = two_goals.ask()
        with pytest.raises(ValuesError, match="must be a dict with 'loss', 'accuracy', got 1"):
            two_goals.tell(trial, 1)
        with pytest.raises(ValuesError, match="exactly 'loss', 'accuracy', got 'loss'"):
            two_goals.tell(trial, {"loss": 1.0})
        told = two_goals.tell(trial, {"accuracy": 0.5, "loss": 1.0})
        assert told.values == {"loss": 1.0, "accuracy": 0.5}

    @pytest.mark.parametrize(
        ("outcome", "message"),
        [
            ({}, "exactly one of values, infeasible= and failed="),
            ({"values": 1.0, "failed": "x"}, "exactly one of values, infeasible= and failed="),
            ({"infeasible": "x", "failed": "x"}, "exactly one of values, infeasible= and failed="),
            ({"infeasible": True}, "`infeasible` must be a non-empty string"),
            ({"failed": ""}, "`failed` must be a non-empty string"),
            ({"values": 1.0, "worker": ""}, "`worker` must be a non-empty string"),
        ],
    )
    def test_one_outcome_must_be_told(self, study: Study, outcome: dict[str, Any], message: str) -> None:
        """Not none, not two."""
        [trial] = study.ask()
        with pytest.raises(ArgumentError, match=message):
            study.tell(trial, **outcome)
        assert study.trials == [trial]

    def test_several_results_count_together_or_not_at_all(self, study: Study) -> None:
        """In one step, by trial or number; the same again changes nothing."""
        first, second, third, fourth = study.ask(4)
        results = [(first, 1.0), (third.number, Measurement.infeasible("hot")), (second, {"value": 2.0})]
        told = study.tell_all(results)
        assert [trial.number for trial in told] == [0, 2, 1]
        assert [trial.state.value for trial in study.trials] == [
            *("completed", "completed", "infeasible", "active")
        ]
        assert study.tell_all(results) == told
        assert study.tell_all([]) == []
        before = study.trials
        with pytest.raises(AlreadyTold, match="trial 0 is completed already"):
            study.tell_all([(fourth, 1.0), (first, 9.0)])
        with pytest.raises(UnknownTrial):
            study.tell_all([(fourth, 1.0), (99, 1.0)])
        with pytest.raises(ValuesError, match="must be finite"):
            study.tell_all([(fourth, 1.0), (fourth, float("nan"))])
        assert study.trials == before

    def test_only_trials_of_the_study_can_be_told(self, study: Study, two_goals: Study) -> None:
        """Unknown numbers, other things and other studies' trials are refused."""
        [foreign] = two_goals.ask()
        study.ask()
        with pytest.raises(ArgumentError, match="belongs to study 'two goals', not to 'contract'"):
            study.tell(foreign, 1.0)
        with pytest.raises(UnknownTrial, match="has 1 trials"):
            study.tell(7, 1.0)
        for thing in ("0", True, None, -1):
            with pytest.raises(ArgumentError, match="`trial` must be an integer >= 0"):
                study.tell(thing, 1.0)  # pyright: ignore[reportArgumentType]
        assert study.trials[0].state == TrialState.ACTIVE

    # Points of the user.

    def test_enqueued_points_come_next(self, study: Study) -> None:
        """In order; what is enqueued cannot be told before it is asked for."""
        study.enqueue(POINT)
        study.enqueue({**POINT, "layers": 3}, metadata={"by": "hand"})
        with pytest.raises(InvalidState, match="queued"):
            study.tell(0, 1.0)
        trials = study.ask(3)
        assert [trial.params["layers"] for trial in trials[:2]] == [2, 3]
        assert trials[0].params == POINT
        assert trials[0].algorithm is None
        assert trials[1].metadata == {"by": "hand"}
        assert trials[2].algorithm == "random"

    def test_points_measured_elsewhere_count(self, study: Study) -> None:
        """With values or without."""
        study.add_trial(POINT, 1.5)
        study.add_trial(POINT, infeasible="exploded", metadata={"by": "hand"})
        study.add_trial(POINT, failed="lost")
        assert [trial.state.value for trial in study.trials] == ["completed", "infeasible", "failed"]
        assert study.best_trial.number == 0
        assert study.trials[1].metadata == {"by": "hand"}

    def test_several_points_are_added_together_or_not_at_all(self, study: Study) -> None:
        """Measured or not, under numbers in their order."""
        added = study.add_trials(
            [
                {"params": POINT},
                {"params": POINT, "values": 1.5, "metadata": {"by": "hand"}},
                {"params": POINT, "infeasible": "hot"},
                {"params": POINT, "failed": "lost"},
            ]
        )
        assert [trial.number for trial in added] == [0, 1, 2, 3]
        assert [trial.state.value for trial in added] == ["queued", "completed", "infeasible", "failed"]
        assert (added[1].metadata, added[2].message) == ({"by": "hand"}, "hot")
        assert study.trials == added
        assert study.add_trials([]) == []
        with pytest.raises(ParameterError, match="'lr' must be a number"):
            study.add_trials([{"params": POINT}, {"params": {**POINT, "lr": 7}}])
        assert len(study) == 4

    def test_numbers_are_kept_bit_for_bit(self, study: Study) -> None:
        """Those that few digits do not tell apart, too."""
        values = [0.1 + 0.2, 5e-324, -1.7976931348623157e308, 1 / 3, 1e16 + 2]
        for value in values:
            study.add_trial({**POINT, "lr": 1 / 300}, value)
        assert [trial.values for trial in study.trials] == [{"value": value} for value in values]
        assert {trial.params["lr"] for trial in study.trials} == {1 / 300}
        [trial] = study.ask()
        for step, value in enumerate((float("nan"), float("inf"), float("-inf"), 0.1 + 0.2)):
            trial.report(value, step)
        reported = [report.values["value"] for report in study.trials[-1].reports]
        assert repr(reported) == "[nan, inf, -inf, 0.30000000000000004]"

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"lr": 1.0}, "parameter 'lr' must be a number with 1e-05 <= value <= 0.1, got 1.0"),
            ({"layers": 2.5}, "parameter 'layers' must be a whole number"),
            ({"batch": 48}, "one of 16, 32, 64, got 48; the nearest is 32"),
            ({"optimizer": "adamm"}, "did you mean 'adam'"),
            ({"layer": 2}, "unknown parameter 'layer'.*did you mean 'layers'"),
        ],
    )
    def test_bad_points_are_refused(self, study: Study, change: dict[str, Any], message: str) -> None:
        """With the parameter, the value and what would fit."""
        with pytest.raises(ParameterError, match=message):
            study.enqueue({**POINT, **change})
        with pytest.raises(ParameterError, match=message):
            study.add_trial({**POINT, **change}, 1.0)
        with pytest.raises(ParameterError, match=message):
            study.predict([{**POINT, **change}])
        with pytest.raises(ParameterError, match="missing 'layers', 'optimizer'"):
            study.enqueue({"lr": 1e-3, "batch": 16})
        assert len(study) == 0

    def test_amending(self, study: Study) -> None:
        """Changes the best trial, and is on record."""
        study.add_trial(POINT, 1.0)
        study.add_trial(POINT, 2.0)
        amended = study.amend(0, 3.0)
        assert amended.amendments[0].old_values == {"value": 1.0}
        assert study.amend(0, 3.0) == amended  # the same again is no other correction
        assert study.best_trial.number == 1
        [trial] = study.ask()
        with pytest.raises(InvalidState, match="only completed trials can be amended"):
            study.amend(trial, 1.0)

    # Reports.

    def test_reports_reach_the_study(self, study: Study) -> None:
        """While the trial runs."""
        [trial] = study.ask()
        trial.report(3.0, 0)
        trial.report(float("nan"), step=1)
        reports = study.trials[0].reports
        assert [report.step for report in reports] == [0, 1]
        assert reports[0].values == {"value": 3.0}
        with pytest.raises(ArgumentError, match=r"`step` must be an integer between 0 and .*, got -1"):
            trial.report(1.0, -1)
        with pytest.raises(ValuesError, match="must be a number, got 'x'"):
            trial.report("x", 2)  # pyright: ignore[reportArgumentType]
        study.tell(trial, 1.0)
        with pytest.raises(AlreadyTold, match="until they are told"):
            trial.report(1.0, 2)

    def test_a_trial_that_was_elsewhere_brings_its_reports(self, study: Study) -> None:
        """It can be pickled, and `tell` delivers what it kept."""
        travelled = pickle.loads(pickle.dumps(study.ask()[0]))
        assert travelled == study.trials[0]
        travelled.report(3.0, 0)
        assert study.trials[0].reports == ()
        told = study.tell(pickle.loads(pickle.dumps(travelled)), 1.0)
        assert [(report.step, report.values) for report in told.reports] == [(0, {"value": 3.0})]

    # What came of it.

    def test_the_best_trial(self, make_study: MakeStudy) -> None:
        """Of completed ones, in the objective's direction, the first among equals."""
        for goal, best in (("minimize", 1), ("maximize", 3)):
            study = make_study(problem(goal), algorithm="random")
            with pytest.raises(NoCompletedTrial, match="no completed trial among its 0"):
                _ = study.best_trial
            assert study.best_trials == []
            study.add_trial(POINT, infeasible="no")
            for value in (1.0, 1.0, 5.0, 5.0):
                study.add_trial(POINT, value)
            study.ask()
            assert study.best_trial.number == best
            assert study.best_trials == [study.best_trial]

    def test_the_pareto_set(self, two_goals: Study) -> None:
        """Trials that no other one beats; there is no single best trial."""
        values = [(3.0, 0.9), (1.0, 0.5), (2.0, 0.4), (2.0, 0.7), (3.0, 0.9), (4.0, 0.9)]
        for loss, accuracy in values:
            two_goals.add_trial(POINT, {"loss": loss, "accuracy": accuracy})
        two_goals.add_trial(POINT, infeasible="no")
        assert [trial.number for trial in two_goals.best_trials] == [0, 1, 3, 4]
        with pytest.raises(ProblemError, match="the study has 2: use best_trials"):
            _ = two_goals.best_trial

    def test_trials_are_the_holders_own(self, study: Study) -> None:
        """An objective may take its parameters apart without harm."""
        [trial] = study.ask()
        params = dict(trial.params)
        trial.params.clear()
        study.trials[0].params["lr"] = 7.0
        told = study.tell(trial, {"value": 1.0})
        assert told.values is not None
        told.values["value"] = 9.0
        assert study.trials[0].params == params
        assert study.best_trial.values == {"value": 1.0}

    # Loops.

    def test_optimize_counts_new_trials_or_all(self, study: Study) -> None:
        """`n_trials` the new ones, `until` the old ones too."""
        study.add_trial(POINT, 1.0)
        study.optimize(lambda trial: trial.params["lr"], 3)
        assert len(study) == 4
        study.optimize(lambda trial: trial.params["lr"], until=6)
        assert len(study) == 6
        study.optimize(lambda trial: trial.params["lr"], until=6)
        assert len(study) == 6
        assert study.trials[-1].values == {"value": study.trials[-1].params["lr"]}

    def test_stopping_ends_optimize(self, study: Study) -> None:
        """The next one starts anew."""

        def stop_at_two(study: Study, trial: object) -> None:
            if len(study) == 2:
                study.stop()

        study.optimize(lambda trial: 1.0, 10, callbacks=[stop_at_two])
        assert len(study) == 2
        assert study.state == StudyState.STOPPED
        study.optimize(lambda trial: 1.0, 1)
        assert len(study) == 3
        assert study.state == StudyState.ACTIVE

    def test_threads_may_share_a_study(self, study: Study) -> None:
        """Every trial is given to one thread, every result arrives, numbers have no gaps."""
        seen: list[int] = []

        def work() -> None:
            for _ in range(10):
                [trial] = study.ask()
                seen.append(trial.number)
                study.tell(trial, float(trial.number))

        run_threads(work, 6)
        assert sorted(seen) == list(range(60))
        assert [trial.values for trial in study.trials] == [{"value": float(n)} for n in range(60)]
