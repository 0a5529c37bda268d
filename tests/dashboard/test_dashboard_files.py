"""The files of the pages, without a browser: who gets what, and what must not be in them."""

import gzip
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from photinus.dashboard import PAGES, mount

ASSETS = Path(str(files("photinus.dashboard"))) / "assets"
MODULES = sorted(ASSETS.rglob("*.js"))


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    app = FastAPI()
    mount(app)
    with TestClient(app) as made:
        yield made


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_the_same_shell(path: str, client: TestClient):
    response = client.get(path.format(study=1, number=2))
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert response.text == (ASSETS / "index.html").read_text(encoding="utf-8")


def test_a_wrong_address_is_a_page_that_says_so(client: TestClient):
    response = client.get("/studies/1/nothing/here")
    assert response.status_code == 404
    assert "<main" in response.text


@pytest.mark.parametrize(
    "path", ["../__init__.py", "..%2F__init__.py", "pages/../../serving.py", "", "pages", "none.js", "%00"]
)
def test_nothing_but_the_files_of_the_pages_is_sent(path: str, client: TestClient):
    assert client.get(f"/static/{path}").status_code == 404


def test_files_are_sent_once(client: TestClient):
    first = client.get("/static/app.js")
    tag = first.headers["etag"]
    assert client.get("/static/app.js", headers={"If-None-Match": f'"other", {tag}'}).status_code == 304
    assert client.get("/static/app.js", headers={"If-None-Match": '"other"'}).status_code == 200
    assert client.head("/static/app.js").headers["etag"] == tag


def test_both_encodings_are_the_same_file(client: TestClient):
    plain = client.get("/static/page.css", headers={"Accept-Encoding": "identity"})
    with client.stream("GET", "/static/page.css", headers={"Accept-Encoding": "gzip"}) as packed:
        content = b"".join(packed.iter_raw())
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(content) == plain.content == (ASSETS / "page.css").read_bytes()
    assert plain.headers["etag"] != packed.headers["etag"]


def test_plotly_comes_from_its_package(client: TestClient):
    response = client.get("/static/plotly.min.js")
    assert response.headers["content-type"].startswith("text/javascript")
    assert "plotly.js v" in response.text[:200]


def test_the_shell_has_nothing_inline():
    shell = (ASSETS / "index.html").read_text(encoding="utf-8")
    assert re.findall(r"<style|\sstyle=|\son\w+=|javascript:", shell) == []
    assert re.findall(r"<script[^>]*>[^<]", shell) == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ASSETS).as_posix())
def test_modules_import_what_is_there_and_parse_no_markup(path: Path):
    text = path.read_text(encoding="utf-8")
    wanted = re.findall(r'from "/static/([^"]+)"', text)
    assert [name for name in wanted if not (ASSETS / name).is_file()] == []
    assert (
        re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text)
        == []
    )
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)", text) == []
    for name in wanted:
        exported = (ASSETS / name).read_text(encoding="utf-8")
        for block in re.findall(rf'import {{([^}}]*)}} from "/static/{re.escape(name)}"', text):
            for symbol in (part.strip() for part in block.split(",")):
                assert re.search(rf"export (?:const|class) {symbol}\b", exported), f"{name} has no {symbol}"
                rest = text.replace(block, "", 1)
                assert re.search(rf"\b{symbol}\b", rest), f"{symbol} is imported and not used"
