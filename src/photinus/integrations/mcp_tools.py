"""Studies as tools for agents, one method each. What a method says of itself is what an agent reads."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from photinus.arguments import check_name
from photinus.backend import Backend
from photinus.best import best_trials, costs
from photinus.errors import PhotinusError, SpaceError, UnknownStudy
from photinus.integrations.packages import MCP
from photinus.problem import Problem
from photinus.report import advise
from photinus.space import Parameter, SearchSpace, parameter_from_dict
from photinus.study import Study
from photinus.trial import Trial, TrialState

with MCP:
    from mcp.server.mcpserver import Context
    from mcp.types import CallToolResult
    from pydantic import Field, StrictFloat, StrictInt

    from photinus.integrations import mcp_answers as answers
    from photinus.integrations import mcp_texts as texts
    from photinus.integrations.mcp_calls import Calls, answer
    from photinus.wire import State
    from photinus.wire.fields import Value
    from photinus.wire.problems import Parameter as ParameterBody

MAX_ASK = 100  # ours: trials in one call; an answer has to fit what an agent can read
MAX_LISTED = 200
MAX_POINTS = 100

Ctx = Context[Any, Any]
StudyName = Annotated[str, Field(description="name of the study")]
TrialNumber = Annotated[StrictInt, Field(ge=0, description="number of the trial, as `ask` gave it")]
Values = StrictFloat | dict[str, StrictFloat]
Outcome = Annotated[
    Values | None,
    Field(description="measured values by objective; a bare number will do for a single objective"),
]
Infeasible = Annotated[
    str | None, Field(description="instead of values: why the point cannot be measured; marks it as bad")
]
Failed = Annotated[
    str | None, Field(description="instead of values: what broke; says nothing about the point")
]
Params = Annotated[dict[str, Value], Field(description="a value for every parameter, by name")]
Worker = Annotated[
    str | None,
    Field(description="a name of your own; asking again under it returns your unfinished trials first"),
]


class StudyTools:
    """The tools, over one project of a back end."""

    def __init__(self, backend: Backend, project: str, redact: Callable[[str], str]) -> None:
        self._backend = backend
        self._project = project
        self._calls = Calls(redact)

    async def list_studies(
        self,
        ctx: Ctx,
        containing: Annotated[str, Field(description="only studies with this in their name")] = "",
        limit: Annotated[StrictInt, Field(ge=1, le=MAX_LISTED, description="at most so many")] = 50,
    ) -> Annotated[CallToolResult, answers.StudiesAnswer]:
        """List studies with their objectives and how far they are, the newest last."""
        found = await self._calls.run(ctx, "listing", lambda: self._backend.progress(self._project))
        content = answers.studies_answer(self._project, found, containing=containing, limit=limit)
        return answer(content, texts.studies_text(content))

    async def create_study(
        self,
        ctx: Ctx,
        name: Annotated[str, Field(description="unique name of the new study")],
        parameters: Annotated[
            list[ParameterBody], Field(min_length=1, description="what may be varied, one entry each")
        ],
        objectives: Annotated[
            dict[str, Literal["minimize", "maximize"]],
            Field(description='what is measured and which way is better, such as {"error": "minimize"}'),
        ],
        algorithm: Annotated[
            Literal["default", "paper", "quasi_random", "random"],
            Field(description="leave it at default unless the user wants a baseline"),
        ] = "default",
        seed: Annotated[StrictInt | None, Field(description="of all randomness; drawn if left out")] = None,
        load_if_exists: Annotated[
            bool, Field(description="go on with a study of that name if its definition is the same")
        ] = False,
        metadata: Annotated[dict[str, str] | None, Field(description="notes: text by name")] = None,
    ) -> Annotated[CallToolResult, answers.StudyAnswer]:
        """Create a study: the parameters with their bounds and the objectives. Neither can be changed afterwards.

        Use scale "log" where factors matter (learning rates, concentrations), type "discrete" for a list of numbers
        whose order matters and "categorical" for choices without order. Ask the user for bounds rather than guess.
        """

        def work() -> Study:
            return Study.create(
                self._backend,
                Problem.define(_space(parameters), objectives),
                name=name,
                seed=seed,
                load_if_exists=load_if_exists,
                algorithm=algorithm,
                project=self._project,
                metadata=metadata,
            )

        created = await self._calls.run(ctx, "creating the study", work)
        return await self._describe(ctx, created)

    async def describe_study(
        self, ctx: Ctx, study: StudyName
    ) -> Annotated[CallToolResult, answers.StudyAnswer]:
        """Summarise a study: its parameters, objectives, counts of trials, best trials, and trials without outcome."""
        found = await self._calls.run(ctx, "opening", lambda: self.open_study(study))
        return await self._describe(ctx, found)

    async def ask(
        self,
        ctx: Ctx,
        study: StudyName,
        count: Annotated[
            StrictInt, Field(ge=1, le=MAX_ASK, description="how many points to measure at once")
        ] = 1,
        worker: Worker = None,
        lease_s: Annotated[
            StrictFloat | None,
            Field(
                gt=0, description="seconds after which an untold trial may go to someone else; null: never"
            ),
        ] = None,
    ) -> Annotated[CallToolResult, answers.TrialsAnswer]:
        """Get points to measure next, each with the reason why. Measure every one of them and `tell` its outcome.

        Earlier results are used, so tell before you ask again. Give `worker` so that nothing is lost when the session
        ends: the same call then returns the same unfinished trials. The first suggestion may take a minute.
        """

        def work() -> tuple[Study, list[Trial]]:
            opened = self.open_study(study)
            return opened, list(opened.ask(count, worker=worker, lease=lease_s))

        def undo(result: tuple[Study, list[Trial]]) -> None:
            # Nobody will ever see these; a named worker is given them again.
            for trial in result[1] if worker is None else []:
                self._release(result[0], trial.number)

        _, trials = await self._calls.run(ctx, "suggesting", work, undo=undo)
        content = answers.trials_answer(study, trials)
        return answer(content, texts.trials_text(content))

    async def tell(
        self,
        ctx: Ctx,
        study: StudyName,
        trial: TrialNumber,
        values: Outcome = None,
        infeasible: Infeasible = None,
        failed: Failed = None,
        worker: Worker = None,
    ) -> Annotated[CallToolResult, answers.TrialsAnswer]:
        """Record the outcome of a trial: exactly one of values, infeasible and failed.

        Only report what was measured; never invent a value. Telling the same again changes nothing; another outcome is
        refused, and `amend` corrects a mistake.
        """

        def work() -> Trial:
            opened = self.open_study(study)
            return opened.tell(trial, values, infeasible=infeasible, failed=failed, worker=worker)

        told = await self._calls.run(ctx, "telling", work)
        return self._one(study, told)

    async def amend(
        self,
        ctx: Ctx,
        study: StudyName,
        trial: TrialNumber,
        values: Annotated[Values, Field(description="the right values, as for `tell`")],
    ) -> Annotated[CallToolResult, answers.TrialsAnswer]:
        """Correct the values of a completed trial; the old ones stay on record. Only when a value was wrong."""
        amended = await self._calls.run(ctx, "amending", lambda: self.open_study(study).amend(trial, values))
        return self._one(study, amended)

    async def release(
        self, ctx: Ctx, study: StudyName, trial: TrialNumber
    ) -> Annotated[CallToolResult, answers.TrialsAnswer]:
        """Hand back a trial that will not be measured by you; it is the next to be given out."""
        released = await self._calls.run(
            ctx, "releasing", lambda: self._release(self.open_study(study), trial)
        )
        return self._one(study, released)

    async def add_point(
        self,
        ctx: Ctx,
        study: StudyName,
        params: Params,
        values: Outcome = None,
        infeasible: Infeasible = None,
        failed: Failed = None,
        metadata: Annotated[dict[str, str] | None, Field(description="notes: text by name")] = None,
    ) -> Annotated[CallToolResult, answers.TrialsAnswer]:
        """Add a point of your own: with an outcome, as one measured elsewhere; without, to be handed out by next `ask`.

        Good for the user's current settings, for results that are already known, and for an idea worth a trial.
        """

        def work() -> Trial:
            opened = self.open_study(study)
            if values is None and infeasible is None and failed is None:
                return opened.enqueue(params, metadata=metadata)
            return opened.add_trial(params, values, infeasible=infeasible, failed=failed, metadata=metadata)

        return self._one(study, await self._calls.run(ctx, "adding", work))

    async def list_trials(
        self,
        ctx: Ctx,
        study: StudyName,
        states: Annotated[list[State] | None, Field(description="only trials in these states")] = None,
        limit: Annotated[StrictInt, Field(ge=1, le=MAX_LISTED, description="at most so many")] = 20,
    ) -> Annotated[CallToolResult, answers.TrialsAnswer]:
        """List trials, the newest first."""

        def work() -> answers.TrialsAnswer:
            record = self.open_study(study).record
            wanted = list(TrialState) if states is None else [TrialState(state) for state in states]
            found = self._backend.find_trials(record.id, states=wanted, limit=limit, newest_first=True)
            [progress] = self._backend.progress(study_ids=[record.id])
            total = sum(progress.counts[state] for state in set(wanted))
            return answers.trials_answer(study, found, max(total - len(found), 0))

        content = await self._calls.run(ctx, "listing", work)
        return answer(content, texts.trials_text(content))

    async def best_trials(
        self,
        ctx: Ctx,
        study: StudyName,
        limit: Annotated[StrictInt, Field(ge=1, le=MAX_LISTED, description="at most so many")] = 5,
    ) -> Annotated[CallToolResult, answers.TrialsAnswer]:
        """The best completed trials, best first; with several objectives the Pareto set, by number."""

        def work() -> answers.TrialsAnswer:
            opened = self.open_study(study)
            found = _best_first(opened.problem, opened.trials)
            return answers.trials_answer(study, found[:limit], max(len(found) - limit, 0))

        content = await self._calls.run(ctx, "reading", work)
        return answer(content, texts.trials_text(content))

    async def predict(
        self,
        ctx: Ctx,
        study: StudyName,
        points: Annotated[list[Params], Field(min_length=1, max_length=MAX_POINTS)],
    ) -> Annotated[CallToolResult, answers.PredictionsAnswer]:
        """What the model expects at points, without measuring: 5, 50 and 95 % quantiles by objective."""
        rows = await self._calls.run(ctx, "predicting", lambda: self.open_study(study).predict(points))
        quantiles = [{name: {q: row[name][q] for q in ("q05", "q50", "q95")} for name in row} for row in rows]
        content = answers.PredictionsAnswer(predictions=quantiles)
        return answer(content, texts.predictions_text(content))

    async def advise(self, ctx: Ctx, study: StudyName) -> Annotated[CallToolResult, answers.AdviceAnswer]:
        """Whether another trial is worth it: a verdict, what one more trial is expected to gain, and where.

        The verdict is about one more trial and no better than the model; weigh it against what a trial costs.
        """
        advice = await self._calls.run(ctx, "thinking", lambda: advise(self.open_study(study)))
        content = answers.advice_answer(advice)
        return answer(content, texts.advice_text(content))

    def open_study(self, name: str) -> Study:
        """The study of that name."""
        try:
            return Study(self._backend, self._backend.find_study(self._project, check_name("study", name)))
        except UnknownStudy:
            raise UnknownStudy(
                f"there is no study {name!r} in project {self._project!r}: list_studies shows what there is, "
                "create_study makes one"
            ) from None

    def study_names(self) -> list[str]:
        """Names of all studies."""
        return [record.name for record in self._backend.list_studies(self._project)]

    def summarise(self, study: Study) -> answers.StudyAnswer:
        """A study and how far it is."""
        record = study.record
        return answers.study_answer(record, self._backend.get_trials(record.id))

    async def _describe(self, ctx: Ctx, study: Study) -> CallToolResult:
        content = await self._calls.run(ctx, "reading", lambda: self.summarise(study))
        return answer(content, texts.study_text(content, study.problem))

    def _release(self, study: Study, number: int) -> Trial:
        study_id = study.record.id
        trial = self._backend.get_trial(study_id, number)
        return self._backend.release(study_id, number, worker=trial.worker, attempt=trial.attempts)

    def _one(self, study: str, trial: Trial) -> CallToolResult:
        content = answers.trials_answer(study, [trial])
        return answer(content, texts.outcome_text(content.trials[0]))


def _best_first(problem: Problem, trials: Sequence[Trial]) -> list[Trial]:
    """Completed trials, the best first, or the Pareto set by number."""
    if problem.is_multi_objective:
        return best_trials(problem, trials)
    completed = [trial for trial in trials if trial.state == TrialState.COMPLETED]
    return sorted(completed, key=lambda trial: costs(problem, trial))


def _space(parameters: list[ParameterBody]) -> SearchSpace:
    """The search space; an error says which parameter it is about."""
    space: dict[str, Parameter] = {}
    for parameter in parameters:
        if parameter.name in space:
            raise SpaceError(f"parameters must have distinct names, got {parameter.name!r} more than once")
        try:
            space[parameter.name] = parameter_from_dict(parameter.model_dump())
        except PhotinusError as error:
            raise type(error)(f"parameter {parameter.name!r}: {error}") from error
    return SearchSpace(space)
