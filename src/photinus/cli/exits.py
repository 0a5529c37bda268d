"""How a command ends: one table from errors to exit codes, and one place where errors become messages."""

import enum
import os
import sys
import traceback
from typing import Any

import typer
from typer.core import TyperGroup

from photinus import errors
from photinus.cli.output import printable
from photinus.cli.secrets import redact


class ExitCode(enum.IntEnum):
    """What the shell gets to see."""

    OK = 0
    UNEXPECTED = 1
    USAGE = 2
    NOT_FOUND = 3
    REFUSED = 4
    STORE = 5
    TUNE_FAILED = 6
    INTERRUPTED = 130


EXIT_CODES_HELP = """Exit codes: 0 done; 1 unexpected trouble; 2 wrong usage or input; 3 no such store, study, trial
or token; 4 refused (state of the trial, another definition, a name that is taken, a token that may not); 5 the store
failed, or the server or the way to it; 6 tune: no trial was completed, or the command failed too often; 130
interrupted."""


class StoreMissing(errors.UnknownStudy):
    """A command that only reads was pointed at a store that does not exist."""


class TuneFailed(errors.ObjectiveError):
    """`tune` ended without a result, or gave up on a command that keeps failing."""


# The nearest class in an error's ancestry decides.
EXIT_CODE_BY_ERROR: dict[type[BaseException], ExitCode] = {
    errors.ArgumentError: ExitCode.USAGE,
    errors.SpaceError: ExitCode.USAGE,
    errors.ProblemError: ExitCode.USAGE,
    errors.ValuesError: ExitCode.USAGE,
    errors.UnsupportedError: ExitCode.USAGE,
    errors.MissingDependency: ExitCode.USAGE,
    errors.UnknownStudy: ExitCode.NOT_FOUND,
    errors.UnknownTrial: ExitCode.NOT_FOUND,
    errors.UnknownToken: ExitCode.NOT_FOUND,
    errors.NoCompletedTrial: ExitCode.NOT_FOUND,
    errors.DuplicateStudy: ExitCode.REFUSED,
    errors.StudyMismatch: ExitCode.REFUSED,
    errors.InvalidState: ExitCode.REFUSED,
    errors.AuthenticationError: ExitCode.REFUSED,
    errors.PermissionDenied: ExitCode.REFUSED,
    errors.StorageError: ExitCode.STORE,
    errors.ConnectionLost: ExitCode.STORE,
    errors.ServerError: ExitCode.STORE,
    errors.TooManyRequests: ExitCode.STORE,
    errors.SuggestionError: ExitCode.UNEXPECTED,
    errors.ObjectiveError: ExitCode.UNEXPECTED,
    errors.ExecutorBroken: ExitCode.UNEXPECTED,
    TuneFailed: ExitCode.TUNE_FAILED,
}


def exit_code_of(error: BaseException) -> ExitCode:
    """The code that tells a script what kind of error it was."""
    for kind in type(error).__mro__:
        if kind in EXIT_CODE_BY_ERROR:
            return EXIT_CODE_BY_ERROR[kind]
    return ExitCode.UNEXPECTED


class CommandGroup(TyperGroup):
    """Commands whose errors end as one message on stderr and a meaningful exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except errors.PhotinusError as error:
            _complain(str(error))
            raise typer.Exit(exit_code_of(error)) from error
        except KeyboardInterrupt as error:
            _complain("interrupted")
            raise typer.Exit(ExitCode.INTERRUPTED) from error
        except Exception as error:
            # Usage errors, exits and a reader that went away (`| head`) are typer's to handle.
            if type(error).__module__.partition(".")[0] in ("typer", "click") or isinstance(
                error, BrokenPipeError
            ):
                raise
            _complain(f"unexpected {type(error).__name__}: {error} (PHOTINUS_DEBUG=1 shows where)")
            raise typer.Exit(ExitCode.UNEXPECTED) from error


def _complain(message: str) -> None:
    """The message on stderr, with the traceback before it where that is wanted."""
    if os.environ.get("PHOTINUS_DEBUG", "") not in ("", "0"):
        print(harmless(traceback.format_exc().rstrip()), file=sys.stderr)
    print(harmless(f"error: {message}"), file=sys.stderr)


def harmless(text: str) -> str:
    """The text without passwords, and with nothing that does something to the terminal but end its lines.

    A message may quote what a command printed.
    """
    return "\n".join(map(printable, redact(text).split("\n")))
