"""Which studies from elsewhere a store takes: those that it could go on with."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from photinus.errors import ArgumentError
from photinus.record import StudyRecord
from photinus.trial import Trial

LARGEST_COUNT = 2**62  # ours: of what goes on being counted, half of what databases can hold


def check_history(record: StudyRecord, trials: Sequence[Trial]) -> None:
    """Refuse trials that cannot be all the trials of one study."""
    numbers = [trial.number for trial in trials]
    events = {trial.updated_event for trial in trials}
    if numbers != list(range(len(trials))) or len(events) < len(trials) or min(events, default=1) < 1:
        raise ArgumentError(
            "the trials of a study must be numbered from 0 without gaps, in order, each last changed by an event "
            f"of its own >= 1, got numbers {numbers[:10]} and events {sorted(events)[:10]} at the beginning"
        )
    _check_times("the study", [record.created_at])
    for trial in trials:
        _check_trial(record, trial)


def _check_trial(record: StudyRecord, trial: Trial) -> None:
    whose = f"trial {trial.number}"
    counts = [trial.updated_event, trial.attempts, *(amendment.event for amendment in trial.amendments)]
    if max(counts) > LARGEST_COUNT:
        raise ArgumentError(
            f"events and attempts must be at most {LARGEST_COUNT}, got {max(counts)} for {whose}"
        )
    steps = [report.step for report in trial.reports]
    if len(set(steps)) < len(steps):
        raise ArgumentError(f"reports of a trial must have distinct steps, got {steps[:10]} for {whose}")
    names = {name for values in _all_values(trial) for name in values}
    if unknown := names - set(record.problem.metric_names):
        raise ArgumentError(
            f"reports and amendments must be of {', '.join(map(repr, record.problem.metric_names))}, "
            f"got {', '.join(map(repr, sorted(unknown)))} for {whose}"
        )
    parts = [*trial.reports, *trial.amendments]
    moments = [trial.created_at, trial.started_at, trial.completed_at, *(part.at for part in parts)]
    _check_times(whose, [moment for moment in moments if moment is not None])


def _all_values(trial: Trial) -> Iterator[dict[str, float]]:
    for report in trial.reports:
        yield report.values
    for amendment in trial.amendments:
        yield amendment.old_values
        yield amendment.new_values


def _check_times(whose: str, moments: Sequence[datetime]) -> None:
    for moment in moments:
        try:
            moment.astimezone(UTC)
        except OverflowError:  # at the end of the calendar, in a time zone that goes beyond it
            raise ArgumentError(
                f"times must be between the years 1 and 9999 in UTC, got {moment} for {whose}"
            ) from None
