"""Asking and telling at random, beside Optuna's RDB storage: `python -m photinus_bench.storage`, `make bench-storage`.

Everyone works on fresh databases of its own, in processes and an environment of its own, at equal durability: what
the connections are set to is read back, and unequal settings end the run. Contestants take turns; medians count.
"""

import argparse
import json
import os
import signal
import statistics
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path

from photinus_bench import envs
from photinus_bench.databases import Kind, NewDatabase, fresh_databases
from photinus_bench.latency import IDLE_LOAD, RESULTS, machine, note
from photinus_bench.pipe import Contestant, ContestantError, TimeLimitError
from photinus_bench.tables import Value, render

OURS, RIVAL = "photinus", "optuna"
KINDS: tuple[Kind, ...] = ("sqlite", "postgresql")
LIMIT_S = 300.0  # a contestant that takes longer over one request is stopped
FEW = 100  # trials in the small study of the flatness
BLOCK = 100  # trials that are timed there at once
GOAL_RATIO, GOAL_GROWTH = 5.0, 2.0


@dataclass(frozen=True)
class Settings:
    """What is run, and how long for."""

    contestants: tuple[str, ...] = (OURS, RIVAL)
    kinds: tuple[Kind, ...] = KINDS
    num_workers: tuple[int, ...] = (1, 8)
    num_trials: int = 400  # of a study, shared by its workers
    repeats: int = 3
    many: int = 10_000  # trials in the large study of the flatness; 0 to leave that out
    budget_s: float = 45.0  # a contestant that has not filled the large study by then is measured where it is


@dataclass
class Race:
    """Trials per second in one setting, one number per repeat and contestant."""

    kind: Kind
    num_workers: int
    rates: dict[str, list[float]] = field(default_factory=dict)
    failures: dict[str, list[str]] = field(default_factory=dict)

    def rate(self, name: str) -> float | None:
        rates = self.rates.get(name)
        return statistics.median(rates) if rates else None

    def ratio(self) -> float | None:
        ours, rival = self.rate(OURS), self.rate(RIVAL)
        return None if ours is None or rival is None else ours / rival


@dataclass
class Growth:
    """Seconds per trial in a small and in a large study of one contestant, one number per repeat."""

    kind: Kind
    name: str
    num_trials: int  # in the large study, when it was measured
    few_s: list[float] = field(default_factory=list)
    many_s: list[float] = field(default_factory=list)

    def ratio(self) -> float:
        return statistics.median(self.many_s) / statistics.median(self.few_s)


class Team:
    """The workers of one contestant, each a process."""

    def __init__(self, name: str, python: Path) -> None:
        self.name = name
        self.python = python
        command = [str(python), "-m", f"photinus_bench.baselines.storing_{name}"]
        logs = (RESULTS / f"storage-{name}-{number}.log" for number in count())
        self._new_worker = lambda: Contestant(command, next(logs))
        self._workers: list[Contestant] = []
        self.durability: dict[str, dict[str, str]] = {}  # by kind of database, as read back

    def open(self, kind: Kind, address: str, study: str, num_workers: int) -> None:
        """Create a study and have workers open it."""
        while len(self._workers) < num_workers:
            self._workers.append(self._new_worker())
        where = {"address": address, "study": study}
        self._workers[0].ask({"do": "create", **where}, LIMIT_S)
        for answer in self._ask_all({"do": "open", **where}, num_workers):
            seen = self.durability.setdefault(kind, answer["durability"])
            if seen != answer["durability"]:
                raise SystemExit(f"workers of {self.name} differ on {kind}: {seen}, {answer['durability']}")

    def work(self, num_trials: int, num_workers: int = 1) -> float:
        """Seconds until the workers have done so many trials together."""
        each = num_trials // num_workers
        answers = self._ask_all({"do": "work", "num_trials": each}, num_workers)
        return max(a["ended"] for a in answers) - min(a["began"] for a in answers)

    def stop(self) -> None:
        for worker in self._workers:
            worker.stop()
        self._workers.clear()

    def _ask_all(self, request: dict, num_workers: int) -> list[dict]:
        with ThreadPoolExecutor(num_workers) as pool:
            return list(pool.map(lambda worker: worker.ask(request, LIMIT_S), self._workers[:num_workers]))


def run(settings: Settings) -> dict:
    """Measure everything and return the record that is printed and stored."""
    RESULTS.mkdir(exist_ok=True)
    load = os.getloadavg()[0]
    if load > IDLE_LOAD:
        note(f"warning: the machine is busy (load {load:.1f}); these timings will mean little")
    with fresh_databases() as new_database, start_teams(settings.contestants) as teams:
        races = measure_races(teams, new_database, settings)
        growths = measure_growth(teams, new_database, settings) if settings.many else []
        durability = {team.name: team.durability for team in teams}
    return {
        "settings": asdict(settings),
        "machine": machine() | {"load_before": load},
        "durability": durability,
        "races": [asdict(race) for race in races],
        "growth": [asdict(growth) for growth in growths],
        "text": describe(races, growths, durability),
    }


@contextmanager
def start_teams(names: tuple[str, ...]) -> Iterator[list[Team]]:
    teams = []
    for name in names:
        python = Path(sys.executable) if name == OURS else envs.python_of(name)
        if python is None:
            note(f"{name} is left out: no environment; make one with `make bench-env NAME={name}`")
            continue
        teams.append(Team(name, python))
    try:
        yield teams
    finally:
        for team in teams:
            team.stop()


def measure_races(teams: list[Team], new_database: NewDatabase, settings: Settings) -> list[Race]:
    """Everyone in every setting, in turns, so that a busy minute of the machine hits all alike."""
    races = [Race(kind, num_workers) for kind in settings.kinds for num_workers in settings.num_workers]
    for repeat in range(settings.repeats):
        for race in races:
            for team in teams if repeat % 2 == 0 else teams[::-1]:
                note(f"repeat {repeat + 1}, {race.kind}, workers: {race.num_workers}, {team.name}")
                try:
                    team.open(race.kind, new_database(race.kind), "race", race.num_workers)
                    seconds = team.work(settings.num_trials, race.num_workers)
                except (ContestantError, TimeLimitError) as error:
                    note(f"    {error}")
                    race.failures.setdefault(team.name, []).append(str(error))
                    team.stop()
                    continue
                race.rates.setdefault(team.name, []).append(settings.num_trials / seconds)
            check_durability(race.kind, teams)
    return races


def check_durability(kind: Kind, teams: list[Team]) -> None:
    found = {team.name: team.durability[kind] for team in teams if kind in team.durability}
    if len({json.dumps(settings, sort_keys=True) for settings in found.values()}) > 1:
        raise SystemExit(f"durability must be equal to compare, but on {kind} it is {found}")


def measure_growth(teams: list[Team], new_database: NewDatabase, settings: Settings) -> list[Growth]:
    """The same block of trials in a small and in a large study of one store, by turns."""
    growths = []
    for kind in settings.kinds:
        for team in teams:
            note(f"{kind}: {team.name} fills a study with {settings.many} trials")
            small, large = new_database(kind), new_database(kind)
            try:
                growths.append(grow(team, kind, small, large, settings))
            except (ContestantError, TimeLimitError) as error:
                note(f"    {error}")
                team.stop()
    return growths


def grow(team: Team, kind: Kind, small: str, large: str, settings: Settings) -> Growth:
    filler, visitor = Team(team.name, team.python), team
    try:
        filler.open(kind, large, "large", 1)
        deadline = time.monotonic() + settings.budget_s
        filler.work(BLOCK)
        num_trials = BLOCK
        while num_trials < settings.many and time.monotonic() < deadline:
            filler.work(BLOCK)
            num_trials += BLOCK
        growth = Growth(kind, team.name, num_trials)
        for repeat in range(settings.repeats + 2):
            visitor.open(kind, small, f"small{repeat}", 1)
            visitor.work(FEW)
            growth.few_s.append(visitor.work(BLOCK) / BLOCK)
            growth.many_s.append(filler.work(BLOCK) / BLOCK)
        return growth
    finally:
        filler.stop()


def describe(races: list[Race], growths: list[Growth], durability: dict) -> str:
    """The tables and what they say about the goals."""
    names = [name for name in (OURS, RIVAL) if name in durability]
    head = ["store", "workers", *(f"{name}/s" for name in names), "ratio"]
    rows: list[list[Value]] = [
        [race.kind, race.num_workers, *(race.rate(name) or "failed" for name in names), race.ratio()]
        for race in races
    ]
    lines = ["trials asked for and told per second, median", render(head, rows), ""]
    if growths:
        lines += ["milliseconds per trial as a study grows, median", describe_growth(growths), ""]
    for kind, settings in durability.get(OURS, {}).items():
        shown = ", ".join(f"{name}={value}" for name, value in settings.items())
        lines.append(f"durability on {kind}, read back from the connections of all: {shown}")
    slow = [race for race in races if (race.ratio() or GOAL_RATIO) < GOAL_RATIO]
    lines += [
        f"goal missed: {race.ratio():.1f} < {GOAL_RATIO} on {race.kind} with {race.num_workers}"
        for race in slow
    ]
    lines += [
        f"goal missed: growth {g.ratio():.1f} > {GOAL_GROWTH} on {g.kind}"
        for g in growths
        if g.name == OURS and g.ratio() > GOAL_GROWTH
    ]
    return "\n".join(lines)


def describe_growth(growths: list[Growth]) -> str:
    rows: list[list[Value]] = []
    for growth in growths:
        few_ms, many_ms = (1e3 * statistics.median(times) for times in (growth.few_s, growth.many_s))
        rows.append([growth.kind, growth.name, few_ms, growth.num_trials, many_ms, growth.ratio()])
    return render(["store", "by", f"ms at {FEW}", "trials", "ms there", "ratio"], rows)


def main() -> None:
    defaults = Settings()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--contestants", nargs="+", choices=defaults.contestants, default=defaults.contestants
    )
    parser.add_argument("--stores", nargs="+", choices=KINDS, default=defaults.kinds)
    parser.add_argument("--trials", type=int, default=defaults.num_trials)
    parser.add_argument("--workers", type=int, nargs="+", default=defaults.num_workers)
    parser.add_argument("--repeats", type=int, default=defaults.repeats)
    parser.add_argument(
        "--many", type=int, default=defaults.many, help="trials in the large study, 0 for none"
    )
    parser.add_argument("--budget", type=float, default=defaults.budget_s, help="seconds to fill it in")
    arguments = parser.parse_args()
    # Whoever is told to end still stops the server and the workers that it has started.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    record = run(
        Settings(
            contestants=tuple(arguments.contestants),
            kinds=tuple(arguments.stores),
            num_workers=tuple(arguments.workers),
            num_trials=arguments.trials,
            repeats=arguments.repeats,
            many=arguments.many,
            budget_s=arguments.budget,
        )
    )
    path = RESULTS / f"storage-{time.strftime('%Y%m%d-%H%M%S')}.json"
    path.write_text(json.dumps(record, indent=1) + "\n")
    print(record["text"])
    note(f"raw numbers in {path.name} under bench/results")


if __name__ == "__main__":
    main()
