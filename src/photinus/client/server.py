"""A server's studies as a user reaches them: `connect`."""

from collections.abc import Mapping
from types import TracebackType
from typing import Any

from photinus.arguments import check_name
from photinus.client.address import make_address
from photinus.client.backend import HttpBackend
from photinus.problem import Problem
from photinus.record import DEFAULT_PROJECT
from photinus.space import Parameter, SearchSpace
from photinus.study import Study

RETRY_S = 60.0
TIMEOUT_S = 30.0


def connect(
    url: str,
    token: str | None = None,
    *,
    project: str | None = None,
    retry_s: float = RETRY_S,
    timeout_s: float = TIMEOUT_S,
    verify: bool | str = True,
) -> "Server":
    """The studies of a server, as if they were here: the same `create_study`, the same `Study`.

    Nothing is sent before it is needed. Short outages go unnoticed: whatever gets no answer is sent again, and done
    once all the same.

    Args:
        url: where the server is, such as "http://localhost:8000".
        token: who you are, as `photinus token create` printed it; from the variable PHOTINUS_TOKEN if left out.
            Servers on your own machine may need none.
        project: the group of studies to work in; the token's, or "default", if left out.
        retry_s: how long a server that does not answer is tried again, before `ConnectionLost` is raised.
        timeout_s: how long to wait for one answer, other than those that the server has to compute.
        verify: a file of certificates to trust, or False to trust any server that says it is this one.
    """
    address = make_address(url, token, retry_s=retry_s, timeout_s=timeout_s, verify=verify)
    return Server(HttpBackend(address), None if project is None else check_name("project", project))


class Server:
    """Studies on a server. Made by `connect`; safe for threads, and may be sent to other processes."""

    def __init__(self, backend: HttpBackend, project: str | None = None) -> None:
        self._backend = backend
        self._project = project

    def __repr__(self) -> str:
        return f"Server({self._backend.url!r})"

    def __enter__(self) -> "Server":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections that are open; whatever is used again opens them again."""
        self._backend.close()

    @property
    def backend(self) -> HttpBackend:
        """What the studies stand on."""
        return self._backend

    @property
    def project(self) -> str:
        """The group of studies to work in."""
        if self._project is None:
            self._project = self.whoami()["project"] or DEFAULT_PROJECT
        return self._project

    def whoami(self) -> dict[str, Any]:
        """What the server knows of the token: `name`, `role`, `project` (None: all), and whether it needs one."""
        return self._backend.whoami()

    def create_study(
        self,
        space: SearchSpace | Mapping[str, Parameter],
        objectives: str | Mapping[str, str] = "minimize",
        *,
        name: str | None = None,
        seed: int | None = None,
        load_if_exists: bool = False,
        algorithm: str = "default",
        project: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> Study:
        """A new study on the server, or the stored one; see `photinus.create_study`."""
        return Study.create(
            self._backend,
            Problem.define(space, objectives),
            name=name,
            seed=seed,
            load_if_exists=load_if_exists,
            algorithm=algorithm,
            project=self.project if project is None else project,
            metadata=metadata,
        )

    def load_study(self, name: str, *, project: str | None = None) -> Study:
        """The study of that name."""
        where = self.project if project is None else check_name("project", project)
        return Study(self._backend, self._backend.find_study(where, check_name("name", name)))

    def studies(self, *, project: str | None = None) -> list[Study]:
        """All studies of the project, oldest first."""
        where = self.project if project is None else check_name("project", project)
        return [Study(self._backend, record) for record in self._backend.list_studies(where)]

    def delete_study(self, name: str, *, project: str | None = None) -> None:
        """Delete the study of that name and its trials, for good. Needs a token of the role admin."""
        where = self.project if project is None else check_name("project", project)
        self._backend.delete_study(self._backend.find_study(where, check_name("name", name)).id)
