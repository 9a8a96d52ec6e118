"""An account takes jobs again. A curator has looked into its give-backs, and lets it."""

from __future__ import annotations

from core.datasets import service as datasets
from core.identity.models import Role
from core.identity.service import Principal, require
from core.ledger import service as ledger
from core.workflows.common.context import Services
from graphveil.models.ledger import Budget


def unblock_account(services: Services, principal: Principal, dataset_id: str, *, reason: str) -> Budget:
    """Unblock the dataset's account. The ledger says who reset it and why. Safe to repeat.

    Raises Forbidden, NotFound.
    """
    require(principal, Role.CURATOR)
    with services.db.transaction() as session:
        account_id = datasets.get(session, principal.tenant, dataset_id).account_id
        ledger.unblock(session, account_id, actor=principal.key_id, reason=reason)
        return ledger.statement(session, account_id)
