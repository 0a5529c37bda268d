"""How the files of the pages are sent: read once, compressed once, and asked for again only when they changed."""

import functools
import gzip
import hashlib
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path

from fastapi import Request
from fastapi.responses import PlainTextResponse, Response

SHELL = "index.html"
ICON = "icon.svg"
PLOTLY = "plotly.min.js"  # the one file that is not ours: it comes with the plotly package
TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
# Kept by the browser, and checked by its tag before it is used. The policy of the pages is the server's for all.
HEADERS = {"Cache-Control": "no-cache"}


@dataclass(frozen=True)
class Asset:
    """A file as it is sent."""

    content: bytes
    compressed: bytes
    media_type: str
    tag: str


def send_shell(request: Request) -> Response:
    """The page that becomes any of the pages."""
    return _respond(request, _assets()[SHELL])


def send_missing(request: Request) -> Response:
    """The same page where there is nothing: it says so in words, and the status says it to programs."""
    return _respond(request, _assets()[SHELL], status=404)


def send_icon(request: Request) -> Response:
    """The icon, where browsers look for it unasked."""
    return _respond(request, _assets()[ICON])


def send_file(request: Request) -> Response:
    """A style sheet, a module, the icon, or Plotly."""
    path = request.path_params["path"]
    asset = _plotly() if path == PLOTLY else _assets().get(path)
    if asset is None:
        return PlainTextResponse("There is no such file.", status_code=404, headers=HEADERS)
    return _respond(request, asset)


def _respond(request: Request, asset: Asset, status: int = 200) -> Response:
    is_compressed = "gzip" in request.headers.get("accept-encoding", "")
    tag = (
        f'"{asset.tag}-gzip"' if is_compressed else f'"{asset.tag}"'
    )  # two encodings are two representations
    headers = {**HEADERS, "ETag": tag, "Vary": "Accept-Encoding"}
    known = request.headers.get("if-none-match", "").split(",")
    if status == 200 and tag in [other.strip().removeprefix("W/") for other in known]:
        return Response(status_code=304, headers=headers)
    if not is_compressed:
        return Response(asset.content, status, headers, asset.media_type)
    headers["Content-Encoding"] = "gzip"
    return Response(asset.compressed, status, headers, asset.media_type)


@functools.cache
def _assets() -> dict[str, Asset]:
    """Files by path. Only these are ever sent, so no path that a request names can lead elsewhere."""
    return dict(_read_folder(files("photinus.dashboard").joinpath("assets"), ""))


def _read_folder(folder: Traversable, prefix: str) -> list[tuple[str, Asset]]:
    found: list[tuple[str, Asset]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _read_folder(entry, f"{prefix}{entry.name}/")
        elif (ending := entry.name.rpartition(".")[2]) in TYPES:
            found.append((prefix + entry.name, _asset(entry.read_bytes(), ending)))
    return found


@functools.cache
def _plotly() -> Asset | None:
    """The script inside the plotly package, found without importing the package, which takes its time."""
    spec = find_spec("plotly")
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(spec.submodule_search_locations[0], "package_data", PLOTLY)
    return _asset(path.read_bytes(), "js") if path.is_file() else None


def _asset(content: bytes, ending: str) -> Asset:
    tag = hashlib.sha256(content).hexdigest()[:16]
    return Asset(content, gzip.compress(content, compresslevel=6, mtime=0), TYPES[ending], tag)
