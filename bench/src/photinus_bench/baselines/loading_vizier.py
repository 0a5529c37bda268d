"""google-vizier's client, with the server's RANDOM_SEARCH."""

from collections.abc import Sequence

from vizier.service import clients
from vizier.service import pyvizier as vz

from photinus_bench.loading import serve
from photinus_bench.storing import CHOICES, FLOATS, INTEGERS, LOG_FLOATS

OWNER = "bench"
METRIC = "value"


class VizierWorker:
    """See `Worker`."""

    def __init__(self, study: clients.Study, name: str) -> None:
        self._study = study
        self._name = name

    def ask(self) -> clients.Trial:
        [trial] = self._study.suggest(count=1, client_id=self._name)
        return trial

    def tell(self, trial: clients.Trial, value: float) -> int:
        trial.complete(vz.Measurement({METRIC: value}))
        return trial.id


class VizierLoad:
    """See `Load`."""

    def __init__(self) -> None:
        self._studies: dict[str, clients.Study] = {}

    def create(self, addresses: Sequence[str], studies: dict[str, str]) -> None:
        for name in studies:
            self._study(addresses[0], name)

    def open(self, addresses: Sequence[str], worker: str, study: str) -> VizierWorker:
        return VizierWorker(self._study(addresses[0], study), worker)

    def count(self, study: str) -> int:
        trials = self._studies[study].trials().get()
        return sum(trial.status == vz.TrialStatus.COMPLETED for trial in trials)

    def _study(self, address: str, name: str) -> clients.Study:
        """The study, made if it is not there."""
        if name not in self._studies:
            clients.environment_variables.server_endpoint = address
            self._studies[name] = clients.Study.from_study_config(definition(), owner=OWNER, study_id=name)
        return self._studies[name]


def definition() -> vz.StudyConfig:
    config = vz.StudyConfig(algorithm="RANDOM_SEARCH")
    root = config.search_space.root
    for name, bounds in FLOATS.items():
        root.add_float_param(name, *bounds)
    for name, bounds in LOG_FLOATS.items():
        root.add_float_param(name, *bounds, scale_type=vz.ScaleType.LOG)
    for name, bounds in INTEGERS.items():
        root.add_int_param(name, *bounds)
    for name, choices in CHOICES.items():
        root.add_categorical_param(name, list(choices))
    config.metric_information.append(vz.MetricInformation(METRIC, goal=vz.ObjectiveMetricGoal.MINIMIZE))
    return config


if __name__ == "__main__":
    serve(VizierLoad(), packages=("google-vizier", "grpcio"))
