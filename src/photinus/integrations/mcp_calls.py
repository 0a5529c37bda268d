"""How a tool does its work: in a thread, with signs of life, and with errors that an agent can act on."""

import inspect
import itertools
import reprlib
from collections.abc import Callable
from typing import Any, TypeVar, cast

from photinus.errors import PhotinusError
from photinus.integrations.packages import MCP

with MCP:
    import anyio
    import anyio.lowlevel
    import anyio.to_thread
    from mcp.server.mcpserver import Context
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.server.mcpserver.tools import Tool
    from mcp.types import CallToolResult, TextContent, ToolAnnotations
    from pydantic import BaseModel, ConfigDict, ValidationError

SIGN_OF_LIFE_S = 2.0  # ours: clients give up on a silent tool after some tens of seconds
Result = TypeVar("Result")


class Calls:
    """Runs the work of tools; `redact` takes secrets out of messages."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact

    async def run(
        self,
        context: Context[Any, Any],
        what: str,
        work: Callable[[], Result],
        *,
        undo: Callable[[Result], object] | None = None,
    ) -> Result:
        """What `work` returns; the session goes on meanwhile.

        Where the caller has gone when the work is done, `undo` is called with its result.
        """
        results: list[Result] = []
        errors: list[Exception] = []
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(_show_life, context, what)
                try:
                    results.append(await anyio.to_thread.run_sync(work))
                except Exception as error:  # raised below: a task group would wrap it
                    errors.append(error)
                group.cancel_scope.cancel()
            await anyio.lowlevel.checkpoint_if_cancelled()
        except anyio.get_cancelled_exc_class():
            if results and undo is not None:
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(undo, results[0])
            raise
        for error in errors:
            raise self.as_tool_error(error) from error
        return results[0]

    def as_tool_error(self, error: Exception) -> Exception:
        """An error of ours in the words of the protocol; any other is the SDK's to report, and stays out of sight."""
        if isinstance(error, PhotinusError):
            return ToolError(self._redact(f"{type(error).__name__}: {error}"))
        return error


class StrictTool(Tool):
    """A tool that takes no argument it does not know: the SDK would ignore a misspelt one without a word."""

    @classmethod
    def of(cls, function: Callable[..., Any], title: str, annotations: ToolAnnotations) -> "StrictTool":
        """The tool that calls an asynchronous function, and says of itself what the function's docstring says."""
        tool = cls.from_function(
            function,
            title=title,
            description=inspect.getdoc(function),
            annotations=annotations,
            structured_output=True,
        )
        known = tool.fn_metadata.arg_model
        settings = {"model_config": ConfigDict(extra="forbid"), "__module__": __name__}
        tool.fn_metadata.arg_model = type(known.__name__, (known,), settings)
        tool.parameters = tool.fn_metadata.arg_model.model_json_schema(by_alias=True)
        return cast(StrictTool, tool)

    async def run(
        self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False
    ) -> Any:
        """Call the function; arguments that do not fit the schema are refused in the words of our own errors."""
        try:
            return await Tool.run(self, arguments, context, convert_result)
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                raise ToolError(f"ArgumentError: {self._complaint(cause)}") from cause
            if isinstance(cause, ToolError):  # ours: the SDK put a prefix before it
                raise cause from cause.__cause__
            raise

    def _complaint(self, error: ValidationError) -> str:
        wrong = [
            f"`{'.'.join(map(str, entry['loc']))}`: {entry['msg']}, got {reprlib.repr(entry['input'])}"
            for entry in error.errors(include_url=False)
        ]
        known = ", ".join(self.fn_metadata.arg_model.model_fields)
        return f"{'; '.join(wrong)}; {self.name} takes {known or 'no arguments'}"


def answer(content: BaseModel, text: str) -> CallToolResult:
    """An answer as data and as text."""
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=content.model_dump(mode="json")
    )


async def _show_life(context: Context[Any, Any], what: str) -> None:
    for count in itertools.count(1):
        await anyio.sleep(SIGN_OF_LIFE_S)
        seconds = count * SIGN_OF_LIFE_S
        await context.report_progress(seconds, None, f"{what} for {seconds:.0f} s")
