"""A study on a server does what a study does: the same contract, over real HTTP."""

import pytest

from photinus.study import Study
from photinus.testing import StudyContract


class TestStudyOnAServer(StudyContract):
    @pytest.fixture
    def make_study(self, server):
        return lambda problem, **settings: Study.create(server.backend, problem, **settings)
