"""Keys, the caller, and the ledger's soundness from the command line and through the SDK."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from core.identity.models import Role
from core.workflows.ledger.invariants.run import run_checks
from graphveil import Graphveil, ProblemError
from tests.integration.api.conftest import Tenant
from tests.support.shell import Command


@pytest.fixture
def operator(address: str, tenant: Tenant) -> Command:
    return Command(address, tenant.token(Role.OPERATOR))


def test_an_operator_makes_a_second_person_and_revokes_its_key(
    address: str, tenant: Tenant, operator: Command
):
    named = (
        "--person",
        "curator-b",
        "--role",
        "curator",
        "--role",
        "auditor",
        "--team",
        "blue",
        "--days",
        "9",
    )
    shown = operator("key", "create", "second person", *named).stdout
    assert "curator-b, team blue: auditor, curator; expires 20" in shown
    token = shown.split("Token, shown this once: ")[1].strip()
    second = Command(address, token)
    said = second("me").stdout
    assert f"curator-b of tenant {tenant.name}, team blue" in said
    assert "roles: auditor, curator" in said
    found = second.json("me")
    assert (found["person"], found["team"]) == ("curator-b", "blue")
    [line] = [line for line in operator("key", "list").stdout.splitlines() if "curator-b" in line]
    key_id = line.split()[0]
    assert "active" in operator("key", "show", key_id).stdout
    refused = second("key", "list", code=3)
    assert "required_roles: operator" in refused.stderr
    assert "Who can mend it: operator." in refused.stderr
    operator("key", "revoke", key_id)
    assert "revoked" in operator("key", "show", key_id).stdout


def test_keys_in_python(address: str, tenant: Tenant):
    with Graphveil(address, tenant.token(Role.OPERATOR)) as service:
        made = [service.keys.create(f"k{i}", person="requester-a", roles=["requester"]) for i in range(2)]
        assert [key.id for key in service.keys.list()][:2] == [made[1].id, made[0].id]
        with Graphveil(address, made[0].token) as theirs:
            assert theirs.me().person == "requester-a"
        service.keys.revoke(made[0].id)
        assert service.keys.get(made[0].id).state == "revoked"
        with pytest.raises(ProblemError) as refused:
            service.keys.create("k", person="requester-a", roles=["king"])
    assert refused.value.slug == "invalid-input"


def test_the_ledger_is_verified_and_its_health_shown(address: str, tenant: Tenant):
    dataset_id = tenant.register("2")["id"]
    curator = Command(address, tenant.token(Role.CURATOR))
    shown = curator("verify", dataset_id).stdout
    assert f"{curator.json('budget', dataset_id)['account_id']}  intact" in shown
    assert "read: 1 entries" in shown
    assert "violations: 0" in shown
    assert "epsilon 2 " in curator("ledger", dataset_id).stdout
    account_id = curator.json("budget", dataset_id)["account_id"]
    change = (
        "UPDATE budget_balances SET reserved = reserved {} 1 WHERE account_id = :id AND dimension = 'epsilon'"
    )
    with tenant.services.db.transaction() as session:
        session.execute(text(change.format("+")), {"id": account_id})
    try:
        run_checks(tenant.services)
        assert f"balances_fold {account_id}" in curator("verify", dataset_id, code=1).stdout
        shown = curator("health", code=1).stdout
        assert "The ledger is violated." in shown
        assert f"  {account_id}: " in shown
    finally:
        with tenant.services.db.transaction() as session:
            session.execute(text(change.format("-")), {"id": account_id})
    assert curator.json("verify", dataset_id)["intact"] is True
