"""What the tools for agents answer, as data with a schema; `mcp_texts` has the same in a few lines of plain text."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from photinus.best import best_trials
from photinus.integrations.packages import MCP
from photinus.reasons import expectations, why
from photinus.record import StudyProgress, StudyRecord, StudyState
from photinus.report import Advice, Outlook
from photinus.texts import plain_json
from photinus.trial import Trial, TrialState

with MCP:
    from pydantic import BaseModel, Field

    from photinus.wire import MetricBody, State
    from photinus.wire.fields import Value

# What an agent can act on. The rest of a reason (hyperparameters, counts of the search) is for people who study it.
REASON_KEYS = ("method", "intent", "predicted", "nearest", "trust_region")
MAX_BEST = 10  # trials of a Pareto set in a summary
MAX_OPEN = 20  # unfinished trials in a summary


class TrialAnswer(BaseModel):
    """One trial."""

    number: int = Field(description="its number in the study; give it to `tell`")
    state: State
    params: dict[str, Value] = Field(description="the point to measure, by parameter")
    values: dict[str, float] | None = Field(description="measured values by objective; null without them")
    message: str | None = Field(description="why it is infeasible or failed")
    worker: str | None = Field(description="who asked for it; null: nobody gave a name")
    reason: dict[str, Any] | None = Field(description="why it was suggested, as data")
    why: str = Field(description="why it was suggested, in words; empty for points that a user chose")


class TrialsAnswer(BaseModel):
    """Several trials."""

    study: str
    trials: list[TrialAnswer]
    num_left_out: int = Field(0, description="trials that would belong here, too, but were not listed")


class StudyLine(BaseModel):
    """A study in a list."""

    name: str
    objectives: dict[str, str] = Field(description="minimize or maximize, by objective")
    algorithm: str
    num_trials: int
    num_finished: int
    num_running: int
    is_stopped: bool = Field(description="somebody wants no more trials")


class StudiesAnswer(BaseModel):
    """Studies of the project."""

    project: str
    studies: list[StudyLine]
    num_left_out: int = Field(0, description="older studies that were not listed")


class StudyAnswer(BaseModel):
    """A study: its definition and how far it is."""

    name: str
    project: str
    algorithm: str
    seed: int
    is_stopped: bool = Field(description="somebody wants no more trials")
    parameters: list[dict[str, Any]] = Field(description="the search space, in the form of `create_study`")
    objectives: list[MetricBody]
    states: dict[str, int] = Field(description="how many trials are in which state")
    best_trials: list[TrialAnswer] = Field(description="the best trial, or the Pareto set; at most ten")
    open_trials: list[TrialAnswer] = Field(description="handed out or queued, and without an outcome")
    metadata: dict[str, str]


class PredictionsAnswer(BaseModel):
    """What the model expects at points."""

    predictions: list[dict[str, dict[str, float | None]]] = Field(
        description="for each point and objective the quantiles q05, q50 and q95 of a measurement; null: not known"
    )


class OutlookAnswer(BaseModel):
    """What one more trial promises for one objective."""

    objective: str
    goal: Literal["minimize", "maximize"]
    best_value: float
    best_trial: int
    num_since_best: int = Field(description="completed trials after the best one")
    expected_gain: float = Field(description="of one more trial, in the objective's units")
    chance_of_gain: float
    promising_params: dict[str, Value] = Field(description="where that gain is expected")
    likely_best: dict[str, float | None] = Field(description="quantiles of a measurement at `likely_params`")
    likely_params: dict[str, Value] = Field(description="where the best value probably is")
    noise: float | None = Field(description="standard deviation of repeated measurements near the best")
    is_worthwhile: bool


class AdviceAnswer(BaseModel):
    """Whether to go on."""

    verdict: Literal["too_early", "go_on", "little_to_gain"]
    because: str
    warnings: list[str]
    objectives: list[OutlookAnswer]
    num_completed: int
    num_running: int


def trial_answer(trial: Trial) -> TrialAnswer:
    """A trial for an agent."""
    reason = trial.reason
    return TrialAnswer(
        number=trial.number,
        state=trial.state.value,
        params=trial.params,
        values=trial.values,
        message=trial.message,
        worker=trial.worker,
        reason=plain_json({key: reason[key] for key in REASON_KEYS if key in reason}) if reason else None,
        why="; ".join([*why(reason), *expectations(reason)]),
    )


def trials_answer(study: str, trials: Iterable[Trial], num_left_out: int = 0) -> TrialsAnswer:
    """Trials for an agent."""
    return TrialsAnswer(study=study, trials=[trial_answer(t) for t in trials], num_left_out=num_left_out)


def studies_answer(
    project: str, progress: Iterable[StudyProgress], *, containing: str = "", limit: int | None = None
) -> StudiesAnswer:
    """Studies, oldest first: the latest ones whose name contains a text."""
    found = [entry for entry in progress if containing.casefold() in entry.record.name.casefold()]
    shown = found if limit is None else found[-limit:]
    return StudiesAnswer(
        project=project,
        num_left_out=len(found) - len(shown),
        studies=[
            StudyLine(
                name=entry.record.name,
                objectives={metric.name: metric.goal.value for metric in entry.record.problem.metrics},
                algorithm=entry.record.algorithm,
                num_trials=sum(entry.counts.values()),
                num_finished=sum(count for state, count in entry.counts.items() if state.is_finished),
                num_running=sum(count for state, count in entry.counts.items() if state.is_running),
                is_stopped=entry.record.state == StudyState.STOPPED,
            )
            for entry in shown
        ],
    )


def study_answer(record: StudyRecord, trials: Sequence[Trial]) -> StudyAnswer:
    """A study and how far it is."""
    problem = record.problem
    counts = {state.value: sum(trial.state == state for trial in trials) for state in TrialState}
    unfinished = [trial for trial in trials if not trial.state.is_finished]
    return StudyAnswer(
        name=record.name,
        project=record.project,
        algorithm=record.algorithm,
        seed=record.seed,
        is_stopped=record.state == StudyState.STOPPED,
        parameters=problem.space.to_dict()["parameters"],
        objectives=[MetricBody(name=metric.name, goal=metric.goal.value) for metric in problem.metrics],
        states={state: count for state, count in counts.items() if count},
        best_trials=[trial_answer(trial) for trial in best_trials(problem, trials)[:MAX_BEST]],
        open_trials=[trial_answer(trial) for trial in unfinished[:MAX_OPEN]],
        metadata=dict(record.metadata),
    )


def advice_answer(advice: Advice) -> AdviceAnswer:
    """Advice as data."""
    return AdviceAnswer(
        verdict=advice.verdict.value,
        because=advice.because,
        warnings=advice.warnings,
        objectives=[_outlook_answer(outlook) for outlook in advice.outlooks],
        num_completed=advice.num_completed,
        num_running=advice.num_running,
    )


def _outlook_answer(outlook: Outlook) -> OutlookAnswer:
    prospect = outlook.prospect
    return OutlookAnswer(
        objective=prospect.metric.name,
        goal=prospect.metric.goal.value,
        best_value=prospect.best_value,
        best_trial=outlook.best_number,
        num_since_best=outlook.num_since_best,
        expected_gain=prospect.expected_gain,
        chance_of_gain=prospect.chance,
        promising_params=prospect.promising_params,
        likely_best={name: _known(value) for name, value in prospect.likely.items()},
        likely_params=prospect.likely_params,
        noise=_known(prospect.noise["best"]),
        is_worthwhile=outlook.is_worthwhile,
    )


def _known(value: float) -> float | None:
    return None if value != value else value
