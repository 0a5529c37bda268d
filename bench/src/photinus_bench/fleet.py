"""Photinus' own columns: runs of one shape grouped, advanced together in lock-step, and written down on the way.

After every batch the new points go to a checkpoint file, so that an interrupted group goes on where it was; values
need not be kept, since points and trial numbers determine them. Needs nothing but JAX, NumPy and SciPy.
"""

import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jax

from photinus.engine import many
from photinus.engine.designers.constants import Preset, preset
from photinus.engine.designers.snapshot import Snapshot
from photinus_bench import lockstep, machine
from photinus_bench.ablations import Ablation
from photinus_bench.choices import choose
from photinus_bench.lane import Lane
from photinus_bench.record import Record, RunKey, key_from
from photinus_bench.running import Clock, new_lane, to_record

Report = Callable[[int, int, int], None]  # studies, trials done, trials in all


def parse_algorithm(name: str) -> tuple[Preset, Ablation | None]:
    """What `photinus-paper/no-log` and `photinus-paper/joint/ucb-1.0` mean."""
    first, *words = name.split("/")
    constants, others = choose(preset(first.removeprefix("photinus-")), words)
    return constants, Ablation.parse(others)


def groups(keys: Sequence[RunKey]) -> list[list[RunKey]]:
    """Runs that can go side by side, in the order of their first members."""
    found: dict[Hashable, list[RunKey]] = defaultdict(list)
    for key in keys:
        constants, _ = parse_algorithm(key.algorithm)
        shape = many.shape(Snapshot(new_lane(key).experimenter.problem, [], key.seed, constants))
        found[shape, key.algorithm, key.num_trials, key.batch_size].append(key)
    return list(found.values())


def run_all(
    keys: Sequence[RunKey],
    device: str,
    checkpoint: Path,
    keep: Callable[[list[Record]], None],
    deadline: float | None = None,
    report: Report | None = None,
) -> bool:
    """Run everything, group by group, a group that was interrupted first; whether it was done by the deadline."""
    waiting = Checkpoint(checkpoint).keys()
    under_way = dict.fromkeys(waiting) if set(waiting) <= set(keys) else {}
    rest = groups([key for key in keys if key not in under_way])
    for group in [list(under_way), *rest] if under_way else rest:
        records = run_group(group, device, checkpoint, deadline, report)
        if records is None:
            return False
        keep(records)
        checkpoint.unlink(missing_ok=True)
    return True


def run_group(
    keys: Sequence[RunKey],
    device: str,
    checkpoint: Path | None = None,
    deadline: float | None = None,
    report: Report | None = None,
    num_threads: int | None = None,
) -> list[Record] | None:
    """Records of runs that share a shape; None if the deadline (of `time.monotonic`) came first.

    `num_threads` is what this process was started with; None stands for all cores.
    """
    lanes, clock, num_lanes = [new_lane(key) for key in keys], Clock(), len(keys)
    constants, ablation = parse_algorithm(keys[0].algorithm)
    file = Checkpoint(checkpoint) if checkpoint else None
    spent = file.restore(keys, lanes) if file else []
    gpu = None if device == "cpu" else jax.devices(device)[0].device_kind
    where = machine.describe_machine(num_threads, gpu)
    steps = lockstep.run(
        lanes,
        num_trials=keys[0].num_trials,
        batch_size=keys[0].batch_size,
        preset=constants,
        device=device,
        ablation=ablation,
    )
    for batch_s in steps:
        count = len(lanes[0].done) - len(spent)
        spent += [batch_s / count] * count
        if file:
            file.append(lanes, count, batch_s)
        if report:
            report(num_lanes, len(spent), keys[0].num_trials)
        if deadline is not None and time.monotonic() > deadline and len(spent) < keys[0].num_trials:
            return None
    # Of many studies at once each has its share; what one of them would have waited for is that times their number.
    clock.seconds = [seconds / num_lanes for seconds in spent]
    wall_s = max(clock.wall_s, sum(spent)) / num_lanes
    more = {"wall_s": wall_s, "side_by_side": num_lanes if gpu else 1}  # on a CPU they take turns
    return [
        to_record(key, lane, clock, machine.own_versions(key.family), where, **more)
        for key, lane in zip(keys, lanes, strict=True)
    ]


class Checkpoint:
    """A file of lines: which runs these are, then for every batch its seconds and everyone's points."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def keys(self) -> list[RunKey]:
        """Runs under way; none without a file that begins well."""
        head = next(self._lines(), None)
        return [key_from(entry) for entry in head["runs"]] if head else []

    def restore(self, keys: Sequence[RunKey], lanes: Sequence[Lane]) -> list[float]:
        """Bring lanes to where they were and return the seconds of each trial; a file of other runs is replaced."""
        spent: list[float] = []
        if self.keys() == list(keys):
            lines = list(self._lines())
            for batch in lines[1:]:
                for lane, points in zip(lanes, batch["points"], strict=True):
                    names = lane.experimenter.problem.space
                    for values in points:
                        lane.measure(dict(zip(names, values, strict=True)))
                count = len(batch["points"][0])
                spent += [batch["seconds"] / count] * count
        else:
            lines = [{"runs": [asdict(key) for key in keys]}]
        # Written anew: a line that was cut off must not stand before the next.
        temporary = self._path.with_name(self._path.name + ".tmp")
        temporary.write_text("".join(json.dumps(line) + "\n" for line in lines))
        os.replace(temporary, self._path)
        return spent

    def append(self, lanes: Sequence[Lane], count: int, seconds: float) -> None:
        """Note the last `count` points of every lane."""
        points = [[list(e.params.values()) for e in lane.done[-count:]] for lane in lanes]
        with self._path.open("a") as file:
            file.write(json.dumps({"seconds": seconds, "points": points}) + "\n")

    def _lines(self) -> Iterator[Any]:
        if not self._path.exists():
            return
        with self._path.open() as file:
            for line in file:
                if not line.endswith("\n"):
                    return  # cut off in the middle
                yield json.loads(line)
