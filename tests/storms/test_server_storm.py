"""Servers killed at any moment while clients work: what they acknowledged is there once, and clients do not notice."""

import logging
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from evidence import Evidence, violations
from history import begin_history, read_history
from servers import StormServer, own_postgresql, started, wait_for
from test_storms import check_file, goes_on
from worker import SPACE, Diary, read_diary, work_on

import photinus as ph
from photinus.trial import TrialState

ALGORITHMS = {"storm": "random", "quasi": "quasi_random", "model": "default"}
WORKERS = {"storm": 6, "quasi": 3, "model": 2}
# Longer than a storm: then there is no excuse for any error, however slow the machine is.
RETRY_S = 600.0
NUM_FAULTS = 6
JOIN_S = 300.0


@dataclass
class Crew:
    """Workers in threads, each a client of one of the servers."""

    folder: Path
    threads: list[threading.Thread] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    is_over: threading.Event = field(default_factory=threading.Event)

    def start(self, urls: Sequence[str]) -> None:
        """Set everyone to work, spread over the servers."""
        for study, count in WORKERS.items():
            for number in range(count):
                url = urls[len(self.threads) % len(urls)]
                self.threads.append(
                    threading.Thread(target=self._work, args=(url, study, f"{study}{number}"))
                )
        for thread in self.threads:
            thread.start()

    def stop(self) -> None:
        """Let everyone finish what they have."""
        self.is_over.set()
        for thread in self.threads:
            thread.join(JOIN_S)
        assert not any(thread.is_alive() for thread in self.threads), "a worker waits for ever"

    def diary(self, study: str) -> list[dict]:
        """What the workers of a study wrote."""
        return [line for path in sorted(self.folder.glob(f"{study}*.diary")) for line in read_diary(path)]

    def _work(self, url: str, study: str, name: str) -> None:
        try:
            with ph.connect(url, retry_s=RETRY_S) as server:
                diary = Diary(self.folder / f"{name}.diary")
                rng = random.Random(name)
                work_on(server.load_study(study), name, diary, rng, lambda: not self.is_over.is_set())
        except BaseException as error:
            self.errors.append(f"{name}: {type(error).__name__}: {error}")


def ride_out(
    address: str, servers: list[StormServer], folder: Path, fault: Callable[[random.Random], None]
) -> int:
    """Let workers work while things break; then every law must hold for every study.

    How often the servers, in their last lives, had to say that the store does not answer.
    """
    studies = {
        name: ph.create_study(SPACE, name=name, storage=address, algorithm=algorithm, seed=1)
        for name, algorithm in ALGORITHMS.items()
    }
    begin_history(address)
    rng = random.Random(5)
    crew = Crew(folder)
    crew.start([server.url for server in servers])
    try:
        for _ in range(NUM_FAULTS):
            time.sleep(rng.uniform(0.2, 2))
            fault(rng)
        # Afterwards everyone gets on: one more answer for each, whatever they were waiting for.
        before = {name: len(crew.diary(name)) for name in studies}
        wait_for(
            lambda: all(len(crew.diary(name)) > before[name] for name in studies), "work after the storm"
        )
    finally:
        crew.stop()
    assert crew.errors == []
    num_refused = sum(server.num_answers(status=503) for server in servers)
    for server in servers:
        assert server.stop() == 0
        wait_for(lambda server=server: server.num_left() == 0, "the end of all engines")
    for name, study in studies.items():
        judge(study, Evidence(crew.diary(name), read_history(address, study.record.id), study.trials))
    goes_on(studies["storm"])
    check_file(address)
    return num_refused


def progress(crew: Crew, studies: Sequence[str]) -> Callable[[], bool]:
    """Whether the workers of all these studies have got answers since now."""
    before = {name: len(crew.diary(name)) for name in studies}
    return lambda: all(len(crew.diary(name)) > num_lines for name, num_lines in before.items())


def judge(study: ph.Study, evidence: Evidence) -> None:
    """The laws of all storms; and as all workers live, nothing they asked for or enqueued was done twice."""
    assert violations(evidence) == []
    heard = {line["number"] for line in evidence.lines("ask")}
    unheard = [t.number for t in evidence.trials if t.state != TrialState.QUEUED and t.number not in heard]
    assert unheard == []
    # Enqueued points are drawn at random and so unlike all others; a model may well try the edge of a range twice.
    points = Counter(trial.params["x"] for trial in evidence.trials)
    enqueued = [line["x"] for line in evidence.lines("enqueue")]
    assert {x: points[x] for x in enqueued if points[x] != 1} == {}
    num_told = len(evidence.lines("tell"))
    print(f"{study.name}: {len(heard)} trials heard of, {num_told} told, {len(enqueued)} enqueued")
    assert heard


def num_retries(records: Sequence[logging.LogRecord]) -> int:
    """How often a client had to try again."""
    return sum("trying again" in record.getMessage() for record in records)


def kill_one_of(servers: list[StormServer]) -> Callable[[random.Random], None]:
    def kill(rng: random.Random) -> None:
        victim = rng.choice(servers)
        victim.kill()
        victim.start()

    return kill


@pytest.mark.long
def test_nothing_is_lost_when_the_server_is_killed(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    address = f"sqlite:///{tmp_path}/store.db"
    with started(address, tmp_path, 1) as servers:
        ride_out(address, servers, tmp_path, kill_one_of(servers))
        assert len(servers[0].sessions) == NUM_FAULTS + 1
    assert num_retries(caplog.records) > 0


@pytest.mark.long
def test_nothing_is_lost_when_one_of_two_servers_is_killed(
    postgresql: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    with started(postgresql, tmp_path, 2) as servers:
        ride_out(postgresql, servers, tmp_path, kill_one_of(servers))
        assert sum(len(server.sessions) for server in servers) == NUM_FAULTS + 2
    assert num_retries(caplog.records) > 0


@pytest.mark.long
def test_nothing_is_lost_when_postgresql_crashes(tmp_path: Path):
    with own_postgresql() as (address, crash), started(address, tmp_path, 2) as servers:
        assert ride_out(address, servers, tmp_path, lambda rng: crash()) > 0
        # The servers themselves were never restarted.
        assert [len(server.sessions) for server in servers] == [1, 1]
