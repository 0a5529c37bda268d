"""Files that are written as a whole or not at all."""

import contextlib
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A path to write to beside `path`, put in its place when the block ends well: never half a file.

    What is no plain file is written to as it is: putting a file in the place of /dev/null or of a link, such as
    /dev/stdout, would take it away from everybody else.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        yield path
        return
    unfinished = path.with_name(f".{secrets.token_hex(8)}.unfinished")  # as long a name as `path` may have
    try:
        yield unfinished
        if path.exists():
            shutil.copymode(path, unfinished)
        unfinished.replace(path)
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
