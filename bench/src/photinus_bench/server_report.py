"""What the server benchmark found, as tables and as a record."""

from dataclasses import asdict, dataclass, field

from photinus_bench.crew import Outcome, percentile
from photinus_bench.databases import Kind
from photinus_bench.ledger import Audit
from photinus_bench.tables import Value, render

OURS = "photinus"
GOAL_RATIO = 3.0  # of the 99th percentile of tell, models against random
PERCENTILES = (50, 95, 99)
AT_PACE_OF = "random at the pace of "  # of another load: as many tells a second


@dataclass
class Result:
    """One load on one server, or on several over one database."""

    by: str
    kind: Kind
    load: str  # a mix of algorithms, or random at the pace of one
    num_servers: int
    outcome: Outcome
    audit: Audit | None = None  # of ours; of rivals only the number of trials is compared
    num_kept: int | None = None
    faults: dict[str, int] = field(default_factory=dict)


def is_clean(result: Result) -> bool:
    """No error, nothing lost, nothing doubled; of rivals nothing is demanded."""
    return result.audit is None or (result.audit.is_clean and not result.outcome.errors)


def describe(results: list[Result]) -> str:
    """The table, what was acknowledged and kept, errors, and the ratios where loads were compared."""
    head = ["store", "server", "load", "servers", "trials/s"]
    head += [f"{call} p{p} ms" for call in ("ask", "tell") for p in PERCENTILES] + ["errors"]
    rows: list[list[Value]] = []
    for result in results:
        outcome = result.outcome
        times = [
            1e3 * percentile(seconds, p) for seconds in (outcome.ask_s, outcome.tell_s) for p in PERCENTILES
        ]
        num_errors = sum(outcome.errors.values())
        rows.append(
            [result.kind, result.by, result.load, result.num_servers, outcome.rate, *times, num_errors]
        )
    lines = [render(head, rows), ""]
    for result in results:
        where = f"{result.kind}, {result.by}, {result.load}"
        if result.faults:
            lines.append(f"{where}: {', '.join(f'{what} {n} times' for what, n in result.faults.items())}")
        if result.load.startswith(AT_PACE_OF):
            pass  # on the studies of the random load, and in its numbers
        elif result.audit is not None:
            lines.append(f"{where}: {result.audit.summary()}")
        else:
            lines.append(f"{where}: {len(result.outcome.tells)} acknowledged tells, {result.num_kept} kept")
        lines += [f"    {count} x {error}" for error, count in result.outcome.errors.items()]
    return "\n".join([*lines, *compare(results)])


def compare(results: list[Result]) -> list[str]:
    """How much slower telling gets by the work of models beside it."""
    lines = []
    by_load = {(result.kind, result.load): result.outcome for result in results if result.by == OURS}
    for (kind, load), outcome in by_load.items():
        for base in ("random", AT_PACE_OF + load):
            if load.startswith("random") or (kind, base) not in by_load:
                continue
            other = by_load[kind, base]
            ratio = percentile(outcome.tell_s, 99) / percentile(other.tell_s, 99)
            verdict = "goal met" if ratio <= GOAL_RATIO else "goal missed"
            lines.append(
                f"{kind}: p99 of tell under {load} load ({outcome.rate:.3g}/s) is {ratio:.2f} times that of {base} "
                f"({other.rate:.3g}/s); {verdict}: at most {GOAL_RATIO:g}"
            )
    return lines


def record_of(result: Result) -> dict:
    """What is kept: no single calls, but their percentiles."""
    outcome = result.outcome
    return {
        "by": result.by,
        "kind": result.kind,
        "load": result.load,
        "num_servers": result.num_servers,
        "rate": outcome.rate,
        "num_trials": len(outcome.tells),
        "ask_s": {p: percentile(outcome.ask_s, p) for p in (*PERCENTILES, 100)},
        "tell_s": {p: percentile(outcome.tell_s, p) for p in (*PERCENTILES, 100)},
        "errors": outcome.errors,
        "faults": result.faults,
        "audit": None if result.audit is None else asdict(result.audit),
        "num_kept": result.num_kept,
        "packages": outcome.packages,
    }
