"""A google-vizier program on a Photinus server: only the address is new.

pip install "photinus[server,vizier]" google-vizier
photinus serve --grpc-port 28080 &
python examples/vizier_client.py localhost:28080
"""

import math
import sys

from vizier.service import clients
from vizier.service import pyvizier as vz


def train(rate: float, layers: int) -> list[float]:
    """Stands for a training run: its accuracy after each epoch."""
    best = 0.95 - 0.03 * (math.log10(rate) + 2.5) ** 2 - 0.01 * abs(layers - 4)
    return [best * (1 - 0.5**epoch) for epoch in range(1, 6)]


def main() -> None:
    """Two workers, in turn, on one study."""
    clients.environment_variables.server_endpoint = sys.argv[1] if len(sys.argv) > 1 else "localhost:28080"
    config = vz.StudyConfig(algorithm="DEFAULT")
    config.search_space.root.add_float_param("rate", 1e-5, 1e-1, scale_type=vz.ScaleType.LOG)
    config.search_space.root.add_int_param("layers", 1, 8)
    config.metric_information.append(
        vz.MetricInformation(name="accuracy", goal=vz.ObjectiveMetricGoal.MAXIMIZE)
    )
    study = clients.Study.from_study_config(config, owner="me", study_id="net")
    for turn in range(6):
        for trial in study.suggest(count=1, client_id=f"worker-{turn % 2}"):
            params = trial.parameters
            for epoch, accuracy in enumerate(train(params["rate"], int(params["layers"])), start=1):
                trial.add_measurement(vz.Measurement({"accuracy": accuracy}, steps=epoch))
                if trial.check_early_stopping():  # when somebody said so, for example on the dashboard
                    break
            trial.complete()
    for best in study.optimal_trials().get():
        assert best.final_measurement is not None
        print(
            f"accuracy {best.final_measurement.metrics['accuracy'].value:.3f} with {best.parameters.as_dict()}"
        )


if __name__ == "__main__":
    main()
