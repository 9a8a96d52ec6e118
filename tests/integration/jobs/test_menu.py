"""A menu of plans: each what a dry run says, refusals beside it, nothing reserved, the data not looked at."""

from __future__ import annotations

import dataclasses
import secrets
from typing import Any

import pytest

from core.datasets import repository as datasets
from core.errors import InvalidInput, NotFound
from core.identity.service import Principal
from core.ledger import service as ledger
from core.workflows.common.context import Services
from core.workflows.jobs.menu import MenuRequest, plan_menu
from core.workflows.jobs.submit import JobRequest, plan_job
from tests.support.releases import ready_dataset

ASSUME = {"edges": 200}


def ask(dataset_id: str, **changed: Any) -> MenuRequest:
    asked = {"dataset_id": dataset_id, "epsilons": ["1", "0.5"], "assume": ASSUME} | changed
    return MenuRequest.model_validate(asked)


def test_every_item_is_what_a_dry_run_says(services: Services, principal: Principal) -> None:
    dataset = ready_dataset(services, principal)
    shares = {"method": "lapgraph", "parameters": {"shares": {"count": 0.3, "cells": 0.7}}}
    methods = [{"method": "dcsbm", "parameters": {"count_share": 0.2}}, shares, {}]
    menu = plan_menu(services, principal, ask(dataset.id, methods=methods))
    assert [item.epsilon for item in menu.items] == ["1", "0.5"] * 3
    assert menu.budget.remaining.epsilon == "4"
    assert menu.items[2].shares == {"count": 0.3, "cells": 0.7}
    assert menu.items[2].parameters == {"count_share": 0.3, "attribute_share": 0.0}
    for item, asked in zip(menu.items, [each for each in methods for _ in range(2)], strict=True):
        request = JobRequest(dataset_id=dataset.id, epsilon=item.epsilon, assume=ASSUME, **asked)
        alone = plan_job(services, principal, request)
        told = (
            "method",
            "parameters",
            "shares",
            "chosen_because",
            "cost",
            "plan_digest",
            "precision",
            "expected",
        )
        for name in told:
            assert getattr(item, name) == getattr(alone, name), name
        assert item.remaining == alone.budget_after.remaining.epsilon
        assert item.refused is None


def test_a_name_alone_is_answered_with_the_form_that_is_meant() -> None:
    with pytest.raises(
        ValueError, match=r'not its name alone: \{"method": "dcsbm"\}, with "parameters"'
    ) as refused:
        ask("ds_1", methods=["lapgraph", {"method": "dcsbm"}])
    assert [error["loc"] for error in refused.value.errors()] == [("methods", 0)]


def test_a_method_that_is_named_says_which_of_its_forms_it_is(
    services: Services, principal: Principal
) -> None:
    dataset = ready_dataset(services, principal)
    methods = [{"method": "dcsbm"}, {"method": "dcsbm", "parameters": {"preset": "small"}}]
    menu = plan_menu(services, principal, ask(dataset.id, methods=methods, epsilons=["1"]))
    assert [item.parameters["preset"] for item in menu.items] == ["default", "small"]


def test_a_delta_is_refused_where_the_account_has_none(services: Services, principal: Principal) -> None:
    dataset = ready_dataset(services, principal)
    menu = plan_menu(services, principal, ask(dataset.id, delta="1e-6"))
    assert [item.refused and item.refused.field for item in menu.items] == ["delta", "delta"]
    request = JobRequest(dataset_id=dataset.id, epsilon="1", delta="1e-6")
    with pytest.raises(InvalidInput, match="delta 0") as refused:
        plan_job(services, principal, request)
    assert refused.value.members["field"] == "delta"


def test_what_is_refused_stands_beside_what_is_not(services: Services, principal: Principal) -> None:
    dataset = ready_dataset(services, principal, policy={"max_epsilon_per_job": "5"})
    methods = [{"method": "dgg"}, {"method": "nothing"}, {"method": "profiles"}]
    menu = plan_menu(services, principal, ask(dataset.id, methods=methods, epsilons=["1", "4.5", "6", "-1"]))
    dear, beyond, negative = menu.items[1:4]
    assert menu.items[0].refused is None
    assert dear.refused is not None
    assert (dear.refused.type, dear.remaining) == ("/problems/budget-exceeded", None)
    assert dear.expected  # what it would tell is public all the same
    assert [each.refused.type for each in (beyond, negative) if each.refused] == [
        "/problems/policy-refused",
        "/problems/invalid-input",
    ]
    assert {each.refused.type for each in menu.items[4:8] if each.refused} == {"/problems/unknown-method"}
    assert [each.refused.field for each in menu.items[8:9] if each.refused] == ["unit"]


def test_nothing_is_reserved_and_the_graph_is_not_looked_at(services: Services, principal: Principal) -> None:
    dataset = ready_dataset(services, principal)
    request = ask(dataset.id, methods=[{"method": "dcsbm"}, {}])
    before = plan_menu(services, principal, request)
    with services.db.transaction() as session:
        (version,) = datasets.versions(session, [dataset.id])
        entries = ledger.statement(session, dataset.account_id).entries
    services.store.put(version.object_key, [secrets.token_bytes(4096)])
    assert plan_menu(services, principal, request).model_dump_json() == before.model_dump_json()
    with services.db.transaction() as session:
        assert ledger.statement(session, dataset.account_id).entries == entries


def test_a_dataset_of_somebody_else_has_no_menu(services: Services, principal: Principal) -> None:
    with pytest.raises(NotFound):
        plan_menu(services, principal, ask("ds_none"))


@pytest.mark.parametrize(
    "changed",
    [
        {"epsilons": []},
        {"methods": []},
        {"epsilons": [float("nan")]},
        {"target": {"edges_within_95": 1}},
        {"assume": {"edges": 0}},
    ],
)
def test_a_menu_that_is_none_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="MenuRequest"):
        ask("ds_1", **changed)


def test_of_more_than_fifty_plans_it_is_said_how_many_they_are(
    services: Services, principal: Principal
) -> None:
    dataset = ready_dataset(services, principal)
    request = ask(dataset.id, epsilons=["1"] * 26, methods=[{}, {"method": "dgg"}])
    with pytest.raises(InvalidInput, match="26 epsilons are 52 plans") as refused:
        plan_menu(services, principal, request)
    assert refused.value.members["field"] == "epsilons"


def test_the_plans_of_one_request_list_no_more_cells_than_one_plan_may(
    services: Services, principal: Principal
) -> None:
    dataset = ready_dataset(services, principal)
    few = dataclasses.replace(services, settings=services.settings.model_copy(update={"max_cells": 5 * 21}))
    assert len(plan_menu(few, principal, ask(dataset.id, epsilons=["1"] * 5)).items) == 5
    with pytest.raises(InvalidInput, match="plan them one by one") as refused:
        plan_menu(few, principal, ask(dataset.id, epsilons=["1"] * 6))
    assert refused.value.members["field"] == "epsilons"
    aimed = JobRequest(dataset_id=dataset.id, method="dgg", target={"edges_within_95": 50})
    with pytest.raises(InvalidInput, match="60 plans") as refused:
        plan_job(few, principal, aimed)
    assert refused.value.members["field"] == "target"
    with pytest.raises(InvalidInput):
        plan_menu(services, principal, ask(dataset.id, edge_types=["nothing"]))
