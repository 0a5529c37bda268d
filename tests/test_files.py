"""Files are written as a whole, and nothing but a file is ever replaced."""

import os
import stat
import threading

import pytest

from photinus.files import whole_file


def test_the_file_is_there_when_the_block_ends_and_nothing_else(tmp_path):
    path = tmp_path / "page.html"
    with whole_file(path) as unfinished:
        unfinished.write_text("new")
        assert not path.exists()
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["page.html"]


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), whole_file(path) as unfinished:
        unfinished.write_text("half")
        raise ZeroDivisionError
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["page.html"]


def test_a_replaced_file_keeps_its_permissions(tmp_path):
    path = tmp_path / "private.csv"
    path.write_text("old")
    path.chmod(0o600)
    with whole_file(path) as unfinished:
        unfinished.write_text("new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_stays_a_link(tmp_path):
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_text("old")
    link.symlink_to(target)
    with whole_file(link) as file:
        file.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_pipe_stays_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    with whole_file(pipe) as file:
        file.write_text("through")
    reader.join()
    assert read == ["through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_name_may_be_as_long_as_file_systems_allow(tmp_path):
    path = tmp_path / ("n" * 255)
    with whole_file(path) as unfinished:
        unfinished.write_text("new")
    assert path.read_text() == "new"
