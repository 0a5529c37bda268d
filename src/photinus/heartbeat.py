"""Something done again and again in the background while other work goes on."""

import logging
import threading
from collections.abc import Callable
from types import TracebackType

logger = logging.getLogger("photinus")


class Heartbeat:
    """Calls `beat` every `interval_s` seconds from a thread of its own, for the length of a `with` block."""

    def __init__(self, beat: Callable[[], object], interval_s: float) -> None:
        self._beat = beat
        self._interval_s = interval_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="photinus-heartbeat", daemon=True)

    def __enter__(self) -> "Heartbeat":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self._interval_s):
            try:
                self._beat()
            except Exception:
                # One missed beat does no harm, as what is kept alive lasts for several; a dead thread would.
                logger.warning("a background renewal failed and will be tried again", exc_info=True)
