"""Adapters use what any other program could: nothing private of Photinus, neither its numerics nor its tables."""

import ast
from pathlib import Path

import pytest

import photinus

FOLDER = Path(photinus.__file__).parent / "integrations"
INSIDE = ("photinus.engine", "photinus.storage.sql", "photinus.plots", "photinus.service", "photinus.cli")


def is_private(name: str) -> bool:
    return any(part.startswith("_") for part in name.split("."))


def uses_of(tree: ast.AST) -> set[str]:
    """The modules and names of Photinus' that a file imports, with dots."""
    uses: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            uses |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            uses |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {use for use in uses if use.partition(".")[0] == "photinus"}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.name)
def test_an_adapter_stands_on_the_public_surface(path: Path):
    for use in uses_of(ast.parse(path.read_text())):
        assert not is_private(use), use
        assert not any(f"{use}.".startswith(f"{module}.") for module in INSIDE), use


def test_every_way_to_import_is_seen():
    text = (
        "import photinus.engine as e\ndef f():\n    from photinus.study import _x, Study\nfrom os import path"
    )
    assert uses_of(ast.parse(text)) == {"photinus.engine", "photinus.study._x", "photinus.study.Study"}
