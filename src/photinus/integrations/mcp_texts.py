"""What the tools for agents answer, in plain text: for models that read no data, and for people who watch."""

from collections.abc import Mapping
from typing import Any

from photinus.integrations.mcp_answers import (
    AdviceAnswer,
    PredictionsAnswer,
    StudiesAnswer,
    StudyAnswer,
    TrialAnswer,
    TrialsAnswer,
)
from photinus.problem import Problem
from photinus.texts import value_to_text

MAX_MESSAGE = 300  # characters
STOPPED = "; stopped: ask the user before you go on"


def trial_text(trial: TrialAnswer) -> str:
    """A trial in a line, and why it was chosen in another."""
    lines = [f"{outcome_text(trial)}; at {_pairs(trial.params)}"]
    return "\n".join([*lines, f"  why: {trial.why}"] if trial.why else lines)


def outcome_text(trial: TrialAnswer) -> str:
    """Where a trial stands."""
    outcome = f": {_pairs(trial.values)}" if trial.values is not None else ""
    outcome += f": {trial.message[:MAX_MESSAGE]}" if trial.message else ""
    return f"trial {trial.number} is {trial.state}{outcome}"


def trials_text(answer: TrialsAnswer) -> str:
    """Trials, one below the other."""
    lines = [trial_text(trial) for trial in answer.trials] or ["no trials"]
    return "\n".join([*lines, f"and {answer.num_left_out} more"] if answer.num_left_out else lines)


def studies_text(answer: StudiesAnswer) -> str:
    """Studies, a line each."""
    lines = [
        f"{study.name}: {', '.join(f'{goal} {name}' for name, goal in study.objectives.items())}; "
        f"{study.num_finished} of {study.num_trials} trials finished, {study.num_running} running"
        f"{STOPPED if study.is_stopped else ''}"
        for study in answer.studies
    ]
    lines += [f"and {answer.num_left_out} older ones"] if answer.num_left_out else []
    return "\n".join(lines or [f"no such studies in project {answer.project}: create_study makes one"])


def study_text(answer: StudyAnswer, problem: Problem) -> str:
    """A study in a few lines."""
    states = ", ".join(f"{count} {state}" for state, count in answer.states.items())
    goals = ", ".join(f"{metric.goal} {metric.name}" for metric in answer.objectives)
    lines = [
        f"study {answer.name}: {goals}; algorithm {answer.algorithm}, seed {answer.seed}",
        f"trials: {states or 'none yet'}{STOPPED if answer.is_stopped else ''}",
        *(f"parameter {name}: {parameter!r}" for name, parameter in problem.space.parameters.items()),
        *(f"best: {trial_text(trial)}" for trial in answer.best_trials),
        *(f"open: {trial_text(trial)}" for trial in answer.open_trials),
    ]
    return "\n".join(lines)


def predictions_text(answer: PredictionsAnswer) -> str:
    """Predictions, a line for each point."""
    return "\n".join(
        f"point {index}: {', '.join(_quantiles(name, q) for name, q in row.items())}"
        for index, row in enumerate(answer.predictions)
    )


def advice_text(answer: AdviceAnswer) -> str:
    """Advice in a few lines."""
    lines = [f"{answer.verdict}: {answer.because}", *(f"warning: {text}" for text in answer.warnings)]
    lines += [
        f"{outlook.objective}: best {outlook.best_value:.6g} in trial {outlook.best_trial}, "
        f"{outlook.num_since_best} completed since; one more trial gains {outlook.expected_gain:.3g} on average "
        f"(chance {outlook.chance_of_gain:.0%}), at {_pairs(outlook.promising_params)}"
        for outlook in answer.objectives
    ]
    return "\n".join(lines)


def _quantiles(name: str, q: Mapping[str, float | None]) -> str:
    low, median, high = q["q05"], q["q50"], q["q95"]
    if low is None or median is None or high is None:
        return f"{name} unknown"
    return f"{name} {median:.6g} ({low:.6g} to {high:.6g})"


def _pairs(content: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value_to_text(value)}" for name, value in content.items())
