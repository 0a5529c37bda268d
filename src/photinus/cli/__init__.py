"""The command `photinus`: one file per noun, each of them thin: parse, call, print."""


def main() -> None:
    """Run the command line; ends the process with its exit code."""
    import sys
    from io import TextIOWrapper

    from photinus.cli.app import app

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a name that the terminal cannot show must not end the command
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="photinus")
