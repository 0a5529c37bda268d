"""Sessions of agents for tests: with a server in this process, or with `photinus mcp` in one of its own."""

import contextlib
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

from photinus.backend import Backend
from photinus.integrations.mcp_server import make_server

PATIENCE_S = 120.0
PARAMETERS = [
    {"name": "lr", "type": "float", "low": 1e-5, "high": 0.1, "scale": "log"},
    {"name": "layers", "type": "int", "low": 1, "high": 8},
    {"name": "opt", "type": "categorical", "values": ["adam", "sgd", True, None]},
]
STUDY = {
    "name": "net",
    "parameters": PARAMETERS,
    "objectives": {"error": "minimize"},
    "algorithm": "random",
    "seed": 0,
}
PROGRAM = ["-c", "from photinus.cli import main; main()", "mcp"]


class Agent:
    """A session, with calls that are expected to succeed, or not to."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The answer as data; the same must be there as text."""
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, result.content[0].text
        assert result.structured_content is not None
        assert result.content[0].text
        return result.structured_content

    async def text(self, tool: str, **arguments: Any) -> str:
        """The answer as text."""
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, result.content[0].text
        return result.content[0].text

    async def refused(self, tool: str, **arguments: Any) -> str:
        """Why the call is refused."""
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error, result.content[0].text
        assert result.structured_content is None
        return result.content[0].text


def act(backend: Backend, script: Callable[[Agent], Awaitable[None]], **options: Any) -> None:
    """Have an agent follow a script with a server in this process."""

    async def main() -> None:
        async with Client(make_server(backend, **options)) as client:
            await script(Agent(client))

    run(main)


def run(script: Callable[[], Awaitable[None]]) -> None:
    """Run an asynchronous script to its end."""

    async def main() -> None:
        with anyio.fail_after(PATIENCE_S):
            await script()

    anyio.run(main)


@contextlib.asynccontextmanager
async def process(folder: Path, *words: str, **variables: str) -> AsyncIterator[Agent]:
    """A session with `photinus mcp` as a process of its own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PHOTINUS_")}
    environment |= {"PHOTINUS_CACHE_DIR": os.environ["PHOTINUS_CACHE_DIR"], **variables}
    command = StdioServerParameters(
        command=sys.executable, args=[*PROGRAM, *words], cwd=folder, env=environment
    )
    async with Client(command) as client:
        yield Agent(client)
