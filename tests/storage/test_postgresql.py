import pytest

from photinus.local import LocalBackend
from photinus.storage.sql import SqlStorage
from photinus.study import Study
from photinus.testing import StorageContract, StudyContract


class TestPostgresqlStorage(StorageContract):
    @pytest.fixture
    def make_storage(self, postgresql):
        return lambda clock: SqlStorage(postgresql, clock=clock)


class TestPostgresqlStudy(StudyContract):
    @pytest.fixture
    def make_study(self, postgresql):
        backend = LocalBackend(SqlStorage(postgresql))
        return lambda problem, **settings: Study.create(backend, problem, **settings)
