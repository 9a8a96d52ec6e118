"""The list of sensitive links of a dataset. Its curators upload, replace, count and delete it; nobody else
learns of it.

A list is checked by a worker against the dataset's current version, in whose node names it is written. Until
it is ready the one before it, of the same version, stays in use. A further version of the dataset begins
without a list: methods that hide links are refused until its curators have named its own
(:func:`require_named`), because links that a list misses would be published.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy.orm import Session

from core import ids
from core.datasets import objects, service, vault
from core.datasets import repository as datasets
from core.datasets import sensitive_repository as lists
from core.datasets.models import EDGES, Dataset, DatasetState, DatasetVersion, ListState, SensitiveList
from core.errors import DatasetNotReady, LinksNotNamed, NotAccepted
from core.identity.models import Role
from core.identity.service import Principal, require
from core.logging import get_logger
from core.outbox import service as outbox
from core.outbox.models import Topic
from core.storage.sealed import seal
from core.workflows.common.context import Services
from core.workflows.datasets.derivations import declared_schema
from core.workflows.datasets.upload import Counted, check_file, discard, too_large
from graphveil.models.datasets import ListInUse, ListUpload, SensitiveLinks

log = get_logger(__name__)

UNDER_WAY = (ListState.QUEUED, ListState.CHECKING, ListState.REJECTED)


def receive_list(
    services: Services,
    principal: Principal,
    dataset_id: str,
    *,
    format: str,
    options: Mapping[str, Any],
    chunks: Iterable[bytes],
    length: int | None,
) -> SensitiveLinks:
    """Receive a list to be checked. It is stored and sealed, and waits; an earlier one that waited is gone.

    The list in use stays so until this one is ready. ``length`` is what the sender announced, in bytes.
    Raises Forbidden, NotFound, InvalidInput, UnknownFormat, PayloadTooLarge, DatasetNotReady without a ready
    version, NotAccepted where no relation can have sensitive links, StorageError.
    """
    require(principal, Role.CURATOR)
    check_file(EDGES, format, options)
    limit = services.settings.max_sensitive_links_bytes
    if length is not None and length > limit:
        raise too_large(limit)
    list_id = ids.new_id(ids.LINKS)
    object_key = objects.links_upload_key(dataset_id, list_id)
    with services.db.transaction() as session:
        dataset = service.get(session, principal.tenant, dataset_id)
        _require_nameable(session, dataset)
        key = vault.content_key(session, dataset.id, services.settings.master_key)
    named = False
    try:
        counted = Counted(chunks, limit, hashlib.sha256())
        services.store.put(object_key, seal(counted, key, context=object_key))
        counted.require_whole(length, "list")
        with services.db.transaction() as session:
            # Looked at again: the upload took time, and the version may be another by now.
            dataset = service.lock(session, principal.tenant, dataset_id)
            version = _require_nameable(session, dataset)
            superseded = lists.delete(session, lists.of_version(session, version.id, *UNDER_WAY))
            session.add(
                SensitiveList(
                    id=list_id,
                    dataset_id=dataset.id,
                    version_id=version.id,
                    state=ListState.QUEUED,
                    format=format,
                    options=dict(options),
                    object_key=object_key,
                )
            )
            session.flush()
            outbox.ring(session, Topic.LINKS, list_id)
            view = _view(session, dataset)
        named = True
    finally:
        # An error at the commit leaves open whether it came through.
        if not named and not _stands(services, list_id):
            discard(services, [object_key])
    # Only now that no row names them.
    discard(services, superseded)
    log.info("sensitive_links_received", dataset_id=dataset_id)
    return view


def get_lists(services: Services, principal: Principal, dataset_id: str) -> SensitiveLinks:
    """Load the list in use, and the newest upload. For curators. Forbidden, NotFound."""
    require(principal, Role.CURATOR)
    with services.db.transaction() as session:
        return _view(session, service.get(session, principal.tenant, dataset_id))


def delete_lists(services: Services, principal: Principal, dataset_id: str) -> None:
    """Delete every list of the dataset, of whatever version. Nothing of what was uploaded can be read.

    Jobs that wait for a worker then fail, for links that nobody names cannot be hidden. Safe to repeat.
    Releases made before keep their own private record of what they hid. Forbidden, NotFound.
    """
    require(principal, Role.CURATOR)
    with services.db.transaction() as session:
        dataset = service.lock(session, principal.tenant, dataset_id)
        keys = lists.delete(session, lists.of_dataset(session, dataset.id))
    discard(services, keys)
    log.info("sensitive_links_deleted", dataset_id=dataset_id)


def require_named(session: Session, dataset: Dataset, version: DatasetVersion) -> None:
    """Check that a list of sensitive links is ready. By it the curators have said which links of the version
    are sensitive.

    Also where it is empty. The answer is the same whether there never was a list or the one that was is of
    an earlier version. Raises LinksNotNamed.
    """
    if lists.in_use(session, version.id) is None:
        raise LinksNotNamed(
            "The method hides the links that the dataset's curators name as sensitive; for its current "
            "version they have not said which those are.",
            dataset_id=dataset.id,
        )


def _require_nameable(session: Session, dataset: Dataset) -> DatasetVersion:
    """Return the current version, of which a relation can have sensitive links."""
    if dataset.state != DatasetState.READY or dataset.current_version_id is None:
        raise DatasetNotReady(
            f"The dataset is {dataset.shown_state}; sensitive links are named in one that is ready.",
            id=dataset.id,
            state=dataset.shown_state,
            retry_after=dataset.retry_after_seconds,
        )
    if dataset.in_parts:
        raise NotAccepted(
            "No method hides single links of a graph whose edges stay in parts.", field="dataset_id"
        )
    version = datasets.existing_version(session, dataset.current_version_id)
    schema = declared_schema(session, version)
    if all(relation.public or relation.temporal for relation in schema.edge_types):
        raise NotAccepted(
            "Sensitive links are of protected relations without time; this dataset has none.",
            field="dataset_id",
        )
    return version


def _view(session: Session, dataset: Dataset) -> SensitiveLinks:
    if dataset.current_version_id is None:
        return SensitiveLinks(dataset_id=dataset.id, in_use=None, upload=None)
    version = datasets.existing_version(session, dataset.current_version_id)
    ready = lists.in_use(session, version.id)
    newest = next(iter(lists.of_version(session, version.id, *UNDER_WAY)), None)
    return SensitiveLinks(
        dataset_id=dataset.id,
        in_use=None if ready is None else _in_use(ready, version),
        upload=None if newest is None else _upload(newest, version),
    )


def _in_use(row: SensitiveList, version: DatasetVersion) -> ListInUse:
    links = dict(row.counts or {})
    return ListInUse(
        id=row.id,
        version=version.number,
        links=links,
        count=sum(links.values()),
        checked_at=row.finished_at,
    )


def _upload(row: SensitiveList, version: DatasetVersion) -> ListUpload:
    return ListUpload(
        id=row.id,
        version=version.number,
        state=row.state,
        message=row.message,
        findings=row.findings,
        received_at=row.created_at,
    )


def _stands(services: Services, list_id: str) -> bool:
    """Tell whether a commit named the list whose confirmation was lost."""
    with services.db.transaction() as session:
        return lists.by_id(session, list_id) is not None
