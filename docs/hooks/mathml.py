"""Formulas become MathML while the site is built: browsers draw it by themselves, without scripts or a network."""

import html
import re
from typing import Any

from latex2mathml.converter import convert

# What pymdownx.arithmatex makes of $...$ and $$...$$.
INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
BLOCK = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)
NUMBER = re.compile(r"\\tag\{(\d+)\}")


def on_page_content(content: str, **_: Any) -> str:
    """Called by MkDocs with every page's HTML."""
    return BLOCK.sub(_numbered, INLINE.sub(lambda match: _mathml(match[1], "inline"), content))


def _numbered(match: re.Match[str]) -> str:
    """A formula of its own line, with its number beside it and an anchor to link to, if it has one."""
    number = NUMBER.search(match[1])
    formula = f'<div class="formula">{_mathml(NUMBER.sub("", match[1]), "block")}</div>'
    if number is None:
        return f'<div class="equation">{formula}</div>'
    return f'<div class="equation" id="equation-{number[1]}">{formula}<span class="number">({number[1]})</span></div>'


def _mathml(source: str, display: str) -> str:
    latex = html.unescape(source).strip()
    formula = convert(latex, display=display)
    if "\\" in formula:  # the converter passes on what it does not know
        raise ValueError(f"every command in a formula must have a MathML form, got {latex!r}")
    return formula
