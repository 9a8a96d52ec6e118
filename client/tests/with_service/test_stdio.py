"""``graphveil mcp`` as an assistant starts it: a process, spoken to over its standard input and output."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from graphveil import Graphveil

from .conftest import TOKEN, URL


def test_an_assistant_plans_submits_follows_and_reads(service: Graphveil, dataset_id: str, published: str):
    command = Path(sys.executable).with_name("graphveil")
    known = {"GRAPHVEIL_URL": URL, "GRAPHVEIL_TOKEN": TOKEN}
    started = StdioServerParameters(command=str(command), args=["mcp", "--spend", "0.4"], env=known)

    async def talk() -> None:
        async with Client(stdio_client(started)) as assistant:

            async def ask(name: str, failing: bool = False, **given: Any) -> Any:
                answer = await assistant.call_tool(name, given)
                text = answer.content[0].text
                assert bool(answer.is_error) == failing, text
                return text if failing else json.loads(text)

            assert "submit" in [tool.name for tool in (await assistant.list_tools()).tools]
            standing = (await assistant.call_tool("list_datasets", {})).structured_content["result"]
            mail = next(each for each in standing if each["id"] == dataset_id)
            assert not {"version", "proposed_schema"} & mail.keys()
            assert (await ask("plan", dataset_id=dataset_id, epsilon="0.3"))["cost"]["epsilon"] == "0.3"
            await ask("menu", dataset_id=dataset_id, methods=["dcsbm"], epsilons=["0.3"])
            assert (await ask("describe_method", method="dcsbm"))["parameters"]["properties"]
            before = (await ask("budget", dataset_id=dataset_id))["remaining"]["nano_epsilon"]
            job = await ask("submit", dataset_id=dataset_id, epsilon="0.3", method="dgg", label="asked")
            refused = await ask("submit", failing=True, dataset_id=dataset_id, epsilon="0.2", method="dgg")
            assert "0.1 is left" in refused
            assert "not-found" in await ask("progress", failing=True, job_id="job_none")
            assert (await ask("budget", dataset_id=dataset_id))["remaining"]["nano_epsilon"] < before
            told = await ask("progress", job_id=job["id"], wait_seconds=1)
            assert not {"started_at", "attempt", "evaluation"} & told["job"].keys()
            report = await ask("public_report", job_id=published)
            assert report["guarantee"]["epsilon"] == "1"
            assert "curator" not in report
            service.cancel(job["id"])

    asyncio.run(talk())
