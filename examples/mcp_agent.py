"""A program in the place of an agent: it works on a study through the tools of `photinus mcp`.

pip install "photinus[mcp]"
python examples/mcp_agent.py
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

PARAMETERS = [
    {"name": "temperature", "type": "float", "low": 20, "high": 90},
    {"name": "catalyst", "type": "float", "low": 0.01, "high": 10, "scale": "log"},
    {"name": "solvent", "type": "categorical", "values": ["water", "ethanol"]},
]


def measure(params: dict[str, Any]) -> dict[str, Any]:
    """Stands for the laboratory: the outcome, as `tell` wants it."""
    if params["solvent"] == "ethanol" and params["temperature"] > 78:
        return {"infeasible": "the solvent boils"}
    yield_ = 90 - (params["temperature"] - 64) ** 2 / 30 - 4 * abs(params["catalyst"] - 1.5)
    return {"values": {"yield": yield_ - (5 if params["solvent"] == "water" else 0)}}


async def work(client: Client) -> None:
    """What an agent would do."""

    async def call(tool: str, **arguments: Any) -> Any:
        result = await client.call_tool(tool, arguments)
        if result.is_error:
            raise RuntimeError(result.content[0].text)
        return result

    goals = {"yield": "maximize"}
    await call("create_study", name="synthesis", parameters=PARAMETERS, objectives=goals, seed=0)
    for _ in range(4):
        asked = await call("ask", study="synthesis", count=3, worker="robot")
        print(asked.content[0].text)
        for trial in asked.structured_content["trials"]:
            await call("tell", study="synthesis", trial=trial["number"], **measure(trial["params"]))
    print((await call("advise", study="synthesis")).content[0].text)
    print((await call("best_trials", study="synthesis", limit=1)).content[0].text)


async def main() -> None:
    """One session with a store of its own."""
    with tempfile.TemporaryDirectory() as folder:
        photinus = Path(sys.executable).with_name("photinus")
        server = StdioServerParameters(
            command=str(photinus), args=["mcp", "--storage", str(Path(folder, "studies.db"))]
        )
        async with Client(server) as client:
            await work(client)


if __name__ == "__main__":
    anyio.run(main)
