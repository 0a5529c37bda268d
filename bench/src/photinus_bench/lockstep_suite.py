"""Photinus' columns of a suite where there is a GPU: `python -m photinus_bench.lockstep_suite SUITE --out FILE.jsonl`.

Needs JAX, NumPy, SciPy and the packages of the problems, and no installation: `PYTHONPATH=src:bench/src`. Records go
to a plain file of lines, for `python -m photinus_bench.records import FILE.jsonl` at home. Given again, the command
goes on after what the file and its checkpoint hold; what the repository has already is not run.

`--cores N` gives N cores of the machine their share of the runs, and rivals that have an environment; `--processes N`
lets N groups of studies share the GPU, which pays since each spends a part of its time on compiling.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from photinus_bench import fleet, suite, workforce
from photinus_bench.progress import in_words, note
from photinus_bench.record import Record, RunKey
from photinus_bench.records import Records
from photinus_bench.runner import add_plan_arguments, plan, without_environment


def read_keys(path: Path) -> set[RunKey]:
    """Runs in a file of lines; a last line that was cut off is removed, since others will follow."""
    if not path.exists():
        return set()
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        os.truncate(path, len(whole))
    return {Record.from_line(line).key for line in whole.decode().splitlines()}


def append(path: Path, records: list[Record]) -> None:
    """Add records; they are on disk after this."""
    with path.open("a") as file:
        file.writelines(record.to_line() + "\n" for record in records)
        file.flush()
        os.fsync(file.fileno())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add_plan_arguments(parser)
    add_machine_arguments(parser)
    arguments = parser.parse_args()
    keys = suite.in_order(plan(arguments.suites, arguments.repeats, arguments.algorithms))
    known = read_keys(arguments.out) | set(Records(arguments.records).load())
    ours = [key for key in keys if suite.is_ours(key.algorithm)]
    missing = [key for key in ours if key not in known]
    note(f"{len(ours)} runs of Photinus, {len(missing)} to run")
    if arguments.cores:
        rivals = [key for key in keys if not suite.is_ours(key.algorithm) and key not in known]
        missing += without_environment(rivals)
    run_missing(missing, arguments)


def add_machine_arguments(parser: argparse.ArgumentParser) -> None:
    """What to run it on, and where to; the same for every command that runs studies side by side."""
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.jsonl")
    parser.add_argument("--device", default="gpu")
    parser.add_argument(
        "--processes", type=int, default=1, help="of the device, each with a group of studies"
    )
    parser.add_argument("--cores", type=int, default=0, help="that run studies one by one beside the device")


def run_missing(keys: Sequence[RunKey], arguments: argparse.Namespace) -> None:
    """Run all, add their records to a file of lines, and say how it goes; what is cut short goes on another time."""
    device, out, max_seconds = arguments.device, arguments.out, arguments.max_seconds
    began = time.monotonic()
    deadline = None if max_seconds is None else began + max_seconds

    def keep(records: list[Record]) -> None:
        append(out, records)
        key = records[0].key
        note(
            f"{len(records)} runs of {key.algorithm} like {key.task}, batches of {key.batch_size}: "
            f"{sum(record.wall_s for record in records):.1f} s; {in_words(time.monotonic() - began)} in all"
        )

    if arguments.cores or arguments.processes > 1:
        workers = {"num_processes": arguments.processes, "num_cores": arguments.cores}
        num_done, num_failed = workforce.run(keys, keep, device=device, deadline=deadline, **workers)
        if num_failed:
            sys.exit(
                f"{num_failed} runs failed and {num_done} of {len(keys)} are done; "
                "give the same command again to run the others"
            )
        is_done = num_done == len(keys)
    else:
        checkpoint = out.with_name(out.name + ".checkpoint")
        is_done = fleet.run_all(keys, device, checkpoint, keep, deadline)
    note("done" if is_done else "out of time; give the same command again to go on")


if __name__ == "__main__":
    main()
