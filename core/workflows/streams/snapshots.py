"""A snapshot of a live stream is received. It is sealed as it arrives, given its job and its budget, or
refused."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import chain, islice
from typing import Any

from sqlalchemy.orm import Session

from core import clock
from core.datasets import vault
from core.datasets.models import EDGES
from core.errors import InvalidInput, NotAccepted, SnapshotConflict
from core.failpoints import reach
from core.graphs import formats
from core.identity.models import Role
from core.identity.service import Principal, require
from core.jobs import repository as jobs
from core.jobs.service import check_room
from core.logging import get_logger
from core.outbox import service as outbox
from core.outbox.models import Topic
from core.storage.sealed import seal
from core.streams import repository, service
from core.streams.models import SENT_ANEW, Outcome, Snapshot, Stream
from core.streams.service import Arrival, Content
from core.workflows.common.context import Services
from core.workflows.common.sweeps import sweep
from core.workflows.datasets.ingest_work import fingerprint_key
from core.workflows.datasets.upload import Counted, check_file, discard, too_large
from core.workflows.jobs.ground import ready_dataset
from core.workflows.streams.queries import views
from core.workflows.streams.tick_jobs import add_tick, check_windows
from graphveil.models.streams import Snapshot as View

UPLOADS = "uploads"
EMPTY_FORMAT = "csv"
"""What an empty snapshot is filed under, whatever was announced: it has no bytes to read."""

log = get_logger(__name__)


@dataclass(frozen=True)
class _Place:
    """Where a snapshot that arrives belongs. ``content_key`` is None where its bytes need not be kept."""

    stream_id: str
    step: int
    mac_key: bytes = field(repr=False)
    content_key: bytes | None = field(repr=False)


@dataclass(frozen=True)
class _Received:
    """What arrived. ``object_key`` is None for an empty snapshot, and where it was not kept."""

    content: Content
    object_key: str | None
    size_bytes: int


def _digested(chunks: Iterable[bytes], place: _Place, limit: int) -> Counted:
    """Pass on the chunks under a keyed digest. It covers the step: equal snapshots must not look alike."""
    mac = hmac.new(place.mac_key, f"{place.stream_id}\0{place.step}\0".encode(), hashlib.sha256)
    return Counted(chunks, limit, mac)


def receive_snapshot(
    services: Services,
    principal: Principal,
    stream_id: str,
    *,
    step: int | None = None,
    time: int | None = None,
    format: str,
    options: Mapping[str, Any],
    chunks: Iterable[bytes],
    length: int | None,
) -> tuple[View, bool]:
    """Receive the snapshot, and give it a job. The job has its reservation; True when the same was received
    before.

    Give ``step`` or ``time``, which lies in the step. No bytes are an empty snapshot. ``length`` is what the
    sender announced. Constant memory. What is refused leaves nothing stored, reserved or charged.

    Raises Forbidden, NotFound, InvalidInput, UnknownFormat, PayloadTooLarge, SnapshotLate, SnapshotEarly,
    SnapshotConflict, StreamBusy, StreamClosed, TooManyJobs, DatasetNotReady, BudgetRefused, StorageError.
    """
    require(principal, Role.CURATOR)
    check_file(EDGES, format, options)
    if formats.reader(format).carries_nodes:
        raise NotAccepted(
            f"A {format} file lists nodes, but a stream's are fixed; send csv, tsv or parquet.",
            field="format",
        )
    limit = services.settings.max_upload_bytes
    if length is not None and length > limit:
        raise too_large(limit)
    place = _begin(services, principal, stream_id, step, time)
    received = _store(services, place, format, options, chunks, limit)
    reach("after_snapshot_stored")
    try:
        if length is not None and received.size_bytes != length:
            raise InvalidInput("fewer or more bytes arrived than were announced; send the snapshot again")
        view, repeated = _take(services, principal, place, received)
    # Whatever ends it, a sender that hangs up too: what was stored and not named is deleted.
    except BaseException:
        _give_up(services, received)
        raise
    # The upload of the first stands; these are the same bytes again.
    if repeated:
        discard(services, [] if received.object_key is None else [received.object_key])
    else:
        log.info("snapshot_received", stream_id=stream_id, job_id=view.job_id)
    return view, repeated


def recover_snapshots(services: Services, limit: int) -> int:
    """Delete uploads that were stored but never named; returns how many. Reaper's duty.

    Named they are in the transaction that follows their storing, so a short while later at most.
    """
    horizon = clock.now() - timedelta(seconds=2 * services.settings.lease_seconds)
    old = (stored.key for stored in services.store.list(UPLOADS) if stored.modified_at < horizon)
    unnamed: list[str] = []
    # Named ones may wait for long, and are passed over: they must not hide what comes after them.
    while len(unnamed) < limit and (keys := list(islice(old, limit))):
        with services.db.transaction() as session:
            named = repository.named_objects(session, keys)
        unnamed += [key for key in keys if key not in named]
    return sweep(unnamed[:limit], services.store.delete, subject=lambda key: "upload")


def _begin(
    services: Services, principal: Principal, stream_id: str, step: int | None, time: int | None
) -> _Place:
    """Where the snapshot belongs; what can be refused before its bytes are read is refused."""
    settings = services.settings
    mac_key = hmac.new(fingerprint_key(services), b"graphveil snapshot digest", hashlib.sha256).digest()
    with services.db.transaction() as session:
        stream = service.get(session, tenant=principal.tenant, stream_id=stream_id)
        number = service.step_of(stream, step=step, time=time)
        row = repository.snapshot(session, stream_id, number)
        if _arrival(services, session, stream, number, row, None) is Arrival.NEXT:
            # For what it refuses: more missing steps than may be filled at once.
            service.missing(stream, number, limit=settings.max_missing_steps)
        # What can only be a repeat is compared by its digest: its bytes need not be stored.
        kept = row is None or row.outcome in SENT_ANEW
        key = vault.content_key(session, stream.dataset_id, settings.master_key) if kept else None
        return _Place(stream_id, number, mac_key, key)


def _arrival(
    services: Services,
    session: Session,
    stream: Stream,
    step: int,
    row: Snapshot | None,
    content: Content | None,
) -> Arrival:
    settings = services.settings
    return service.arrival(
        stream,
        step,
        row,
        content,
        waiting=repository.unfinished(session, stream.id),
        limit=settings.max_waiting_snapshots,
        pause_seconds=settings.poll_after_seconds,
    )


def _store(
    services: Services,
    place: _Place,
    format: str,
    options: Mapping[str, Any],
    chunks: Iterable[bytes],
    limit: int,
) -> _Received:
    """The bytes are digested, and stored, sealed, where they have to be kept."""
    digested = _digested(chunks, place, limit)
    pieces = iter(digested)
    first = next(pieces, None)
    if first is None:
        return _Received(Content(EMPTY_FORMAT, {}, digested.hexdigest()), None, 0)
    object_key = None
    if place.content_key is not None:
        object_key = f"{UPLOADS}/{place.stream_id}/{secrets.token_hex(16)}"
        services.store.put(object_key, seal(chain([first], pieces), place.content_key, context=object_key))
    else:
        # Read to the end all the same, for the digest.
        for _ in pieces:
            continue
    return _Received(Content(format, dict(options), digested.hexdigest()), object_key, digested.size_bytes)


def _take(services: Services, principal: Principal, place: _Place, received: _Received) -> tuple[View, bool]:
    """In one transaction: the stream's rule, a job and a reservation for the step and the missing ones."""
    with services.db.transaction() as session:
        stream = service.get(session, tenant=principal.tenant, stream_id=place.stream_id)
        row = repository.snapshot(session, stream.id, place.step)
        # First without locks: a sender that repeats does not wait for the stream.
        if row is not None and row.outcome != Outcome.LOST and received.content.same(row):
            return views(session, principal, stream, [row])[0], True
        ready_dataset(session, principal, stream.dataset_id)  # share-locked: before the stream, as archiving
        stream = service.get_locked(session, tenant=principal.tenant, stream_id=place.stream_id)
        row = repository.snapshot(session, stream.id, place.step)
        arrival = _arrival(services, session, stream, place.step, row, received.content)
        if arrival is Arrival.REPEATED:
            assert row is not None
            return views(session, principal, stream, [row])[0], True
        # When it began it could only be a repeat, so that its bytes were not stored.
        if received.size_bytes and received.object_key is None:
            raise SnapshotConflict(
                "The step's snapshot was refused or lost just now; send yours again.",
                stream_id=stream.id,
                step=place.step,
            )
        if arrival is Arrival.NEXT:
            row = None
            _fill(services, session, principal, stream, place)
        row = _add(services, session, principal, stream, place.step, row, received)
        _ring(session, stream, row)
        view = views(session, principal, stream, [row])[0]
        reach("before_snapshot_commit")
        return view, False


def _fill(services: Services, session: Session, principal: Principal, stream: Stream, place: _Place) -> None:
    """The missing steps before this one have empty snapshots."""
    for step in service.missing(stream, place.step, limit=services.settings.max_missing_steps):
        empty = _digested((), _Place(stream.id, step, place.mac_key, None), 0)
        nothing = _Received(Content(EMPTY_FORMAT, {}, empty.hexdigest()), None, 0)
        _add(services, session, principal, stream, step, None, nothing)


def _add(
    services: Services,
    session: Session,
    principal: Principal,
    stream: Stream,
    step: int,
    row: Snapshot | None,
    received: _Received,
) -> Snapshot:
    """The step's snapshot, with its job and reservation; ``row`` is the one that it replaces."""
    standing = jobs.standing(session, tenant=principal.tenant, key_id=principal.key_id)
    check_room(services.settings, standing)
    number = 0 if row is None else row.number + 1
    job = add_tick(session, principal, stream, step, number)
    if row is None:
        row = Snapshot(stream_id=stream.id, step=step)
        session.add(row)
    row.job_id, row.number = job.id, number
    row.object_key, row.graph_key = received.object_key, None
    row.format, row.options = received.content.format, dict(received.content.options)
    row.content_mac, row.size_bytes = received.content.mac, received.size_bytes
    row.nano_epsilon = job.reserved
    row.findings = row.outcome = None
    # A step that is mended does not turn the stream back.
    stream.next_step = max(stream.next_step, step + 1)
    session.flush()
    check_windows(session, stream, step)
    session.refresh(row)
    return row


def _ring(session: Session, stream: Stream, row: Snapshot) -> None:
    """The earliest snapshot that waits is rung, and this one.

    The one before it may be ending in a transaction that does not see this one, and so rings for nobody.
    """
    earliest = repository.first_unfinished(session, stream.id)
    for job_id in dict.fromkeys((row.job_id if earliest is None else earliest.job_id, row.job_id)):
        outbox.ring(session, Topic.RUN, job_id)


def _give_up(services: Services, received: _Received) -> None:
    """The upload is gone, unless a commit named it whose confirmation was lost."""
    if received.object_key is None:
        return
    with services.db.transaction() as session:
        kept = repository.named_objects(session, [received.object_key])
    if not kept:
        services.store.delete(received.object_key)
