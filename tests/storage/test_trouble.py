"""What can go wrong with a database: always a `StorageError` that says what to do, and nothing lost."""

import os
import sqlite3
import sys
import tempfile
from pathlib import Path

import pytest
import sqlalchemy as sa

import photinus as ph
from photinus.errors import ArgumentError, MissingDependency, StorageError
from photinus.storage.sql import SqlStorage, connecting
from photinus.testing.storage import DONE, create, draw, suggest
from photinus.trial import TrialState

POINT = {"x": 0.1, "flag": False}


@pytest.fixture
def store(tmp_path):
    return SqlStorage(str(tmp_path / "store.db"))


# SQLite.


def test_the_directory_must_exist(tmp_path):
    with pytest.raises(StorageError, match=r"must exist, but .*absent.* does not: create it"):
        SqlStorage(str(tmp_path / "absent" / "store.db"))


def test_a_directory_is_no_store(tmp_path):
    with pytest.raises(StorageError, match="is a directory: name a file in it"):
        SqlStorage(str(tmp_path))


@pytest.mark.parametrize("content", [b"my diary\n" * 200, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_file_that_is_no_database_is_left_alone(tmp_path, content):
    file = tmp_path / "diary.txt"
    file.write_bytes(content)
    with pytest.raises(StorageError, match=r"the file is (not a SQLite database|damaged)"):
        SqlStorage(str(file))
    assert file.read_bytes() == content


def test_a_damaged_file_is_reported(tmp_path):
    file = tmp_path / "store.db"
    store = SqlStorage(str(file))
    study = create(store).id
    suggest(store, study, 200)
    store.close()
    content = bytearray(file.read_bytes())
    for start in range(8192, len(content), 4096):  # behind the schema: the tables' own pages
        content[start : start + 200] = b"\xff" * 200
    file.write_bytes(content)
    with pytest.raises(
        StorageError, match=r"the file is damaged .*: restore it from a copy|damaged.*; restore it"
    ):
        SqlStorage(str(file)).get_trials(study)


def test_a_full_disk_loses_nothing(tmp_path):
    store = SqlStorage(str(tmp_path / "store.db"))
    study = create(store).id
    suggest(store, study, 3)
    store.close()
    engine = store._database._engine

    def limit(connection, record):
        [(pages,)] = connection.execute("PRAGMA page_count").fetchall()
        connection.execute(f"PRAGMA max_page_count = {pages + 5}")

    sa.event.listen(engine, "connect", limit)
    num_stored = 3
    with pytest.raises(StorageError, match=r"the disk is full .*; make room and go on"):
        while True:
            store.enqueue(study, POINT, metadata={"note": "x" * 1000})
            num_stored += 1
    assert num_stored > 3
    assert store.count_trials(study) == (num_stored, 0)
    store.close()
    sa.event.remove(engine, "connect", limit)
    assert store.enqueue(study, POINT).number == num_stored
    assert [trial.number for trial in store.get_trials(study)] == list(range(num_stored + 1))


@pytest.fixture
def plain_user():
    """Become a user whom file modes bind, for tests that run as root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def readable():
    """A store that everybody may read and nobody may write, in a directory of that kind."""
    with tempfile.TemporaryDirectory(prefix="photinus-") as directory:
        file = Path(directory) / "store.db"
        store = SqlStorage(str(file))
        study = create(store).id
        suggest(store, study)
        store.close()
        file.chmod(0o444)
        Path(directory).chmod(0o555)
        yield file, study
        Path(directory).chmod(0o755)


def test_a_read_only_store_is_reported(readable, plain_user):
    file, study = readable
    before = file.read_bytes()
    with pytest.raises(StorageError, match=r"it cannot be (written|opened) .*rights? to"):
        SqlStorage(str(file)).tell(study, 0, DONE)
    assert file.read_bytes() == before


def test_a_new_store_needs_a_directory_that_can_be_written(readable, plain_user):
    file, _ = readable
    with pytest.raises(StorageError, match=r"it cannot be opened .*; check the path, and the rights"):
        SqlStorage(str(file.with_name("new.db")))
    assert not file.with_name("new.db").exists()


def test_a_lock_that_is_never_given_up_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(connecting, "BUSY_TIMEOUT_S", 0.05)
    file = tmp_path / "store.db"
    store = SqlStorage(str(file))
    study = create(store).id
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageError, match=r"it stayed locked by someone else \(database is locked\)"):
        store.enqueue(study, POINT)
    assert store.get_trials(study) == []  # readers do not wait
    holder.execute("ROLLBACK")
    holder.close()
    assert store.enqueue(study, POINT).number == 0


def test_sqlite_files_are_in_wal_mode_and_as_careful_as_asked(tmp_path):
    for setting, level in (("", 1), ("?synchronous=full", 2)):
        store = SqlStorage(f"sqlite:///{tmp_path}/store.db{setting}")
        read = store._database.read
        assert read(lambda c: c.execute(sa.text("PRAGMA journal_mode")).scalar()) == "wal"
        assert read(lambda c, level=level: c.execute(sa.text("PRAGMA synchronous")).scalar()) == level
        assert read(lambda c: c.execute(sa.text("PRAGMA foreign_keys")).scalar()) == 1


def test_an_old_sqlite_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
    with pytest.raises(StorageError, match=r"SQLite 3\.35 or newer is needed"):
        SqlStorage(str(tmp_path / "store.db"))


# PostgreSQL.


def administer(address, *statements):
    url = address.replace("postgresql://", "postgresql+psycopg://")
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        for statement in statements:
            connection.execute(sa.text(statement))


END_OTHERS = """
SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
WHERE pid <> pg_backend_pid() AND datname = current_database()
"""


def test_a_lost_connection_is_made_again(postgresql):
    store = SqlStorage(postgresql)
    study = create(store).id
    administer(postgresql, END_OTHERS)
    assert store.get_trials(study) == []
    administer(postgresql, END_OTHERS)
    assert store.enqueue(study, POINT).number == 0


def test_a_connection_lost_in_the_middle_means_another_try(postgresql):
    store = SqlStorage(postgresql)
    study = create(store).id
    store.enqueue(study, POINT)
    calls = []

    def points(first, count):
        calls.append((first, count))
        if len(calls) == 1:
            administer(postgresql, END_OTHERS)
        return [ph.Suggestion(POINT, {})] * count

    trials = store.claim_or_draw(study, 3, points, algorithm="random", engine_version="1")
    assert [trial.number for trial in trials] == [0, 1, 2]
    assert calls == [(1, 2), (1, 2)]
    assert [(trial.number, trial.attempts) for trial in store.get_trials(study)] == [(0, 1), (1, 1), (2, 1)]


def on_insert(body, *, is_deferred=False):
    """Statements that have a function run with each new trial, at once or when the transaction ends."""
    timing = "CREATE CONSTRAINT TRIGGER t AFTER INSERT ON photinus_trials DEFERRABLE INITIALLY DEFERRED"
    return (
        f"CREATE FUNCTION act() RETURNS trigger AS $$ BEGIN {body} RETURN NEW; END $$ LANGUAGE plpgsql",
        f"{timing if is_deferred else 'CREATE TRIGGER t BEFORE INSERT ON photinus_trials'} "
        "FOR EACH ROW EXECUTE FUNCTION act()",
    )


@pytest.mark.parametrize("code", ["40001", "40P01"])
def test_what_collides_with_another_transaction_is_tried_again(postgresql, code):
    store = SqlStorage(postgresql)
    study = create(store).id
    body = f"IF nextval('tries') <= 2 THEN RAISE EXCEPTION 'collision' USING ERRCODE = '{code}'; END IF;"
    administer(postgresql, "CREATE SEQUENCE tries", *on_insert(body))
    assert store.enqueue(study, POINT).number == 0
    assert len(store.get_trials(study)) == 1


def test_what_collides_for_ever_is_reported(postgresql, monkeypatch):
    monkeypatch.setattr(connecting, "FIRST_PAUSE_S", 0.0)
    store = SqlStorage(postgresql)
    study = create(store).id
    administer(postgresql, *on_insert("RAISE EXCEPTION 'collision' USING ERRCODE = '40001';"))
    with pytest.raises(StorageError, match="collision"):
        store.enqueue(study, POINT)
    assert store.get_trials(study) == []


def test_a_connection_lost_while_committing_is_reported_and_not_tried_again(postgresql):
    store = SqlStorage(postgresql)
    study = create(store).id
    administer(postgresql, *on_insert("PERFORM pg_terminate_backend(pg_backend_pid());", is_deferred=True))
    with pytest.raises(StorageError, match="server"):
        store.enqueue(study, POINT)
    administer(postgresql, "DROP TRIGGER t ON photinus_trials")
    assert store.get_trials(study) == []
    assert store.enqueue(study, POINT).number == 0


def test_a_connection_lost_while_waiting_for_the_disk_is_reported(postgresql, monkeypatch):
    """The change is made, but nobody may rely on it yet, so it must not look acknowledged."""
    store = SqlStorage(postgresql)
    study = create(store).id
    with monkeypatch.context() as patch:
        patch.setattr(connecting, "EMPTY_COMMIT", "SELECT pg_terminate_backend(pg_backend_pid())")
        with pytest.raises(StorageError, match="server"):
            store.enqueue(study, POINT)
    assert store.enqueue(study, POINT).number == 1


def test_an_interrupt_while_waiting_for_the_disk_leaves_no_connection_that_commits_by_itself(
    postgresql, monkeypatch
):
    store = SqlStorage(postgresql)
    study = create(store).id
    connections = []

    def interrupted(connection):
        raw = connection.connection.dbapi_connection
        connections.append(raw)
        monkeypatch.setattr(connecting, "EMPTY_COMMIT", None)  # the driver refuses it with a TypeError
        real(connection)

    real = connecting._wait_for_disk
    with monkeypatch.context() as patch:
        patch.setattr(connecting, "_wait_for_disk", interrupted)
        with pytest.raises(TypeError):
            store.enqueue(study, POINT)
    monkeypatch.undo()
    [used] = connections
    assert used.closed
    assert store.enqueue(study, POINT).number == 1


def test_acknowledged_changes_have_reached_the_servers_disk(postgresql, monkeypatch):
    """By the server's own account: what the commit wrote to its log is flushed when the call returns."""
    store = SqlStorage(postgresql)
    study = create(store).id

    def log_position(kind):
        query = sa.text(f"SELECT pg_current_wal_{kind}_lsn() - '0/0'")
        return store._database.read(lambda connection: connection.execute(query).scalar())

    written = []
    real = connecting._wait_for_disk

    def watched(connection):
        written.append(log_position("insert"))
        real(connection)

    monkeypatch.setattr(connecting, "_wait_for_disk", watched)
    for _ in range(10):
        store.enqueue(study, POINT)
        assert log_position("flush") >= written[-1]
    assert len(written) == 10


@pytest.mark.parametrize("code", ["53100", "25006", "42501"])
def test_a_server_that_cannot_write_is_reported(postgresql, code):
    store = SqlStorage(postgresql)
    study = create(store).id
    administer(postgresql, *on_insert(f"RAISE EXCEPTION 'no' USING ERRCODE = '{code}';"))
    with pytest.raises(
        StorageError, match=r"disk is full.*make room|no writes.*primary|lacks a right.*grant"
    ):
        draw(store, study, 1)
    assert store.count_trials(study) == (0, 0)


def test_an_unreachable_server_is_reported_without_the_password():
    with pytest.raises(StorageError, match="could not be reached") as caught:
        SqlStorage("postgresql://me:s3cret@127.0.0.1:1/name?connect_timeout=2")
    assert "me:***@127.0.0.1" in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_a_missing_database_is_reported_without_the_password(postgresql_server):
    address = postgresql_server.replace("postgres:@/postgres", "postgres:s3cret@/absent")
    with pytest.raises(StorageError, match="absent") as caught:
        SqlStorage(address)
    assert "s3cret" not in str(caught.value)


def test_a_store_does_not_show_its_password(postgresql):
    address = postgresql.replace("postgres:@", "postgres:s3cret@")
    store = SqlStorage(address)
    study = ph.create_study({"x": ph.Float(0, 1)}, storage=store, algorithm="random")
    assert "postgres:***@" in repr(store)
    assert "s3cret" not in repr(store) + repr(study) + repr(study._backend)


@pytest.mark.parametrize(
    "address", ["postgresql://me:s3cret@host:port/name", "postgresql://[me:s3cret@host/name"]
)
def test_a_bad_address_is_refused_without_the_password(address):
    with pytest.raises((ArgumentError, StorageError)) as caught:
        SqlStorage(address)
    assert "s3cret" not in str(caught.value)


def test_postgresql_needs_its_driver(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingDependency, match=r'pip install "photinus\[postgres\]"'):
        SqlStorage("postgresql://me@host/name")


def test_time_is_the_servers(postgresql):
    store = SqlStorage(postgresql)
    administer(postgresql, "SELECT 1")
    [before] = store._database.read(lambda c: c.execute(sa.text("SELECT clock_timestamp()")).one())
    trial = draw(store, create(store).id, 1, lease_s=60)[0]
    [after] = store._database.read(lambda c: c.execute(sa.text("SELECT clock_timestamp()")).one())
    assert before <= trial.created_at <= after
    assert trial.state == TrialState.ACTIVE


@pytest.mark.parametrize(
    ("query", "variable", "expected"),
    [("", None, connecting.CONNECT_TIMEOUT_S), ("?connect_timeout=3", None, "3"), ("", "7", None)],
)
def test_a_server_that_does_not_answer_is_not_waited_for_very_long(query, variable, expected, monkeypatch):
    monkeypatch.delenv("PGCONNECT_TIMEOUT", raising=False)
    if variable is not None:
        monkeypatch.setenv("PGCONNECT_TIMEOUT", variable)  # the driver's own way to say it
    engine = connecting.Database(f"postgresql://me@127.0.0.1:1/name{query}")._engine
    given: list[object] = []
    sa.event.listen(
        engine, "do_connect", lambda *arguments: given.append(arguments[3].get("connect_timeout"))
    )
    with pytest.raises(sa.exc.OperationalError):
        engine.connect()
    assert given == [expected]
