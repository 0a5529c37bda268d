"""Where runs are kept: `python -m photinus_bench.records summary | compact | import FILE | drop`.

    bench/records/FAMILY/ALGORITHM.jsonl.xz    what is in the repository: records sorted by run, compressed
    bench/records/spool/                       a small file per run, written by runners and left out of git

A runner adds a file that appears whole or not at all. `compact` merges the spool into the archives: the same records
make the same bytes, in whatever order they came. Where a run was made twice, the one that started first stays.
"""

import argparse
import fcntl
import hashlib
import json
import lzma
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

from photinus_bench.record import Record, RunKey, key_from
from photinus_bench.tables import render

FOLDER = Path(__file__).parents[2] / "records"
ARCHIVE = ".jsonl.xz"
ABANDONED_S = 3600.0  # a file that nobody finished for so long was left by a runner that is gone

Version = tuple[int, int] | None


class Records:
    """Runs in a folder."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self.folder = folder
        self.spool = folder / "spool"
        self._archived: dict[Path, tuple[Version, set[RunKey]]] = {}  # as they were when last read

    def load(self) -> dict[RunKey, Record]:
        """All runs, by key."""
        # The spool first: what `compact` moves in between is in the archive by the time that is read.
        records = [Record.from_line(text) for _, text in self._spooled()]
        for path in self._archives():
            version = _version(path)  # before reading, so that a rewrite in between is noticed later
            found = [Record.from_line(line) for line in _read_archive(path)]
            self._archived[path] = version, {record.key for record in found}
            records += found
        return _earliest(records)

    def add(self, record: Record) -> None:
        """Keep a run; it is there after this, whatever happens to the machine."""
        self.spool.mkdir(parents=True, exist_ok=True)
        _write(self.spool / _spool_name(record.key), (record.to_line() + "\n").encode())

    def has(self, key: RunKey) -> bool:
        """Whether a run is there now, whoever added it and compacted it meanwhile."""
        # The spool first, as in `load`.
        return (self.spool / _spool_name(key)).exists() or key in self._keys_in(self._archive_of(key))

    def compact(self) -> int:
        """Merge the spool into the archives; returns how many runs went there."""
        with self._alone():
            spooled = list(self._spooled())
            by_archive: dict[Path, list[Record]] = defaultdict(list)
            for _, text in spooled:
                record = Record.from_line(text)
                by_archive[self._archive_of(record.key)].append(record)
            for path, records in by_archive.items():
                self._rewrite(path, [*map(Record.from_line, _read_archive(path)), *records])
            for path, _ in spooled:
                path.unlink()
            for path in self.spool.glob("*.tmp"):  # of runners that were killed while they wrote, long ago
                if time.time() - path.stat().st_mtime > ABANDONED_S:
                    path.unlink(missing_ok=True)
        return len(spooled)

    def drop(self, keys: Collection[RunKey]) -> None:
        """Forget runs, to have them run again."""
        with self._alone():
            for key in keys:
                (self.spool / _spool_name(key)).unlink(missing_ok=True)
            for path in {self._archive_of(key) for key in keys}:
                records = [Record.from_line(line) for line in _read_archive(path)]
                self._rewrite(path, [record for record in records if record.key not in keys])

    def _archives(self) -> list[Path]:
        return sorted(self.folder.glob(f"*/*{ARCHIVE}"))

    def _keys_in(self, path: Path) -> set[RunKey]:
        """Runs in an archive, which is read again only where it was rewritten since."""
        version = _version(path)
        if path not in self._archived or self._archived[path][0] != version:
            self._archived[path] = version, {key_from(json.loads(line)) for line in _read_archive(path)}
        return self._archived[path][1]

    def _archive_of(self, key: RunKey) -> Path:
        """Ablations lie with their algorithm: few files, and what is alike compresses well together."""
        return self.folder / key.family / f"{key.algorithm.partition('/')[0]}{ARCHIVE}"

    def _spooled(self) -> Iterator[tuple[Path, str]]:
        for path in sorted(self.spool.glob("*.json")):
            try:
                yield path, path.read_text()
            except FileNotFoundError:
                continue  # compacted meanwhile

    def _rewrite(self, path: Path, records: Iterable[Record]) -> None:
        kept = _earliest(records)
        if not kept:
            path.unlink(missing_ok=True)
            return
        text = "".join(kept[key].to_line() + "\n" for key in sorted(kept))
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, lzma.compress(text.encode(), preset=6 | lzma.PRESET_EXTREME))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One process at a time rewrites archives."""
        self.spool.mkdir(parents=True, exist_ok=True)
        with (self.spool / "compacting").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def _earliest(records: Iterable[Record]) -> dict[RunKey, Record]:
    kept: dict[RunKey, Record] = {}
    for record in records:
        other = kept.get(record.key)
        if other is None or (record.started, record.to_line()) < (other.started, other.to_line()):
            kept[record.key] = record
    return kept


def _read_archive(path: Path) -> list[str]:
    return lzma.decompress(path.read_bytes()).decode().splitlines() if path.exists() else []


def _version(path: Path) -> Version:
    """Another one whenever the file was replaced, also twice within a tick of the clock; None without a file."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    return stat.st_mtime_ns, stat.st_ino


def _spool_name(key: RunKey) -> str:
    digest = hashlib.sha256(str(key).encode()).hexdigest()[:16]
    return f"{key.algorithm.replace('/', '+')}-{digest}.json"


def _write(path: Path, content: bytes) -> None:
    """The file is whole or as it was before."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def take_in(store: Records, path: Path) -> tuple[int, int]:
    """Add the runs of a file, of lines or an archive; returns how many were new and how many were there already."""
    content = path.read_bytes()
    text = (lzma.decompress(content) if path.suffix == ".xz" else content).decode()
    # The last line of a run that was killed may be cut off; it has no newline then.
    found = [Record.from_line(line) for line in text[: text.rfind("\n") + 1].splitlines()]
    known = store.load()
    new = [record for record in found if record.key not in known]
    for record in new:
        store.add(record)
    return len(new), len(found) - len(new)


def summarise(records: Collection[Record]) -> str:
    """How many runs there are of each family and algorithm, and how many of them did not go to the end."""
    kinds = Counter((r.key.family, r.key.algorithm) for r in records)
    stopped = Counter((r.key.family, r.key.algorithm) for r in records if r.stopped)
    refused = Counter((r.key.family, r.key.algorithm) for r in records if r.unsupported)
    rows = [[*kind, count, stopped[kind], refused[kind]] for kind, count in sorted(kinds.items())]
    return render(["family", "algorithm", "runs", "stopped", "unsupported"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--records", type=Path, default=FOLDER, help="another folder to keep them in")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("summary", help="count what is there")
    commands.add_parser("compact", help="merge what runners left into the compressed files")
    taking = commands.add_parser("import", help="take in runs made elsewhere")
    taking.add_argument("file", type=Path)
    dropping = commands.add_parser("drop", help="forget runs, to have them run again")
    dropping.add_argument("--algorithm", required=True, help="a name, with * for anything")
    dropping.add_argument("--task", default="*", help="a task, with * for anything")
    arguments = parser.parse_args()
    store = Records(arguments.records)
    match arguments.command:
        case "summary":
            print(summarise(store.load().values()))
        case "compact":
            print(f"{store.compact()} runs compacted")
        case "import":
            new, old = take_in(store, arguments.file)
            print(f"{new} runs taken in, {old} were there already")
        case "drop":
            names = arguments.algorithm, arguments.task
            chosen = {
                key
                for key in store.load()
                if fnmatchcase(key.algorithm, names[0]) and fnmatchcase(key.task, names[1])
            }
            store.drop(chosen)
            print(f"{len(chosen)} runs dropped", file=sys.stderr)


if __name__ == "__main__":
    main()
