"""A file sent straight into the S3 bucket. It goes from its sender in parts, past the service.

The file lies in the bucket as it was sent until the worker that validates it has sealed it. Everything else
is as for an upload through the service: the same places, limits, states and recovery.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.datasets import objects, repository, service, vault
from core.datasets.models import DatasetPart, DirectUpload
from core.errors import DirectUploadUnavailable, InvalidInput, LeaseLost, NotFound
from core.identity.models import Role
from core.identity.service import Principal, require
from core.logging import get_logger
from core.storage.presigned import MAX_PARTS, Presigner
from core.workflows.common.context import Services
from core.workflows.common.sweeps import sweep
from core.workflows.datasets import upload as uploads
from core.workflows.datasets.upload import Upload
from graphveil.models.datasets import Received, UploadOffer

log = get_logger(__name__)


def begin_direct(
    services: Services,
    principal: Principal,
    dataset_id: str,
    *,
    part: str,
    format: str,
    options: Mapping[str, Any],
    size_bytes: int,
) -> UploadOffer:
    """Begin a direct upload of a file. The dataset waits for it; every part has an address to be put at.

    Raises Forbidden, NotFound, InvalidInput, PayloadTooLarge, DirectUploadUnavailable where the storage is
    no S3 bucket or the settings take none, Conflict while another upload is under way, StorageError.
    """
    require(principal, Role.CURATOR)
    with services.db.transaction() as session:
        service.get(session, principal.tenant, dataset_id)
    settings, presigner = services.settings, _presigner(services)
    seconds = settings.presigned_upload_seconds
    if not seconds:
        raise _unavailable("This service takes files itself")
    uploads.check_file(part, format, options)
    count = -(-size_bytes // settings.upload_part_bytes)
    if size_bytes > settings.max_upload_bytes or count > MAX_PARTS:
        raise uploads.too_large(min(settings.max_upload_bytes, MAX_PARTS * settings.upload_part_bytes))
    # The mark on the version first: another upload is refused before the bucket is asked.
    upload = uploads.begin(services, principal, dataset_id, seconds, part)
    try:
        storage_id = presigner.begin(upload.arrival_key)
        with services.db.transaction() as session:
            version = repository.locked_version(session, upload.version_id)
            if version is None or version.upload_token != upload.token or version.upload_expires_at is None:
                raise LeaseLost("the dataset was archived")
            expires_at = version.upload_expires_at
            session.add(
                DirectUpload(
                    token=upload.token,
                    dataset_id=dataset_id,
                    version_id=upload.version_id,
                    storage_id=storage_id,
                    part=part,
                    format=format,
                    options=dict(options),
                    size_bytes=size_bytes,
                )
            )
        urls = presigner.parts(
            upload.arrival_key,
            storage_id,
            size_bytes,
            part_bytes=settings.upload_part_bytes,
            seconds=seconds,
        )
    except BaseException:
        uploads.give_up(services, upload)
        raise
    log.info("direct_upload_begun", dataset_id=dataset_id, version_id=upload.version_id, part=part)
    return UploadOffer(
        upload_id=upload.token, part_bytes=settings.upload_part_bytes, urls=tuple(urls), expires_at=expires_at
    )


def complete_direct(
    services: Services, principal: Principal, dataset_id: str, upload_id: str, etags: Sequence[str]
) -> Received:
    """Make the uploaded file a part of the dataset. ``edges`` completes the version and queues its
    validation.

    ``etags`` are the storage's answers to the parts, in order. Raises Forbidden, NotFound when no such upload
    is under way, InvalidInput for other parts or another size than announced: the upload then goes on.
    """
    require(principal, Role.CURATOR)
    direct, upload = _under_way(services, principal, dataset_id, upload_id)
    presigner = _presigner(services)
    expected = -(-direct.size_bytes // services.settings.upload_part_bytes)
    if len(etags) != expected:
        raise InvalidInput(f"the file has {expected} parts; name the ETag of each", field="etags")
    uploads.extend(services, upload)
    # A repetition finds the parts joined already, if the answer to the first one was lost.
    if not services.store.exists(upload.arrival_key):
        presigner.complete(upload.arrival_key, direct.storage_id, etags)
    # The sender's parts went to the bucket unseen: what counts is what lies there.
    size = services.store.size(upload.arrival_key)
    if size != direct.size_bytes:
        abandon_direct(services, principal, dataset_id)
        raise InvalidInput("fewer or more bytes arrived than were announced; begin again", field="size_bytes")
    row = DatasetPart(
        version_id=upload.version_id,
        part=direct.part,
        format=direct.format,
        options=direct.options,
        object_key=upload.arrival_key,
        sha256="",
        size_bytes=size,
    )
    # The row stays: it says what arrived, should the worker stop before that is deleted. The reaper ends it.
    return uploads.complete(services, upload, row)


def abandon_direct(services: Services, principal: Principal, dataset_id: str) -> None:
    """Abandon every direct upload of the dataset. None is under way, and nothing of it remains. Safe to
    repeat."""
    require(principal, Role.CURATOR)
    with services.db.transaction() as session:
        service.lock(session, principal.tenant, dataset_id)
        direct = repository.direct_upload(session, dataset_id)
    if direct is not None:
        _remove(services, direct)


def recover_direct_uploads(services: Services, limit: int) -> int:
    """Delete what ended direct uploads left. It is gone from the storage; returned is how many those were.
    Reaper's duty."""
    if services.store.presigner is None:
        return 0
    with services.db.transaction() as session:
        dead = repository.dead_direct_uploads(session, limit)
    return sweep(dead, lambda direct: _remove(services, direct), subject=lambda direct: direct.version_id)


def _remove(services: Services, direct: DirectUpload) -> None:
    """First the mark on the version, which alone is seen, then the bytes, then the row that names them.

    Nothing more than the mark while the file is a part: its bytes are the worker's to seal.
    """
    key = objects.arrival_key(direct.dataset_id, direct.version_id, direct.token)
    with services.db.transaction() as session:
        dataset = repository.locked(session, direct.dataset_id)
        version = repository.locked_version(session, direct.version_id)
        if dataset is not None and version is not None and version.upload_token == direct.token:
            service.abandon_upload(session, dataset, version)
        if repository.names_object(session, key):
            return
    _presigner(services).abort(key, direct.storage_id)
    services.store.delete(key)
    with services.db.transaction() as session:
        row = repository.direct_upload_of(session, direct.token)
        if row is not None:
            session.delete(row)


def _under_way(
    services: Services, principal: Principal, dataset_id: str, upload_id: str
) -> tuple[DirectUpload, Upload]:
    with services.db.transaction() as session:
        dataset = service.get(session, principal.tenant, dataset_id)
        direct = repository.direct_upload(session, dataset.id, upload_id)
        version = direct and repository.version(session, direct.version_id)
        if not direct or not version or version.upload_token != upload_id:
            raise NotFound("no such upload is under way", id=upload_id)
        key = vault.content_key(session, dataset.id, services.settings.master_key)
    return direct, Upload(principal.tenant, dataset.id, version.id, upload_id, key)


def _presigner(services: Services) -> Presigner:
    if services.store.presigner is None:
        raise _unavailable("This service keeps its objects in a folder")
    return services.store.presigner


def _unavailable(why: str) -> DirectUploadUnavailable:
    return DirectUploadUnavailable(f"{why}: send the file to PUT /datasets/{{id}}/content.")
