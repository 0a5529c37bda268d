"""Pictures of studies as Plotly's JSON, kept for the next one who looks."""

import inspect
import json
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from photinus.errors import ArgumentError
from photinus.plots import StudyPlots
from photinus.study import Study

PLOT_KINDS = tuple(name for name in vars(StudyPlots) if not name.startswith("_"))
MAX_PICTURES = 64  # ours
MAX_CHARACTERS = 32 * 2**20  # ours: of all pictures kept together

Key = tuple[int, int, str, str]  # study, its last event, kind, options


class Pictures:
    """Draws each picture once for every state of its study. Safe for threads."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._kept: OrderedDict[Key, str] = OrderedDict()  # the one longest unused comes first
        self._num_characters = 0

    def get(self, study: Study, last_event: int, kind: str, options: Mapping[str, Any]) -> str:
        """The picture; `last_event` was read before, so what happens meanwhile makes the next one a new one."""
        key = (study.record.id, last_event, kind, json.dumps(options, sort_keys=True))
        with self._mutex:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        picture = draw(study, kind, options)
        with self._mutex:
            self._num_characters += len(picture) - len(self._kept.pop(key, ""))
            self._kept[key] = picture
            while len(self._kept) > MAX_PICTURES or self._num_characters > MAX_CHARACTERS:
                self._num_characters -= len(self._kept.popitem(last=False)[1])
        return picture


def draw(study: Study, kind: str, options: Mapping[str, Any]) -> str:
    """A picture of that kind, without backgrounds: those are the page's, which may be `dark`."""
    if kind not in PLOT_KINDS:
        raise ArgumentError(f"a picture must be one of {', '.join(PLOT_KINDS)}, got {kind!r}")
    arguments = {name: value for name, value in options.items() if name != "dark"}
    method = getattr(study.plot, kind)
    known = inspect.signature(method).parameters
    if unknown := sorted(arguments.keys() - known.keys()):
        raise ArgumentError(
            f"options of the picture {kind!r} are dark{''.join(f', {name}' for name in known)}, "
            f"got {', '.join(map(repr, unknown))}"
        )
    figure = method(**arguments)
    from photinus.plots import theme  # imports plotly, whose absence `method` has explained

    return str(figure.update_layout(template=theme.DARK if options.get("dark") else theme.LIGHT).to_json())
