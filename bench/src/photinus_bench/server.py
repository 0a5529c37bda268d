"""Servers under load: `python -m photinus_bench.server`, or `make bench-server`.

Many workers ask and tell over many studies, on SQLite with one server process and on PostgreSQL with two, if wanted
while servers are killed or PostgreSQL is restarted. Afterwards every acknowledged tell must be in the store, once.
`--compare` lets loads with models and the same load at random take turns on one server; rivals get the random load.
"""

import argparse
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from photinus.storage.sql import SqlStorage
from photinus_bench import envs
from photinus_bench.crew import Crew, Outcome
from photinus_bench.databases import Kind
from photinus_bench.latency import IDLE_LOAD, RESULTS, machine, note
from photinus_bench.ledger import audit
from photinus_bench.server_report import AT_PACE_OF, OURS, Result, describe, is_clean, record_of
from photinus_bench.serving import (
    ServerProcess,
    database,
    faults,
    free_port,
    kill_one_of,
    photinus_server,
    restart_postgresql,
    running,
)

KINDS: tuple[Kind, ...] = ("sqlite", "postgresql")
NUM_SERVERS: dict[Kind, int] = {"sqlite": 1, "postgresql": 2}
# Of five studies, how many have which algorithm: models are asked for few trials in the time others make many.
MIXES = {
    "random": ("random",),
    "mixed": ("random", "quasi_random", "random", "quasi_random", "default"),
    "models": ("default",),
}
# Name of the environment and of the modules, and databases that it can have.
RIVALS: dict[str, tuple[str, tuple[Kind, ...]]] = {
    "optuna-grpc": ("optuna", ("sqlite", "postgresql")),
    "vizier": ("vizier", ("sqlite",)),
}


@dataclass(frozen=True)
class Settings:
    """What is run, and how long for."""

    kinds: tuple[Kind, ...] = KINDS
    mix: str = "mixed"
    num_workers: int = 64
    num_studies: int = 50
    seconds: float = 120.0
    pause_s: float = 0.0  # a worker's mean time between asking and telling
    kill_every_s: float | None = None
    restart_postgresql_every_s: float | None = None
    rivals: tuple[str, ...] = ()
    warm_up_s: float = 10.0  # of each load before it is timed: programs are compiled, connections opened
    num_slices: int = 4  # in which the loads of a comparison take turns
    num_processes: int = 2  # of the load itself
    seed: int = 1


def run_ours(
    kind: Kind, settings: Settings, mixes: tuple[str, ...], num_servers: int | None = None
) -> list[Result]:
    """Loads on one store, by turns if there are several, and what is in the store afterwards."""
    with database(kind) as (address, postgresql):
        log = RESULTS / f"server-{kind}.log"
        log.unlink(missing_ok=True)
        servers = [photinus_server(address, log) for _ in range(num_servers or NUM_SERVERS[kind])]
        studies = {mix: studies_of(mix, settings.num_studies) for mix in mixes}
        crew = Crew(Path(sys.executable), "loading_photinus", settings.num_processes)
        restart_every_s = settings.restart_postgresql_every_s if postgresql else None
        broken: Counter[str] = Counter()
        with running(servers), crew:
            for mix in mixes:
                urls = [f"http://127.0.0.1:{server.port}" for server in servers]
                crew.create(mix, urls, studies[mix], settings.num_workers)
            outcomes = {mix: warm_up(crew, mix, settings) for mix in mixes}
            for load, slice_s, seed in turns(settings, mixes):
                note(f"{kind}: {load} load, {slice_s:.0f} s")
                outcome = outcomes.setdefault(load, Outcome())
                pause_s = settings.pause_s
                if load not in mixes:  # as many tells a second as that load has had
                    pause_s = settings.num_workers / max(outcomes[load.removeprefix(AT_PACE_OF)].rate, 0.1)
                with (
                    faults(kill_one_of(servers), settings.kill_every_s, slice_s, seed) as kills,
                    faults(restart_postgresql(postgresql), restart_every_s, slice_s, seed) as restarts,
                ):
                    outcome.add(crew.work(mix_of(load), slice_s, pause_s, seed))
                broken.update({"servers killed": len(kills), "PostgreSQL restarted": len(restarts)})
        storage = SqlStorage(address)
        try:
            audits = {
                mix: audit(
                    storage,
                    list(studies[mix]),
                    [tell for load, o in outcomes.items() if mix_of(load) == mix for tell in o.tells],
                )
                for mix in mixes
            }
        finally:
            storage.close()
        counts = {what: count for what, count in broken.items() if count}
        return [
            Result(OURS, kind, load, len(servers), outcome, audits[mix_of(load)], faults=counts)
            for load, outcome in outcomes.items()
        ]


def turns(settings: Settings, mixes: tuple[str, ...]) -> Iterator[tuple[str, float, int]]:
    """Loads in their order, each with its seconds and a seed; what is compared goes forth and back in slices.

    Where models are slow, fewer tells come, and a server with less to do is quicker. So each load with models is
    followed by a random one at the same pace: that is what it is compared with.
    """
    num_slices = settings.num_slices if len(mixes) > 1 else 1
    for number in range(num_slices):
        for mix in mixes if number % 2 == 0 else mixes[::-1]:
            yield mix, settings.seconds / num_slices, settings.seed + number
            if "random" in mixes and mix != "random":
                yield AT_PACE_OF + mix, settings.seconds / num_slices, settings.seed + number


def mix_of(load: str) -> str:
    """Whose studies a load works on."""
    return "random" if load.startswith(AT_PACE_OF) else load


def warm_up(crew: Crew, mix: str, settings: Settings) -> Outcome:
    """What workers told before it counts: it must be kept, too."""
    outcome = crew.work(mix, settings.warm_up_s, 0.0, settings.seed - 1)
    outcome.forget_times()
    return outcome


def run_rival(name: str, kind: Kind, settings: Settings) -> Result | None:
    """The random load on a rival's server; None where it has no environment."""
    environment, _ = RIVALS[name]
    python = envs.python_of(environment)
    if python is None:
        note(f"{name} is left out: no environment; make one with `make bench-env NAME={environment}`")
        return None
    note(f"{kind}: random load on {name}, {settings.seconds:.0f} s")
    with database(kind) as (address, _):
        port = free_port()
        module = f"photinus_bench.baselines.serving_{environment}"
        log = RESULTS / f"server-{name}.log"
        log.unlink(missing_ok=True)
        server = ServerProcess([str(python), "-m", module, address, str(port)], port, log)
        crew = Crew(python, f"loading_{environment}", settings.num_processes)
        studies = studies_of("random", settings.num_studies)
        with running([server]), crew:
            crew.create("random", [f"127.0.0.1:{port}"], studies, settings.num_workers)
            outcome = warm_up(crew, "random", settings)
            outcome.add(crew.work("random", settings.seconds, settings.pause_s, settings.seed))
            num_kept = crew.count(list(studies))
    return Result(name, kind, "random", 1, outcome, num_kept=num_kept)


def studies_of(mix: str, num_studies: int) -> dict[str, str]:
    """Names and algorithms of the studies of a load."""
    algorithms = MIXES[mix]
    return {f"{mix}{number}": algorithms[number % len(algorithms)] for number in range(num_studies)}


def run(settings: Settings, mixes: tuple[str, ...]) -> dict:
    """Measure everything and return the record that is printed and stored."""
    RESULTS.mkdir(exist_ok=True)
    load = os.getloadavg()[0]
    if load > IDLE_LOAD:
        note(f"warning: the machine is busy (load {load:.1f}); these timings will mean little")
    results: list[Result] = []
    for kind in settings.kinds:
        results += run_ours(kind, settings, mixes)
        rivals = [name for name in settings.rivals if kind in RIVALS[name][1]]
        if rivals and not (mixes == ("random",) and NUM_SERVERS[kind] == 1):  # the same for all
            results += run_ours(kind, replace(settings, mix="random"), ("random",), num_servers=1)
        results += [result for name in rivals if (result := run_rival(name, kind, settings)) is not None]
    return {
        "settings": asdict(settings),
        "machine": machine() | {"load_before": load},
        "results": [record_of(result) for result in results],
        "is_clean": all(is_clean(result) for result in results),
        "text": describe(results),
    }


def main() -> None:
    defaults = Settings()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stores", nargs="+", choices=KINDS, default=defaults.kinds)
    parser.add_argument(
        "--load", choices=MIXES, default=defaults.mix, help="which algorithms the studies have"
    )
    parser.add_argument(
        "--compare", action="store_true", help="random, mixed and models by turns, one server"
    )
    parser.add_argument("--workers", type=int, default=defaults.num_workers)
    parser.add_argument("--studies", type=int, default=defaults.num_studies)
    parser.add_argument("--seconds", type=float, default=defaults.seconds, help="of each load")
    parser.add_argument(
        "--pause", type=float, default=defaults.pause_s, help="mean seconds between ask and tell"
    )
    parser.add_argument("--kill", type=float, metavar="SECONDS", help="kill a server every so often")
    parser.add_argument("--restart-postgres", type=float, metavar="SECONDS", help="crash PostgreSQL so often")
    parser.add_argument("--rivals", nargs="*", choices=RIVALS, default=())
    parser.add_argument("--warm-up", type=float, default=defaults.warm_up_s, help="seconds before each load")
    parser.add_argument("--slices", type=int, default=defaults.num_slices, help="turns of each load compared")
    parser.add_argument("--processes", type=int, default=defaults.num_processes, help="that make the load")
    parser.add_argument("--seed", type=int, default=defaults.seed)
    given = parser.parse_args()
    # Whoever is told to end still stops the servers that it has started.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    settings = Settings(
        kinds=tuple(given.stores),
        mix=given.load,
        num_workers=given.workers,
        num_studies=given.studies,
        seconds=given.seconds,
        pause_s=given.pause,
        kill_every_s=given.kill,
        restart_postgresql_every_s=given.restart_postgres,
        rivals=tuple(given.rivals),
        warm_up_s=given.warm_up,
        num_slices=given.slices,
        num_processes=given.processes,
        seed=given.seed,
    )
    record = run(settings, tuple(MIXES) if given.compare else (settings.mix,))
    path = RESULTS / f"server-{time.strftime('%Y%m%d-%H%M%S')}.json"
    path.write_text(json.dumps(record, indent=1) + "\n")
    print(record["text"])
    note(f"raw numbers in {path.name} under bench/results")
    sys.exit(0 if record["is_clean"] else 1)


if __name__ == "__main__":
    main()
