"""Webhooks from what happened to what was received: written once, sent until received, by one clock."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import text

from core.errors import Conflict, InvalidInput, NotFound, StorageError
from core.identity.models import Role
from core.identity.service import Principal
from core.jobs.models import JobReason
from core.outbox.models import Topic
from core.webhooks.sending import Outcome
from core.workflows.common.context import Services
from core.workflows.datasets.ingest import begin_ingest, reject_ingest
from core.workflows.datasets.register import NewDataset, register_dataset
from core.workflows.datasets.upload import receive_part
from core.workflows.jobs.cancel import cancel_job
from core.workflows.releases import publish, settle
from core.workflows.webhooks import announcements, deliveries
from core.workflows.webhooks import endpoints as webhooks
from core.workflows.webhooks.endpoints import NewWebhook
from graphveil.models.webhooks import Delivery, Webhook
from tests.support.inline import taken
from tests.support.receiver import Received, Receiver
from tests.support.releases import SCHEMA, queued_job, ready_dataset, ring_edges
from worker.webhooks import Deliverer

JOBS = ["job.published", "job.failed", "job.cancelled"]


def here(host: str, port: int) -> Sequence[str]:
    return ["127.0.0.1"]


def add(service: Services, principal: Principal, inbox: Receiver, events: Sequence[str] = JOBS) -> Webhook:
    return webhooks.add_webhook(service, principal, NewWebhook(url=inbox.url, events=list(events)))


def deliver(service: Services) -> int:
    """Everything that is due was sent once; how many."""
    deliverer, count = Deliverer(service, resolver=here), 0
    while batch := deliverer.take(10):
        for sending in batch:
            deliverer.deliver(sending)
        count += len(batch)
    return count


def hours_pass(service: Services, hours: float = 48) -> None:
    """As if so much time had gone by: PostgreSQL's clock cannot be set, what it is compared with can."""
    with service.db.transaction() as session:
        session.execute(
            text(
                "UPDATE webhook_deliveries SET next_attempt_at = next_attempt_at - :gone * interval '1 hour',"
                " lease_expires_at = lease_expires_at - :gone * interval '1 hour',"
                " created_at = created_at - :gone * interval '1 hour'"
            ),
            {"gone": hours},
        )


def cancelled_job(service: Services, principal: Principal, key: str = "k1", epsilon: str = "100") -> str:
    dataset = ready_dataset(service, principal, name=f"ring-{key}", epsilon=epsilon)
    job = queued_job(service, principal, dataset.id, key)
    cancel_job(service, principal, job.id)
    return job.id


def listed(service: Services, principal: Principal, hook: Webhook) -> list[Delivery]:
    return list(deliveries.list_deliveries(service, principal, hook.id).items)


def test_an_event_is_sent_signed_with_ids_states_and_links_alone(
    service: Services, principal: Principal, inbox: Receiver
) -> None:
    hook = add(service, principal, inbox)
    job_id = cancelled_job(service, principal)
    assert deliver(service) == 1
    (got,) = inbox.received
    assert hook.secret is not None
    content = got.verified(hook.secret)
    assert set(content) == {"type", "timestamp", "data"}
    assert content["type"] == "job.cancelled"
    assert set(content["data"]) == {"job_id", "dataset_id", "state", "links"}
    assert (content["data"]["job_id"], content["data"]["state"]) == (job_id, "cancelled")
    assert content["data"]["links"] == {"job": f"https://graphveil.example.org/v1/jobs/{job_id}"}
    assert (got.path, got.headers["content-type"]) == ("/in", "application/json")
    (view,) = listed(service, principal, hook)
    assert (view.id, view.state, view.attempts, view.last_status) == (got.id, "delivered", 1, "2xx")
    assert deliver(service) == 0


def test_every_end_of_a_job_is_told_to_those_who_asked(
    service: Services, principal: Principal, inbox: Receiver
) -> None:
    add(service, principal, inbox)
    dataset = ready_dataset(service, principal, epsilon="100")
    published, failed = (queued_job(service, principal, dataset.id, key) for key in ("a", "b"))
    assert taken(service.settings, Topic.RUN, published.id)
    work = publish.begin_job(service, failed.id, "w")
    assert work is not None
    publish.fail_job(service, work, JobReason.GENERATOR_FAILED)
    publish.finish_release(service, published.id, {})  # again, as the reaper may: it tells nothing twice
    deliver(service)
    told = sorted((content["type"], content["data"]["job_id"]) for content in contents(inbox))
    assert told == [("job.failed", failed.id), ("job.published", published.id)]


def contents(inbox: Receiver) -> list[dict[str, Any]]:
    return [json.loads(got.body) for got in inbox.received]


def test_uploads_are_told_of(service: Services, principal: Principal, inbox: Receiver) -> None:
    add(service, principal, inbox, ["dataset.ready", "dataset.rejected"])
    ready = ready_dataset(service, principal)
    refused = register_dataset(
        service, principal, NewDataset(name="other", unit="edge", epsilon="1", graph_schema=SCHEMA)
    )
    version = receive_part(
        service,
        principal,
        refused.id,
        part="edges",
        format="csv",
        options={},
        chunks=[ring_edges()],
        length=None,
    )
    work = begin_ingest(service, version.id, "tests")
    assert work is not None
    reject_ingest(service, work, [{"file": "edges", "line": 7, "message": "secret"}], "secret")
    deliver(service)
    found = contents(inbox)
    assert [content["type"] for content in found] == ["dataset.ready", "dataset.rejected"]
    assert [content["data"]["dataset_id"] for content in found] == [ready.id, refused.id]
    assert [content["data"]["state"] for content in found] == ["ready", "rejected"]
    assert b"secret" not in b"".join(got.body for got in inbox.received)


def test_a_budget_that_becomes_low_and_then_is_used_up_is_told_of_once_each(
    service: Services, principal: Principal, inbox: Receiver
) -> None:
    hook = add(service, principal, inbox, ["budget.low", "budget.exhausted"])
    dataset = ready_dataset(service, principal, epsilon="10")
    for key, epsilon in (("a", "8"), ("b", "1"), ("c", "0.5"), ("d", "0.5")):
        job = queued_job(service, principal, dataset.id, key, epsilon=epsilon)
        assert taken(service.settings, Topic.RUN, job.id)
        states = [view.event for view in reversed(listed(service, principal, hook))]
        # A tenth is left after b: that is not below a tenth.
        expected = {"a": 0, "b": 0, "c": 1, "d": 2}[key]
        assert states == ["budget.low", "budget.exhausted"][:expected], key
    deliver(service)
    for content, state in zip(contents(inbox), ("low", "exhausted"), strict=True):
        assert content["data"] == {
            "dataset_id": dataset.id,
            "account_id": dataset.account_id,
            "state": state,
            "links": {"budget": f"https://graphveil.example.org/v1/datasets/{dataset.id}/budget"},
        }


def test_nothing_is_told_of_what_was_rolled_back(
    service: Services, principal: Principal, inbox: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(service, principal, inbox)
    dataset = ready_dataset(service, principal)
    job = queued_job(service, principal, dataset.id)
    told = announcements.job_came_to

    def breaking(session: Any, ended: Any) -> None:
        told(session, ended)
        raise ConnectionError("the database went away before the commit")

    monkeypatch.setattr(settle.announcements, "job_came_to", breaking)
    with pytest.raises(ConnectionError):
        cancel_job(service, principal, job.id)
    assert deliver(service) == 0


def test_other_tenants_and_other_events_are_not_told(
    service: Services, principal: Principal, inbox: Receiver
) -> None:
    other = Principal("other", "key_o", "o", frozenset({Role.OPERATOR}), person="o")
    for who, events in ((other, JOBS), (principal, ["job.published"])):
        add(service, who, inbox, events)
    cancelled_job(service, principal)
    assert deliver(service) == 0


def test_what_is_not_received_comes_back_after_the_tables_pauses_until_it_is_given_up(
    service: Services, principal: Principal, inbox: Receiver
) -> None:
    inbox.statuses = [500, 404, 503, 200]
    hook = add(service, principal, inbox)
    cancelled_job(service, principal)
    for attempt, (pause, status) in enumerate(((5, "5xx"), (300, "4xx")), start=1):
        assert deliver(service) == 1
        assert deliver(service) == 0  # not yet
        (view,) = listed(service, principal, hook)
        assert (view.state, view.attempts, view.last_status) == ("pending", attempt, status)
        with service.db.transaction() as session:
            left = session.execute(
                text("SELECT extract(epoch FROM next_attempt_at - now()) FROM webhook_deliveries")
            ).scalar_one()
        assert pause - 2 <= left <= 1.2 * pause
        hours_pass(service)
    assert deliver(service) == 1
    (view,) = listed(service, principal, hook)
    assert (view.state, view.last_problem, view.next_attempt_at) == ("given_up", "status", None)
    hours_pass(service)
    assert deliver(service) == 0
    assert len({got.id for got in inbox.received}) == 1
    assert len({got.body for got in inbox.received}) == 1
    assert webhooks.get_webhook(service, principal, hook.id).failures == 1

    again = deliveries.retry_delivery(service, principal, hook.id, view.id)
    assert (again.state, again.finished_at) == ("pending", None)
    assert deliver(service) == 1
    (view,) = listed(service, principal, hook)
    assert (view.state, view.attempts, view.last_problem) == ("delivered", 4, None)
    assert webhooks.get_webhook(service, principal, hook.id).failures == 0


def test_a_receiver_that_asks_for_time_gets_it(
    service: Services, principal: Principal, inbox: Receiver
) -> None:
    hook = add(service, principal, inbox)
    cancelled_job(service, principal)
    (sending,) = Deliverer(service).take(5)
    deliveries.sent(service, sending, Outcome(429, deliveries.Trouble.STATUS, pause_seconds=3_600))
    (view,) = listed(service, principal, hook)
    assert view.next_attempt_at is not None
    assert (view.next_attempt_at - view.created_at).total_seconds() >= 3_590


def test_an_endpoint_that_is_gone_is_disabled_at_once_and_can_be_enabled_again(
    service: Services, principal: Principal, inbox: Receiver
) -> None:
    inbox.statuses = [410, 200]
    hook = add(service, principal, inbox)
    cancelled_job(service, principal, "a")
    assert deliver(service) == 1
    view = webhooks.get_webhook(service, principal, hook.id)
    assert (view.state, view.disabled_reason) == ("disabled", "gone")
    cancelled_job(service, principal, "b")  # nobody is told
    (given_up,) = listed(service, principal, hook)
    assert (given_up.state, given_up.attempts, given_up.last_problem) == ("given_up", 1, "gone")
    for refused in (
        lambda: deliveries.retry_delivery(service, principal, hook.id, given_up.id),
        lambda: deliveries.try_webhook(service, principal, hook.id),
    ):
        with pytest.raises(Conflict):
            refused()
    enabled = webhooks.enable_webhook(service, principal, hook.id)
    assert (enabled.state, enabled.disabled_reason, enabled.failures) == ("enabled", None, 0)
    deliveries.retry_delivery(service, principal, hook.id, given_up.id)
    assert deliver(service) == 1
    assert listed(service, principal, hook)[0].state == "delivered"


def test_an_endpoint_that_fails_too_often_is_disabled_and_what_waits_stays(
    service: Services, principal: Principal, inbox: Receiver
) -> None:
    inbox.statuses = [500]
    hook = add(service, principal, inbox)
    for key in ("a", "b", "c"):
        cancelled_job(service, principal, key)
    with service.db.transaction() as session:  # two have one attempt left, the third is young
        session.execute(
            text(
                "UPDATE webhook_deliveries SET attempt_limit = 1 WHERE id IN"
                " (SELECT id FROM webhook_deliveries ORDER BY created_at LIMIT 2)"
            )
        )
    deliver(service)
    view = webhooks.get_webhook(service, principal, hook.id)
    assert (view.state, view.disabled_reason, view.failures) == ("disabled", "failing", 2)
    hours_pass(service)
    assert deliver(service) == 0
    webhooks.enable_webhook(service, principal, hook.id)
    inbox.statuses = [200]
    assert deliver(service) == 1
    assert sorted(one.state for one in listed(service, principal, hook)) == [
        "delivered",
        "given_up",
        "given_up",
    ]


def test_a_test_is_sent_once_and_disables_nothing(
    service: Services, principal: Principal, inbox: Receiver
) -> None:
    inbox.statuses = [500]
    hook = add(service, principal, inbox)
    for _ in range(3):
        deliveries.try_webhook(service, principal, hook.id)
    assert deliver(service) == 3
    assert {one.state for one in listed(service, principal, hook)} == {"given_up"}
    assert webhooks.get_webhook(service, principal, hook.id).state == "enabled"
    assert hook.secret is not None
    assert inbox.received[0].verified(hook.secret)["data"]["webhook_id"] == hook.id


def test_two_secrets_sign_for_a_day(service: Services, principal: Principal, inbox: Receiver) -> None:
    hook = add(service, principal, inbox)
    rotated = webhooks.rotate_webhook(service, principal, hook.id)
    assert hook.secret is not None
    assert rotated.secret is not None
    assert rotated.secret != hook.secret
    deliveries.try_webhook(service, principal, hook.id)
    deliver(service)
    both = inbox.received[0]
    for secret in (hook.secret, rotated.secret):
        assert both.verified(secret)["type"] == "webhook.test"
    short = Services(
        service.db, service.store, service.settings.model_copy(update={"webhook_rotation_seconds": 0.001})
    )
    third = webhooks.rotate_webhook(short, principal, hook.id)
    assert third.secret is not None
    assert len(signatures(service, principal, hook, inbox)) == 2  # the new one, and the first for its day
    for _ in range(2):
        webhooks.rotate_webhook(service, principal, hook.id)
    with pytest.raises(Conflict):
        webhooks.rotate_webhook(service, principal, hook.id)
    assert len(signatures(service, principal, hook, inbox)) == 4


def signatures(service: Services, principal: Principal, hook: Webhook, inbox: Receiver) -> list[str]:
    deliveries.try_webhook(service, principal, hook.id)
    deliver(service)
    return inbox.received[-1].headers["webhook-signature"].split(" ")


def test_secrets_are_sealed_and_bound_to_their_endpoint(
    service: Services, principal: Principal, inbox: Receiver
) -> None:
    first, second = (add(service, principal, inbox) for _ in range(2))
    query = "SELECT string_agg(encode(secrets, 'escape'), '') FROM webhook_endpoints"
    with service.db.transaction() as session:
        stored = session.execute(text(query)).scalar_one()
        session.execute(
            text(
                "UPDATE webhook_endpoints SET secrets ="
                " (SELECT secrets FROM webhook_endpoints WHERE id = :first) WHERE id = :second"
            ),
            {"first": first.id, "second": second.id},
        )
    assert first.secret is not None
    assert first.secret not in stored
    assert "whsec" not in stored
    with pytest.raises(StorageError):
        webhooks.rotate_webhook(service, principal, second.id)
    assert webhooks.get_webhook(service, principal, first.id).secret is None


def test_a_deleted_endpoint_is_told_nothing_and_is_not_found(
    service: Services, principal: Principal, inbox: Receiver
) -> None:
    hook = add(service, principal, inbox)
    cancelled_job(service, principal, "a")
    webhooks.delete_webhook(service, principal, hook.id)
    cancelled_job(service, principal, "b")
    assert deliver(service) == 0
    for refused in (webhooks.get_webhook, webhooks.delete_webhook, webhooks.rotate_webhook):
        with pytest.raises(NotFound):
            refused(service, principal, hook.id)
    assert webhooks.list_webhooks(service, principal).items == []


def test_who_stops_between_sending_and_marking_leads_to_the_same_id_again(
    service: Services, principal: Principal, inbox: Receiver
) -> None:
    hook = add(service, principal, inbox)
    cancelled_job(service, principal)
    deliverer = Deliverer(service, resolver=here)
    (lost,) = deliverer.take(5)
    assert deliverer.take(5) == []  # leased
    hours_pass(service)
    (again,) = Deliverer(service, resolver=here).take(5)
    assert (again.delivery_id, again.attempt, again.body) == (lost.delivery_id, 2, lost.body)
    deliveries.sent(service, lost, Outcome(200))  # wakes up late: its attempt is not the present one
    assert listed(service, principal, hook)[0].state == "pending"
    deliverer.deliver(again)
    assert listed(service, principal, hook)[0].state == "delivered"
    deliveries.sent(service, again, Outcome(500, deliveries.Trouble.STATUS))
    assert listed(service, principal, hook)[0].state == "delivered"


def test_one_whose_last_attempt_nobody_finished_is_given_up(
    service: Services, principal: Principal, inbox: Receiver
) -> None:
    hook = add(service, principal, inbox)
    cancelled_job(service, principal)
    for _ in range(3):
        assert len(Deliverer(service).take(5)) == 1
        hours_pass(service)
    assert Deliverer(service).take(5) == []
    (view,) = listed(service, principal, hook)
    assert (view.state, view.last_problem) == ("given_up", "interrupted")


def test_one_endpoint_has_one_delivery_under_way_and_holds_up_no_other(
    service: Services, principal: Principal, inbox: Receiver
) -> None:
    first = add(service, principal, inbox)
    for key in ("a", "b", "c"):
        cancelled_job(service, principal, key)
    second = add(service, principal, inbox)
    deliveries.try_webhook(service, principal, second.id)
    batch = Deliverer(service).take(10)
    assert len(batch) == 2
    assert Deliverer(service).take(10) == []
    oldest = listed(service, principal, first)[-1].id
    assert oldest in {sending.delivery_id for sending in batch}


def test_old_deliveries_are_purged(service: Services, principal: Principal, inbox: Receiver) -> None:
    hook = add(service, principal, inbox)
    cancelled_job(service, principal, "a")
    deliver(service)
    hours_pass(service, 29 * 24)
    assert deliveries.purge_deliveries(service) == 0
    hours_pass(service, 2 * 24)
    cancelled_job(service, principal, "b")
    assert deliveries.purge_deliveries(service) == 1
    assert len(listed(service, principal, hook)) == 1


@pytest.mark.parametrize("events", [["job.running"], ["webhook.test"], ["job.published", "x"]])
def test_only_known_events_can_be_asked_for(
    service: Services, principal: Principal, inbox: Receiver, events: list[str]
) -> None:
    with pytest.raises(InvalidInput) as caught:
        add(service, principal, inbox, events)
    assert caught.value.members["field"] == "events"


def test_a_tenant_has_a_limited_number(service: Services, principal: Principal, inbox: Receiver) -> None:
    few = Services(service.db, service.store, service.settings.model_copy(update={"max_webhooks": 2}))
    for _ in range(2):
        add(few, principal, inbox)
    with pytest.raises(Conflict):
        add(few, principal, inbox)


def test_a_receiver_can_tell_them_apart_by_their_id(
    service: Services, principal: Principal, inbox: Receiver
) -> None:
    add(service, principal, inbox)
    add(service, principal, inbox)
    cancelled_job(service, principal)
    deliver(service)
    got: list[Received] = inbox.received
    assert len({one.id for one in got}) == 2
    assert all("." not in one.id for one in got)
