"""The ledger's own invariants, as promises."""

from __future__ import annotations

import inspect

from sqlalchemy.orm import Session

from core.ledger import repository
from core.ledger.invariants import INVARIANTS, Invariant
from core.workflows.ledger.invariants.base import Finding, Found


class OfTheLedger:
    """One invariant of the ledger, over all accounts. It is one of :mod:`core.ledger.invariants`; its cost is
    stated there."""

    def __init__(self, invariant: Invariant) -> None:
        self._invariant = invariant

    @property
    def name(self) -> str:
        """The invariant's."""
        return self._invariant.name

    @property
    def promise(self) -> str:
        """The first paragraph of what its class says."""
        text = inspect.getdoc(type(self._invariant)) or ""
        return " ".join(text.partition("\n\n")[0].split())

    def check(self, session: Session, limit: int) -> Found:
        """As :meth:`core.workflows.ledger.invariants.base.Promise.check`; O(violations) memory."""
        violations = self._invariant.check(session)
        reported = violations[:limit]
        accounts = repository.by_ids(session, {violation.account_id for violation in reported})
        # An account that is gone has no tenant: its finding is for operators only.
        tenants = {account.id: account.tenant for account in accounts.values()}
        findings = (Finding(tenants.get(v.account_id, ""), v.account_id, v.detail) for v in reported)
        return Found(len(violations), tuple(findings))


def ledger_promises() -> tuple[OfTheLedger, ...]:
    """List the ledger's promises, in its order."""
    return tuple(OfTheLedger(invariant) for invariant in INVARIANTS)
