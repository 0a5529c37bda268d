"""One study inside a write transaction."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Executable, Update, bindparam, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from photinus.storage import lifecycle
from photinus.storage.sql import reading
from photinus.storage.sql.models import UtcTime, amendments, reports, studies, trials
from photinus.storage.sql.rows import FIXED_COLUMNS, amendment_to_row, report_to_row, trial_to_row
from photinus.storage.study_change import Footprint
from photinus.trial import Trial

MAX_NUMBERS = 500  # in one statement

_COUNTERS = (
    studies.c.name,
    studies.c.num_trials,
    studies.c.last_event,
    studies.c.lock_owner,
    studies.c.lock_expires_at,
)
# With the same statement PostgreSQL tells its time, and is told not to hold the row while it waits for the disk:
# `Database.change` does the waiting, when others may go on. SQLite has the time of this process.
_ON_POSTGRESQL = (
    *_COUNTERS,
    func.clock_timestamp(type_=UtcTime).label("now"),
    func.set_config("synchronous_commit", "off", True),
)
_THIS_STUDY = studies.c.id == bindparam("study_id")
_AHEAD = (
    update(studies)
    .where(_THIS_STUDY)
    .values(
        num_trials=studies.c.num_trials + bindparam("new_trials"),
        last_event=studies.c.last_event + bindparam("new_events"),
    )
)
# By database, and by whether counters are written ahead.
_OPEN_STUDY = {
    ("sqlite", False): select(*_COUNTERS).where(_THIS_STUDY),
    ("sqlite", True): _AHEAD.returning(*_COUNTERS),
    ("postgresql", False): select(*_ON_POSTGRESQL).where(_THIS_STUDY).with_for_update(),
    ("postgresql", True): _AHEAD.returning(*_ON_POSTGRESQL),
}
_SAVE_STUDY = (
    update(studies)
    .where(_THIS_STUDY)
    .values({name: bindparam(name) for name in ("num_trials", "last_event", "lock_owner", "lock_expires_at")})
)
_INSERT_TRIAL = insert(trials)


def _update_of(columns: Sequence[str]) -> Update:
    this_trial = (trials.c.study_id == bindparam("this_study"), trials.c.number == bindparam("this_number"))
    return update(trials).where(*this_trial).values({name: bindparam(name) for name in columns})


_CHANGING = [column.name for column in trials.c if column.name not in FIXED_COLUMNS]
# By whether the trial is handed out, as other changes leave the request's key alone, and whether the study is long.
_UPDATE_TRIAL = {
    (is_handed_out, is_long): statement.prefix_with(reading.LONG_WORDS) if is_long else statement
    for is_handed_out, statement in (
        (True, _update_of(_CHANGING)),
        (False, _update_of([name for name in _CHANGING if name != "request_key"])),
    )
    for is_long in (True, False)
}
_REPORT_KEY = [reports.c.study_id, reports.c.number, reports.c.step]
_INSERT_REPORT = {
    dialect.name: statement.on_conflict_do_update(
        index_elements=_REPORT_KEY,
        set_={"values": statement.excluded["values"], "at": statement.excluded["at"]},
    )
    for dialect, statement in (
        (sqlite.dialect, sqlite.insert(reports)),
        (postgresql.dialect, postgresql.insert(reports)),
    )
}
_INSERT_AMENDMENT = insert(amendments)


@dataclass(frozen=True, slots=True)
class _Counters:
    """What of a study's row changes."""

    num_trials: int
    last_event: int
    lock: tuple[str, datetime] | None


class SqlChange:
    """A `StudyChange`: holds the study's row from the beginning, and writes what was put at `save`."""

    def __init__(
        self,
        connection: Connection,
        study_id: int,
        clock: Callable[[], datetime] | None,
        expected: Footprint,
    ) -> None:
        self._connection = connection
        self._study_id = study_id
        self._found: dict[int, Trial] = {}  # as they were
        self._changed: dict[int, Trial] = {}
        self._added: dict[int, str | None] = {}  # keys, by number
        self._handed_out: dict[int, str | None] = {}
        arguments: dict[str, Any] = {"study_id": study_id}
        # Most changes go as expected, and then counting ahead is all there is to write to the study's row.
        counts_ahead = expected.num_events > 0
        if counts_ahead:
            arguments |= {"new_trials": expected.num_trials, "new_events": expected.num_events}
        statement = _OPEN_STUDY[connection.dialect.name, counts_ahead]
        row = connection.execute(statement, arguments).one_or_none()
        if row is None:
            raise lifecycle.unknown_study(study_id)
        self.name: str = row.name
        self.now: datetime = row.now if clock is None else clock()
        self.lock: tuple[str, datetime] | None = (
            None if row.lock_owner is None else (row.lock_owner, row.lock_expires_at)
        )
        self._written = _Counters(row.num_trials, row.last_event, self.lock)
        self._num_old = self.next_number = row.num_trials - expected.num_trials
        self.next_event = row.last_event - expected.num_events + 1
        self._is_long = self._num_old >= reading.LONG_STUDY

    def find(self, number: int, *, with_reports: bool = True) -> Trial:
        """See `StudyChange.find`."""
        self._check_number(number)
        statement = reading.ONE_OF_MANY if self._is_long else reading.ONE_TRIAL
        [trial] = self._read(statement, with_reports=with_reports, number=number)
        return trial

    def find_all(self, numbers: Sequence[int]) -> dict[int, Trial]:
        """See `StudyChange.find_all`."""
        for number in numbers:
            self._check_number(number)
        statement = reading.SOME_OF_MANY if self._is_long else reading.SOME_TRIALS
        wanted = sorted(set(numbers))
        return {
            trial.number: trial
            for start in range(0, len(wanted), MAX_NUMBERS)
            for trial in self._read(statement, numbers=wanted[start : start + MAX_NUMBERS])
        }

    def claimable(self, count: int, worker: str | None) -> list[Trial]:
        """See `StudyChange.claimable`."""
        return self._read(reading.CLAIMABLE, now=self.now, worker=worker, count=min(count, reading.LARGEST))

    def added_by(self, key: str) -> list[Trial]:
        """See `StudyChange.added_by`."""
        return self._read(reading.BY_ADDING_OF_MANY if self._is_long else reading.BY_ADDING, key=key)

    def handed_out_by(self, key: str) -> list[Trial]:
        """See `StudyChange.handed_out_by`."""
        return self._read(reading.BY_REQUEST_OF_MANY if self._is_long else reading.BY_REQUEST, key=key)

    def add(self, trial: Trial, key: str | None) -> Trial:
        """See `StudyChange.add`."""
        self._added[trial.number] = key
        return self.put(trial)

    def hand_out(self, trial: Trial, key: str | None) -> Trial:
        """See `StudyChange.hand_out`."""
        self._handed_out[trial.number] = key
        return self.put(trial)

    def put(self, trial: Trial) -> Trial:
        """See `StudyChange.put`."""
        self._changed[trial.number] = trial
        self.next_number = max(self.next_number, trial.number + 1)
        self.next_event += 1
        return trial

    def save(self) -> None:
        """Write everything that was put."""
        rows = [self._row(self._changed[number]) for number in sorted(self._changed)]
        new = [row for row in rows if row["number"] >= self._num_old]
        old = [row for row in rows if row["number"] < self._num_old]
        if new:
            self._connection.execute(_INSERT_TRIAL, new)
        for is_handed_out in (True, False):
            some = [row for row in old if (row["number"] in self._handed_out) == is_handed_out]
            if some:
                unchanged = FIXED_COLUMNS if is_handed_out else FIXED_COLUMNS | {"request_key"}
                updates = [_as_update(row, unchanged) for row in some]
                self._connection.execute(_UPDATE_TRIAL[is_handed_out, self._is_long], updates)
        if old:
            self._save_parts()
        counters = _Counters(self.next_number, self.next_event - 1, self.lock)
        if counters != self._written:
            owner, expires_at = self.lock or (None, None)
            self._connection.execute(
                _SAVE_STUDY,
                {
                    "study_id": self._study_id,
                    "num_trials": counters.num_trials,
                    "last_event": counters.last_event,
                    "lock_owner": owner,
                    "lock_expires_at": expires_at,
                },
            )

    def _check_number(self, number: int) -> None:
        if not 0 <= number < self._num_old:
            raise lifecycle.unknown_trial(self.name, self._num_old, number)

    def _read(self, statement: Executable, *, with_reports: bool = True, **arguments: Any) -> list[Trial]:
        rows = self._connection.execute(statement, {"study_id": self._study_id, **arguments}).all()
        trials = reading.read_trials(self._connection, self._study_id, rows, with_reports=with_reports)
        self._found |= {trial.number: trial for trial in trials}
        return trials

    def _row(self, trial: Trial) -> dict[str, Any]:
        """All columns; the keys of an old trial are None where they do not change."""
        return trial_to_row(self._study_id, trial) | {
            "added_key": self._added.get(trial.number),
            "request_key": self._handed_out.get(trial.number),
            "updated_at": self.now,
        }

    def _save_parts(self) -> None:
        """New reports and amendments: rows of their own, so that the old ones need not be written again."""
        for number, found in self._found.items():
            trial = self._changed.get(number, found)
            known = {id(report) for report in found.reports}
            for report in trial.reports:
                if id(report) not in known:
                    statement = _INSERT_REPORT[self._connection.dialect.name]
                    self._connection.execute(statement, report_to_row(self._study_id, number, report))
            for amendment in trial.amendments[len(found.amendments) :]:
                self._connection.execute(
                    _INSERT_AMENDMENT, amendment_to_row(self._study_id, number, amendment)
                )


def _as_update(row: dict[str, Any], unchanged: frozenset[str]) -> dict[str, Any]:
    changing = {name: value for name, value in row.items() if name not in unchanged}
    return {"this_study": row["study_id"], "this_number": row["number"], **changing}
