"""Environments for the rivals, one each under bench/envs: `python -m photinus_bench.envs optuna`.

`requirements.txt` there says what goes in. A blank line starts a new pip call, for packages that must be in
place before the others are resolved.
"""

import argparse
import subprocess
import sys
import venv
from pathlib import Path

ENVS = Path(__file__).parents[2] / "envs"


def names() -> list[str]:
    """Rivals that have a requirements file."""
    return sorted(path.parent.name for path in ENVS.glob("*/requirements.txt"))


def python_of(name: str) -> Path | None:
    """Interpreter of a rival's environment, or None where it was not made or not finished."""
    folder = ENVS / name / ".venv"
    is_ready = (folder / "ready").exists()
    return folder / "bin" / "python" if is_ready else None


def paragraphs(text: str) -> list[list[str]]:
    """Requirement lines, grouped by blank lines, without comments."""
    groups: list[list[str]] = [[]]
    for line in text.splitlines():
        requirement = line.partition("#")[0].strip()
        if requirement:
            groups[-1].append(requirement)
        elif not line.strip():
            groups.append([])
    return [group for group in groups if group]


def make(name: str) -> Path:
    """Create or update the environment and return its interpreter."""
    folder = ENVS / name / ".venv"
    python = folder / "bin" / "python"
    ready = folder / "ready"
    ready.unlink(missing_ok=True)
    if not python.exists():
        venv.create(folder, with_pip=True)
    install(python, ["--upgrade", "pip"])
    for group in paragraphs((ENVS / name / "requirements.txt").read_text()):
        install(python, group)
    # Half an environment would fail in the middle of a benchmark; without this file it counts as none.
    ready.touch()
    return python


def install(python: Path, requirements: list[str]) -> None:
    subprocess.run([python, "-m", "pip", "install", "--quiet", *requirements], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=names())
    name = parser.parse_args().name
    print(f"making {name} (some minutes) ...", file=sys.stderr)
    print(make(name))


if __name__ == "__main__":
    main()
