"""A file of an upload is received. It is sealed as it arrives, in constant memory, or not kept at all."""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from sqlalchemy import func

from core.datasets import objects, repository, service, vault
from core.datasets.models import EDGES, NODES, Dataset, DatasetPart, DatasetVersion, VersionState
from core.datasets.service import Event
from core.errors import InvalidInput, LeaseLost, PayloadTooLarge, StorageError
from core.graphs import formats
from core.graphs.counted import reference
from core.graphs.schema import GraphSchema
from core.graphs.uploads.files import MOST_EDGE_FILES, place_of
from core.identity.models import Role
from core.identity.service import Principal, require
from core.logging import get_logger
from core.outbox import service as outbox
from core.outbox.models import Topic
from core.storage.sealed import seal
from core.workflows.common.context import Services
from core.workflows.common.schema_rules import check_referable
from core.workflows.common.sweeps import sweep
from core.workflows.datasets.derivations import inherited
from graphveil.models.datasets import Received

log = get_logger(__name__)

MAX_OPTIONS_BYTES = 16 * 2**10


class Digest(Protocol):
    """A hash or a keyed one, as the standard library makes them."""

    def update(self, data: bytes, /) -> None: ...

    def hexdigest(self) -> str: ...


@dataclass(frozen=True)
class Upload:
    """One upload under way: it owns its token, and its object keys."""

    tenant: str
    dataset_id: str
    version_id: str
    token: str
    content_key: bytes

    @property
    def object_key(self) -> str:
        return objects.upload_key(self.dataset_id, self.version_id, self.token)

    @property
    def arrival_key(self) -> str:
        return objects.arrival_key(self.dataset_id, self.version_id, self.token)


class Counted:
    """Chunks on their way into the store. They are counted, digested, refused beyond the limit."""

    def __init__(self, chunks: Iterable[bytes], limit: int, digest: Digest) -> None:
        self._chunks, self._limit, self._digest = chunks, limit, digest
        self.size_bytes = 0

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._chunks:
            self.size_bytes += len(chunk)
            if self.size_bytes > self._limit:
                raise too_large(self._limit)
            self._digest.update(chunk)
            if chunk:
                yield chunk

    def require_whole(self, announced: int | None, what: str) -> None:
        """Refuse an incomplete ``what``. Nothing of it arrived, or not what was ``announced``;
        InvalidInput."""
        if not self.size_bytes:
            raise InvalidInput(
                f"no bytes arrived: send the {what} as the request's body; one without rows has its header",
                field="body",
            )
        if announced is not None and self.size_bytes != announced:
            raise InvalidInput(f"fewer or more bytes arrived than were announced; send the {what} again")

    def hexdigest(self) -> str:
        """Compute the digest of what has passed."""
        return self._digest.hexdigest()


def receive_part(
    services: Services,
    principal: Principal,
    dataset_id: str,
    *,
    part: str,
    format: str,
    options: Mapping[str, Any],
    chunks: Iterable[bytes],
    length: int | None,
) -> Received:
    """Store the part, sealed. The part ``edges`` completes the version and queues its validation.

    Of a dataset in parts ``edges-1-of-8`` does so once it is the last of eight that was missing. ``nodes``,
    where there are any, come first; a part that is sent again replaces the one before. ``length``
    is what the sender announced, in bytes. Constant memory. Whatever ends the upload early leaves nothing
    behind.

    Raises Forbidden, NotFound, InvalidInput, PayloadTooLarge, Conflict while another upload of the dataset is
    under way or being validated, LeaseLost when the dataset was archived meanwhile, StorageError.
    """
    require(principal, Role.CURATOR)
    check_file(part, format, options)
    limit = services.settings.max_upload_bytes
    if length is not None and length > limit:
        raise too_large(limit)
    if format == reference.FORMAT:
        _require_reference(services, principal, dataset_id)
        limit = min(limit, reference.MAX_BYTES)
    upload = begin(services, principal, dataset_id, services.settings.lease_seconds, part)
    try:
        counted = Counted(chunks, limit, hashlib.sha256())
        # A slow sender keeps its place as long as bytes arrive.
        beating = keep_alive(counted, lambda: extend(services, upload), services.settings.heartbeat_seconds)
        sealed = seal(beating, upload.content_key, context=upload.object_key)
        services.store.put(upload.object_key, sealed)
        counted.require_whole(length, "file")
        row = DatasetPart(
            version_id=upload.version_id,
            part=part,
            format=format,
            options=dict(options),
            object_key=upload.object_key,
            sha256=counted.hexdigest(),
            size_bytes=counted.size_bytes,
        )
        return complete(services, upload, row)
    except BaseException:
        give_up(services, upload)
        raise


def recover_uploads(services: Services, limit: int) -> int:
    """Delete what lost uploads left. Their sender or process is gone; returned is how many they were.
    Reaper's duty."""
    with services.db.transaction() as session:
        stale = repository.stale_uploads(session, limit)

    def forget(upload: tuple[str, str, str]) -> None:
        dataset_id, version_id, token = upload
        with services.db.transaction() as session:
            dataset = repository.locked(session, dataset_id)
            version = repository.locked_version(session, version_id)
            # Under the locks: the sender may have completed it, or begun another, since it was listed.
            if dataset is None or version is None or version.upload_token != token:
                return
            if repository.upload_live(session, version_id):
                return
            service.abandon_upload(session, dataset, version)
        services.store.delete(objects.upload_key(dataset_id, version_id, token))

    return sweep(stale, forget, subject=lambda upload: upload[1])


def keep_alive(chunks: Iterable[bytes], beat: Callable[[], None], every_seconds: float) -> Iterator[bytes]:
    """Pass on the chunks, and keep alive. ``beat`` is called between two of them whenever that much time has
    passed."""
    last = time.monotonic()
    for chunk in chunks:
        yield chunk
        if time.monotonic() - last >= every_seconds:
            beat()
            last = time.monotonic()


def discard(services: Services, keys: Iterable[str]) -> None:
    """Delete objects that nothing names any more. If storage fails, they go with the dataset."""
    for key in keys:
        try:
            services.store.delete(key)
        except StorageError:
            log.warning("object_not_deleted", key=key)


def too_large(limit: int) -> PayloadTooLarge:
    return PayloadTooLarge(f"an uploaded file has at most {limit} bytes", limit_bytes=limit)


def check_file(part: str, format: str, options: Mapping[str, Any]) -> None:
    """Check that the format holds this part. It has these options, too, and they can be stored.
    UnknownFormat, InvalidInput."""
    if part != NODES and place_of(part) is None:
        raise InvalidInput(
            f"no such part; take {NODES} or {EDGES}; of a dataset in parts {EDGES}-1-of-8 and so on, with "
            f"{MOST_EDGE_FILES} files at most",
            field="part",
        )
    if format == reference.FORMAT:
        if part != EDGES or options:
            raise InvalidInput("a reference is the part edges; name columns in it, no options", field="part")
        return
    chosen = formats.reader(format)
    formats.require_part(chosen, NODES if part == NODES else EDGES, "format")
    try:
        size = len(json.dumps(dict(options), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise InvalidInput("options are plain JSON values", field="options") from error
    if size > MAX_OPTIONS_BYTES:
        raise InvalidInput(f"options are too long; use at most {MAX_OPTIONS_BYTES} bytes", field="options")
    formats.options_of(chosen, options)


def begin(services: Services, principal: Principal, dataset_id: str, seconds: float, part: str) -> Upload:
    """Begin the upload of a part. The version that takes it carries this upload's token for so long; no other
    upload can begin.

    InvalidInput for one of several files of edges where the dataset takes one, or files of another number
    were sent before.
    """
    settings = services.settings
    token = secrets.token_hex(16)
    with services.db.transaction() as session:
        dataset = service.lock(session, principal.tenant, dataset_id)
        service.apply(Event.UPLOAD_BEGUN, dataset)
        version = service.version_to_upload(session, dataset)
        _require_place(dataset, repository.parts(session, [version.id]), part)
        version.derived = inherited(session, dataset)
        version.upload_token = token
        version.upload_expires_at = func.now() + timedelta(seconds=seconds)
        key = vault.content_key(session, dataset.id, settings.master_key)
        return Upload(principal.tenant, dataset.id, version.id, token, key)


def _require_reference(services: Services, principal: Principal, dataset_id: str) -> None:
    """Refuse a reference where none is counted. Such a dataset is in parts, and places are named."""
    with services.db.transaction() as session:
        dataset = service.get(session, principal.tenant, dataset_id)
        in_parts, schema = dataset.in_parts, dataset.graph_schema
    if not in_parts or schema is None:
        raise InvalidInput("only a dataset in_parts takes a reference; register one", field="format")
    check_referable(GraphSchema.model_validate(schema))
    if not reference.places_of(principal.tenant, services.settings.engine_places):
        raise InvalidInput("this service reads no other places; upload the edges", field="format")


def _require_place(dataset: Dataset, received: Iterable[DatasetPart], part: str) -> None:
    if part in (NODES, EDGES):
        return
    if not dataset.in_parts:
        raise InvalidInput(
            "this dataset takes its edges as one file; one that is registered with in_parts takes several",
            field="part",
        )
    files = _files_of(part)
    for before in received:
        if before.part != NODES and _files_of(before.part) != files:
            raise InvalidInput(
                f"of this upload {before.part} was received; send all files of its edges under that number",
                field="part",
            )


def _files_of(part: str) -> int:
    place = place_of(part)
    assert place is not None  # it was checked
    return place[1]


def _complete(received: Collection[str], part: str) -> bool:
    """Tell whether all files of the edges are there, with the one that was received last."""
    if part == NODES:
        return False
    places = {place_of(each) for each in received if each != NODES}
    return places >= {(number, _files_of(part)) for number in range(1, _files_of(part) + 1)}


def extend(services: Services, upload: Upload) -> None:
    """Keep the upload's place for another lease. LeaseLost where it has lost it."""
    with services.db.transaction() as session:
        seconds = services.settings.lease_seconds
        if not repository.extend_upload(session, upload.version_id, token=upload.token, seconds=seconds):
            raise _lost()


def complete(services: Services, upload: Upload, row: DatasetPart) -> Received:
    """Add the part to the version. Validation is queued when it is the last. LeaseLost."""
    version, superseded = _completed(services, upload, row)
    discard(services, superseded)
    log.info("part_received", dataset_id=upload.dataset_id, version_id=version.id, part=row.part)
    return Received(id=version.id, dataset_id=version.dataset_id, number=version.number, state=version.state)


def _completed(services: Services, upload: Upload, row: DatasetPart) -> tuple[DatasetVersion, list[str]]:
    """The version, and the keys of objects that nothing names any more."""
    with services.db.transaction() as session:
        dataset = repository.locked(session, upload.dataset_id)
        version = repository.locked_version(session, upload.version_id)
        if dataset is None or version is None or version.upload_token != upload.token:
            raise _lost()
        version.upload_token = version.upload_expires_at = None
        before = repository.part(session, version.id, row.part)
        superseded = [before.object_key] if before is not None else []
        if before is not None:
            session.delete(before)
            # Deleted before the new one is added: a version has one row a part.
            session.flush()
        session.add(row)
        session.flush()
        if _complete([each.part for each in repository.parts(session, [version.id])], row.part):
            service.apply(Event.UPLOAD_COMPLETED, dataset, version)
            service.grant_attempts(version, services.settings.max_attempts)
            for proposal in repository.in_state(session, dataset.id, VersionState.PROPOSED):
                superseded += [p.object_key for p in repository.parts(session, [proposal.id])]
                repository.delete_parts(session, [proposal.id])
                service.apply(Event.SUPERSEDED, dataset, proposal)
                dataset.proposed_schema = None
            for refused in repository.in_state(session, dataset.id, VersionState.REJECTED):
                # What was kept of it in case of another schema is needed no more.
                superseded += [p.object_key for p in repository.parts(session, [refused.id])]
                repository.delete_parts(session, [refused.id])
            outbox.ring(session, Topic.INGEST, version.id)
        return version, superseded


def give_up(services: Services, upload: Upload) -> None:
    """Give up the upload. Neither the object nor its mark on the version remains. First the mark: only it is
    seen."""
    with services.db.transaction() as session:
        dataset = repository.locked(session, upload.dataset_id)
        version = repository.locked_version(session, upload.version_id)
        if dataset is not None and version is not None and version.upload_token == upload.token:
            service.abandon_upload(session, dataset, version)
        # A commit may have happened although its confirmation was lost: then the object is in use.
        kept = repository.names_object(session, upload.object_key)
    if not kept:
        services.store.delete(upload.object_key)


def _lost() -> LeaseLost:
    return LeaseLost("the upload lost its place: it stood still too long, or the dataset was archived")
