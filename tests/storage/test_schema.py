"""Schemas: created, checked, upgraded on demand; `first_schema/` was written by the code of the first one."""

import json
import sqlite3
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from photinus.errors import SchemaMismatch, StorageError
from photinus.problem import Problem
from photinus.storage import upgrade_storage
from photinus.storage.sql import SqlStorage, models
from photinus.storage.sql.connecting import Database
from photinus.storage.sql.schema import MIGRATIONS, migrate
from photinus.testing.storage import ManualClock, claim, create
from photinus.trial import Measurement, Trial

FIRST = Path(__file__).parent / "first_schema"
NEWEST = models.SCHEMA_VERSIONS[-1]
TABLES = [models.studies, models.trials, models.reports, models.amendments]


@pytest.fixture
def first_store(address: str, tmp_path: Path) -> str:
    """A store of the first schema, with what its own code wrote."""
    script = (FIRST / "store.sql").read_text(encoding="utf-8")
    file = tmp_path / ("store.db" if address.startswith("sqlite") else "source.db")
    with sqlite3.connect(file) as source:
        source.executescript(script)
    if not address.startswith("sqlite"):
        copy_first_store(source, address)
    source.close()
    return address


def copy_first_store(source: sqlite3.Connection, address: str) -> None:
    database = Database(address)

    def work(connection: sa.Connection) -> None:
        migrate(connection, "0001")
        for table in TABLES:
            cursor = source.execute(f"SELECT * FROM {table.name}")
            names = [column[0] for column in cursor.description]
            for row in cursor:
                values = {
                    name: datetime.fromisoformat(f"{value}+00:00")
                    if value is not None and isinstance(table.c[name].type, models.UtcTime)
                    else value
                    for name, value in zip(names, row, strict=True)
                }
                connection.execute(sa.insert(sa.table(table.name, *map(sa.column, names))).values(values))
        connection.execute(sa.text("SELECT setval('photinus_studies_id_seq', 3)"))

    database.write(work)


def run_sql(address: str, *statements: str) -> list[sa.Row]:
    database = Database(address)

    def work(connection: sa.Connection) -> list[sa.Row]:
        results = [connection.execute(sa.text(statement)) for statement in statements]
        return list(results[-1].all()) if results[-1].returns_rows else []

    return database.write(work)


def test_the_models_are_what_the_migrations_make(address):
    SqlStorage(address)

    def work(connection: sa.Connection) -> list[object]:
        options = {
            "compare_server_default": True,
            "include_name": lambda name, kind, parents: name != models.VERSION_TABLE,
        }
        return compare_metadata(MigrationContext.configure(connection, opts=options), models.metadata)

    assert Database(address).read(work) == []


def test_every_migration_is_a_known_version():
    files = sorted(path.name for path in (MIGRATIONS / "versions").glob("*.py"))
    assert [name.partition("_")[0] for name in files] == list(models.SCHEMA_VERSIONS)


def test_a_new_store_has_the_newest_schema(address):
    SqlStorage(address)
    assert [row.version_num for row in run_sql(address, "SELECT * FROM photinus_schema")] == [NEWEST]
    assert upgrade_storage(address) == (NEWEST, NEWEST)


def test_a_store_of_the_first_schema_is_left_alone_until_it_is_upgraded(first_store):
    with pytest.raises(
        SchemaMismatch, match=rf"must have schema {NEWEST} .* has 0001: run `photinus storage upgrade"
    ):
        SqlStorage(first_store)
    assert [row.version_num for row in run_sql(first_store, "SELECT * FROM photinus_schema")] == ["0001"]


def test_a_store_of_the_first_schema_is_upgraded_with_all_it_has(first_store):
    assert upgrade_storage(first_store) == ("0001", NEWEST)
    assert upgrade_storage(first_store) == (NEWEST, NEWEST)
    storage = SqlStorage(first_store)
    expected = json.loads((FIRST / "studies.json").read_text(encoding="utf-8"))
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


def test_an_upgrade_that_fails_leaves_the_store_as_it_was(first_store, monkeypatch):
    # The index of the newer schema is there already, so that its migration fails at its last step.
    run_sql(first_store, "CREATE INDEX photinus_trials_changed ON photinus_trials (number)")
    with pytest.raises(StorageError, match="photinus_trials_changed"):
        upgrade_storage(first_store)
    assert [row.version_num for row in run_sql(first_store, "SELECT * FROM photinus_schema")] == ["0001"]
    run_sql(first_store, "DROP INDEX photinus_trials_changed")
    assert upgrade_storage(first_store) == ("0001", NEWEST)


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
