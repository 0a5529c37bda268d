"""Run what is missing of a suite: `python -m photinus_bench.runner bbob-20d`, or `make bench SUITE=bbob-20d`.

All first repeats come first, then all second ones; within a repeat the algorithms follow `suite.ORDER`. Each run
that is done is kept at once, so the command can be interrupted in any way and given again. Rivals whose environment
was not made are named and left out. Photinus' own columns run side by side on a GPU where there is one, else one study
per worker.
"""

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from photinus_bench import grid, suite
from photinus_bench.claims import Claims
from photinus_bench.progress import Timings, note, outcome_of
from photinus_bench.record import Record, RunKey
from photinus_bench.records import FOLDER, Records
from photinus_bench.rivals import RIVALS
from photinus_bench.running import LIMIT_S, NotBegunError


class Runner:
    """Runs of a plan that are missing in a folder of records."""

    def __init__(self, store: Records, keys: Sequence[RunKey], max_seconds: float | None = None) -> None:
        known = store.load()
        self._store = store
        self._timings = Timings(known.values())
        self._deadline = None if max_seconds is None else time.monotonic() + max_seconds
        self._broken: set[str] = set()  # algorithms that could not even begin
        self._too_late: set[RunKey] = set()
        self.num_failed = 0
        missing = [key for key in suite.in_order(keys) if key not in known]
        self.missing = without_environment(missing)
        note(f"{len(keys)} runs, {len(keys) - len(missing)} of them there, {len(self.missing)} to run")

    def run_side_by_side(self, claims: Claims, device: str) -> None:
        """Photinus' own runs, all studies of a shape together."""
        from photinus_bench import fleet  # JAX

        ours = [key for key in self.missing if suite.is_ours(key.algorithm) and self._take(claims, key)]
        self.missing = [key for key in self.missing if not suite.is_ours(key.algorithm)]

        def keep(records: list[Record]) -> None:
            for record in records:
                self._store.add(record)
                claims.release(record.key)
            note(f"{len(records)} runs of {records[0].key.algorithm} side by side")

        checkpoint = self._store.spool / "checkpoint.jsonl"
        if not fleet.run_all(ours, device, checkpoint, keep, self._deadline):
            note("out of time; give the same command again to go on")

    def run_grid(self, claims: Claims, address: str | None, num_workers: int | None, limit_s: float) -> None:
        """Everything that is left, each run by itself, over Ray."""
        if not any(map(self._has_time, self.missing)):
            self._tell_num_too_late(len(self.missing))
            return
        left = dict.fromkeys(self.missing)
        with grid.connected(address, num_workers) as ray:
            end_on_sigterm()  # again: Ray has put a handler of its own there
            num_slots = int(ray.cluster_resources().get("CPU", 1))
            note(f"{num_slots} workers; {self._timings.time_left(list(left), num_slots)}")

            def take(key: RunKey) -> bool:
                is_taken = self._take(claims, key)
                if not is_taken:
                    left.pop(key)
                return is_taken

            for outcome in grid.run(ray, self.missing, take=take, limit_s=limit_s, max_workers=num_workers):
                left.pop(outcome.key)
                self._keep(outcome)
                claims.release(outcome.key)
                time_left = self._timings.time_left(list(left), num_slots)
                note(f"    {len(self.missing) - len(left)} of {len(self.missing)}; {time_left}")
        self._tell_num_too_late(len(self._too_late))

    def _tell_num_too_late(self, count: int) -> None:
        if count:
            note(f"{count} runs were not begun for want of time; give the same command again to go on")

    def _take(self, claims: Claims, key: RunKey) -> bool:
        """Whether a run is still to be begun: in time, by an algorithm that works, and by nobody else."""
        if key.algorithm in self._broken:
            return False
        if not self._has_time(key):
            self._too_late.add(key)
            return False
        if not claims.take(key):
            return False
        # Another runner may have finished it since the records were read.
        if self._store.has(key):
            claims.release(key)
            return False
        return True

    def _has_time(self, key: RunKey) -> bool:
        """Whether a run would be done by the deadline, as far as is known."""
        expected = self._timings.expect(key) or 0.0
        return self._deadline is None or time.monotonic() + expected < self._deadline

    def _keep(self, outcome: grid.Outcome) -> None:
        if outcome.line is not None:
            record = Record.from_line(outcome.line)
            self._store.add(record)
            self._timings.add(record)
            note(outcome_of(record))
            return
        self.num_failed += 1
        note(f"{outcome.key}: failed, not recorded: {outcome.failure}")
        if outcome.failure and outcome.failure.startswith(NotBegunError.__name__):
            self._broken.add(outcome.key.algorithm)
            note(f"{outcome.key.algorithm} is left out from here on: make its environment again?")


def without_environment(keys: Sequence[RunKey]) -> list[RunKey]:
    """Runs that can be run here; who cannot is named."""
    absent = {
        rival.name: rival.environment
        for rival in RIVALS.values()
        if rival.python is None and any(key.algorithm == rival.name for key in keys)
    }
    for name, environment in absent.items():
        note(f"{name} is left out: no environment; make one with `make bench-env NAME={environment}`")
    return [key for key in keys if key.algorithm not in absent]


def pick_device(asked: str, keys: Sequence[RunKey]) -> str:
    """The device for Photinus' own runs; `auto` is a GPU where there is one."""
    if asked != "auto":
        return asked
    if not any(suite.is_ours(key.algorithm) for key in keys):
        return "cpu"
    import jax

    try:
        jax.devices("gpu")
    except RuntimeError:  # its way of saying that there is none
        return "cpu"
    return "gpu"


def plan(suites: Sequence[str], repeats: int | None, algorithms: Sequence[str] | None) -> list[RunKey]:
    """Runs of one suite or several, each once."""
    keys = list(dict.fromkeys(key for name in suites for key in suite.load(name, repeats=repeats)))
    return suite.choose(keys, algorithms) if algorithms else keys


def end_on_sigterm() -> None:
    """Whoever is told to end still ends Ray and the rivals."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))


def add_plan_arguments(parser: argparse.ArgumentParser) -> None:
    """What to run; the same for every command that runs suites."""
    parser.add_argument("suites", nargs="+", metavar="SUITE", help=", ".join(suite.names()))
    parser.add_argument("--repeats", type=int, help="other than the suite's own number")
    parser.add_argument("--algorithms", nargs="+", metavar="NAME", help="only these")
    parser.add_argument("--max-seconds", type=float, help="begin nothing that would not be done by then")
    parser.add_argument("--records", type=Path, default=FOLDER, help="another folder to keep records in")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add_plan_arguments(parser)
    parser.add_argument("--address", help="of a Ray cluster; without, Ray is started here for the run")
    parser.add_argument("--workers", type=int, help="runs at a time; as many as there are cores by default")
    parser.add_argument(
        "--device",
        default="auto",
        help="gpu: Photinus' own studies side by side on it; cpu; auto: a GPU if any",
    )
    parser.add_argument(
        "--limit", type=float, default=LIMIT_S, help="seconds a rival may take over one answer"
    )
    arguments = parser.parse_args()
    end_on_sigterm()
    try:
        keys = plan(arguments.suites, arguments.repeats, arguments.algorithms)
    except suite.SuiteError as error:
        sys.exit(str(error))
    store = Records(arguments.records)
    runner = Runner(store, keys, arguments.max_seconds)
    with Claims(store.spool) as claims:
        try:
            if (device := pick_device(arguments.device, runner.missing)) != "cpu":
                runner.run_side_by_side(claims, device)
            runner.run_grid(claims, arguments.address, arguments.workers, arguments.limit)
        except KeyboardInterrupt:
            sys.exit("interrupted; give the same command again to go on")
    sys.exit(1 if runner.num_failed else 0)


if __name__ == "__main__":
    main()
