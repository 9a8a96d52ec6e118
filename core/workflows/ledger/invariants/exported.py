"""The signed heads leave the database as often as they should."""

from __future__ import annotations

from sqlalchemy.orm import Session

from core.workflows.common.context import Services
from core.workflows.ledger import head_exports
from core.workflows.ledger.invariants.base import Found


class HeadsAreExported:
    """L15: heads are exported often enough. Without a young document a restore of the database could forget
    unseen. O(accounts)."""

    name = "heads_exported"
    promise = "Where heads are signed, the newest document outside the database is young enough."

    def __init__(self, services: Services) -> None:
        self._services = services

    def check(self, session: Session, limit: int) -> Found:
        """As :meth:`core.workflows.ledger.invariants.base.Promise.check`."""
        findings = tuple(head_exports.overdue(self._services, session))
        return Found(len(findings), findings[:limit])
