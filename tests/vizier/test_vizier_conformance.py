"""google-vizier's own list of what a client and its server must do together, with its own client."""

import functools

import pytest
from vizier.client import client_abc_testing
from vizier.service import clients
from vizier.service import pyvizier as vz

# Or their checks would be run once more, without a server.
BaseCase = client_abc_testing.TestCase


@pytest.mark.usefixtures("connected")
class TestClient(BaseCase):
    """Their checks against our server."""

    __test__ = True

    def create_study(self, problem: vz.ProblemStatement, study_id: str, algorithm: str = "RANDOM_SEARCH"):
        config = vz.StudyConfig.from_problem(problem)
        config.algorithm = algorithm
        return clients.Study.from_study_config(config, owner="conformance", study_id=study_id)

    def test_a_loop_with_learning_curves(self):
        self.assertPassesE2ETuning()

    def test_a_loop_with_two_objectives(self):
        self.assertPassesE2ETuning(multi_objective=True)

    @pytest.mark.long
    def test_a_loop_with_a_model(self):
        create = functools.partial(self.create_study, study_id=self.id(), algorithm="GP_UCB_PE")
        self.assertPassesE2ETuning(study_factory=create, num_iterations=2)


del BaseCase
