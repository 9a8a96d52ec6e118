"""Whether an account counts records, or edges with all of their records.

Edges may be added to what was spent on records, as they cover records too. Records are not added to what was
spent on whole edges: the sum would no longer bound those.
"""

from __future__ import annotations

from sqlalchemy.orm import Session

from core.datasets import repository
from core.db.base import ROW_LOCK
from core.errors import Conflict
from core.graphs.schema import GraphSchema
from core.ledger.models import BudgetAccount
from core.workflows.datasets.grids import counts


def apart(schema: GraphSchema | None) -> bool:
    """Tell whether the schema protects records of some relation one by one."""
    return schema is not None and any(each.records_apart for each in schema.edge_types)


def standing_apart(session: Session, account: BudgetAccount, *, but: str | None = None) -> bool | None:
    """Tell whether the account's datasets protect records; None where no other one has declared a schema.

    The account stays locked until the transaction ends, so that two datasets cannot miss each other.
    """
    session.refresh(account, with_for_update=ROW_LOCK)
    declared = [
        GraphSchema.model_validate(each.graph_schema)
        for each in repository.of_account(session, account.id)
        if each.id != but and each.graph_schema is not None and counts(session, each)
    ]
    return any(map(apart, declared)) if declared else None


def check_apart(
    session: Session, account: BudgetAccount, schema: GraphSchema | None, *, but: str | None = None
) -> None:
    """Check that the schema's records may be added to what the account counts. Conflict otherwise."""
    if apart(schema) and standing_apart(session, account, but=but) is False:
        raise Conflict(
            f"the protection domain {account.domain!r} counts edges with all of their records; leave "
            "records_apart out, or name another domain",
            field="graph_schema.edge_types",
        )
