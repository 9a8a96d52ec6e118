"""The ledger's health and an account's verification, over HTTP."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from api.app import create_app
from core.identity.models import Role
from core.ledger import service as ledger
from core.workflows.common.context import Services
from core.workflows.ledger.invariants.run import promises, run_checks
from tests.integration.api.conftest import Tenant


@pytest.fixture
def account(tenant: Tenant) -> tuple[str, str]:
    """A declared dataset, and its account."""
    dataset_id = tenant.register()["id"]
    return dataset_id, tenant.call("GET", f"/datasets/{dataset_id}/budget").json()["account_id"]


@pytest.mark.parametrize("role", [Role.AUDITOR, Role.OPERATOR, Role.CURATOR])
def test_health_tells_every_promise(tenant: Tenant, role: Role):
    run_checks(tenant.services)
    answer = tenant.call("GET", "/ledger/health", role)
    assert answer.status_code == 200
    body = answer.json()
    assert {each["invariant"] for each in body["promises"]} == {p.name for p in promises(tenant.services)}
    assert body["status"] in ("intact", "violated")
    for each in body["promises"]:
        assert each["promise"]
        assert each["checked_at"]
        assert 0 <= each["age_seconds"] < 60


def test_a_finding_is_told_to_its_tenant_only(tenant: Tenant, stranger: Tenant, account: tuple[str, str]):
    dataset_id, account_id = account
    change = (
        "UPDATE budget_balances SET reserved = reserved {} 1 WHERE account_id = :id AND dimension = 'epsilon'"
    )
    with tenant.services.db.transaction() as session:
        session.execute(text(change.format("+")), {"id": account_id})
    run_checks(tenant.services)

    def told(who: Tenant) -> dict[str, object]:
        body = who.call("GET", "/ledger/health", Role.AUDITOR).json()
        assert body["status"] == "violated"
        return next(each for each in body["promises"] if each["invariant"] == "balances_fold")

    own, others = told(tenant), told(stranger)
    assert [finding["subject"] for finding in own["findings"]] == [account_id]  # type: ignore[attr-defined]
    assert own["failing_since"]
    assert (others["violations"], others["findings"]) == (own["violations"], [])
    verified = tenant.call("GET", f"/datasets/{dataset_id}/ledger/verify", Role.AUDITOR).json()
    assert not verified["intact"]
    assert [finding["invariant"] for finding in verified["findings"]] == ["balances_fold"]

    with tenant.services.db.transaction() as session:
        session.execute(text(change.format("-")), {"id": account_id})
    run_checks(tenant.services)
    body = tenant.call("GET", "/ledger/health", Role.AUDITOR).json()
    mended = next(each for each in body["promises"] if each["invariant"] == "balances_fold")
    assert (mended["status"], mended["violations"], mended["failing_since"]) == ("intact", 0, None)


@pytest.mark.parametrize("role", [Role.AUDITOR, Role.CURATOR])
def test_an_account_is_verified_now(tenant: Tenant, account: tuple[str, str], role: Role):
    dataset_id, account_id = account
    with tenant.services.db.transaction() as session:
        ledger.open_quota(
            session, account_id, scope="team", name="t", nano_epsilon=5, delta_atto=0, actor="x", reason="r"
        )
    answer = tenant.call("GET", f"/datasets/{dataset_id}/ledger/verify", role)
    assert answer.status_code == 200
    budget = tenant.call("GET", f"/datasets/{dataset_id}/budget").json()
    assert answer.json() == {
        "account_id": account_id,
        "quotas": 1,
        "intact": True,
        "entries": 2,
        "head": budget["head"],
        "violations": 0,
        "findings": [],
    }


def test_a_long_account_is_left_to_the_auditor(tenant: Tenant, account: tuple[str, str]):
    services = tenant.services
    short = services.settings.model_copy(update={"max_verified_entries": 0})
    with TestClient(create_app(Services(services.db, services.store, short))) as client:
        headers = {"Authorization": f"Bearer {tenant.token(Role.AUDITOR)}"}
        answer = client.get(f"/datasets/{account[0]}/ledger/verify", headers=headers)
    assert answer.status_code == 409
    assert answer.json()["type"] == "/problems/conflict"
    assert "more than 0 entries" in answer.json()["detail"]
