"""Photinus as a Model Context Protocol server: `photinus mcp`, or `make_server(backend).run()` in a program.

Tools work on one project of a store or a server. Nothing is kept between calls but what the store keeps, so any number
of sessions may work on a study, and one that dies takes nothing with it.
"""

from collections.abc import Callable
from typing import Annotated, Any

import photinus
from photinus.backend import Backend
from photinus.errors import PhotinusError, UnknownStudy
from photinus.exchange import to_csv
from photinus.integrations.packages import MCP
from photinus.record import DEFAULT_PROJECT

with MCP:
    import anyio.to_thread
    from mcp.server import MCPServer
    from mcp.server.mcpserver import ResourceSecurity
    from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
    from mcp.server.mcpserver.tools import Tool
    from mcp.types import Completion, CompletionArgument, ToolAnnotations
    from pydantic import Field

    from photinus.integrations.mcp_answers import studies_answer
    from photinus.integrations.mcp_calls import StrictTool
    from photinus.integrations.mcp_tools import StudyTools

INSTRUCTIONS = """\
Photinus finds good settings in few measurements. A study has parameters, objectives and trials. The loop: create_study
(or describe_study), then ask for points, measure each of them for real, tell its outcome, and ask again; advise says
whether to go on. A point that cannot be measured is infeasible, a measurement that broke is failed; neither is a
value. Give ask a worker name, so that a new session finds its unfinished trials again."""

EXPERIMENT = """\
Work on the study {study!r} with the Photinus tools{budget}.
1. describe_study: read the parameters and objectives, and take over open trials that are yours.
2. ask with worker={worker!r} for as many points as can be measured at once.
3. Measure each point exactly as given. Tell its values; infeasible with the reason if it cannot be measured; failed
   with the reason if the measurement broke. Do not guess values and do not change a point.
4. After each round, say what was measured and why the next points were chosen. From time to time call advise.
5. Stop when the budget is spent, when advise says little_to_gain, when the study is stopped, or when the user says so.
   Then report best_trials."""

LOOKS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
ADDS = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)
ADDS_ONCE = ADDS.model_copy(update={"idempotent_hint": True})
REPLACES = ADDS.model_copy(update={"destructive_hint": True})

# Names of studies are no paths, whatever they look like.
ANY_NAME = ResourceSecurity(exempt_params={"name"})
MAX_COMPLETIONS = 100  # by the protocol


def make_server(
    backend: Backend, project: str = DEFAULT_PROJECT, *, redact: Callable[[str], str] = str
) -> MCPServer[Any]:
    """A server whose tools work on the studies of one project; `run()` serves standard input and output.

    Args:
        backend: such as `photinus.local.open_backend("studies.db")` or `photinus.connect(url).backend`.
        project: the group of studies.
        redact: takes secrets out of error messages.
    """
    studies = StudyTools(backend, project, redact)
    server: MCPServer[Any] = MCPServer(
        "photinus",
        title="Photinus",
        version=photinus.__version__,
        instructions=INSTRUCTIONS,
        tools=_tools(studies),
        resource_security=ANY_NAME,
        log_level="WARNING",
    )
    _add_resources(server, studies, backend, project, redact)
    _add_prompt(server)
    _add_completion(server, studies)
    return server


def _tools(studies: StudyTools) -> list[Tool]:
    return [
        StrictTool.of(studies.list_studies, "List studies", LOOKS),
        StrictTool.of(studies.create_study, "Create a study", ADDS),
        StrictTool.of(studies.describe_study, "Describe a study", LOOKS),
        StrictTool.of(studies.ask, "Ask for points to measure", ADDS),
        StrictTool.of(studies.tell, "Tell an outcome", ADDS_ONCE),
        StrictTool.of(studies.amend, "Correct values", REPLACES),
        StrictTool.of(studies.release, "Hand a trial back", ADDS),
        StrictTool.of(studies.add_point, "Add a point", ADDS),
        StrictTool.of(studies.list_trials, "List trials", LOOKS),
        StrictTool.of(studies.best_trials, "Best trials", LOOKS),
        StrictTool.of(studies.predict, "Predict values", LOOKS),
        StrictTool.of(studies.advise, "Advise whether to go on", LOOKS),
    ]


def _add_resources(
    server: MCPServer[Any],
    studies: StudyTools,
    backend: Backend,
    project: str,
    redact: Callable[[str], str],
) -> None:
    def readable(read: Callable[[], str]) -> str:
        try:
            return read()
        except UnknownStudy as error:
            raise ResourceNotFoundError(redact(str(error))) from error
        except PhotinusError as error:
            raise ResourceError(redact(str(error))) from error

    @server.resource("photinus://studies", title="All studies", mime_type="application/json")
    def all_studies() -> str:
        """All studies with their objectives and how far they are."""
        return readable(lambda: studies_answer(project, backend.progress(project)).model_dump_json(indent=2))

    @server.resource("photinus://studies/{name}", title="A study", mime_type="application/json")
    def one_study(name: str) -> str:
        """A study: parameters, objectives, counts of trials, best and unfinished trials."""
        return readable(lambda: studies.summarise(studies.open_study(name)).model_dump_json(indent=2))

    @server.resource("photinus://studies/{name}/trials", title="Trials of a study", mime_type="text/csv")
    def trials_of_study(name: str) -> str:
        """All trials of a study as CSV, one row each."""

        def read() -> str:
            study = studies.open_study(name)
            return to_csv(study.problem, study.trials)

        return readable(read)


def _add_prompt(server: MCPServer[Any]) -> None:
    @server.prompt(title="Run an experiment")
    def run_experiment(
        study: Annotated[str, Field(description="name of the study")],
        budget: Annotated[str, Field(description='what may be spent, such as "20 trials"')] = "",
        worker: Annotated[str, Field(description="the name to ask under")] = "agent",
    ) -> str:
        """Work through a study: ask, measure, tell, and stop when there is little to gain."""
        return EXPERIMENT.format(
            study=study, budget=f", within this budget: {budget}" if budget else "", worker=worker
        )


def _add_completion(server: MCPServer[Any], studies: StudyTools) -> None:
    @server.completion()
    async def complete(
        _reference: object, argument: CompletionArgument, _context: object
    ) -> Completion | None:
        """Names of studies, wherever one is asked for."""
        if argument.name not in ("name", "study"):
            return None
        names = await anyio.to_thread.run_sync(studies.study_names)
        found = [name for name in names if name.startswith(argument.value)]
        return Completion(
            values=found[:MAX_COMPLETIONS], total=len(found), has_more=len(found) > MAX_COMPLETIONS
        )
