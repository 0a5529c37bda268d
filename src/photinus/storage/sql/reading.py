"""Trials out of the tables, with their reports and amendments."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, Table, bindparam, or_, select, text, union_all

from photinus.storage.sql.models import UNFINISHED, amendments, listed, reports, trials
from photinus.storage.sql.rows import TRIAL_COLUMNS, amendment_from_row, report_from_row, trial_from_row
from photinus.trial import Amendment, Report, Trial, TrialState

LARGEST = 2**63 - 1  # no database counts further

ONE_TRIAL = select(*TRIAL_COLUMNS).where(
    trials.c.study_id == bindparam("study_id"), trials.c.number == bindparam("number")
)
# PostgreSQL keeps the plan that it made while the table was short, when any index of the study would do, and then
# looks through all trials for the one. Other words make another plan, and these are first said when it is long.
LONG_STUDY, LONG_WORDS = 1000, "/* of many */"
ONE_OF_MANY = ONE_TRIAL.prefix_with(LONG_WORDS)
SOME_TRIALS = select(*TRIAL_COLUMNS).where(
    trials.c.study_id == bindparam("study_id"), trials.c.number.in_(bindparam("numbers", expanding=True))
)
SOME_OF_MANY = SOME_TRIALS.prefix_with(LONG_WORDS)
BY_ADDING = select(*TRIAL_COLUMNS).where(
    trials.c.study_id == bindparam("study_id"), trials.c.added_key == bindparam("key")
)
BY_ADDING_OF_MANY = BY_ADDING.prefix_with(LONG_WORDS)
BY_REQUEST = select(*TRIAL_COLUMNS).where(
    trials.c.study_id == bindparam("study_id"), trials.c.request_key == bindparam("key")
)
BY_REQUEST_OF_MANY = BY_REQUEST.prefix_with(LONG_WORDS)
ALL_TRIALS = (
    select(*TRIAL_COLUMNS).where(trials.c.study_id == bindparam("study_id")).order_by(trials.c.number)
)
# Without an order: SQLite would rather read all trials in order than sort the few that changed.
CHANGED_TRIALS = select(*TRIAL_COLUMNS).where(
    trials.c.study_id == bindparam("study_id"), trials.c.updated_event > bindparam("since_event")
)

_OPEN = select(*TRIAL_COLUMNS).where(trials.c.study_id == bindparam("study_id"), UNFINISHED)
# A queue may be long: of it only what could be handed out.
_QUEUED = (
    _OPEN.where(trials.c.state == TrialState.QUEUED.value)
    .order_by(trials.c.number)
    .limit(bindparam("count"))
    .subquery()
)
# The states are spelled out in the text, because SQLite does not use an index for what it learns too late.
_HANDED_OUT = text(
    "state IN "
    + listed(state for state in TrialState if not state.is_finished and state != TrialState.QUEUED)
)
_OTHERS = _OPEN.where(
    _HANDED_OUT,
    or_(
        trials.c.state == TrialState.EXPIRED.value,
        trials.c.lease_expires_at <= bindparam("now"),
        trials.c.worker == bindparam("worker"),
    ),
)


def _parts_of(table: Table, order: str) -> Select[Any]:
    """Rows that belong to trials from the first number to the last, in order."""
    between = table.c.number.between(bindparam("first"), bindparam("last"))
    chosen = select(table).where(table.c.study_id == bindparam("study_id"), between)
    return chosen.order_by(table.c.number, table.c[order])


CLAIMABLE = union_all(_OTHERS, select(_QUEUED))
REPORTS = _parts_of(reports, "step")
AMENDMENTS = _parts_of(amendments, "event")


def page(
    states: Collection[TrialState] | None, worker: str | None, after: int, limit: int, newest_first: bool
) -> Select[Any]:
    """Some trials of a study in the order of their numbers; see `Storage.find_trials`."""
    statement = select(*TRIAL_COLUMNS).where(trials.c.study_id == bindparam("study_id"))
    if states is not None:
        statement = statement.where(trials.c.state.in_(sorted(state.value for state in states)))
        if not any(state.is_finished for state in states):
            statement = statement.where(UNFINISHED)  # for which there is an index
    if worker is not None:
        statement = statement.where(trials.c.worker == worker)
    if not newest_first:
        statement = statement.where(trials.c.number > min(after, LARGEST)).order_by(trials.c.number)
    else:
        if after >= 0:
            statement = statement.where(trials.c.number < min(after, LARGEST))
        statement = statement.order_by(trials.c.number.desc())
    return statement.limit(min(limit, LARGEST))


def read_trials(
    connection: Connection, study_id: int, rows: Sequence[Row[Any]], *, with_reports: bool = True
) -> list[Trial]:
    """The trials of some rows, complete, by number."""
    kept_reports: dict[int, list[Report]] = defaultdict(list)
    kept_amendments: dict[int, list[Amendment]] = defaultdict(list)
    if with_reports:
        reporting = [row.number for row in rows if row.has_reports]
        for row in _parts(connection, REPORTS, study_id, reporting):
            kept_reports[row.number].append(report_from_row(row))
    amended = [row.number for row in rows if row.has_amendments]
    for row in _parts(connection, AMENDMENTS, study_id, amended):
        kept_amendments[row.number].append(amendment_from_row(row))
    return [
        trial_from_row(row, kept_reports.get(row.number, ()), kept_amendments.get(row.number, ()))
        for row in sorted(rows, key=lambda row: row.number)
    ]


def _parts(
    connection: Connection, statement: Select[Any], study_id: int, numbers: Sequence[int]
) -> Sequence[Row[Any]]:
    if not numbers:
        return []
    arguments = {"study_id": study_id, "first": min(numbers), "last": max(numbers)}
    return connection.execute(statement, arguments).all()
