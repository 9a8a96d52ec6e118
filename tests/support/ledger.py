"""Short ways to ask the ledger for things, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.db.session import Database
from core.ledger import service
from core.ledger.models import BudgetAccount

DIGESTS = {"edges.parquet": "ab" * 32}


def open_account(database: Database, **terms: Any) -> BudgetAccount:
    """An account with one whole epsilon under the basic filter, unless told otherwise."""
    asked: dict[str, Any] = {
        "tenant": "acme",
        "domain": "patients",
        "unit": "edge",
        "window": None,
        "filter": "basic",
        "nano_epsilon": 1_000_000_000,
        "delta_atto": 0,
        "actor": "curator",
        "reason": "opened",
        **terms,
    }
    with database.transaction() as session:
        return service.open_account(session, **asked)


def reserve(
    database: Database,
    account: BudgetAccount,
    amounts: Mapping[str, int],
    *,
    job_id: str = "job_1",
    expires_in_seconds: float | None = 3600.0,
    team: str | None = None,
    project: str | None = None,
) -> str:
    """One reservation in a transaction of its own."""
    with database.transaction() as session:
        return service.reserve(
            session,
            account.id,
            amounts=amounts,
            unit=account.unit,
            window=account.window,
            job_id=job_id,
            actor="requester",
            expires_in_seconds=expires_in_seconds,
            team=team,
            project=project,
        )


def open_quota(
    database: Database, account: BudgetAccount, scope: str, name: str, nano_epsilon: int, delta_atto: int = 0
) -> BudgetAccount:
    """A quota of the account."""
    return call(
        database,
        service.open_quota,
        account.id,
        scope=scope,
        name=name,
        nano_epsilon=nano_epsilon,
        delta_atto=delta_atto,
        actor="curator-a",
        reason="a share",
    )


def grant(database: Database, account: BudgetAccount, nano_epsilon: int, delta_atto: int = 0) -> Any:
    """Capacity given by two persons."""
    return call(
        database,
        service.grant,
        account.id,
        nano_epsilon=nano_epsilon,
        delta_atto=delta_atto,
        actor="curator-a",
        approver="curator-b",
        reason="a second wave",
    )


def adjust(database: Database, account: BudgetAccount, amounts: Mapping[str, int]) -> Any:
    """Spend outside the service, put on record."""
    return call(
        database, service.adjust, account.id, amounts=amounts, actor="curator-a", reason="a paper's table"
    )


def call(database: Database, operation: Any, *arguments: Any, **named: Any) -> Any:
    """A service function in a transaction of its own."""
    with database.transaction() as session:
        return operation(session, *arguments, **named)


def charge(database: Database, reservation_id: str) -> Any:
    """The reservation is charged for one file."""
    return call(database, service.charge, reservation_id, digests=DIGESTS, actor="worker")


def give_back(database: Database, reservation_id: str, *, block_after: int = 3, counts: bool = True) -> Any:
    """The reservation is released, as a give-back unless told otherwise."""
    return call(
        database,
        service.release,
        reservation_id,
        reason="lease lost",
        actor="reaper",
        give_back=counts,
        block_after=block_after,
    )
