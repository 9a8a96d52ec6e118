"""A worker's hold on one upload. It has its files in a private folder, its lease, its keys."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy.orm import Session

from core.datasets import objects, repository, vault
from core.datasets.models import EDGES, INGESTS, Dataset, DatasetPart, DatasetVersion
from core.errors import LeaseLost, NotFound
from core.graphs.counted import reference
from core.graphs.schema import GraphSchema
from core.graphs.uploads.files import IngestLimits, UploadedFile
from core.storage.sealed import seal, unseal
from core.storage.store import make_private_folder
from core.work import leases
from core.work import service as leased
from core.workflows.common.context import Services
from core.workflows.datasets.upload import Counted, discard, keep_alive

GRAPH_FOLDER = "graph"


@dataclass(frozen=True)
class IngestWork:
    """One attempt at validating one version. The child writes the canonical graph to ``graph_folder``.

    ``schema`` None: none was declared, one is to be proposed. With
    ``in_parts`` the graph is written in parts. ``fingerprint_key`` is for the child alone; the
    stored fingerprint is keyed once more, with a key that no child sees.
    """

    version_id: str
    dataset_id: str
    tenant: str
    attempt: int
    folder: Path
    files: Mapping[str, UploadedFile]
    schema: GraphSchema | None
    limits: IngestLimits
    fingerprint_key: bytes = field(repr=False)
    in_parts: bool = False

    @property
    def reference(self) -> UploadedFile | None:
        """The file that refers to edges, which stay where they are; None where edges were sent."""
        edges = self.files.get(EDGES)
        return edges if edges is not None and edges.format == reference.FORMAT else None

    @property
    def graph_folder(self) -> Path:
        return self.folder / GRAPH_FOLDER


def discard_work(work: IngestWork) -> None:
    """Delete the work from the file system."""
    shutil.rmtree(work.folder, ignore_errors=True)


def sealed_parts(services: Services, work: IngestWork, parts: Iterable[DatasetPart]) -> dict[str, str]:
    """Name the object of each part. What its sender put into the bucket is sealed first, and gone from there.

    Raises LeaseLost, and PayloadTooLarge for a file over the limit.
    """
    return {row.part: _sealed(services, work, row) for row in parts}


def _sealed(services: Services, work: IngestWork, row: DatasetPart) -> str:
    # Only what came straight to the bucket lies there plain.
    token = objects.arrived(row.object_key)
    if token is None:
        return row.object_key
    target = objects.upload_key(work.dataset_id, work.version_id, token)
    limit = services.settings.max_upload_bytes
    counted = Counted(services.store.get(row.object_key), limit, hashlib.sha256())
    services.store.put(
        target, seal(alive(services, work, counted), content_key(services, work.dataset_id), context=target)
    )
    with held(services, work) as (session, _, _):
        kept = repository.part(session, work.version_id, row.part)
        assert kept is not None  # the version is this work's
        kept.object_key, kept.sha256, kept.size_bytes = target, counted.hexdigest(), counted.size_bytes
    # After the commit, as until then the row names the plain bytes.
    discard(services, [row.object_key])
    return target


def lay_out(services: Services, work: IngestWork, keys: Mapping[str, str]) -> None:
    """Lay the work's files unsealed in its folder. Only its owner can enter it. ``keys`` by part."""
    shutil.rmtree(work.folder, ignore_errors=True)
    make_private_folder(work.folder)
    key = content_key(services, work.dataset_id)
    for part, object_key in keys.items():
        sealed = alive(services, work, services.store.get(object_key))
        with work.files[part].path.open("wb") as file:
            for chunk in unseal(sealed, key, context=object_key):
                file.write(chunk)


@contextmanager
def held(services: Services, work: IngestWork) -> Iterator[tuple[Session, Dataset, DatasetVersion]]:
    """Open a transaction that holds dataset and version. It does under this attempt; else LeaseLost, the
    folder gone."""
    try:
        with services.db.transaction() as session:
            dataset = repository.locked(session, work.dataset_id)
            version = leases.hold(session, INGESTS, work.version_id, attempt=work.attempt)
            assert dataset is not None  # datasets are never deleted
            yield session, dataset, version
    except LeaseLost:
        discard_work(work)
        raise


def alive(services: Services, work: IngestWork, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Pass on the chunks, and extend the lease. It is extended while they flow."""

    def beat() -> None:
        with services.db.transaction() as session:
            leased.beat(session, services.settings, INGESTS, work.version_id, work.attempt)

    return keep_alive(chunks, beat, services.settings.heartbeat_seconds)


def content_key(services: Services, dataset_id: str) -> bytes:
    """Return the key of a dataset that is worked on. LeaseLost once the dataset is archived."""
    try:
        with services.db.transaction() as session:
            return vault.content_key(session, dataset_id, services.settings.master_key)
    except NotFound as error:
        raise LeaseLost("the dataset was archived") from error


def fingerprint_key(services: Services) -> bytes:
    """Read the key of content fingerprints. InvalidInput where the setting is missing or malformed."""
    return vault.secret_bytes(services.settings.fingerprint_key, "GRAPHVEIL_FINGERPRINT_KEY")
