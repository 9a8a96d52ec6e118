"""A stream's snapshot in the hands of a worker. It is laid out, made canonical, or refused for its content.

All of it happens before the graph is opened: what is refused here has read nothing through a meter, and costs
nothing. The canonical snapshot takes the place of the upload, so that a second attempt finds it.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from core.datasets import objects, vault
from core.datasets import repository as datasets
from core.errors import InvalidInput, LeaseLost, NotFound, StorageError
from core.failpoints import reach
from core.graphs.schema import GraphSchema
from core.graphs.schema.snapshots import tick_schema
from core.graphs.uploads.files import IngestLimits
from core.jobs import repository as jobs
from core.jobs.models import RELEASES, Artifact, JobReason
from core.ledger import service as ledger
from core.methods import registry
from core.privacy.accounting.plan import PrivacyPlan
from core.publishing.checks import checked_params
from core.storage.folders import pack, unpack
from core.storage.sealed import seal, unseal
from core.storage.store import make_private_folder
from core.streams import repository
from core.streams.models import Outcome, Snapshot
from core.work import leases
from core.workflows.common.context import Services
from core.workflows.datasets.ingest import fetch_graph
from core.workflows.datasets.upload import discard
from core.workflows.releases import settle
from core.workflows.releases.publish import JobWork, seal_context

NODES, VALUES = "nodes.parquet", "values.parquet"
CANONICAL = ("edges.parquet", "schema.json")
ALIGNMENT, STATE = "private/alignment.parquet", "private/state/"
FINDINGS_FILE = "edges"


@dataclass(frozen=True)
class SnapshotTask:
    """What a child makes canonical. It is an upload in a format (None: an empty snapshot), under a schema."""

    file: Mapping[str, Any] | None
    schema: GraphSchema
    limits: IngestLimits


def fetch_snapshot(services: Services, work: JobWork, folder: Path) -> SnapshotTask | None:
    """Fetch the snapshot's graph, or what makes it. ``folder/graph`` holds it (None is returned), or its
    universe only, and the task is what is to do.

    The upload then lies in ``folder/upload``. ``folder/previous`` holds what the last published snapshot
    left. Raises LeaseLost, NotFound once the dataset is erased, StorageError.
    """
    graph = folder / "graph"
    fetch_graph(services, work.dataset_id, work.version_id, graph, only=(NODES,))
    row, key = _snapshot(services, work.job_id, work.dataset_id)
    before = _fetch_previous(services, row, key, folder / "previous")
    if before is not None and PrivacyPlan.from_json(work.task["plan"]).looks_back:
        fetch_tick_graph(services, work.dataset_id, work.version_id, before, folder / "previous" / "graph")
    # An earlier attempt has made it canonical.
    if row.graph_key is not None:
        unpack(unseal(services.store.get(row.graph_key), key, context=row.graph_key), graph)
        return None
    if row.object_key is not None:
        sealed = services.store.get(row.object_key)
        with (folder / "upload").open("wb") as file:
            file.writelines(unseal(sealed, key, context=row.object_key))
    with services.db.transaction() as session:
        version = datasets.existing_version(session, work.version_id)
        schema = GraphSchema.model_validate(version.graph_schema)
    release = work.spec.release
    generator = registry.get(release.method)
    values = generator.carries(checked_params(generator.Params, release.params))
    return SnapshotTask(
        None if row.object_key is None else {"format": row.format, "options": row.options},
        tick_schema(schema, release.edge_types, row.step, values=values),
        IngestLimits.of(services.settings),
    )


def keep_snapshot(services: Services, work: JobWork, task: SnapshotTask, folder: Path) -> None:
    """Store the canonical snapshot, sealed. It is that in ``folder/snapshot``, and completes
    ``folder/graph``.

    The upload is gone: it has served. Raises InvalidInput where the child left anything else than was asked
    of it, LeaseLost, NotFound once the dataset is erased, StorageError.
    """
    canonical = folder / "snapshot"
    found = _check(canonical, task.schema)
    row, key = _snapshot(services, work.job_id, work.dataset_id)
    target = objects.snapshot_key(work.dataset_id, row.stream_id, row.step, row.number)
    services.store.put(target, seal(pack(canonical), key, context=target))
    reach("before_snapshot_kept")
    with services.db.transaction() as session:
        leases.hold(session, RELEASES, work.job_id, attempt=work.attempt)
        row = _row(repository.of_job(session, work.job_id))
        # They change places in one commit: at any moment one of both is named.
        uploaded, row.object_key, row.graph_key = row.object_key, None, target
    reach("after_snapshot_kept")
    # Only now: until the commit the upload was the only form there was.
    discard(services, [] if uploaded is None else [uploaded])
    for name in found:
        shutil.move(canonical / name, folder / "graph" / name)


def _check(canonical: Path, schema: GraphSchema) -> list[str]:
    """The folder holds the files of a snapshot, which are named, with the schema that was asked for.

    What edges carry is a file of its own, where there are any. InvalidInput otherwise.
    """
    # The child is not trusted: a link of its could lead to any file of this host.
    left = [] if canonical.is_symlink() or not canonical.is_dir() else sorted(canonical.iterdir())
    carrying = any(each.attributes for each in schema.edge_types)
    whole = [list(CANONICAL), *([[*CANONICAL, VALUES]] if carrying else [])]
    names = [path.name for path in left]
    if names not in whole or any(path.is_symlink() or not path.is_file() for path in left):
        raise InvalidInput("the child left no canonical snapshot")
    try:
        stored = GraphSchema.model_validate_json((canonical / "schema.json").read_bytes())
    except ValidationError as error:
        raise InvalidInput("the child left no schema") from error
    if stored != schema:
        raise InvalidInput("the canonical snapshot is not the one that was asked for")
    return names


def refuse_snapshot(
    services: Services, work: JobWork, findings: Sequence[Mapping[str, Any]], message: str
) -> None:
    """Refuse a snapshot for its content. The job has failed, its reservation is free, and the curators see
    what is wrong. Raises LeaseLost."""
    said = [dict(finding) for finding in findings[: services.settings.max_findings]]
    whole = {"file": FINDINGS_FILE, "line": None, "column": None, "message": message}
    with services.db.transaction() as session:
        job = leases.hold(session, RELEASES, work.job_id, attempt=work.attempt)
        row = _row(repository.of_job(session, work.job_id))
        uploaded = row.object_key
        settle.fail(session, services.settings, job, JobReason.INVALID_SNAPSHOT, actor=work.worker)
        if row.outcome == Outcome.REFUSED:  # not if it was asked to stop: its dataset may be erased
            row.findings = said or [whole]
    discard(services, [] if uploaded is None else [uploaded])


def fetch_tick_graph(services: Services, dataset_id: str, version_id: str, job_id: str, folder: Path) -> None:
    """Fetch the graph of a published snapshot. The folder holds it; the job has published it. NotFound once
    it is erased."""
    fetch_graph(services, dataset_id, version_id, folder, only=(NODES,))
    row, key = _snapshot(services, job_id, dataset_id)
    if row.graph_key is None:
        raise NotFound("the snapshot has no canonical form", id=job_id)
    unpack(unseal(services.store.get(row.graph_key), key, context=row.graph_key), folder)


def _snapshot(services: Services, job_id: str, dataset_id: str) -> tuple[Snapshot, bytes]:
    with services.db.transaction() as session:
        row = _row(repository.of_job(session, job_id))
        return row, vault.content_key(session, dataset_id, services.settings.master_key)


def _row(row: Snapshot | None) -> Snapshot:
    """Find the job's snapshot. It has none once the step was sent anew, which only an ended job allows."""
    if row is None:
        raise LeaseLost("the job publishes no snapshot any more")
    return row


def _fetch_previous(services: Services, row: Snapshot, key: bytes, folder: Path) -> str | None:
    """Fetch to ``folder`` state and alignment of the last published snapshot before this one.

    Where only later ones are published, for a step that was mended: the alignment alone, so that nodes keep
    their names. No folder where nothing is published. Each file is the one that the charge of its release
    names; StorageError otherwise. Returned is the job of the step right before this one, where it published.
    """
    with services.db.transaction() as session:
        before = repository.last_published(session, row.stream_id, row.step)
        named = before or repository.any_published(session, row.stream_id)
        if named is None:
            return None
        job = jobs.existing(session, named.job_id)
        entry = ledger.terminal_of(session, job.reservation_id)
        files = [
            file
            for file in jobs.artifacts(session, job.id)
            if file.name == ALIGNMENT or (before is not None and file.name.startswith(STATE))
        ]
    digests = {} if entry is None else dict(entry.digests)
    make_private_folder(folder)
    for file in files:
        path = folder / file.name.removeprefix("private/")
        make_private_folder(path.parent)
        with path.open("wb") as out:
            out.writelines(_charged(services, file, key, digests.get(file.name)))
    return before.job_id if before is not None and before.step == row.step - 1 else None


def _charged(services: Services, file: Artifact, key: bytes, digest: str | None) -> Iterator[bytes]:
    """Read the file's bytes; StorageError at their end unless they have the digest that the charge names."""
    seen = hashlib.sha256()
    sealed: Iterable[bytes] = services.store.get(file.object_key)
    for chunk in unseal(sealed, key, context=seal_context(file.job_id, file.name)):
        seen.update(chunk)
        yield chunk
    if seen.hexdigest() != digest:
        raise StorageError("no charge names this file", job_id=file.job_id)
