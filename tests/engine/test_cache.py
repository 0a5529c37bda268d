"""Compiled programs: found again after a restart, never trusted when something is odd, compiled once."""

import hashlib
import json
import logging
import os
import pickle
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from photinus.engine import cache
from photinus.engine.cache import Program

X = np.arange(3.0)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    """An empty cache."""
    return use(tmp_path / "programs", monkeypatch)


def use(path: Path | str, monkeypatch) -> Path:
    monkeypatch.setenv(cache.FOLDER_VARIABLE, str(path))
    cache._warn_once.cache_clear()
    return Path(path)


@pytest.fixture
def compiled(monkeypatch) -> list[str]:
    """Names of the programs that were compiled, in order."""
    names: list[str] = []
    original = Program._compile

    def spy(self: Program, *args):
        names.append(self.name)
        return original(self, *args)

    monkeypatch.setattr(Program, "_compile", spy)
    return names


def double() -> Program:
    """A fresh program, as a new process would have it."""
    return Program("double", lambda x: 2 * x)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def assert_works(program: Program) -> None:
    assert np.asarray(program(X)).tolist() == [0.0, 2.0, 4.0]


# On disk.


def test_a_program_is_found_on_disk_by_another_process(folder: Path, compiled: list[str], caplog):
    assert_works(double())
    assert compiled == ["double"]
    assert len(list(folder.iterdir())) == 1
    assert_works(double())
    assert compiled == ["double"]
    assert warnings(caplog) == []


def test_the_folder_and_its_files_are_the_users_alone(folder: Path):
    assert_works(double())
    [path] = folder.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_names_settings_and_shapes_are_programs_of_their_own(folder: Path, compiled: list[str]):
    for program in (
        double(),
        Program("other", lambda x: 3 * x),
        Program("double", lambda x: 2 * x, ("fast", 1)),
    ):
        program(X)
        program(np.arange(4.0))
        program(np.arange(4))
    assert len(compiled) == len(list(folder.iterdir())) == 9
    assert np.asarray(Program("other", lambda x: 3 * x)(X)).tolist() == [0.0, 3.0, 6.0]


@pytest.mark.parametrize("part", ["_source", "_machine"])
def test_another_engine_or_machine_never_runs_an_old_program(
    folder: Path, compiled: list[str], monkeypatch, part: str
):
    assert_works(double())
    monkeypatch.setattr(cache, part, lambda: "changed")
    assert_works(double())
    assert compiled == ["double", "double"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1] + bytes([content[-1] ^ 1]),
        lambda content: b"x" * len(content),
    ],
    ids=["empty", "cut", "one bit", "nonsense"],
)
def test_a_damaged_file_is_compiled_again_with_a_warning(folder: Path, compiled: list[str], caplog, damage):
    assert_works(double())
    [path] = folder.iterdir()
    path.write_bytes(damage(path.read_bytes()))
    assert_works(double())
    assert compiled == ["double", "double"]
    [message] = warnings(caplog)
    assert f"compiled program {path} cannot be loaded" in message
    assert_works(double())  # whole again
    assert compiled == ["double", "double"]


def test_a_file_that_is_no_program_is_compiled_again(folder: Path, compiled: list[str], caplog):
    assert_works(double())
    [path] = folder.iterdir()
    payload = pickle.dumps(("not", "a", "program"))
    path.write_bytes(hashlib.sha256(payload).digest() + payload)
    assert_works(double())
    assert compiled == ["double", "double"]
    assert "cannot be loaded" in warnings(caplog)[0]


@pytest.mark.parametrize("mode", [0o777, 0o720, 0o702])
def test_a_folder_that_others_can_write_to_is_not_used(folder: Path, compiled: list[str], caplog, mode: int):
    folder.mkdir()
    folder.chmod(mode)
    for _ in range(2):
        assert_works(double())
    assert list(folder.iterdir()) == []
    assert compiled == ["double", "double"]
    [message] = warnings(caplog)  # once, not at every program
    assert "must belong to you and be writable by nobody else" in message
    assert "chmod 700" in message


def test_a_folder_of_somebody_else_is_not_used(folder: Path, caplog, monkeypatch):
    assert_works(double())
    monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
    assert cache.cache_folder() is None
    assert "must belong to you" in warnings(caplog)[0]


def test_a_folder_that_cannot_be_made_costs_time_only(tmp_path: Path, caplog, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    use(tmp_path / "file" / "programs", monkeypatch)
    assert_works(double())
    [message] = warnings(caplog)
    assert "cannot be used" in message
    assert f"set {cache.FOLDER_VARIABLE} to another folder" in message


def test_a_full_disk_costs_time_only(folder: Path, caplog, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fdopen", full)
    assert_works(double())
    assert "cannot be kept" in warnings(caplog)[0]
    assert list(folder.iterdir()) == []  # nothing half-written is left behind


def test_the_cache_can_be_switched_off(tmp_path: Path, compiled: list[str], monkeypatch):
    monkeypatch.chdir(tmp_path)
    use("off", monkeypatch)
    for _ in range(2):
        assert_works(double())
    assert compiled == ["double", "double"]
    assert list(tmp_path.iterdir()) == []


def test_a_reader_sees_whole_files_only(folder: Path, monkeypatch):
    """A program appears under its name when it is complete, by one rename inside the folder."""
    moves = []
    original = os.replace

    def spy(source, target):
        moves.append((Path(source), Path(target), Path(source).stat().st_size))
        assert not Path(target).exists()
        original(source, target)

    monkeypatch.setattr(os, "replace", spy)
    assert_works(double())
    [(source, target, size)] = moves
    assert source.parent == target.parent == folder
    assert target.stat().st_size == size
    assert list(folder.iterdir()) == [target]


def test_the_files_longest_unused_go_first(folder: Path, monkeypatch):
    monkeypatch.setattr(cache, "MAX_FILES", 3)
    double()(np.arange(1.0))
    [oldest] = folder.iterdir()
    os.utime(oldest, (1, 1))
    for size in (2, 3):
        double()(np.arange(float(size)))
    double()(np.arange(1.0))  # used again, so no longer the one to go
    second = min(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    double()(np.arange(4.0))
    kept = list(folder.iterdir())
    assert len(kept) == 3
    assert oldest in kept
    assert second not in kept


# In memory.


def slow(duration_s: float = 0.3) -> tuple[Program, list[int]]:
    """A program that takes its time to compile, and where it notes that it is being compiled."""
    traced: list[int] = []

    def function(x):
        traced.append(threading.get_ident())
        time.sleep(duration_s)
        return 2 * x

    return Program("slow", function), traced


def test_threads_that_ask_at_once_compile_once(folder: Path):
    program, traced = slow()
    found: list[list[float]] = []
    threads = [
        threading.Thread(target=lambda: found.append(np.asarray(program(X)).tolist())) for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[0.0, 2.0, 4.0]] * 5
    assert len(traced) == 1


def test_preparing_compiles_in_the_background_and_the_call_waits_for_it(folder: Path):
    program, traced = slow()
    program.prepare(np.zeros(3))
    assert_works(program)
    assert len(traced) == 1
    assert traced[0] != threading.get_ident()


# In memory.


@pytest.fixture
def room_for_two(monkeypatch) -> None:
    monkeypatch.setattr(cache, "MAX_LOADED", 2)
    monkeypatch.setattr(cache, "_loaded", cache._Loaded())


@pytest.mark.usefixtures("room_for_two")
def test_the_program_longest_unused_is_forgotten_and_comes_again_from_disk(
    folder: Path, compiled: list[str], monkeypatch
):
    loaded: list[str] = []
    original = cache.load

    def spy(key: str, device: str):
        loaded.append(key)
        return original(key, device)

    monkeypatch.setattr(cache, "load", spy)
    program = double()
    for size in (1, 2, 1, 3, 1):  # 2 is the one that goes
        program(np.zeros(size))
    assert len(compiled) == len(loaded) == 3
    assert np.asarray(program(np.ones(2))).tolist() == [2.0, 2.0]
    assert len(compiled) == 3
    assert loaded[3:] == [loaded[1]]


@pytest.mark.usefixtures("room_for_two")
def test_a_program_that_is_forgotten_while_it_is_compiled_still_answers(folder: Path):
    program, traced = slow()
    program.prepare(X)
    other = double()
    for size in (4, 5, 6):
        other(np.zeros(size))
    assert_works(program)
    assert 1 <= len(traced) <= 2  # again, if the first was not on disk by then


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mappings are counted as Linux shows them")
@pytest.mark.usefixtures("room_for_two")
@pytest.mark.parametrize("where", ["memory", "disk"])
def test_forgotten_programs_give_their_memory_mappings_back(tmp_path: Path, monkeypatch, where: str):
    """A process that runs out of them crashes, and a program may take hundreds."""

    def mappings() -> int:
        return len(Path("/proc/self/maps").read_text().splitlines())

    use(tmp_path if where == "disk" else "off", monkeypatch)
    sizes = range(3, 15)
    if where == "disk":
        run_all(sizes)
        monkeypatch.setattr(cache, "_loaded", cache._Loaded())
    run_all(sizes[:4])
    before = mappings()
    run_all(sizes[4:])
    grown = mappings() - before
    monkeypatch.setattr(cache, "MAX_LOADED", 64)
    run_all(sizes[:4])
    kept = mappings() - before - grown
    assert kept > 20
    assert grown < kept / 4


def run_all(sizes: Iterable[int]) -> None:
    program = Program(
        "spectrum", lambda x: jnp.sort(jnp.linalg.cholesky(jnp.outer(x, x) + jnp.eye(x.size)).sum(0))
    )
    for size in sizes:
        program(np.ones(size))


def test_a_failed_compilation_is_reported_and_tried_again(folder: Path):
    broken = [True]

    def function(x):
        if broken:
            raise ArithmeticError("no luck")
        return 2 * x

    program = Program("moody", function)
    with pytest.raises(ArithmeticError, match="no luck"):
        program(X)
    broken.clear()
    assert_works(program)


def test_programs_compute_in_double_precision_and_leave_the_users_jax_alone(folder: Path):
    program = Program("third", lambda x: x / 3)
    assert jnp.ones(1).dtype == jnp.float32
    assert np.asarray(program(np.ones(1)))[0] == 1 / 3
    assert jnp.ones(1).dtype == jnp.float32
    assert not jax.config.jax_enable_x64


# A whole study.

STUDY = """
import json, sys, threading
import photinus as ph
from photinus.engine.cache import Program

compiled, asked = [], [0]
original = Program._compile

def spy(self, args, *rest):
    in_background = threading.current_thread().name == "photinus-compiler"
    compiled.append([self.name, len(args[1].is_real), in_background, asked[0]])
    return original(self, args, *rest)

Program._compile = spy
study = ph.create_study({"x": ph.Float(0, 1)}, algorithm="paper", seed=3)
for _ in range(30):
    asked[0] += 1
    [trial] = study.ask()
    study.tell(trial, (trial.params["x"] - 0.3) ** 2)
for thread in threading.enumerate():
    if thread is not threading.current_thread() and not thread.daemon:
        thread.join()
print(json.dumps({"compiled": compiled, "trials": [[t.params, t.reason] for t in study.trials]}))
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> list[dict]:
    """The same study in two processes, one after the other, that share a cache."""
    environment = os.environ | {cache.FOLDER_VARIABLE: str(tmp_path_factory.mktemp("cache") / "programs")}
    results = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", STUDY], capture_output=True, text=True, timeout=600, env=environment
        )
        assert done.returncode == 0, done.stderr
        results.append(json.loads(done.stdout))
    return results


def test_a_growing_study_compiles_once_per_padded_size(runs: list[dict]):
    found = sorted((name, size) for name, size, *_ in runs[0]["compiled"])
    # 30 trials fit into 16 and 32 rows; the next size is made ready when 32 is nearly full.
    assert found == sorted((name, size) for name in ("fit", "pick") for size in (16, 32, 48))


def test_the_next_size_is_compiled_in_the_background_before_it_is_needed(runs: list[dict]):
    ahead = [entry for entry in runs[0]["compiled"] if entry[1] > 16]
    assert len(ahead) == 4
    for _, size, in_background, num_asked in ahead:
        assert in_background
        assert num_asked < {32: 17, 48: 31}[size]


def test_a_restarted_process_compiles_nothing(runs: list[dict]):
    assert runs[1]["compiled"] == []


def test_programs_from_disk_suggest_the_same_to_the_last_bit(runs: list[dict]):
    assert runs[1]["trials"] == runs[0]["trials"]
