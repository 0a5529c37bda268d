import pytest

from photinus.local import LocalBackend
from photinus.storage.sql import SqlStorage
from photinus.study import Study
from photinus.testing import StorageContract, StudyContract


class TestSqliteStorage(StorageContract):
    @pytest.fixture
    def make_storage(self, tmp_path):
        return lambda clock: SqlStorage(str(tmp_path / "s.db"), clock=clock)


class TestSqliteStudy(StudyContract):
    @pytest.fixture
    def make_study(self, tmp_path):
        backend = LocalBackend(SqlStorage(str(tmp_path / "s.db")))
        return lambda problem, **settings: Study.create(backend, problem, **settings)
