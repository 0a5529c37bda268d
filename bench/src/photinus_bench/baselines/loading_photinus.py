"""Photinus' client, as a user has it: retries for a minute, and any server may answer any request."""

import itertools
from collections.abc import Sequence

import photinus as ph
from photinus.client import Server
from photinus_bench.baselines.storing_photinus import SPACE
from photinus_bench.loading import serve

HALF = (
    2  # every second worker is anonymous: only the key of its ask keeps a repeated one from taking two trials
)


class PhotinusWorker:
    """See `Worker`. Asks one server and tells the next one."""

    def __init__(self, studies: Sequence[ph.Study], name: str | None, first: int) -> None:
        self._studies = itertools.islice(itertools.cycle(studies), first, None)
        self._name = name

    def ask(self) -> ph.Trial:
        [trial] = next(self._studies).ask(worker=self._name)
        return trial

    def tell(self, trial: ph.Trial, value: float) -> int:
        return next(self._studies).tell(trial.number, value, worker=self._name).number


class PhotinusLoad:
    """See `Load`."""

    def __init__(self) -> None:
        self._servers: dict[str, Server] = {}
        self._num_opened = itertools.count()

    def create(self, addresses: Sequence[str], studies: dict[str, str]) -> None:
        server = self._server(addresses[0])
        for seed, (name, algorithm) in enumerate(studies.items()):
            server.create_study(SPACE, name=name, algorithm=algorithm, seed=seed)

    def open(self, addresses: Sequence[str], worker: str, study: str) -> PhotinusWorker:
        number = next(self._num_opened)
        studies = [self._server(address).load_study(study) for address in addresses]
        return PhotinusWorker(studies, worker if number % HALF else None, number)

    def count(self, study: str) -> int:
        [server, *_] = self._servers.values()
        return sum(trial.values is not None for trial in server.load_study(study).trials)

    def _server(self, address: str) -> Server:
        if address not in self._servers:
            self._servers[address] = ph.connect(address)
        return self._servers[address]


if __name__ == "__main__":
    serve(PhotinusLoad(), packages=("photinus", "httpx"))
