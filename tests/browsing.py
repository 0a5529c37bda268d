"""A real browser for tests, from the system's packages."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
LAUNCH_MS = 120_000  # of a busy machine with a cold disk
REQUIRED = "PHOTINUS_TEST_BROWSER"  # "required": a test that needs a browser fails where there is none


@contextlib.contextmanager
def open_browser() -> Iterator[Any]:
    """Chromium without a window; the test is skipped where there is none, unless it is required."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        missing = f"no browser: none of {', '.join(BROWSERS)} is installed"
        if os.environ.get(REQUIRED) == "required":
            pytest.fail(missing)
        pytest.skip(missing)
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as session:
        running = session.chromium.launch(executable_path=found, args=ARGUMENTS, timeout=LAUNCH_MS)
        yield running
        running.close()
