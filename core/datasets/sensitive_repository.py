"""The only SQL on the lists of sensitive links. Loads and saves; decides nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from core.datasets.models import Dataset, ListState, SensitiveList


def of_version(session: Session, version_id: str, *states: ListState) -> Sequence[SensitiveList]:
    """Load the version's lists, newest first. They are in any of the states, or all where none is named."""
    query = select(SensitiveList).where(SensitiveList.version_id == version_id)
    if states:
        query = query.where(SensitiveList.state.in_(states))
    return session.scalars(query.order_by(SensitiveList.id.desc())).all()


def of_dataset(session: Session, dataset_id: str) -> Sequence[SensitiveList]:
    """Every list of the dataset, newest first."""
    query = select(SensitiveList).where(SensitiveList.dataset_id == dataset_id)
    return session.scalars(query.order_by(SensitiveList.id.desc())).all()


def by_id(session: Session, list_id: str) -> SensitiveList | None:
    """Load the list, if it is there."""
    return session.get(SensitiveList, list_id)


def in_use(session: Session, version_id: str) -> SensitiveList | None:
    """Find the list that a job would hide. It is one on the version; None where none is ready."""
    return next(iter(of_version(session, version_id, ListState.READY)), None)


def delete(session: Session, rows: Sequence[SensitiveList]) -> list[str]:
    """Delete the rows. Returned are the keys of the objects that nothing names any more."""
    keys = [row.object_key for row in rows if row.object_key is not None]
    for row in rows:
        session.delete(row)
    session.flush()
    return keys


def lists_in(state: ListState) -> Select[str, str, datetime]:
    """Selects id, tenant and created_at of the lists in that state."""
    query = select(SensitiveList.id, Dataset.tenant, SensitiveList.created_at)
    return query.join(Dataset, Dataset.id == SensitiveList.dataset_id).where(SensitiveList.state == state)
