"""The one read of a job's submission over several nouns. It goes over their tables."""

from __future__ import annotations

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from core.datasets.models import Dataset, DatasetVersion
from core.ledger.models import BudgetAccount

_DRAWN_ON = (
    select(Dataset, DatasetVersion, BudgetAccount)
    .join(BudgetAccount, BudgetAccount.id == Dataset.account_id)
    .outerjoin(DatasetVersion, DatasetVersion.id == Dataset.current_version_id)
    .where(Dataset.id == bindparam("dataset_id"))
    .with_for_update(read=True, of=Dataset)
    .execution_options(populate_existing=True)
)


def drawn_on(
    session: Session, dataset_id: str
) -> tuple[Dataset, DatasetVersion | None, BudgetAccount] | None:
    """Share-lock the dataset; load it with its current version and its account. One round trip."""
    found = session.execute(_DRAWN_ON, {"dataset_id": dataset_id}).one_or_none()
    return None if found is None else (found[0], found[1], found[2])
