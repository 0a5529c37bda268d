"""How PostgreSQL looks for one trial once its plans are made."""

from dataclasses import replace

from sqlalchemy import Connection, text

from photinus.storage.sql import SqlStorage, reading
from photinus.testing.storage import DONE, create, draw

NUM_TELLS = 20  # the driver prepares a statement, and then the server settles on a plan


def test_a_trial_of_a_long_study_is_found_by_its_number(postgresql: str):
    """Also on a connection that made its plans while the study was short, when any index would do."""
    storage = SqlStorage(postgresql)
    short = create(storage)
    tell_some(storage, short.id)
    first = storage.get_trial(short.id, 0)
    trials = [
        replace(first, number=number, updated_event=number + 1) for number in range(2 * reading.LONG_STUDY)
    ]
    long = storage.restore_study(replace(short, name="long"), trials)
    tell_some(storage, long.id)

    def plans(connection: Connection) -> list[str]:
        prepared = connection.execute(text("SELECT name, statement FROM pg_prepared_statements")).all()
        [name] = [name for name, words in prepared if "SELECT" in words and reading.LONG_WORDS in words]
        arguments = f"({long.id}, {len(trials)})"
        return list(connection.exec_driver_sql(f'EXPLAIN EXECUTE "{name}" {arguments}').scalars())

    plan = "\n".join(storage._database.write(plans))
    assert "photinus_trials_pkey" in plan, plan


def tell_some(storage: SqlStorage, study_id: int) -> None:
    for _ in range(NUM_TELLS):
        [trial] = draw(storage, study_id, 1)
        storage.tell(study_id, trial.number, DONE)
