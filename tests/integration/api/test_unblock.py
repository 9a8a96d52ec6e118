"""A blocked account: what a requester is told, and how a curator resets it."""

from __future__ import annotations

from core.db.session import Database
from core.identity.models import Role
from core.ledger import service as ledger
from tests.integration.api.conftest import Tenant

GIVE_BACKS = 3


def block(database: Database, account_id: str) -> None:
    """Three reservations come back in a row."""
    for number in range(GIVE_BACKS):
        with database.transaction() as session:
            reservation = ledger.reserve(
                session,
                account_id,
                amounts={"epsilon": 1, "delta": 0},
                unit="edge",
                window=None,
                job_id=f"job_{number}",
                actor="test",
                expires_in_seconds=None,
            )
            ledger.release(
                session, reservation, reason="lost", actor="test", give_back=True, block_after=GIVE_BACKS
            )


def test_a_curator_lets_a_blocked_account_take_jobs_again(tenant: Tenant, database_of: Database) -> None:
    dataset = tenant.register()
    block(database_of, dataset["account_id"])
    path = f"/datasets/{dataset['id']}/budget"
    assert tenant.call("GET", path, Role.REQUESTER).json()["blocked"] is True

    refused = tenant.call("POST", f"{path}/unblock", Role.REQUESTER, json={"reason": "please"})
    assert refused.status_code == 403
    silent = tenant.call("POST", f"{path}/unblock", Role.CURATOR, json={"reason": ""})
    assert silent.status_code == 422
    assert tenant.call("GET", path, Role.REQUESTER).json()["blocked"] is True

    reset = tenant.call("POST", f"{path}/unblock", Role.CURATOR, json={"reason": "two hosts were replaced"})
    assert reset.status_code == 200
    assert reset.json()["blocked"] is False
    entries = tenant.call("GET", f"/datasets/{dataset['id']}/ledger", Role.AUDITOR).json()["items"]
    assert (entries[-1]["kind"], entries[-1]["reason"]) == ("adjust", "two hosts were replaced")
    with database_of.transaction() as session:
        assert ledger.verify(session, dataset["account_id"]).intact
