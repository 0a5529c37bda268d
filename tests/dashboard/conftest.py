"""Browsers and servers for the pages."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from browsing import open_browser
from sites import HOSTILE, PATIENCE_S, Site, Visit, running_site

import photinus as ph


@pytest.fixture(scope="module")  # not longer: it runs an event loop, beside which no other can run
def browser() -> Iterator[Any]:
    """A real one, from the system's packages."""
    with open_browser() as running:
        yield running


@pytest.fixture
def site() -> Iterator[Site]:
    """A server that needs no tokens, without studies."""
    with running_site() as running:
        yield running


@pytest.fixture
def guarded_site() -> Iterator[Site]:
    """A server that needs tokens."""
    with running_site(tokens_required=True, token_cache_s=0.0) as running:
        yield running


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Visit]]:
    """Opens pages of a site; at the end, none of them may have given cause for complaint."""
    visits: list[Visit] = []

    def start(
        site: Site, *, width: int = 1280, scheme: str = "light", expected: tuple[str, ...] = ()
    ) -> Visit:
        is_phone = width < 500
        context = browser.new_context(
            viewport={"width": width, "height": 844},
            color_scheme=scheme,
            has_touch=is_phone,
            is_mobile=is_phone,
        )
        context.set_default_timeout(PATIENCE_S * 1000)
        made = Visit(context.new_page(), site.url, list(expected))
        made.watch()
        visits.append(made)
        return made

    yield start
    for made in visits:
        made.page.context.close()
    for made in visits:
        made.check()


def value(params: dict[str, Any]) -> float:
    """Best at lr = 10^-2.5 and 4 layers."""
    return 0.1 + 0.05 * (math.log10(params["lr"]) + 2.5) ** 2 + 0.02 * abs(params["layers"] - 4)


@pytest.fixture(scope="session")
def shown_site() -> Iterator[Site]:
    """A server with a study of every kind."""
    with running_site() as site:
        site.add_study("nothing yet")
        goals = {"error": "minimize", "speed": "maximize", "memory": "minimize"}
        for count in (1, 2, 3):
            objectives = dict(list(goals.items())[:count])
            site.add_study(f"{count} objectives", objectives, metadata={"owner": "the team"})
            with site.connect() as server:
                study = server.load_study(f"{count} objectives")
                for i in range(14):
                    [trial] = study.ask(worker=f"gpu-{i % 3}")
                    if i == 5:
                        study.tell(trial, infeasible="diverged")
                    elif i == 6:
                        study.tell(trial, failed="worker lost")
                    else:
                        trial.report({name: 1.0 for name in objectives}, 0)
                        trial.report({name: 0.5 for name in objectives}, 1)
                        results = (
                            value(trial.params),
                            trial.params["batch"] / trial.params["layers"],
                            float(trial.params["batch"]),
                        )
                        study.tell(trial, dict(zip(objectives, results, strict=False)))
                study.ask(2, worker="still running")
                study.enqueue({"lr": 0.01, "layers": 1, "batch": 16, "optimizer": None})
        hostile = {
            HOSTILE: ph.Float(0, 1),
            "choice": ph.Categorical([HOSTILE, "1", 1, ""]),
            "w" * 90: ph.Int(1, 9),
        }
        site.add_study(HOSTILE, {HOSTILE: "minimize"}, hostile, metadata={HOSTILE: HOSTILE})
        with site.connect() as server:
            study = server.load_study(HOSTILE)
            for trial in study.ask(6, worker=HOSTILE):
                study.tell(trial, trial.params[HOSTILE])
        yield site
