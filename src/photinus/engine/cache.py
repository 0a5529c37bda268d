"""Compiled programs, in memory and on disk, so that only the first process ever waits for the compiler.

A program is a pure function of arrays, compiled once per set of shapes. On disk it is keyed by everything that
could change what it computes: versions, the engine's own source, the device, the processor's features, shapes and
settings. The folder is the user's alone (mode 0700, owner checked), because loading a program runs code.
"""

import contextlib
import functools
import gc
import hashlib
import logging
import os
import pathlib
import pickle
import platform
import sys
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import CancelledError, Future
from importlib.metadata import version
from typing import Any

import jax
import numpy as np
import scipy
from jax.experimental import serialize_executable

FOLDER_VARIABLE = "PHOTINUS_CACHE_DIR"  # "off" keeps programs in memory only
MAX_FILES = 400  # ours: about half a gigabyte; the ones longest unused go first
# Ours: some thirty kinds of studies at a time. A program takes hundreds of memory mappings; a process has 65,530
# on Linux, and crashes when it runs out of them (decision 11).
MAX_LOADED = 64
CPU_OPTIONS: Any = {
    "xla_cpu_prefer_vector_width": 512
}  # ours: faster where there is AVX-512, no matter elsewhere
# Ours: a fifth of the compiler's time for a few times the program's, which is a good exchange while that is small.
# Code is generated in few parts: more of them would find no idle cores, since programs are compiled side by side.
QUICK_OPTIONS: Any = CPU_OPTIONS | {
    "xla_cpu_use_fusion_emitters": False,
    "xla_backend_optimization_level": 0,
    "xla_cpu_parallel_codegen_split_count": 2,
}
SUFFIX = ".program"
_DIGEST_SIZE = 32

log = logging.getLogger("photinus")
_tracing_lock = threading.Lock()


class _Loaded:
    """Programs in memory, of the whole process; the ones longest unused go first, and come again from disk."""

    def __init__(self) -> None:
        self._futures: OrderedDict[tuple[Program, Hashable], Future[Callable[..., Any]]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, program: "Program") -> set[Hashable]:
        """Signatures that a program is here for."""
        with self._lock:
            return {signature for owner, signature in self._futures if owner is program}

    def get_or_add(self, slot: tuple["Program", Hashable]) -> tuple[Future[Callable[..., Any]], bool]:
        """The program's future, and whether it is new, so that the caller has to fulfil it."""
        with self._lock:
            is_new = slot not in self._futures
            future = self._futures.setdefault(slot, Future())
            self._futures.move_to_end(slot)
            while len(self._futures) > MAX_LOADED:
                self._futures.popitem(last=False)  # whoever runs it, or waits for it, holds it
            return future, is_new

    def remove(self, slot: tuple["Program", Hashable], future: Future[Callable[..., Any]]) -> None:
        with self._lock:
            if self._futures.get(slot) is future:
                del self._futures[slot]


_loaded = _Loaded()


class Program:
    """A pure function of arrays that compiles at most once per shape, also with several threads asking."""

    def __init__(
        self, name: str, function: Callable[..., Any], settings: Hashable = None, *, is_quick: bool = False
    ) -> None:
        """`is_quick` to compile, on a CPU; it runs the slower."""
        self.name = name
        self._is_quick = is_quick
        self._function = function
        self._settings = settings

    def __call__(self, *args: Any, device: str = "cpu") -> Any:
        """Run on arrays; compiles first where these shapes are new."""
        with engine_context(device):
            while True:
                try:
                    program = self._get(args, device).result()
                except CancelledError:
                    continue
                return program(*args)

    def prepare(self, *args: Any, device: str = "cpu") -> None:
        """Compile for arguments of these shapes in the background, while the caller does something else."""
        # Not a daemon: a thread inside the compiler must not be cut off when the interpreter exits.
        if _signature(args, device) not in _loaded.of(self):
            threading.Thread(
                target=self._prepare, args=(args, device), name="photinus-compiler", daemon=False
            ).start()

    def _prepare(self, args: Any, device: str) -> None:
        with engine_context(device):
            error = self._get(args, device).exception()
        if error is not None:  # whoever needs the program will meet the error again, and raise it
            log.warning("program %r could not be compiled ahead: %s", self.name, error)

    def _get(self, args: Any, device: str) -> Future[Callable[..., Any]]:
        signature = _signature(args, device)
        slot = (self, signature)
        future, is_new = _loaded.get_or_add(slot)
        if not is_new:
            return future
        try:
            key = _digest(repr((self.name, self._settings, self._is_quick, signature)))
            future.set_result(load(key, device) or self._compile(args, key, device))
        except Exception as error:
            _loaded.remove(slot, future)  # the next call tries again
            future.set_exception(error)
        except BaseException:  # Ctrl-C in this thread: others that wait for the program try for themselves
            _loaded.remove(slot, future)
            future.cancel()
            raise
        return future

    def _compile(self, args: Any, key: str, device: str) -> Callable[..., Any]:
        shapes = jax.tree.map(lambda v: jax.ShapeDtypeStruct(np.shape(v), np.asarray(v).dtype), args)
        with _tracing():
            # A function of its own each time: JAX keeps what it compiles for as long as the function lives.
            lowered = jax.jit(functools.partial(self._function)).lower(*shapes)
        options = CPU_OPTIONS if device == "cpu" else None
        compiled = _compile_quickly(lowered) if self._is_quick and device == "cpu" else None
        compiled = compiled or lowered.compile(compiler_options=options)
        save(key, compiled)
        return compiled


@contextlib.contextmanager
def _tracing() -> Iterator[None]:
    """Tracing is Python: two threads at it take longer than one after the other. The compiler itself runs beside them.

    Nearly all that it allocates stays, so searching it and everything else for garbage takes time and finds nothing.
    """
    with _tracing_lock:
        is_collecting = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if is_collecting:
                gc.enable()


def _compile_quickly(lowered: Any) -> Any:
    """None if this compiler does not know the options: they are not part of what it promises."""
    try:
        return lowered.compile(compiler_options=QUICK_OPTIONS)
    except Exception as error:
        log.info("no quick compilation: %s", error)
        return None


@contextlib.contextmanager
def engine_context(device: str = "cpu") -> Iterator[None]:
    """Double precision on one device and JAX's own defaults, for this thread and this call only.

    Whatever the user's program sets for itself neither reaches the engine nor is changed by it.
    """
    with (
        jax.enable_x64(True),
        jax.default_device(_device(device)),
        jax.numpy_rank_promotion("allow"),
        jax.numpy_dtype_promotion("standard"),
        jax.default_matmul_precision(None),
        jax.default_prng_impl("threefry2x32"),
        jax.threefry_partitionable(True),
        jax.transfer_guard("allow"),
        jax.debug_nans(False),  # a fit that leaves the reals is shortened, not an error
        jax.debug_infs(False),
    ):
        yield


@functools.cache
def _device(kind: str) -> Any:
    """First device of a kind. Asking for the CPU must not make JAX seize a GPU's memory on the side.

    If this is the process's first use of JAX, its GPU client, if any, takes memory as it is needed from then on.
    """
    name = "XLA_PYTHON_CLIENT_PREALLOCATE"
    before = os.environ.get(name)
    os.environ.setdefault(name, "false")
    try:
        return jax.devices(kind)[0]
    finally:
        if before is None:
            os.environ.pop(name, None)


def load(key: str, device: str = "cpu") -> Callable[..., Any] | None:
    """Program of that key from disk; None if there is none, or none that can be trusted to be whole."""
    folder = cache_folder()
    if folder is None:
        return None
    path, target = folder / f"{key}{SUFFIX}", _device(device)
    try:
        content = path.read_bytes()
        digest, payload = content[:_DIGEST_SIZE], content[_DIGEST_SIZE:]
        if hashlib.sha256(payload).digest() != digest:
            raise ValueError("checksum does not match")
        _initialise_lapack()
        program = serialize_executable.deserialize_and_load(
            *pickle.loads(payload), backend=target.client, execution_devices=[target]
        )
        os.utime(path)
    except FileNotFoundError:
        return None
    except Exception as error:
        log.warning("compiled program %s cannot be loaded (%s); compiling it again", path, error)
        return None
    return program


def save(key: str, compiled: Any) -> None:
    """Keep a program for other processes; a full or read-only disk costs them time, nothing else."""
    folder = cache_folder()
    if folder is None:
        return
    try:
        payload = pickle.dumps(serialize_executable.serialize(compiled))
        handle, temporary = tempfile.mkstemp(dir=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(payload).digest() + payload)
            os.replace(temporary, folder / f"{key}{SUFFIX}")
        except BaseException:
            os.unlink(temporary)
            raise
        _prune(folder)
    except Exception as error:
        log.warning("compiled program cannot be kept in %s: %s", folder, error)


def cache_folder() -> pathlib.Path | None:
    """Folder for programs, made if missing; None if switched off or not the user's alone."""
    configured = os.environ.get(FOLDER_VARIABLE)
    if configured == "off":
        return None
    folder = pathlib.Path(configured) if configured else _default_folder()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError as error:
        _warn_once(
            f"no programs are kept: {folder} cannot be used ({error}); set {FOLDER_VARIABLE} to another folder"
        )
        return None
    if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
        _warn_once(
            f"no programs are kept: {folder} must belong to you and be writable by nobody else; "
            f"run `chmod 700` on it or set {FOLDER_VARIABLE} to another folder"
        )
        return None
    return folder


def _default_folder() -> pathlib.Path:
    home = pathlib.Path.home()
    if sys.platform == "win32":
        return pathlib.Path(os.environ.get("LOCALAPPDATA", home)) / "photinus" / "programs"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "photinus"
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME", home / ".cache")) / "photinus"


def _prune(folder: pathlib.Path) -> None:
    """Remove the programs longest unused; other processes may do the same at the same time."""
    ages = {}
    for path in folder.glob(f"*{SUFFIX}"):
        with contextlib.suppress(FileNotFoundError):
            ages[path] = path.stat().st_mtime
    for path in sorted(ages, key=ages.__getitem__)[: max(len(ages) - MAX_FILES, 0)]:
        path.unlink(missing_ok=True)


@functools.cache
def _warn_once(message: str) -> None:
    log.warning(message)


@functools.cache
def _initialise_lapack() -> None:
    """JAX looks up LAPACK's addresses when it lowers a program; one that comes from disk crashes without them."""
    jax.jit(jax.numpy.linalg.cholesky).lower(jax.ShapeDtypeStruct((1, 1), np.float64))


def _signature(args: Any, device: str) -> Hashable:
    leaves, tree = jax.tree.flatten(args)
    return tuple((np.shape(v), np.asarray(v).dtype.str) for v in leaves), str(tree), device


def _digest(program: str) -> str:
    versions = (jax.__version__, version("jaxlib"), np.__version__, scipy.__version__, sys.version)
    parts = (program, _machine(), _source(), *versions)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@functools.cache
def _machine() -> str:
    """Everything about the machine that compiled code may depend on."""
    features = platform.processor()
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as file:
        features = "\n".join(
            sorted({line for line in file if line.startswith(("flags", "Features", "model name"))})
        )
    kinds = [f"{d.platform} {d.device_kind}" for d in jax.devices()]
    return f"{platform.machine()} {os.cpu_count()} {kinds} {features} {os.environ.get('XLA_FLAGS')}"


@functools.cache
def _source() -> str:
    """Digest of the engine's source: a changed engine never runs an old program."""
    digest = hashlib.sha256()
    for path in sorted(pathlib.Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
