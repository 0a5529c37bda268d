"""Storms over a store, as a program of their own: `python storm.py` with the settings as JSON on standard input.

It imports everything first and starts no threads, so that its forks begin to work at once and every moment of a kill
is a moment of work. How the children ended is printed as JSON.
"""

import itertools
import json
import os
import random
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import alembic.runtime.environment
import alembic.script  # noqa: F401
import psycopg  # noqa: F401
import sqlalchemy.dialects.postgresql.psycopg
import sqlalchemy.dialects.sqlite.pysqlite  # noqa: F401
from forks import KILLED, Child, Ending, fork, is_orphan
from worker import SPACE, STUDY, Diary, work

import photinus as ph
import photinus.storage.sql

Endings = dict[str, list[Ending]]  # of children that were killed, and of others that finished

MEAN_PAUSE_S = 0.1  # between kills
FIRST_WINDOW_S = 0.1  # in which a creation is killed; it adapts
SAME_NAME = 0.5  # of the killed workers come back under their name


class Crew:
    """Workers on one study, each with a diary under its name."""

    def __init__(self, address: str, folder: Path, seed: int) -> None:
        self._address = address
        self._folder = folder
        self._seed = seed
        self._numbers = itertools.count()
        self._parent = os.getpid()

    def start(self, name: str, num_rounds: int | None = None, slow: float | None = None) -> Child:
        """A worker, which goes on until it is killed, or for some rounds."""
        number = next(self._numbers)
        rounds = iter(range(num_rounds)) if num_rounds is not None else itertools.count()
        options = {} if slow is None else {"slow": slow}

        def labour() -> None:
            diary = Diary(self._folder / f"{name}.diary")
            rng = random.Random(f"{self._seed} {number}")

            def may_go_on() -> bool:
                return next(rounds, None) is not None and not is_orphan(self._parent)

            work(self._address, name, diary, rng, may_go_on, **options)

        return fork(labour, self._folder / f"{number}.stderr")


def kill_storm(address: str, folder: Path, seed: int, num_workers: int, num_kills: int) -> Endings:
    """Kill workers, one at a time, and start others in their place; then kill all."""
    rng = random.Random(seed)
    crew = Crew(address, folder, seed)
    names = (f"w{number}" for number in itertools.count())
    running = {name: crew.start(name) for name in itertools.islice(names, num_workers)}
    endings = []
    for _ in range(num_kills):
        time.sleep(rng.expovariate(1 / MEAN_PAUSE_S))
        name = rng.choice(sorted(running))
        victim = running.pop(name)
        victim.kill()
        endings.append(victim.wait())
        if rng.random() >= SAME_NAME:
            name = next(names)
        running[name] = crew.start(name)
    for child in running.values():
        child.kill()
        endings.append(child.wait())
    return {"killed": endings}


def load(address: str, folder: Path, seed: int, num_workers: int, num_rounds: int) -> Endings:
    """Let workers work for a while, all at once."""
    crew = Crew(address, folder, seed)
    children = [crew.start(f"w{index}", num_rounds, slow=0.0) for index in range(num_workers)]
    return {"finished": [child.wait() for child in children]}


def creation_storm(addresses: list[str], folder: Path, seed: int) -> Endings:
    """Kill a process while it creates a store, a study and a trial; then let another one do the same in peace."""
    rng = random.Random(seed)
    endings: Endings = {"killed": [], "finished": []}
    window_s = FIRST_WINDOW_S
    for number, address in enumerate(addresses):

        def start(address: str = address, number: int = number) -> Child:
            return fork(lambda: create(address), folder / f"{number}.stderr")

        child = start()
        time.sleep(rng.uniform(0, window_s))
        child.kill()
        killed = child.wait()
        # Whatever the machine's pace, kills come to fall into the work, early and late.
        window_s *= 1.1 if killed.code == KILLED else 0.7
        endings["killed"].append(killed)
        endings["finished"].append(start().wait())
    return endings


def create(address: str) -> None:
    """A store with a study that has a told trial more than before."""
    study = ph.create_study(
        SPACE, name=STUDY, storage=address, algorithm="random", seed=1, load_if_exists=True
    )
    [trial] = study.ask(worker="creator")
    study.tell(trial, 1.0)


STORMS: dict[str, Callable[..., Endings]] = {"kill": kill_storm, "load": load, "create": creation_storm}

if __name__ == "__main__":
    settings = json.load(sys.stdin)
    storm = STORMS[settings.pop("storm")]
    settings["folder"] = Path(settings["folder"])
    print(json.dumps({kind: [asdict(e) for e in endings] for kind, endings in storm(**settings).items()}))
