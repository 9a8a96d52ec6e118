"""What an assistant is offered and told: nothing for curators, no submission that was not allowed for."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest
from mcp.client.client import Client

from graphveil import ClientError, Graphveil
from graphveil.assistant.seen import seen
from graphveil.assistant.server import LOOKS, server_of
from graphveil.models.base import CURATORS, Answer

SECRET = "only-curators-know-this"
WHEN = "2026-03-02T09:30:04Z"
AMOUNT = {"epsilon": "4", "delta": "0", "nano_epsilon": 4_000_000_000, "delta_atto": 0}
BUDGET = {
    "account_id": "acc_1",
    "domain": "d",
    "unit": "edge",
    "window": None,
    "filter": "basic",
    "capacity": AMOUNT,
    "charged": AMOUNT,
    "reserved": AMOUNT,
    "remaining": AMOUNT,
    "tightest_window": None,
    "steps": None,
    "blocked": False,
    "exposed": False,
    "entries": 1,
    "head": "00",
}
POLICY = {
    "methods": None,
    "kinds": ["pure"],
    "max_epsilon_per_job": None,
    "approval_above_epsilon": None,
    "curator_report_readers": None,
    "project_required": False,
    "team_required": False,
}
DATASET = {
    "id": "ds_1",
    "name": "mail",
    "state": "rejected",
    "unit": "edge",
    "protection_domain": "d",
    "account_id": "acc_1",
    "filter": "basic",
    "policy": POLICY,
    "policy_version": 1,
    "public": False,
    "created_at": WHEN,
    "proposed_schema": {"name": SECRET},
    "version": {
        "id": "dv_1",
        "number": 1,
        "state": "rejected",
        "parts": [],
        "created_at": WHEN,
        "finished_at": WHEN,
        "ingest_report": {"rows": SECRET},
        "findings": [{"message": SECRET}],
    },
}
JOB = {
    "id": "job_1",
    "dataset_id": "ds_1",
    "version_id": "dv_1",
    "method": "dcsbm",
    "parameters": {},
    "edge_types": ["mail"],
    "formats": [],
    "label": SECRET,
    "epsilon": "0.5",
    "delta": "0",
    "unit": "edge",
    "window": None,
    "kind": "pure",
    "plan_digest": "00",
    "state": "published",
    "reason": None,
    "suite": "quick",
    "evaluation": {"state": SECRET, "stage": SECRET, "done": 1, "total": 2},
    "requested_by": "key_1",
    "policy_version": 1,
    "created_at": WHEN,
    "cancel_requested_at": None,
    "run_time": "under 1 minute",
    "started_at": "2001-01-01T00:00:00Z",
    "finished_at": "2001-01-01T00:00:00Z",
    "attempt": 77_777,
}
STEP = {"sequence": 3, "stage": "fit", "done": 1, "total": 2}
EVENTS = {"items": [STEP | {"created_at": "2001-01-01T00:00:00Z"}]}
REPORT = {
    "schema_version": "3.0",
    "public": {
        "guarantee": {"epsilon": "0.5"},
        "charge": {"id": "e1", "charged_at": SECRET},
        "statistics": {"nodes": {"a": 3}, "drawing": {"nodes": [1]}},
    },
    "curator": {"status": "done", "scores": SECRET},
    "of_a_later_version": SECRET,
}


def plan_of(asked: dict[str, Any]) -> dict[str, Any]:
    free = asked.get("method") == "gvae"
    return {
        "method": "gvae" if free else "dcsbm",
        "parameters": {"preset": "default"},
        "unit": "edge",
        "window": None,
        "edge_types": ["mail"],
        "allotments": 1,
        "plan_digest": "00",
        "budget_after": BUDGET,
        "amounts": {},
        "cost": {
            "kind": "none" if free else "pure",
            "epsilon": None if free else asked["epsilon"],
            "delta": "0",
        },
    }


class Service:
    """A service that answers a curator's key, and remembers what it was asked to do."""

    def __init__(self) -> None:
        self.submitted: list[dict[str, Any]] = []
        self.refusal: dict[str, Any] | None = None
        self.loses_answers = False

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/v1")
        if self.refusal is not None:
            return httpx.Response(409, json=self.refusal)
        if request.method == "POST" and path == "/jobs":
            asked = json.loads(request.content)
            if "dry_run" in request.url.params:
                return httpx.Response(200, json=plan_of(asked))
            self.submitted.append(asked)
            if self.loses_answers:
                return httpx.Response(500, json={"type": "/problems/internal", "title": "it broke"})
            return httpx.Response(202, json=JOB | {"state": "queued"})
        known: dict[str, Any] = {
            "/datasets": {"items": [DATASET]},
            "/datasets/ds_1/budget": BUDGET,
            "/methods": {"items": []},
            "/plans": {"items": [], "expected": []},
            "/jobs/job_1": JOB,
            "/jobs/job_1/events": EVENTS,
            "/jobs/job_1/report": REPORT,
        }
        return httpx.Response(200, json=known[path])


@pytest.fixture
def service() -> Service:
    return Service()


def ask(service: Service, *calls: tuple[str, dict[str, Any]], spend: str = "0") -> list[Any]:
    """What the tools answer, in turn: (failed, text); the last item is their names."""

    async def talk() -> list[Any]:
        with Graphveil("http://test", "gv_key", transport=httpx.MockTransport(service)) as graphveil:
            async with Client(server_of(graphveil, spend=spend)) as assistant:
                told: list[Any] = []
                for name, given in calls:
                    answer = await assistant.call_tool(name, given)
                    told.append((answer.is_error, " ".join(part.text for part in answer.content)))
                return [*told, [tool.name for tool in (await assistant.list_tools()).tools]]

    return asyncio.run(talk())


def test_nothing_for_curators_is_told_whatever_the_key_may_read(service: Service):
    *told, _ = ask(
        service,
        ("list_datasets", {}),
        ("progress", {"job_id": "job_1"}),
        ("progress", {"job_id": "job_1", "wait_seconds": 1}),
        ("public_report", {"job_id": "job_1"}),
    )
    assert [failed for failed, _ in told] == [False] * 4
    text = " ".join(words for _, words in told)
    assert not [word for word in (SECRET, "2001-01-01", "77777", "rejected", "drawing") if word in text]
    assert "registered" in told[0][1]
    assert json.loads(told[2][1])["step"] == STEP
    public = {"guarantee": {"epsilon": "0.5"}, "charge": {"id": "e1"}, "statistics": {"nodes": {"a": 3}}}
    assert json.loads(told[3][1]) == public


def test_no_model_keeps_a_field_for_curators():
    pending: list[type[Answer]] = [Answer]
    checked = 0
    while pending:
        model = pending.pop()
        hidden = [name for name, field in model.model_fields.items() if CURATORS in (field.description or "")]
        if hidden:
            checked += len(hidden)
            made = model.model_construct(**dict.fromkeys(model.model_fields))
            assert not set(hidden) & set(seen(made)), model
        pending += model.__subclasses__()
    assert checked > 8


def test_what_a_service_refuses_is_read_without_findings(service: Service):
    service.refusal = {
        "type": "/problems/budget-exceeded",
        "title": "The budget does not cover this job",
        "status": 409,
        "detail": "0.25 is left",
        "remaining": "0.25",
        "actionable_by": "curator",
        "findings": [{"m": SECRET}],
    }
    (failed, text), _ = ask(service, ("plan", {"dataset_id": "ds_1", "epsilon": "1"}))
    assert failed
    for words in ("budget-exceeded", "0.25 is left", "remaining: 0.25", "curator"):
        assert words in text
    assert SECRET not in text


def test_without_leave_to_spend_there_is_no_tool_that_submits(service: Service):
    (answer, tools) = ask(service, ("submit", {"dataset_id": "ds_1", "epsilon": "0.5"}))
    assert tools == list(LOOKS)
    assert answer[0]
    assert service.submitted == []


def test_submissions_stop_at_what_may_be_spent(service: Service):
    half = {"dataset_id": "ds_1", "epsilon": "0.5"}
    *told, tools = ask(
        service,
        ("submit", half),
        ("submit", half),
        ("submit", half),
        ("submit", half | {"method": "gvae"}),
        spend="1.2",
    )
    assert [failed for failed, _ in told] == [False, False, True, True]
    assert "costs epsilon 0.5, and 0.2 is left" in told[2][1]
    assert "no guarantee" in told[3][1]
    assert "submit" in tools
    assert len(service.submitted) == 2
    assert service.submitted[0] == half | {
        "method": "dcsbm",
        "delta": "0",
        "parameters": {"preset": "default"},
    }


def test_what_is_refused_costs_nothing_of_the_leave(service: Service):
    half = {"dataset_id": "ds_1", "epsilon": "0.5"}
    *told, _ = ask(service, ("submit", half | {"epsilon": "2"}), ("submit", half), spend="0.5")
    assert [failed for failed, _ in told] == [True, False]


def test_a_job_whose_answer_is_lost_may_stand_and_counts(service: Service):
    half = {"dataset_id": "ds_1", "epsilon": "0.5"}
    service.loses_answers = True
    *told, _ = ask(service, ("submit", half), ("submit", half), spend="0.5")
    assert [failed for failed, _ in told] == [True, True]
    assert "0.0 is left" in told[1][1]


def test_what_is_wrong_with_an_upload_is_not_told_by_a_refusal(service: Service):
    service.refusal = {
        "type": "/problems/dataset-not-ready",
        "title": "Not ready",
        "detail": SECRET,
        "state": SECRET,
    }
    *told, _ = ask(service, ("plan", {"dataset_id": "ds_1", "epsilon": "0.5"}))
    assert told[0][0]
    assert SECRET not in str(told)


@pytest.mark.parametrize("spend", ["much", "-1", "NaN", "Infinity"])
def test_a_leave_is_an_amount(service: Service, spend: str):
    with pytest.raises(ClientError, match="is no amount"):
        ask(service, spend=spend)
