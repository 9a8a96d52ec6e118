"""What goes wrong with one webhook stays with it; what is charged from outside is told of as well."""

from __future__ import annotations

from sqlalchemy import text

from core.identity.service import Principal
from core.workflows.common.context import Services
from core.workflows.ledger.adjustments import adjust_budget
from tests.integration.webhooks.test_deliveries import (
    add,
    cancelled_job,
    contents,
    deliver,
    hours_pass,
    listed,
)
from tests.support.receiver import Receiver
from tests.support.releases import ready_dataset


def test_a_webhook_whose_secret_cannot_be_unsealed_fails_alone(
    service: Services, principal: Principal, inbox: Receiver
) -> None:
    damaged, sound = add(service, principal, inbox), add(service, principal, inbox)
    with service.db.transaction() as session:
        damage = text("UPDATE webhook_endpoints SET secrets = :rubbish WHERE id = :id")
        session.execute(damage, {"rubbish": b"sealed under another key", "id": damaged.id})
    cancelled_job(service, principal)
    assert deliver(service) == 1
    (view,) = listed(service, principal, sound)
    assert view.state == "delivered"
    (view,) = listed(service, principal, damaged)
    assert (view.state, view.attempts, view.last_problem) == ("pending", 1, "unsigned")
    for _ in range(2):
        hours_pass(service)
        assert deliver(service) == 0
    (view,) = listed(service, principal, damaged)
    assert (view.state, view.attempts, view.last_problem) == ("given_up", 3, "unsigned")


def test_spend_from_outside_that_makes_a_budget_low_is_told_of(
    service: Services, principal: Principal, inbox: Receiver
) -> None:
    hook = add(service, principal, inbox, ["budget.low", "budget.exhausted"])
    dataset = ready_dataset(service, principal, epsilon="10")
    for epsilon, told in (("5", []), ("4.5", ["budget.low"]), ("0.5", ["budget.low", "budget.exhausted"])):
        adjust_budget(service, principal, dataset.id, epsilon=epsilon, delta="0", reason="by hand")
        assert [view.event for view in reversed(listed(service, principal, hook))] == told
    deliver(service)
    assert {content["data"]["dataset_id"] for content in contents(inbox)} == {dataset.id}
