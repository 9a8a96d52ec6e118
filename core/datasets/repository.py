"""The only SQL on the tables of datasets. Loads and saves; decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Select, exists, false, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.datasets.models import (
    ContentFingerprint,
    Dataset,
    DatasetPart,
    DatasetPolicy,
    DatasetState,
    DatasetVersion,
    DirectUpload,
    ShownState,
    VersionState,
)
from core.db.base import ROW_LOCK


def find(session: Session, tenant: str, dataset_id: str) -> Dataset | None:
    return session.scalars(
        select(Dataset).where(Dataset.tenant == tenant, Dataset.id == dataset_id)
    ).one_or_none()


def of_ids(session: Session, tenant: str, dataset_ids: Collection[str]) -> Sequence[Dataset]:
    """Load the tenant's datasets that have these ids. They come in no order."""
    return session.scalars(select(Dataset).where(Dataset.id.in_(dataset_ids), Dataset.tenant == tenant)).all()


def existing(session: Session, dataset_id: str) -> Dataset:
    """Load the dataset, which exists."""
    return session.get_one(Dataset, dataset_id)


def locked(session: Session, dataset_id: str) -> Dataset | None:
    """Lock the row until the transaction ends. It is loaded as it is now. Always before a version's lock."""
    return session.get(Dataset, dataset_id, with_for_update=ROW_LOCK, populate_existing=True)


def share_locked(session: Session, dataset_id: str) -> Dataset | None:
    """Lock the dataset against changes. The lock lasts until this transaction ends; others may lock it so
    too."""
    return session.get(Dataset, dataset_id, with_for_update={"read": True}, populate_existing=True)


def named(session: Session, tenant: str, name: str) -> Dataset | None:
    return session.scalars(
        select(Dataset).where(Dataset.tenant == tenant, Dataset.name == name)
    ).one_or_none()


def of_account(session: Session, account_id: str) -> Sequence[Dataset]:
    return session.scalars(select(Dataset).where(Dataset.account_id == account_id)).all()


def policy(session: Session, dataset_id: str, number: int) -> DatasetPolicy | None:
    """One version of the dataset's policy."""
    return session.get(DatasetPolicy, (dataset_id, number))


def to_mend(session: Session, tenant: str, limit: int) -> Sequence[Dataset]:
    """List datasets that wait for a curator, newest first. Their schema is proposed, or their upload
    rejected."""
    waits = _shown_as(ShownState.PROPOSED) | _shown_as(ShownState.REJECTED)
    query = select(Dataset).where(Dataset.tenant == tenant, waits).order_by(Dataset.id.desc()).limit(limit)
    return session.scalars(query).all()


def _shown_as(state: str) -> ColumnElement[bool]:
    """Select what callers see in that state; see :attr:`Dataset.shown_state`."""
    registered = Dataset.state == DatasetState.REGISTERED
    if state == ShownState.PROPOSED:
        return registered & Dataset.proposed_schema.is_not(None)
    if state == ShownState.REGISTERED:
        return registered & Dataset.proposed_schema.is_(None)
    return Dataset.state == state


def page(
    session: Session,
    tenant: str,
    *,
    after: str | None,
    limit: int,
    states: Collection[str] | None = None,
    by_name: bool = False,
    falls: bool = True,
) -> Sequence[Dataset]:
    """List datasets of a tenant by id, which is by age, or by name. They come after that id or name, and are
    in one of the states."""
    key = Dataset.name if by_name else Dataset.id
    query = select(Dataset).where(Dataset.tenant == tenant).order_by(key.desc() if falls else key)
    if states is not None:
        query = query.where(or_(false(), *map(_shown_as, states)))
    if after is not None:
        query = query.where(key < after if falls else key > after)
    return session.scalars(query.limit(limit)).all()


def version(session: Session, version_id: str) -> DatasetVersion | None:
    return session.get(DatasetVersion, version_id)


def existing_version(session: Session, version_id: str) -> DatasetVersion:
    """Load the version, which exists."""
    return session.get_one(DatasetVersion, version_id)


def locked_version(session: Session, version_id: str) -> DatasetVersion | None:
    """Lock the version until the transaction ends. It is loaded as it is now."""
    return session.get(DatasetVersion, version_id, with_for_update=ROW_LOCK, populate_existing=True)


def versions(session: Session, dataset_ids: Collection[str]) -> Sequence[DatasetVersion]:
    """Every version of the datasets, newest first."""
    query = select(DatasetVersion).where(DatasetVersion.dataset_id.in_(dataset_ids))
    return session.scalars(query.order_by(DatasetVersion.number.desc())).all()


def in_state(session: Session, dataset_id: str, *states: VersionState) -> Sequence[DatasetVersion]:
    """Load the dataset's versions in any of the states, oldest first."""
    query = select(DatasetVersion).where(
        DatasetVersion.dataset_id == dataset_id, DatasetVersion.state.in_(states)
    )
    return session.scalars(query.order_by(DatasetVersion.number)).all()


def next_number(session: Session, dataset_id: str) -> int:
    """Compute the next version number. It is one more than the highest; the dataset's lock keeps it free."""
    highest = select(func.coalesce(func.max(DatasetVersion.number), 0))
    return session.execute(highest.where(DatasetVersion.dataset_id == dataset_id)).scalar_one() + 1


def parts(session: Session, version_ids: Collection[str]) -> Sequence[DatasetPart]:
    """Load the parts of the versions, edges before nodes."""
    query = select(DatasetPart).where(DatasetPart.version_id.in_(version_ids))
    # In alphabetical order edges stand before nodes.
    return session.scalars(query.order_by(DatasetPart.version_id, DatasetPart.part)).all()


def part(session: Session, version_id: str, name: str) -> DatasetPart | None:
    return session.get(DatasetPart, (version_id, name))


def names_object(session: Session, object_key: str) -> bool:
    """Tell whether a part lies under the key."""
    query = select(DatasetPart.part).where(DatasetPart.object_key == object_key)
    return session.scalars(query).first() is not None


def delete_parts(
    session: Session, version_ids: Collection[str], *, only: Callable[[str], bool] = lambda key: True
) -> None:
    """Delete the versions' parts whose object key is ``only``."""
    for row in parts(session, version_ids):
        if only(row.object_key):
            session.delete(row)
    session.flush()


def upload_live(session: Session, version_id: str) -> bool:
    """Tell whether an upload of the version is live. It holds its token, by PostgreSQL's clock."""
    query = select(DatasetVersion.id).where(
        DatasetVersion.id == version_id,
        DatasetVersion.upload_token.is_not(None),
        DatasetVersion.upload_expires_at >= func.now(),
    )
    return session.scalars(query).one_or_none() is not None


def extend_upload(session: Session, version_id: str, *, token: str, seconds: float) -> bool:
    """Extend the token, if it still holds. It lasts that long at least; returned is whether it does."""
    statement = (
        update(DatasetVersion)
        .where(DatasetVersion.id == version_id, DatasetVersion.upload_token == token)
        .values(
            # Never shortened: the word of an earlier part may come after that of a later one.
            upload_expires_at=func.greatest(
                DatasetVersion.upload_expires_at, func.now() + timedelta(seconds=seconds)
            )
        )
        .returning(DatasetVersion.id)
    )
    return session.scalars(statement).one_or_none() is not None


def stale_uploads(session: Session, limit: int) -> Sequence[tuple[str, str, str]]:
    """List uploads that stopped sending. They are (dataset id, version id, token)."""
    query = (
        select(DatasetVersion.dataset_id, DatasetVersion.id, DatasetVersion.upload_token)
        .where(DatasetVersion.upload_expires_at < func.now(), DatasetVersion.upload_token.is_not(None))
        .limit(limit)
    )
    return [(row[0], row[1], row[2]) for row in session.execute(query) if row[2] is not None]


def direct_upload(session: Session, dataset_id: str, token: str | None = None) -> DirectUpload | None:
    """Find the dataset's direct upload. It is its newest, or the one of that token."""
    query = select(DirectUpload).where(DirectUpload.dataset_id == dataset_id)
    if token is not None:
        query = query.where(DirectUpload.token == token)
    return session.scalars(query.order_by(DirectUpload.created_at.desc()).limit(1)).one_or_none()


def direct_upload_of(session: Session, token: str) -> DirectUpload | None:
    """Find the direct upload that has this token."""
    return session.get(DirectUpload, token)


def dead_direct_uploads(session: Session, limit: int) -> Sequence[DirectUpload]:
    """List direct uploads that are over. Their version no longer waits for them, and their file, unsealed, is
    no part."""
    # Without NULLs: NOT IN holds of nothing where there is one among the values.
    waiting = select(DatasetVersion.upload_token).where(
        DatasetVersion.upload_token.is_not(None), DatasetVersion.upload_expires_at >= func.now()
    )
    arrived = exists().where(
        DatasetPart.version_id == DirectUpload.version_id,
        # How keys of files that nobody has sealed yet end (objects.arrival_key).
        DatasetPart.object_key.like(func.concat("%/arrival-", DirectUpload.token)),
    )
    dead = select(DirectUpload).where(DirectUpload.token.not_in(waiting), ~arrived)
    return session.scalars(dead.limit(limit)).all()


def versions_in(state: VersionState) -> Select[str, str, datetime]:
    """Selects id, tenant and created_at of the versions in that state."""
    query = select(DatasetVersion.id, Dataset.tenant, DatasetVersion.created_at)
    return query.join(Dataset, Dataset.id == DatasetVersion.dataset_id).where(DatasetVersion.state == state)


def lock_of_version(session: Session, version_id: str) -> Dataset | None:
    """Lock the version's dataset for this transaction."""
    found = version(session, version_id)
    return None if found is None else locked(session, found.dataset_id)


def account_of_content(session: Session, *, tenant: str, fingerprint: str, account_id: str) -> str:
    """Claim the content for good. Returned is the account that claimed it first, else the given one.

    Two transactions that claim the same content at once see the same answer: the second waits for the first.
    """
    row = {"tenant": tenant, "fingerprint": fingerprint, "account_id": account_id}
    session.execute(insert(ContentFingerprint).values(row).on_conflict_do_nothing())
    owner = claimed_by(session, tenant, fingerprint)
    assert owner is not None  # claims are never deleted
    return owner


def claimed_by(session: Session, tenant: str, fingerprint: str) -> str | None:
    """Return the account that claimed the content; None where none has."""
    owner = select(ContentFingerprint.account_id).where(
        ContentFingerprint.tenant == tenant, ContentFingerprint.fingerprint == fingerprint
    )
    return session.execute(owner).scalar_one_or_none()
