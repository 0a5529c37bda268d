"""The command line reference, written while the site is built from the commands themselves, so that it is true."""

import inspect
from collections.abc import Iterator
from typing import Any

MARK = "<!-- commands -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs with every page's Markdown."""
    return markdown.replace(MARK, "\n".join(_reference())) if MARK in markdown else markdown


def _reference() -> Iterator[str]:
    import typer

    from photinus.cli.app import app

    for name, command in _commands("photinus", typer.main.get_command(app)):
        yield from _section(name, command)


def _commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """The leaves of the tree of commands, with the words that call them."""
    if not hasattr(command, "commands"):
        yield name, command
        return
    for word, child in command.commands.items():
        yield from _commands(f"{name} {word}", child)


def _section(name: str, command: Any) -> Iterator[str]:
    import typer

    context = typer.Context(command, info_name=name)
    shown = [param for param in command.params if not getattr(param, "hidden", False)]
    rows = {param: param.get_help_record(context) for param in shown}
    for param, (forms, meaning) in rows.items():
        if param.param_type_name == "argument":  # its type says nothing new, other than an option's
            rows[param] = forms.partition(" <")[0], meaning
    arguments = [forms for param, (forms, _) in rows.items() if param.param_type_name == "argument"]
    yield from (f"## {name}", "", "```text", " ".join([name, "[OPTIONS]", *arguments]), "```", "")
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        is_example = paragraph.startswith("photinus ") and "\n" not in paragraph
        yield from (f"    {paragraph}" if is_example else _escape(paragraph), "")
    yield from ("| argument or option | meaning |", "|---|---|")
    yield from (f"| `{forms}` | {_escape(meaning)} |" for forms, meaning in rows.values())
    yield ""


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
