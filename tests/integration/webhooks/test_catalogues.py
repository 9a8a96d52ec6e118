"""Releases pushed to catalogues: to a recorded server, signed and authorized, until they are taken."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlalchemy import text

from core.errors import Conflict, InvalidInput
from core.identity.service import Principal
from core.outbox.models import Topic
from core.reports.pushes import catalogues
from core.workflows.common.context import Services
from core.workflows.webhooks import deliveries
from core.workflows.webhooks import endpoints as webhooks
from core.workflows.webhooks.endpoints import NewWebhook
from graphveil.models.webhooks import Webhook
from tests.integration.webhooks.test_deliveries import deliver, hours_pass, listed
from tests.support.inline import taken
from tests.support.receiver import Received, Receiver
from tests.support.releases import queued_job, ready_dataset

pytestmark = pytest.mark.extras

TOKEN = "eyJhbGciOi.secret-of-the-catalogue"


@pytest.fixture
def catalogue(inbox: Receiver) -> dict[str, Any]:
    """What a server of containers holds, by name: it answers with the entity and its id, as OpenMetadata."""
    held: dict[str, Any] = {}

    def answer(got: Received) -> bytes:
        content = json.loads(got.body)
        if not got.path.endswith("/containers") or "name" not in content:
            return b"" if got.method == "POST" else b'{"ok":true}'
        number = held.setdefault(content["name"], f"00000000-0000-4000-8000-{len(held):012}")
        return json.dumps({"id": number, "name": content["name"]}).encode()

    inbox.answer = answer
    return held


def added(service: Services, principal: Principal, inbox: Receiver, name: str, **more: Any) -> Webhook:
    url = inbox.url.removesuffix("/in") + "/catalogue/"
    return webhooks.add_webhook(service, principal, NewWebhook(url=url, catalogue=name, token=TOKEN, **more))


def published(service: Services, principal: Principal, key: str = "a") -> str:
    dataset = ready_dataset(service, principal, name=f"ring-{key}", epsilon="100")
    job = queued_job(service, principal, dataset.id, key)
    assert taken(service.settings, Topic.RUN, job.id)
    return job.id


@pytest.mark.parametrize("name", catalogues())
def test_a_release_is_pushed_once_signed_and_authorized(
    service: Services, principal: Principal, inbox: Receiver, catalogue: dict[str, Any], name: str
) -> None:
    hook = added(service, principal, inbox, name)
    assert (hook.catalogue, hook.events) == (name, ["job.published"])
    assert hook.secret is not None
    job_id = published(service, principal)
    assert deliver(service) == 1
    (view,) = listed(service, principal, hook)
    assert (view.event, view.state, view.attempts) == ("job.published", "delivered", 1)
    assert [got.id for got in inbox.received] == [
        f"{view.id}-{number}" for number in range(1, len(inbox.received) + 1)
    ]
    for got in inbox.received:
        got.verified(hook.secret)
        assert got.headers["authorization"] == f"Bearer {TOKEN}"
        assert got.path.startswith("/catalogue/a")
    assert job_id.encode() in b"".join(got.body for got in inbox.received)
    assert deliver(service) == 0
    with service.db.transaction() as session:
        kept = session.execute(text("SELECT token FROM webhook_endpoints")).scalar_one()
    assert TOKEN.encode() not in bytes(kept)
    assert TOKEN not in repr(hook)


@pytest.mark.parametrize("name", catalogues())
def test_what_failed_halfway_is_sent_again_whole_with_the_budget_of_then(
    service: Services, principal: Principal, inbox: Receiver, catalogue: dict[str, Any], name: str
) -> None:
    hook = added(service, principal, inbox, name)
    published(service, principal)
    inbox.statuses = [200, 503, 200] if name == "openmetadata" else [503, 200]
    deliver(service)
    first = len(inbox.received)
    (view,) = listed(service, principal, hook)
    assert (view.state, view.last_status, view.last_problem) == ("pending", "5xx", "status")
    hours_pass(service)
    deliver(service)
    (view,) = listed(service, principal, hook)
    assert (view.state, view.attempts) == ("delivered", 2)
    again = inbox.received[first:]
    for before, after in zip(inbox.received[:first], again, strict=False):
        assert (before.id, before.method, before.path) == (after.id, after.method, after.path)
        assert before.body == after.body  # nothing was spent between the two
    assert len(catalogue) == (2 if name == "openmetadata" else 0)


def test_an_answer_without_an_id_is_no_entity(
    service: Services, principal: Principal, inbox: Receiver
) -> None:
    inbox.answer = lambda _: b'{"id": "../../admin"}'
    hook = added(service, principal, inbox, "openmetadata")
    published(service, principal)
    deliver(service)
    assert [got.path for got in inbox.received] == [
        "/catalogue/api/v1/services/storageServices",
        "/catalogue/api/v1/containers",
    ]
    assert listed(service, principal, hook)[0].last_problem == "broken"


def test_a_token_is_not_taken_along_where_a_catalogue_redirects(
    service: Services, principal: Principal, inbox: Receiver
) -> None:
    inbox.statuses = [307]
    hook = added(service, principal, inbox, "datahub")
    published(service, principal)
    deliver(service)
    assert len(inbox.received) == 1
    assert listed(service, principal, hook)[0].last_problem == "redirect"


def test_a_release_that_cannot_be_read_any_more_is_given_up_like_any_other(
    service: Services, principal: Principal, inbox: Receiver
) -> None:
    hook = added(service, principal, inbox, "openlineage")
    published(service, principal)
    with service.db.transaction() as session:
        session.execute(text("UPDATE artifacts SET object_key = 'gone' WHERE role = 'report'"))
    for _ in range(3):
        deliver(service)
        hours_pass(service)
    (view,) = listed(service, principal, hook)
    assert (view.state, view.last_problem, view.attempts) == ("given_up", "unreadable", 3)
    assert inbox.received == []


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"catalogue": "collibra"}, "catalogue"),
        ({"catalogue": "datahub", "events": ["budget.low"]}, "events"),
        ({"catalogue": "datahub", "url": "https://catalogue.example.org/api?key=1"}, "url"),
        ({"catalogue": "datahub", "url": "https://169.254.169.254/"}, "url"),
        ({"events": ["job.published"], "token": TOKEN}, "token"),
        ({}, "events"),
    ],
)
def test_what_a_catalogue_cannot_be_is_refused(
    service: Services, principal: Principal, asked: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        webhooks.add_webhook(
            service, principal, NewWebhook(**{"url": "https://catalogue.example.org/", **asked})
        )
    assert refused.value.members["field"] == field


def test_a_catalogue_is_sent_no_test(service: Services, principal: Principal, inbox: Receiver) -> None:
    hook = added(service, principal, inbox, "openlineage")
    with pytest.raises(Conflict, match="releases alone"):
        deliveries.try_webhook(service, principal, hook.id)
    assert deliver(service) == 0
