"""Pages of documentation as programs: what their code blocks do when a reader follows them from top to bottom.

    ```python                        runs, in one namespace per page
    ```sh                            runs in bash; what the page needs is on its PATH
    ```toml title="space.toml"       any block with a title is written to that file
    ```text                          what the block before it prints; ... stands for anything
    <!-- not run: why -->            in the line before a block: it is for reading only

Blocks of other languages are for reading. Everything happens in one directory that is empty at first.
"""

import contextlib
import io
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
FENCE = re.compile(
    r"^(?P<reading><!-- not run: [^\n]+ -->\n)?"
    r"^(?P<indent> *)```(?P<language>\w+)(?P<attributes>[^\n]*)\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
TITLE = re.compile(r'title="([^"]+)"')
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.]*\w)")
SHELL_SECONDS = 300


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    place: str
    language: str
    title: str | None
    text: str
    is_run: bool

    @property
    def is_code(self) -> bool:
        return self.is_run and self.title is None and self.language in ("python", "sh")


def read_blocks(page: Path) -> list[Block]:
    """The page's blocks in order."""
    content = page.read_text(encoding="utf-8")
    blocks = []
    for match in FENCE.finditer(content):
        title = TITLE.search(match["attributes"])
        line = content.count("\n", 0, match.start()) + 1
        blocks.append(
            Block(
                f"{page.relative_to(ROOT)}:{line}",
                match["language"],
                None if title is None else title[1],
                textwrap.dedent(match["text"]),
                match["reading"] is None,
            )
        )
    return blocks


def run_page(page: Path, directory: Path, replacements: Mapping[str, str]) -> int:
    """Follow the page in a directory; how many pieces of code ran. Every output on the page must come true."""
    names: dict[str, Any] = {"__name__": "__main__"}  # or worker processes would look for functions by name
    printed: str | None = None
    num_run = 0
    with contextlib.chdir(directory):
        for block in read_blocks(page):
            text = block.text
            for old, new in replacements.items():
                text = text.replace(old, new)
            if block.is_code:
                printed = (
                    _run_shell(block, text) if block.language == "sh" else _run_python(block, text, names)
                )
                num_run += 1
            elif block.is_run and block.title is not None:
                Path(block.title).write_text(text, encoding="utf-8")
            elif block.is_run and block.language == "text":
                assert printed is not None, f"{block.place}: nothing was run that could have printed this"
                check_output(printed, block.text, block.place)
                printed = None
    return num_run


def check_output(printed: str, expected: str, place: str = "") -> None:
    """Words and whole numbers must be equal; other numbers may differ a little from machine to machine."""
    wanted = [float(number) for number in NUMBER.findall(expected) if not number.isdigit()]
    match = re.fullmatch(_pattern(expected), " ".join(printed.split()), re.DOTALL)
    assert match is not None, f"{place}\n--- expected\n{expected}\n--- printed\n{printed}"
    assert [float(number) for number in match.groups()] == pytest.approx(wanted, rel=0.15), (
        f"{place}\n{printed}"
    )


def _pattern(expected: str) -> str:
    """White space counts only as far as it separates: numbers of another length move the columns of a table."""
    text = " ".join(expected.split())
    pieces = []
    end = 0
    for match in re.finditer(rf" ?\.\.\. ?|{NUMBER.pattern}", text):
        pieces.append(re.escape(text[end : match.start()]))
        end = match.end()
        if "..." in match[0]:
            pieces.append(".*?")
        else:
            pieces.append(match[0] if match[0].isdigit() else r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)")
    return "".join([*pieces, re.escape(text[end:])])


def _run_python(block: Block, code: str, names: dict[str, Any]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, block.place, "exec"), names)
    return printed.getvalue()


def _run_shell(block: Block, script: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PHOTINUS_STORAGE"}
    environment |= {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "80"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SHELL_SECONDS,
    )
    assert done.returncode == 0, f"{block.place} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout
