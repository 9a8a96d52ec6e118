"""An uploaded list of sensitive links is checked. A worker checks it against its graph, then it is in use.

:func:`begin_check` lays out the graph and the list in a private folder, in which a child process writes the
checked list; then one of :func:`finish_check`, :func:`reject_check` and :func:`fail_check` ends the work.
Each raises LeaseLost, and changes nothing, once the lease has passed on, or the list was replaced or deleted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from core.datasets import objects, vault
from core.datasets import repository as datasets
from core.datasets import sensitive_repository as lists
from core.datasets.models import LINK_CHECKS, ListState, SensitiveList
from core.db.session import database_now
from core.errors import InvalidInput, LeaseLost, NotFound, StorageError
from core.graphs.uploads.files import IngestLimits
from core.logging import get_logger
from core.settings import Settings
from core.storage.folders import chunks_of
from core.storage.sealed import seal, unseal
from core.work import leases
from core.work import service as leased
from core.workflows.common.context import Services
from core.workflows.datasets.ingest import GAVE_UP, fetch_graph
from core.workflows.datasets.ingest_work import content_key
from core.workflows.datasets.upload import discard

log = get_logger(__name__)

UPLOAD, GRAPH, OUT = "upload", "graph", "out"
CHECKED = "sensitive.parquet"
"""The file of a checked list; beside a stored graph it is what a fit reads."""


@dataclass(frozen=True)
class CheckWork:
    """One attempt at checking one list. ``options`` show no link, but are the curators' own words."""

    list_id: str
    dataset_id: str
    version_id: str
    attempt: int
    format: str
    limits: IngestLimits
    object_key: str = field(repr=False)
    options: Mapping[str, Any] = field(repr=False)


def begin_check(services: Services, list_id: str, worker: str) -> CheckWork | None:
    """Lease the list to ``worker``; None if it is not free."""
    settings = services.settings
    vault.check_master_key(settings.master_key)
    with services.db.transaction() as session:
        row = leased.begin(session, settings, LINK_CHECKS, list_id, worker)
        if row is None or row.object_key is None:
            return None
        limits = IngestLimits.of(settings)
        return CheckWork(
            row.id,
            row.dataset_id,
            row.version_id,
            row.attempt,
            row.format,
            limits,
            row.object_key,
            dict(row.options),
        )


def lay_out(services: Services, work: CheckWork, folder: Path) -> None:
    """Lay out the graph and the uploaded list in ``folder``. LeaseLost once the dataset is erased."""
    try:
        fetch_graph(services, work.dataset_id, work.version_id, folder / GRAPH)
        _unsealed(services, work.dataset_id, work.object_key, folder / UPLOAD)
    except NotFound as error:
        raise LeaseLost("the dataset was archived") from error


def finish_check(services: Services, work: CheckWork, folder: Path, counts: Mapping[str, Any]) -> None:
    """Store the checked list. It is in use, sealed, and takes the place of the one before. LeaseLost,
    InvalidInput."""
    checked = folder / OUT / CHECKED
    # The child is not trusted; type() and not isinstance, for which True is a count.
    if checked.is_symlink() or any(type(count) is not int or count < 1 for count in counts.values()):
        raise InvalidInput("the child left no checked list")
    key = objects.links_key(work.dataset_id, work.list_id, work.attempt)
    try:
        services.store.put(key, seal(chunks_of(checked), content_key(services, work.dataset_id), context=key))
        with _held(services, work) as (session, row):
            before = lists.of_version(session, work.version_id, ListState.READY)
            superseded = [*lists.delete(session, before), work.object_key]
            row.state, row.object_key = ListState.READY, key
            row.counts = {name: int(count) for name, count in counts.items()}
            _close(session, row)
    except BaseException:
        _delete_unless_named(services, work, key)
        raise
    # After the commit: until then the list before is the one in use.
    discard(services, superseded)
    log.info("sensitive_links_ready", dataset_id=work.dataset_id)


def reject_check(
    services: Services, work: CheckWork, findings: Sequence[Mapping[str, Any]], message: str
) -> None:
    """Reject the list. Curators see why. Its bytes are deleted; the list in use stays. LeaseLost."""
    kept = [dict(finding) for finding in findings[: services.settings.max_findings]]
    with _held(services, work) as (session, row):
        keys = _rejected(session, row, kept, message)
    discard(services, keys)
    log.info("sensitive_links_rejected", dataset_id=work.dataset_id)


def fail_check(services: Services, work: CheckWork, message: str = GAVE_UP, *, retry: bool = True) -> None:
    """End a check that failed for other reasons. Something other than the list stopped it: it is tried again,
    or given up. LeaseLost."""
    if not retry or work.attempt >= services.settings.max_attempts:
        reject_check(services, work, [], message)
        return
    with _held(services, work) as (session, row):
        _queue_again(session, row)


def take_back_check(session: Session, settings: Settings, row: SensitiveList) -> list[str]:
    """Let a list wait for another worker, or give it up. Returned are the keys of objects that nothing names
    any more. ``row`` is locked."""
    if row.attempt < settings.max_attempts:
        _queue_again(session, row)
        return []
    return _rejected(session, row, [], GAVE_UP)


def fetch_list(services: Services, dataset_id: str, version_id: str, graph_folder: Path) -> bool:
    """Fetch the version's list in use. It lies next to its graph; False where there is none. NotFound once
    erased.

    A list that is replaced or withdrawn while it is fetched is taken for what has come in its place.
    """
    object_key = _in_use(services, version_id)
    while object_key is not None:
        try:
            _unsealed(services, dataset_id, object_key, graph_folder / CHECKED)
            return True
        except StorageError:
            (graph_folder / CHECKED).unlink(missing_ok=True)
            before, object_key = object_key, _in_use(services, version_id)
            if object_key == before:
                raise
    return False


def _in_use(services: Services, version_id: str) -> str | None:
    with services.db.transaction() as session:
        row = lists.in_use(session, version_id)
        return None if row is None else row.object_key


def _unsealed(services: Services, dataset_id: str, object_key: str, path: Path) -> None:
    with services.db.transaction() as session:
        key = vault.content_key(session, dataset_id, services.settings.master_key)
    with path.open("wb") as file:
        file.writelines(unseal(services.store.get(object_key), key, context=object_key))


@contextmanager
def _held(services: Services, work: CheckWork) -> Iterator[tuple[Session, SensitiveList]]:
    """A transaction that holds dataset and list under this attempt; else LeaseLost."""
    with services.db.transaction() as session:
        datasets.locked(session, work.dataset_id)
        yield session, leases.hold(session, LINK_CHECKS, work.list_id, attempt=work.attempt)


def _delete_unless_named(services: Services, work: CheckWork, key: str) -> None:
    """The stored list is deleted, unless a commit named it whose confirmation was lost."""
    with services.db.transaction() as session:
        row = lists.by_id(session, work.list_id)
        named = row is not None and row.object_key == key
    if not named:
        discard(services, [key])


def _rejected(
    session: Session, row: SensitiveList, findings: list[dict[str, Any]], message: str
) -> list[str]:
    """The list is rejected; the key of the object that nothing names any more."""
    keys = [] if row.object_key is None else [row.object_key]
    row.state, row.object_key = ListState.REJECTED, None
    row.findings, row.message = findings, message[:512]
    _close(session, row)
    return keys


def _close(session: Session, row: SensitiveList) -> None:
    row.let_go()
    row.finished_at = database_now(session)


def _queue_again(session: Session, row: SensitiveList) -> None:
    leased.queue_again(session, LINK_CHECKS, row, leased.RETRY_SECONDS)
