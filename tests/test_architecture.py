"""Rules that a reader of one file cannot see: what is imported, what is cited. Layers: `make lint`."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import jax.numpy as jnp
import jaxtyping
import pytest

from photinus.engine.acquisition.ucb import upper_confidence_bound

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "photinus"
ENGINE = PACKAGE / "engine"
EQUATIONS = set(re.findall(r"\\tag\{(\d+)\}", (ROOT / "docs" / "algorithm.md").read_text()))
SECTIONS = set(re.findall(r"^## (\d+)\.", (ROOT / "docs" / "algorithm.md").read_text(), re.MULTILINE))
MEANINGLESS_NAMES = {"utils", "common", "misc", "helpers", "core", "shared", "types"}


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@pytest.mark.parametrize("module", ["photinus", "photinus.testing", "photinus.demo", "photinus.engine"])
def test_importing_leaves_jax_alone(module: str):
    result = run(f"import sys, {module}; sys.exit('jax' in sys.modules)")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("algorithm", ["random", "quasi_random"])
def test_searching_without_a_model_leaves_jax_alone(algorithm: str):
    result = run(f"""
import sys, photinus as ph
study = ph.create_study({{"x": ph.Float(0, 1)}}, algorithm={algorithm!r}, seed=0)
for trial in study.ask(3):
    study.tell(trial, trial.params["x"])
sys.exit("jax" in sys.modules)
""")
    assert result.returncode == 0, result.stderr


def test_a_study_in_memory_needs_jax_numpy_and_scipy_alone():
    result = run("""
import sys
from importlib.abc import MetaPathFinder

class Refuse(MetaPathFinder):
    refused = {"beartype", "cloudpickle", "jaxtyping", "joblib", "loky", "pandas", "plotly", "rich"}
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in self.refused:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refuse())
import photinus as ph
study = ph.create_study({"x": ph.Float(0, 1), "c": ph.Categorical(["a", "b"])}, seed=0)
for _ in range(2):
    [trial] = study.ask()
    study.tell(trial, trial.params["x"])
assert trial.reason["method"] != "centre" and "jax" in sys.modules, trial.reason
""")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("path", sorted(ENGINE.rglob("*.py")), ids=name_of)
def test_the_engine_imports_jax_numpy_scipy_and_itself(path: Path):
    allowed = {*sys.stdlib_module_names, "jax", "numpy", "scipy", "photinus"}
    tree = ast.parse(path.read_text())
    optional = {
        node
        for guard in ast.walk(tree)
        if (isinstance(guard, ast.Try) and any(catches_missing_module(h) for h in guard.handlers))
        or (isinstance(guard, ast.If) and ast.unparse(guard.test) == "TYPE_CHECKING")  # never runs
        for statement in guard.body
        for node in ast.walk(statement)
    }
    for node, package in imports(tree):
        assert package in allowed or (package == "jaxtyping" and node in optional), (
            f"line {node.lineno} imports {package!r}: the engine may import jax, numpy and scipy, "
            "and jaxtyping where its absence is caught"
        )


def test_shapes_in_the_engine_are_checked_during_tests():
    mu, sigma = jnp.zeros((3, 1)), jnp.zeros((3, 1))
    assert upper_confidence_bound(mu, sigma, 1.8).shape == (3, 1)
    with pytest.raises(jaxtyping.TypeCheckError, match="upper_confidence_bound"):
        upper_confidence_bound(mu, sigma[:2], 1.8)


def imports(tree: ast.AST) -> Iterator[tuple[ast.Import | ast.ImportFrom, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name.partition(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative imports hide where a name comes from"
            yield node, (node.module or "").partition(".")[0]


def catches_missing_module(handler: ast.ExceptHandler) -> bool:
    return isinstance(handler.type, ast.Name) and handler.type.id in {"ModuleNotFoundError", "ImportError"}


@pytest.mark.parametrize("path", sources(), ids=name_of)
def test_cited_equations_and_sections_exist(path: Path):
    cited_equations, cited_sections = citations(path.read_text())
    assert cited_equations <= EQUATIONS
    assert cited_sections <= SECTIONS


def test_citations_are_found_in_all_the_forms_in_use():
    text = '''"""Some maths (docs/algorithm.md §3 and §4, eqs. 12 to 14)."""
x = f(1)  # (7), and (8) without noise
def g(): """The bound, eq. 17; see eqs. 20, 21 and 22."""
'''
    equations, sections = citations(text)
    assert equations == {"7", "8", "12", "14", "17", "20", "21", "22"}
    assert sections == {"3", "4"}


def test_the_engine_cites_the_equations_it_computes():
    cited = set().union(*(citations(path.read_text())[0] for path in ENGINE.rglob("*.py")))
    assert cited == EQUATIONS


def citations(text: str) -> tuple[set[str], set[str]]:
    """Numbers of the equations and sections of docs/algorithm.md that a source file refers to."""
    equations = {
        number
        for comment in re.findall(r"  # (\(\d+\).*)$", text, re.MULTILINE)
        for number in re.findall(r"\((\d+)\)", comment)
    }
    for numbers in re.findall(r"\beqs?\. (\d+(?:(?:,| to| and) ?\d+)*)", text):
        equations.update(re.findall(r"\d+", numbers))
    sections = {
        number
        for place in re.findall(r"docs/algorithm\.md (§[^.)]*)", text)
        for number in re.findall(r"§(\d+)", place)
    }
    return equations, sections


@pytest.mark.parametrize("path", sources(), ids=name_of)
def test_files_have_names_that_say_something(path: Path):
    assert path.stem not in MEANINGLESS_NAMES
