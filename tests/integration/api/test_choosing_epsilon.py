"""The page that helps to choose epsilon: its commands run, and answer what it prints."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from core.identity.models import Role
from core.outbox.models import Topic
from tests.integration.api.conftest import Tenant
from tests.support.shell import Command

PAGE = Path(__file__).parents[3] / "docs" / "choosing_epsilon.md"
BLOCKS = re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
DECLARED = {
    "ds_mail": {
        "graph_schema": {
            "node_types": [{"name": "person", "count": 4000}],
            "edge_types": [{"name": "mail", "source": "person", "target": "person"}],
        }
    },
    "ds_contacts": {
        "unit": "w-event",
        "window": 7,
        "graph_schema": {
            "node_types": [{"name": "person", "count": 2000}],
            "edge_types": [{"name": "contact", "source": "person", "target": "person", "temporal": True}],
            "time": {"start": 0, "width": 86400, "count": 365},
        },
    },
    "ds_classes": {
        "graph_schema": {
            "collection": {"graphs": [{"id": name, "nodes": 30} for name in ("1a", "1b", "2a")]},
        }
    },
}
HEADERS = {"ds_contacts": "source,target,time\n", "ds_classes": "graph_id,source,target\n"}


@pytest.fixture(scope="module")
def datasets(house: Tenant) -> dict[str, str]:
    """The page's datasets, as it declares them, of no edges: no plan looks at any."""
    made = {}
    for name, declared in DECLARED.items():
        made[name] = house.register("5", **declared)["id"]
        received = house.upload(made[name], HEADERS.get(name, "source,target\n"))
        assert received.status_code == 200, received.text
        house.work(Topic.INGEST, received.json()["id"])
    return made


def commands(block: str) -> list[tuple[str, list[str]]]:
    """Each command of a block, and the lines that it is said to answer."""
    found: list[tuple[str, list[str]]] = []
    for line in block.splitlines():
        if line.startswith("$ graphveil "):
            found.append((line.removeprefix("$ graphveil "), []))
        elif line != "...":
            found[-1][1].append(" ".join(line.split()))
    return found


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_the_commands_of_the_page_answer_what_it_says(
    address: str, house: Tenant, datasets: dict[str, str], number: int
):
    command = Command(address, house.token(Role.CURATOR, Role.REQUESTER))
    for asked, told in commands(BLOCKS[number]):
        words = [datasets.get(word, word) for word in shlex.split(asked)]
        refused = any("target-not-met" in line for line in told)
        answer = command(*words, code=3 if refused else 0)
        shown = [" ".join(line.split()) for line in answer.output.splitlines()]
        assert [line for line in told if line not in shown] == [], "\n".join(shown)


def test_the_page_has_the_three_cases():
    text = "".join(BLOCKS)
    assert all(name in text for name in DECLARED)
