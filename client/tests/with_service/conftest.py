"""A running service, named by GRAPHVEIL_URL and GRAPHVEIL_TOKEN, and what was called of the SDK."""

from __future__ import annotations

import functools
import inspect
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from graphveil import Graphveil
from graphveil.cli.app import app
from graphveil.sdk.keys import KeyCalls
from graphveil.sdk.streams import StreamCalls
from graphveil.sdk.webhooks import WebhookCalls

URL, TOKEN = os.environ.get("GRAPHVEIL_URL", ""), os.environ.get("GRAPHVEIL_TOKEN", "")
SCHEMA = {
    "node_types": [{"name": "person", "count": 60}],
    "edge_types": [{"name": "mail", "source": "person", "target": "person"}],
}
EDGES = [(i, (7 * i + k) % 60) for i in range(60) for k in (1, 2, 3)]
PARTS = {Graphveil: "", StreamCalls: "streams.", WebhookCalls: "webhooks.", KeyCalls: "keys."}


def calls_of(kind: type) -> list[str]:
    """The public methods of a part of the SDK."""
    return [name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")]


@pytest.fixture(scope="session")
def called() -> Iterator[set[str]]:
    """The names of the SDK's methods that were called in this session."""
    seen: set[str] = set()

    def noted(kind: type, name: str) -> Callable[..., Any]:
        method = getattr(kind, name)

        @functools.wraps(method)
        def wrapped(*given: Any, **named: Any) -> Any:
            seen.add(PARTS[kind] + name)
            return method(*given, **named)

        return wrapped

    with pytest.MonkeyPatch.context() as patched:
        for kind in PARTS:
            for name in calls_of(kind):
                patched.setattr(kind, name, noted(kind, name))
        yield seen


@pytest.fixture(scope="session")
def service(called: set[str]) -> Iterator[Graphveil]:
    """The service as the first key: one person of every role."""
    assert "" not in (URL, TOKEN), "run it beside a service: make test-client"
    with Graphveil(URL, TOKEN) as connected:
        yield connected


@pytest.fixture(scope="session")
def second(service: Graphveil) -> Iterator[Graphveil]:
    """A second person, who decides about what the first has asked for."""
    key = service.keys.create("board", person="second", roles=["curator"])
    with Graphveil(URL, key.token) as connected:
        yield connected


@pytest.fixture(scope="session")
def edges(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of edges."""
    path = tmp_path_factory.mktemp("graph") / "edges.csv"
    path.write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in EDGES))
    return path


@pytest.fixture(scope="session")
def dataset_id(service: Graphveil, edges: Path) -> str:
    """A dataset that is ready."""
    return ready(service, "mail", edges)


@pytest.fixture(scope="session")
def published(service: Graphveil, dataset_id: str) -> str:
    """A job that was published."""
    job = service.submit(dataset_id, epsilon="1", suite="quick", label="first")
    assert service.wait(job.id, timeout_seconds=240).state == "published"
    return job.id


def ready(service: Graphveil, name: str, source: Any, epsilon: str = "20", **declared: Any) -> str:
    """Register a dataset, upload its edges, and wait until they were checked."""
    made = service.register_dataset(name, unit="edge", epsilon=epsilon, graph_schema=SCHEMA, **declared)
    service.upload(made.id, source)
    assert service.wait_ready(made.id, timeout_seconds=240).state == "ready"
    return made.id


class Command:
    """``graphveil``, called without a process."""

    def __call__(self, *given: str, code: int = 0, **environment: str) -> Result:
        known = {"GRAPHVEIL_URL": URL, "GRAPHVEIL_TOKEN": TOKEN, "COLUMNS": "200", **environment}
        result = CliRunner().invoke(app, list(given), env=known)
        assert result.exit_code == code, result.output
        return result

    def json(self, *given: str, **environment: str) -> Any:
        """What it answers with ``--json``."""
        return json.loads(self("--json", *given, **environment).stdout)


@pytest.fixture(scope="session")
def command(service: Graphveil) -> Command:
    return Command()
