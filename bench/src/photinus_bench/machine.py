"""What a record says of where it was made: machine and versions, and nothing that names a computer or a person."""

import os
import platform
import re
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import photinus
from photinus.engine import ENGINE_VERSION
from photinus_bench import envs
from photinus_bench.record import RunKey

ENGINE_PACKAGES = ("jax", "jaxlib", "numpy", "scipy")
PROBLEM_PACKAGES = {"bbob": "ioh", "dtlz": "optproblems", "wfg": "optproblems", "zdt": "optproblems"}


def describe_machine(num_threads: int | None = None, gpu: str | None = None) -> dict[str, Any]:
    """Processor, its cores, how many of them the run may use (all if None), how busy they are now, and the GPU."""
    num_cores = len(os.sched_getaffinity(0))
    found = {
        "processor": processor(),
        "cores": num_cores,
        "threads": num_threads or num_cores,
        "load": round(os.getloadavg()[0], 1),
    }
    return found | ({"gpu": gpu} if gpu else {})


def processor() -> str:
    """Its model."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor()


def provenance(task: str, gpu: str | None = None) -> dict[str, Any]:
    """What a study that is no run says of itself as it begins; versions are Photinus' own."""
    family = task.partition("/")[0]
    return {"machine": describe_machine(gpu=gpu), "versions": own_versions(family), "started": now()}


def own_versions(family: str) -> dict[str, str]:
    """Of everything behind a run of Photinus in this process, on problems of a family."""
    return {
        "python": platform.python_version(),
        "photinus": photinus.__version__,
        "engine": ENGINE_VERSION,
        **{name: version(name) for name in ENGINE_PACKAGES},
        **problem_versions(family),
    }


def rival_versions(key: RunKey, environment: str | None, packages: dict[str, str]) -> dict[str, str]:
    """Of everything behind a run of a rival, whose packages it has named itself."""
    python = platform.python_version() if environment is None else python_of(environment)
    return {"python": python, "engine": ENGINE_VERSION, **packages, **problem_versions(key.family)}


def problem_versions(family: str) -> dict[str, str]:
    """Of the package that the problem's functions come from."""
    package = PROBLEM_PACKAGES.get(family)
    try:
        return {package: version(package)} if package else {}
    except PackageNotFoundError:
        return {}


def python_of(environment: str) -> str:
    """Python's version in a rival's environment."""
    text = (envs.ENVS / environment / ".venv" / "pyvenv.cfg").read_text()
    found = re.search(r"^version\s*=\s*(\S+)", text, re.MULTILINE)
    return found.group(1) if found else "unknown"


def now() -> str:
    """The time as records have it."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def without_paths(text: str) -> str:
    """Of every path only the last part: where a file lies is nobody's business."""
    return re.sub(r"(?:~|[A-Za-z]:)?(?:[\\/][\w.+@-]+)+[\\/]([\w.+@-]+)", r"\1", text)
