"""A complete upload is validated. A worker does it under a lease; it becomes a ready version or says why not.

:func:`begin_ingest` claims the version and lays out its files in a private folder, in which a child process
writes the canonical graph; then exactly one of :func:`finish_ingest`, :func:`propose`, :func:`reject_ingest`
and :func:`fail_ingest` ends the work. Each raises LeaseLost, and changes nothing, once the lease has passed
on or the dataset was archived.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from core.datasets import lineage, objects, repository, service, vault
from core.datasets.models import EDGES, INGESTS, NODES, Dataset, DatasetPart, DatasetVersion, VersionState
from core.datasets.service import Event
from core.errors import InvalidInput, LeaseLost, NotFound
from core.graphs.reading.mapping import Mapping as ReadingMapping
from core.graphs.schema import GraphSchema
from core.graphs.uploads.files import IngestLimits, UploadedFile
from core.logging import get_logger
from core.settings import Settings
from core.storage.folders import pack, unpack
from core.storage.sealed import seal, unseal
from core.storage.store import make_private_folder
from core.work import service as leased
from core.workflows.common.context import Services
from core.workflows.datasets.attach import attach, joined
from core.workflows.datasets.derivations import derived_parts, marked_universe
from core.workflows.datasets.derived_nodes import keep_derived_nodes
from core.workflows.datasets.ingest_work import (
    IngestWork,
    alive,
    content_key,
    discard_work,
    fingerprint_key,
    held,
    lay_out,
    sealed_parts,
)
from core.workflows.datasets.readings import CONFIRMED
from core.workflows.datasets.upload import discard
from core.workflows.webhooks import announcements

log = get_logger(__name__)

GAVE_UP = "the validation could not be completed; upload the files again"


def begin_ingest(services: Services, version_id: str, worker: str) -> IngestWork | None:
    """Lease the version to ``worker``. Its files lie in a private folder; None if it is not free."""
    settings = services.settings
    # Without its keys a worker takes no work.
    vault.check_master_key(settings.master_key)
    child_key = lineage.child_key(fingerprint_key(services))
    with services.db.transaction() as session:
        known = repository.version(session, version_id)
        version = known and leased.begin(session, settings, INGESTS, version_id, worker, known.attempt_limit)
        if not version:
            return None
        dataset = repository.existing(session, version.dataset_id)
        declared = dataset.graph_schema
        folder = settings.work_folder / f"ingest-{version.id}-{version.attempt}"
        parts = repository.parts(session, [version.id])
        if declared is not None and GraphSchema.model_validate(declared).counted:
            # The declared universe takes the place of a list that was read off the edges.
            parts = [part for part in parts if not objects.derived(part.object_key)]
    work = IngestWork(
        version_id=version.id,
        dataset_id=dataset.id,
        tenant=dataset.tenant,
        attempt=version.attempt,
        folder=folder,
        files={
            p.part: UploadedFile(folder / p.part, p.format, p.options, answered_later=declared is None)
            for p in parts
        },
        schema=None if declared is None else GraphSchema.model_validate(declared),
        limits=IngestLimits.of(settings, in_parts=dataset.in_parts),
        fingerprint_key=child_key,
        in_parts=dataset.in_parts,
    )
    try:
        lay_out(services, work, sealed_parts(services, work, parts))
    except BaseException:
        fail_ingest(services, work)
        raise
    return work


def finish_ingest(services: Services, work: IngestWork, report: Mapping[str, Any]) -> DatasetVersion:
    """Store the validated graph, or reject it. The canonical graph is sealed, and the version is ready; it is
    rejected where its content belongs to an account under other terms.

    ``report`` is :meth:`core.graphs.uploads.files.IngestReport.to_json`; curators see it, without the
    fingerprint. Raises InvalidInput where it has no fingerprint or the stored schema is not the declared one.
    """
    content = report.get("fingerprint")
    stored = GraphSchema.model_validate_json((work.graph_folder / "schema.json").read_bytes())
    # The child is not trusted: it must have kept to the schema that was declared.
    if not content or work.schema is None or stored != work.schema:
        raise InvalidInput("the canonical graph is not the one that was asked for")
    key = objects.graph_key(work.dataset_id, work.version_id, work.attempt)
    accepted = False
    try:
        # Stored before the commit that names it; whatever is not named is deleted below.
        packed = alive(services, work, pack(work.graph_folder))
        services.store.put(key, seal(packed, content_key(services, work.dataset_id), context=key))
        with held(services, work) as (session, dataset, version):
            refusal = None
            if any(counts["edges"] for counts in report["edges"].values()):
                # Keyed: whoever reads the database cannot try contents against it.
                version.fingerprint = lineage.keyed_fingerprint(
                    fingerprint_key(services), tenant=dataset.tenant, content=str(content)
                )
                before = dataset.account_id
                refusal = attach(session, dataset, version.fingerprint)
                if dataset.account_id != before:
                    report = {**report, "message": joined(session, dataset)}
            # Without an edge it is nobody's content: the datasets of two streams begin alike.
            if refusal is None:
                if edges := repository.part(session, version.id, EDGES):  # else the graph is in parts
                    nodes = repository.part(session, version.id, NODES)
                    version.derived = marked_universe(version.derived, stored, edges, nodes)
                _accept(session, dataset, version, stored, key, report)
            else:
                _reject(session, dataset, version, [], refusal)
            accepted = refusal is None
    finally:
        if not accepted:
            _delete_unless_named(services, work, key)
    return _ended(services, work, version, "version_ready" if accepted else "version_rejected")


def propose(
    services: Services, work: IngestWork, schema: GraphSchema, report: Mapping[str, Any] | None = None
) -> DatasetVersion:
    """Propose a schema for its curator to confirm. The dataset waits for that; the uploaded parts are kept.

    Where no node list was uploaded, the one read off the edges (in the work's graph folder) is kept as well,
    so that the confirmed schema finds its universe. Columns of the edges that the proposal leaves out are
    left out under the confirmed schema too.
    """
    derived = keep_derived_nodes(services, work)
    try:
        with held(services, work) as (session, dataset, version):
            service.apply(Event.SCHEMA_PROPOSED, dataset, version)
            version.let_go()
            dataset.proposed_schema = schema.model_dump(mode="json")
            edges = repository.part(session, version.id, EDGES)
            assert edges is not None  # its upload queued the validation
            marks = derived_parts(schema, nodes=derived is not None)
            nodes = repository.part(session, version.id, NODES)
            version.derived = marked_universe(marks, schema, edges, nodes)
            version.ingest_report = _shown(report or {})
            if derived is not None:
                session.add(derived)
            for part in (edges, nodes):
                if part is not None:
                    # To confirm the proposal is to read each file as its reading says, and to leave out what
                    # the confirmed schema does.
                    part.options = as_proposed(part, (report or {}).get("readings", {}).get(part.part))
    except LeaseLost:
        discard(services, [] if derived is None else [derived.object_key])
        raise
    discard_work(work)
    log.info("schema_proposed", dataset_id=work.dataset_id, version_id=work.version_id)
    return version


def as_proposed(part: DatasetPart, reading: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the part's options with all that its reading decided."""
    said = {} if reading is None else ReadingMapping.from_json(reading["mapping"]).options()
    return {**part.options, **said, "extra_columns": "ignore"}


def reject_ingest(
    services: Services, work: IngestWork, findings: Sequence[Mapping[str, Any]], message: str
) -> DatasetVersion:
    """Reject the version. Curators see the message and the findings. Its bytes are deleted, unless they are
    those of a proposal: its curator may confirm another schema, under which they are validated again."""
    with held(services, work) as (session, dataset, version):
        proposed = version.ingest_report is not None
        kept = [dict(finding) for finding in findings[: services.settings.max_findings]]
        _reject(session, dataset, version, kept, message)
    return _ended(services, work, version, "version_rejected", keep=proposed)


def fail_ingest(services: Services, work: IngestWork, message: str = GAVE_UP, *, retry: bool = True) -> None:
    """End a validation that failed for other reasons. Something other than the data stopped it: it is tried
    again, or given up as rejected."""
    with held(services, work) as (session, dataset, version):
        again = retry and version.attempt < version.attempt_limit
        _retry_or_give_up(session, dataset, version, again, message)
    if again:
        discard_work(work)
    else:
        _ended(services, work, version, "version_rejected")


def take_back_ingest(session: Session, version: DatasetVersion) -> list[str]:
    """Let a version wait for another worker, or give it up. Returned are the keys of objects that have
    served.

    Both the version and, before it, its dataset are locked.
    """
    dataset = repository.locked(session, version.dataset_id)
    assert dataset is not None  # datasets are never deleted
    again = version.attempt < version.attempt_limit
    _retry_or_give_up(session, dataset, version, again, GAVE_UP)
    return [] if again else [part.object_key for part in repository.parts(session, [version.id])]


def fetch_graph(
    services: Services, dataset_id: str, version_id: str, folder: Path, *, only: Collection[str] | None = None
) -> None:
    """Fetch the version's canonical graph to the folder. It may be only some of its files.

    NotFound once it is erased; StorageError if damaged.
    """
    with services.db.transaction() as session:
        stored = stored_graph(session, services.settings, dataset_id, version_id)
    unpack_graph(services, stored, folder, only=only)


def stored_graph(session: Session, settings: Settings, dataset_id: str, version_id: str) -> tuple[str, bytes]:
    """Find where the version's canonical graph lies, and the dataset's key. NotFound once it is erased."""
    version = repository.version(session, version_id)
    if version is None or version.dataset_id != dataset_id or version.state != VersionState.READY:
        raise NotFound("the version's content has been erased, or it never was ready", id=version_id)
    assert version.object_key is not None  # every ready version has one
    return version.object_key, vault.content_key(session, dataset_id, settings.master_key)


def unpack_graph(
    services: Services, stored: tuple[str, bytes], folder: Path, *, only: Collection[str] | None = None
) -> None:
    """Fetch what :func:`stored_graph` found to the folder. StorageError if damaged."""
    object_key, key = stored
    make_private_folder(folder)
    unpack(unseal(services.store.get(object_key), key, context=object_key), folder, only=only)


def _accept(
    session: Session,
    dataset: Dataset,
    version: DatasetVersion,
    schema: GraphSchema,
    object_key: str,
    report: Mapping[str, Any],
) -> None:
    service.apply(Event.ACCEPTED, dataset, version)
    service.close(session, version)
    version.object_key, version.graph_schema = object_key, schema.model_dump(mode="json")
    confirmed = {name: kept for name, kept in (version.ingest_report or {}).items() if name == CONFIRMED}
    version.ingest_report, version.findings = _shown(report) | confirmed, None
    version.node_counts = {name: int(count) for name, count in report["nodes"].items()}
    dataset.current_version_id = version.id
    announcements.version_came_to(session, dataset, version)


def _reject(
    session: Session, dataset: Dataset, version: DatasetVersion, findings: list[dict[str, Any]], message: str
) -> None:
    service.apply(Event.REJECTED, dataset, version)
    service.close(session, version)
    version.findings, version.ingest_report = findings, {"message": message}
    announcements.version_came_to(session, dataset, version)


def _retry_or_give_up(
    session: Session, dataset: Dataset, version: DatasetVersion, again: bool, message: str
) -> None:
    if again:
        service.apply(Event.RETRIED, dataset, version)
        leased.queue_again(session, INGESTS, version, leased.RETRY_SECONDS)
    else:
        _reject(session, dataset, version, [], message)


def _ended(
    services: Services, work: IngestWork, version: DatasetVersion, event: str, *, keep: bool = False
) -> DatasetVersion:
    """The uploaded bytes have served: neither they nor the work folder remain; ``keep``: they do."""
    if not keep:
        _discard_uploads(services, work.version_id)
    discard_work(work)
    log.info(event, dataset_id=work.dataset_id, version_id=work.version_id)
    return version


def _discard_uploads(services: Services, version_id: str) -> None:
    with services.db.transaction() as session:
        uploaded = [part.object_key for part in repository.parts(session, [version_id])]
    discard(services, uploaded)


def _delete_unless_named(services: Services, work: IngestWork, key: str) -> None:
    """The stored graph is deleted, unless a commit named it whose confirmation was lost."""
    with services.db.transaction() as session:
        version = repository.version(session, work.version_id)
    if version is None or version.object_key != key:
        discard(services, [key])


def _shown(report: Mapping[str, Any]) -> dict[str, Any]:
    """What curators see of a report: the schema stands elsewhere, the fingerprint nowhere."""
    return {name: value for name, value in report.items() if name not in ("fingerprint", "schema")}
