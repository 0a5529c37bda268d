"""Schemas: created, checked, upgraded on demand; the stores in `first_schema/` and so on were written by its code."""

import json
import sqlite3
import subprocess
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from photinus.errors import SchemaMismatch, StorageError
from photinus.problem import Problem
from photinus.record import NewTrial
from photinus.storage import upgrade_storage
from photinus.storage.sql import SqlStorage, models
from photinus.storage.sql.connecting import Database
from photinus.storage.sql.schema import MIGRATIONS, migrate
from photinus.testing.storage import ManualClock, claim, create
from photinus.trial import Measurement, Trial, TrialState

STORES = {"0001": Path(__file__).parent / "first_schema", "0002": Path(__file__).parent / "second_schema"}
NEWEST = models.SCHEMA_VERSIONS[-1]
TABLES = [models.studies, models.trials, models.reports, models.amendments]


@dataclass(frozen=True)
class OldStore:
    """A store of an older schema, with what its own code wrote."""

    version: str
    address: str

    @property
    def studies(self) -> list[dict[str, Any]]:
        """What is in it."""
        return json.loads((STORES[self.version] / "studies.json").read_text(encoding="utf-8"))


def make_store(version: str, address: str, tmp_path: Path) -> OldStore:
    script = (STORES[version] / "store.sql").read_text(encoding="utf-8")
    file = tmp_path / ("store.db" if address.startswith("sqlite") else "source.db")
    with sqlite3.connect(file) as source:
        source.executescript(script)
    if not address.startswith("sqlite"):
        copy_store(source, address, version)
    source.close()
    return OldStore(version, address)


@pytest.fixture(params=STORES)
def old_store(request: pytest.FixtureRequest, address: str, tmp_path: Path) -> OldStore:
    return make_store(request.param, address, tmp_path)


@pytest.fixture
def first_store(address: str, tmp_path: Path) -> str:
    return make_store("0001", address, tmp_path).address


def copy_store(source: sqlite3.Connection, address: str, version: str) -> None:
    database = Database(address)

    def work(connection: sa.Connection) -> None:
        migrate(connection, version)
        for table in TABLES:
            cursor = source.execute(f"SELECT * FROM {table.name}")
            names = [column[0] for column in cursor.description]
            for row in cursor:
                values = {
                    name: from_sqlite(table.c[name], value) for name, value in zip(names, row, strict=True)
                }
                connection.execute(sa.insert(sa.table(table.name, *map(sa.column, names))).values(values))
        [(last_id,)] = source.execute("SELECT seq FROM sqlite_sequence")
        connection.execute(sa.text(f"SELECT setval('photinus_studies_id_seq', {last_id})"))

    database.write(work)


def from_sqlite(column: sa.Column[Any], value: Any) -> Any:
    if value is not None and isinstance(column.type, models.UtcTime):
        return datetime.fromisoformat(f"{value}+00:00")
    return bool(value) if isinstance(column.type, sa.Boolean) else value


def run_sql(address: str, *statements: str) -> list[sa.Row]:
    database = Database(address)

    def work(connection: sa.Connection) -> list[sa.Row]:
        results = [connection.execute(sa.text(statement)) for statement in statements]
        return list(results[-1].all()) if results[-1].returns_rows else []

    return database.write(work)


def differences(address: str) -> list[object]:
    """Between the database and the models."""

    def work(connection: sa.Connection) -> list[object]:
        options = {
            "compare_server_default": True,
            "include_name": lambda name, kind, parents: name != models.VERSION_TABLE,
        }
        return compare_metadata(MigrationContext.configure(connection, opts=options), models.metadata)

    return Database(address).read(work)


def test_the_models_are_what_the_migrations_make(address):
    SqlStorage(address)
    assert differences(address) == []


def test_every_migration_is_a_known_version():
    files = sorted(path.name for path in (MIGRATIONS / "versions").glob("*.py"))
    assert [name.partition("_")[0] for name in files] == list(models.SCHEMA_VERSIONS)


def test_a_new_store_has_the_newest_schema(address):
    SqlStorage(address)
    assert [row.version_num for row in run_sql(address, "SELECT * FROM photinus_schema")] == [NEWEST]
    assert upgrade_storage(address) == (NEWEST, NEWEST)


def test_a_store_of_an_older_schema_is_left_alone_until_it_is_upgraded(old_store):
    with pytest.raises(
        SchemaMismatch,
        match=rf"must have schema {NEWEST} .* has {old_store.version}: run `photinus storage upgrade",
    ):
        SqlStorage(old_store.address)
    versions = run_sql(old_store.address, "SELECT * FROM photinus_schema")
    assert [row.version_num for row in versions] == [old_store.version]


def test_a_store_of_an_older_schema_is_upgraded_with_all_it_has(old_store):
    address, expected = old_store.address, old_store.studies
    assert upgrade_storage(address) == (old_store.version, NEWEST)
    assert upgrade_storage(address) == (NEWEST, NEWEST)
    storage = SqlStorage(address)
    records = storage.list_studies()
    assert [record.name for record in records] == [study["name"] for study in expected]
    for record, study in zip(records, expected, strict=True):
        assert record.problem == Problem.from_dict(study["problem"])
        assert (record.state.value, record.seed, record.metadata) == (
            study["state"],
            study["seed"],
            study["metadata"],
        )
        stored = [trial.to_dict() for trial in storage.get_trials(record.id)]
        assert stored == study["trials"]
        assert [Trial.from_dict(entry).number for entry in study["trials"]] == list(range(len(stored)))


def test_an_upgraded_store_has_progress(old_store):
    upgrade_storage(old_store.address)
    for progress, study in zip(SqlStorage(old_store.address).progress(), old_store.studies, strict=True):
        trials = [Trial.from_dict(entry) for entry in study["trials"]]
        assert progress.counts == {s: sum(trial.state == s for trial in trials) for s in TrialState}
        if trials:
            newest = max(trials, key=lambda trial: trial.updated_event)
            assert progress.last_event == newest.updated_event
            assert progress.last_change_at == (newest.completed_at or newest.started_at or newest.created_at)


def test_an_upgraded_store_has_the_schema_of_a_new_one(old_store):
    upgrade_storage(old_store.address)
    assert differences(old_store.address) == []


def test_a_store_of_the_second_schema_goes_on_when_upgraded(address, tmp_path):
    upgrade_storage(make_store("0002", address, tmp_path).address)
    storage = SqlStorage(address, clock=ManualClock())
    study = storage.list_studies()[0]
    assert [trial.number for trial in claim(storage, study.id, 3, worker="w1", key="k")] == [3, 4]
    assert [trial.number for trial in claim(storage, study.id, 3, worker="w1", key="k")] == [3, 4]
    last = storage.progress()[0].last_event
    added = storage.add_trials(study.id, [NewTrial(storage.get_trial(study.id, 0).params)] * 2, key="k")
    assert [(trial.number, trial.updated_event) for trial in added] == [(7, last + 1), (8, last + 2)]
    assert create(storage, "new", creator="t").id == 5
    assert storage.count_studies("t") == 1


def test_an_upgraded_store_goes_on(first_store):
    upgrade_storage(first_store)
    storage = SqlStorage(first_store, clock=ManualClock())
    study = storage.list_studies()[0]
    last = max(trial.updated_event for trial in storage.get_trials(study.id))
    assert [trial.number for trial in claim(storage, study.id, 3, worker="w1")] == [3, 5, 4]
    assert [trial.number for trial in storage.get_trials(study.id, since_event=last)] == [3, 4, 5]
    told = storage.tell(study.id, 3, Measurement.completed({"loss": 1.0, "acc": 2.0}))
    assert told.updated_event > last
    assert len(storage.get_trial(study.id, 0).reports) == 4
    assert len(storage.get_trial(study.id, 0).amendments) == 2
    assert create(storage, "new").id == 4


def test_upgrading_nothing_makes_a_new_store(address):
    assert upgrade_storage(address) == (None, NEWEST)
    assert SqlStorage(address).list_studies() == []


def test_a_store_of_a_newer_schema_is_left_alone(address):
    create(SqlStorage(address))
    run_sql(address, "UPDATE photinus_schema SET version_num = '9999'")
    for attempt in (SqlStorage, upgrade_storage):
        with pytest.raises(SchemaMismatch, match=r"schema 9999, newer than .*: upgrade photinus"):
            attempt(address)
    run_sql(address, f"UPDATE photinus_schema SET version_num = '{NEWEST}'")
    assert len(SqlStorage(address).list_studies()) == 1


def test_an_upgrade_that_fails_leaves_the_store_as_it_was(old_store):
    # The index of the newest schema is there already, so that its migration fails at its last step.
    version = old_store.version
    run_sql(old_store.address, "CREATE INDEX photinus_trials_unmeasured ON photinus_trials (number)")
    with pytest.raises(StorageError, match="photinus_trials_unmeasured"):
        upgrade_storage(old_store.address)
    versions = run_sql(old_store.address, "SELECT * FROM photinus_schema")
    assert [row.version_num for row in versions] == [version]
    run_sql(old_store.address, "DROP INDEX photinus_trials_unmeasured")
    assert upgrade_storage(old_store.address) == (version, NEWEST)


def run_at_once(code: str, address: str, count: int) -> list[str]:
    program = f"import sys; address = sys.argv[1]\n{code}"
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", program, address],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(count)
    ]
    results = [worker.communicate(timeout=120) for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * count, results
    return [output.strip() for output, _ in results]


def test_processes_may_create_a_store_at_once(address):
    code = "from photinus.storage.sql import SqlStorage; print(len(SqlStorage(address).list_studies()))"
    assert run_at_once(code, address, 4) == ["0"] * 4
    assert len(run_sql(address, "SELECT * FROM photinus_schema")) == 1


def test_processes_may_upgrade_a_store_at_once(first_store):
    code = "from photinus.storage import upgrade_storage; print(*upgrade_storage(address))"
    assert sorted(run_at_once(code, first_store, 3)) == [f"0001 {NEWEST}", *[f"{NEWEST} {NEWEST}"] * 2]


def test_another_programs_sqlite_file_is_left_alone(tmp_path):
    file = tmp_path / "other.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE trials (id INTEGER)")
    connection.close()
    before = file.read_bytes()
    for attempt in (SqlStorage, upgrade_storage):
        with pytest.raises(
            StorageError, match=r"of another program \(it has the tables trials\), and was left alone"
        ):
            attempt(str(file))
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["other.db"]


def test_another_programs_tables_in_postgresql_do_not_matter(postgresql):
    run_sql(postgresql, "CREATE TABLE studies (id INTEGER)", "CREATE TABLE trials (id INTEGER)")
    create(SqlStorage(postgresql))
    assert run_sql(postgresql, "SELECT * FROM studies") == []


def test_tables_with_our_names_are_left_alone(postgresql):
    run_sql(postgresql, "CREATE TABLE photinus_trials (id INTEGER)")
    with pytest.raises(StorageError, match=r"our names \(photinus_trials\) but no schema version"):
        SqlStorage(postgresql)
