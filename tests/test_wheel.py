"""The wheel has what it needs and nothing else, and works where nothing but its dependencies is installed."""

import os
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
from pages import ROOT, check_output, read_blocks

NEEDED = [
    "photinus/py.typed",
    "photinus/report/page.css",
    "photinus/report/page.js",
    "photinus/storage/sql/migrations/versions/0001_first.py",
]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)], cwd=ROOT)
    [path] = folder.glob("*.whl")
    return path


def run(words: list[str], cwd: Path) -> str:
    # Not a word of this test run's own environment: neither its packages nor its settings.
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PHOTINUS"))
    }
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_has_every_file_of_the_package_and_no_other(wheel: Path):
    names = zipfile.ZipFile(wheel).namelist()
    package = {name for name in names if ".dist-info/" not in name}
    sources = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "photinus").glob("**/*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert package == sources
    assert set(NEEDED) <= package
    assert any(name.endswith("/licenses/LICENSE") for name in names)


@pytest.mark.long
def test_the_wheel_works_in_an_empty_environment(wheel: Path, tmp_path: Path):
    venv.create(tmp_path / "venv", with_pip=True)
    programs = tmp_path / "venv" / "bin"
    run([str(programs / "python"), "-m", "pip", "install", "--quiet", str(wheel)], cwd=tmp_path)

    example, output = [
        block for block in read_blocks(ROOT / "README.md") if block.language in ("python", "text")
    ][:2]
    (tmp_path / "example.py").write_text(example.text)
    check_output(run([str(programs / "python"), "example.py"], cwd=tmp_path), output.text)

    assert run([str(programs / "photinus"), "--version"], cwd=tmp_path) == f"photinus {version('photinus')}\n"
    assert "tune" in run([str(programs / "photinus"), "--help"], cwd=tmp_path)

    # The migrations travel with the wheel, and the store that they make works.
    (tmp_path / "space.toml").write_text('[space.x]\ntype = "float"\nlow = 0\nhigh = 1\n')
    photinus = str(programs / "photinus")
    run([photinus, "create", "first", "space.toml", "--storage", "studies.db"], cwd=tmp_path)
    assert "first" in run([photinus, "studies", "--storage", "studies.db"], cwd=tmp_path)
