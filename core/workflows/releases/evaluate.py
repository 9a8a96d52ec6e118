"""The comparison of a release with its original. It comes after publication, for curators, and fails no
release."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from sqlalchemy.orm import Session

from core.datasets import vault
from core.db.session import database_now
from core.errors import InvalidInput, NotFound
from core.jobs import events, repository
from core.jobs.models import EVALUATIONS, Artifact, ArtifactRole, Evaluation, EvaluationState, JobState
from core.outbox.models import Topic
from core.publishing.spec import EvaluationSpec, Tick
from core.settings import Settings
from core.storage.folders import READ_BYTES
from core.storage.sealed import seal
from core.work import leases
from core.work import service as work
from core.workflows.common.context import Services
from core.workflows.common.specs import spec_of
from core.workflows.common.sweeps import sweep
from core.workflows.datasets.ingest import stored_graph, unpack_graph
from core.workflows.datasets.upload import discard
from core.workflows.jobs import abilities
from core.workflows.releases import tick_work
from core.workflows.releases.bundles import MAX_REPORT_BYTES
from core.workflows.releases.publish import seal_context
from core.workflows.releases.stored_files import fetch_files

CURATOR_REPORT = "curator.json"
NEEDED = frozenset(
    {"nodes.parquet", "edges.parquet", "schema.json", "public.json", "private/alignment.parquet"}
)
HIDDEN = frozenset({"private/model/sensitive.parquet", "private/model/training.json"})
"""What a method that hides links keeps of them; a further sample of its model has them from there."""


@dataclass(frozen=True)
class EvaluationWork:
    """An evaluation under one attempt. The attempt is the fencing token of everything that is done for it.

    ``stored``: where the original lies, and the dataset's key; None once either is erased. ``files``: those
    of the release that are compared.
    """

    job_id: str
    attempt: int
    worker: str
    dataset_id: str
    version_id: str
    spec: EvaluationSpec
    stored: tuple[str, bytes] | None = field(repr=False)
    files: tuple[Artifact, ...] = field(repr=False)


def begin_evaluation(services: Services, job_id: str, worker: str) -> EvaluationWork | None:
    """Begin the evaluation under this worker's lease. None if it is not free, or needs what is not here."""
    settings = services.settings
    with services.db.transaction() as session:
        fit = abilities.fit(Topic.EVALUATE, Evaluation.id)
        row = work.begin(session, settings, EVALUATIONS, job_id, worker, fit=fit)
        if row is None:
            return None
        job = repository.existing(session, job_id)
        if job.state != JobState.PUBLISHED:
            raise InvalidInput("only a published release is evaluated")
        row.stage, row.done, row.total = None, 0, 0
        wanted = spec_of(job)
        spec = EvaluationSpec(
            release=wanted.release,
            suite=wanted.suite,
            shadows=settings.shadow_releases,
            shadow_links=settings.shadow_links,
        )
        stored = None
        with suppress(NotFound):  # erased: it fails where its content is fetched, under its lease
            stored = stored_graph(session, settings, job.dataset_id, job.version_id)
        files = [file for file in repository.artifacts(session, job_id) if file.name in NEEDED | HIDDEN]
        if (source := spec.release.source_id) is not None:
            files += [file for file in repository.artifacts(session, source) if file.name in HIDDEN]
        return EvaluationWork(
            job_id, row.attempt, worker, job.dataset_id, job.version_id, spec, stored, tuple(files)
        )


def advance_evaluation(services: Services, held: EvaluationWork, step: events.Step) -> None:
    """Record how far the evaluation is, which curators see. Raises LeaseLost, InvalidInput."""
    events.check(*step)
    with services.db.transaction() as session:
        row = leases.hold(session, EVALUATIONS, held.job_id, attempt=held.attempt)
        row.stage, row.done, row.total = step


def erased(session: Session, dataset_id: str) -> bool:
    """Tell whether the dataset is erased: nothing may go on reading it."""
    return not vault.has_key(session, dataset_id)


def fetch_evaluation(services: Services, held: EvaluationWork, *, graph: Path, release: Path) -> None:
    """Fetch the original and the release to compare. ``graph`` holds the first, ``release`` the bundle as its
    generator wrote it, as far as is needed.

    NotFound once the dataset is erased.
    """
    stored = _stored(held)
    if isinstance(held.spec.release, Tick):
        tick_work.fetch_tick_graph(services, held.dataset_id, held.version_id, held.job_id, graph)
    else:
        unpack_graph(services, stored, graph)
    fetch_files(services, held.files, stored[1], release)


def _stored(held: EvaluationWork) -> tuple[str, bytes]:
    if held.stored is None:
        raise NotFound("the content to compare with has been erased", id=held.version_id)
    return held.stored


def finish_evaluation(
    services: Services, held: EvaluationWork, report: Path, steps: Sequence[events.Step] = ()
) -> None:
    """Store the comparison, sealed by the dataset's key. The curators can read it.

    ``steps``: the last that it took, where none has recorded them. Raises LeaseLost, InvalidInput, and
    NotFound once the dataset is erased.
    """
    size = report.stat().st_size
    # The child is not trusted: a link of its could lead to any file of this host.
    if report.is_symlink() or size > MAX_REPORT_BYTES:
        raise InvalidInput("the comparison is larger than a report may be")
    content = report.read_bytes()
    json.loads(content)
    target = f"{attempt_prefix(held.job_id, held.attempt)}/{CURATOR_REPORT}"
    _, key = _stored(held)
    sealed = seal(_pieces(content), key, context=seal_context(held.job_id, CURATOR_REPORT))
    try:
        services.store.put(target, sealed)
        _name(services, held, target, content, steps)
    except Exception:
        _delete_unless_named(services, held, target)
        raise


def _name(
    services: Services, held: EvaluationWork, target: str, content: bytes, steps: Sequence[events.Step]
) -> None:
    with services.db.transaction() as session:
        row = leases.hold(session, EVALUATIONS, held.job_id, attempt=held.attempt)
        # In the transaction that names it: after an erasure in between nobody would delete it.
        if erased(session, held.dataset_id):
            raise NotFound("the dataset has been erased", id=held.dataset_id)
        if steps:
            row.stage, row.done, row.total = steps[-1]
        session.add(
            Artifact(
                job_id=held.job_id,
                name=CURATOR_REPORT,
                role=ArtifactRole.CURATOR,
                media_type="application/json",
                size_bytes=len(content),
                sha256=hashlib.sha256(content).hexdigest(),
                object_key=target,
                encrypted=True,
            )
        )
        _end(services.settings, session, row, EvaluationState.DONE)


def _delete_unless_named(services: Services, held: EvaluationWork, target: str) -> None:
    """The stored comparison is deleted, unless a commit named it whose confirmation was lost."""
    with services.db.transaction() as session:
        named = repository.artifact(session, held.job_id, CURATOR_REPORT)
    if named is None or named.object_key != target:
        discard(services, [target])


def fail_evaluation(services: Services, held: EvaluationWork) -> None:
    """End the evaluation as failed. The release stands. Raises LeaseLost."""
    with services.db.transaction() as session:
        row = leases.hold(session, EVALUATIONS, held.job_id, attempt=held.attempt)
        _end(services.settings, session, row, EvaluationState.FAILED)


def hand_back_evaluation(services: Services, held: EvaluationWork) -> None:
    """Let the evaluation wait for another worker. It has failed when no attempt is left. LeaseLost."""
    with services.db.transaction() as session:
        row = leases.hold(session, EVALUATIONS, held.job_id, attempt=held.attempt)
        take_back_evaluation(session, services.settings, row)


def take_back_evaluation(session: Session, settings: Settings, row: Evaluation) -> None:
    """As :func:`hand_back_evaluation`, of a locked row."""
    if row.attempt >= settings.max_attempts:
        _end(settings, session, row, EvaluationState.FAILED)
    else:
        work.queue_again(session, EVALUATIONS, row)


def _end(settings: Settings, session: Session, row: Evaluation, state: EvaluationState) -> None:
    """The evaluation is over; who lost it may go on storing for a while, after which it is swept."""
    now = database_now(session)
    row.state, row.finished_at, row.leased_by = state, now, None
    row.lease_expires_at = now + timedelta(seconds=2 * settings.lease_seconds)


def recover_evaluation_files(services: Services, limit: int) -> int:
    """Delete stored comparisons that no row names. Returned is of how many evaluations there were any.
    Reaper's duty.

    Looked for once, a while after the evaluation has ended: then no attempt begins any more, and one that
    lost its lease has stopped, or finds in :func:`finish_evaluation` that it has.
    """
    with services.db.transaction() as session:
        ids = repository.unswept_evaluations(session, limit)
    swept = 0

    def delete_unnamed(job_id: str) -> None:
        nonlocal swept
        with services.db.transaction() as session:
            attempts = repository.existing_evaluation(session, job_id).attempt
            named = {file.object_key for file in repository.artifacts(session, job_id)}
        prefixes = [attempt_prefix(job_id, number) for number in range(1, attempts + 1)]
        stored = [entry.key for prefix in prefixes for entry in services.store.list(prefix)]
        unnamed = [key for key in stored if key not in named]
        swept += bool(unnamed)
        for key in unnamed:
            services.store.delete(key)
        with services.db.transaction() as session:
            # Swept: it is not looked at again.
            repository.existing_evaluation(session, job_id).lease_expires_at = None

    sweep(ids, delete_unnamed, subject=str)
    return swept


def attempt_prefix(job_id: str, attempt: int) -> str:
    """Below it lies what one attempt at an evaluation stores."""
    return f"releases/{job_id}/evaluation-{attempt}"


def _pieces(content: bytes) -> Iterator[bytes]:
    for start in range(0, len(content), READ_BYTES):
        yield content[start : start + READ_BYTES]
