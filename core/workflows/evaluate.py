"""The comparison of a release with its original: after publication, for curators, and it fails no release."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.datasets import vault
from core.db import leases
from core.errors import InvalidInput
from core.jobs import events, repository
from core.jobs.models import Artifact, ArtifactRole, Evaluation, Job, JobState
from core.jobs.states import EvaluationState
from core.outbox import service as outbox
from core.outbox.models import Topic
from core.publishing.spec import EvaluationSpec
from core.storage.sealed import seal
from core.workflows import settle, tick_work
from core.workflows.bundles import MAX_REPORT_BYTES
from core.workflows.context import Services
from core.workflows.ingest import fetch_graph
from core.workflows.publish import READ_BYTES, seal_context
from core.workflows.stored_files import fetch_files

CURATOR_REPORT = "curator.json"
NEEDED = frozenset(
    {"nodes.parquet", "edges.parquet", "schema.json", "public.json", "private/alignment.parquet"}
)
HIDDEN = frozenset({"private/model/sensitive.parquet", "private/model/training.json"})
"""What a method that hides links keeps of them; a further sample of its model has them from there."""


@dataclass(frozen=True)
class EvaluationWork:
    """An evaluation under one attempt, the fencing token of everything that is done for it."""

    job_id: str
    attempt: int
    worker: str
    dataset_id: str
    version_id: str
    spec: EvaluationSpec


def begin_evaluation(services: Services, job_id: str, worker: str) -> EvaluationWork | None:
    """The evaluation runs under this worker's lease; None if it is not free."""
    settings = services.settings
    with services.db.transaction() as session:
        row = leases.claim(
            session,
            Evaluation,
            job_id,
            worker=worker,
            lease_seconds=settings.lease_seconds,
            claimable=(EvaluationState.PENDING,),
            running=EvaluationState.RUNNING,
            max_attempts=settings.max_attempts,
        )
        if row is None:
            return None
        job = session.get_one(Job, job_id)
        if job.state != JobState.PUBLISHED:
            raise InvalidInput("only a published release is evaluated")
        row.stage, row.done, row.total = None, 0, 0
        limits = {"shadows": settings.shadow_releases, "shadow_links": settings.shadow_links}
        spec = evaluation_spec(job.spec).model_copy(update=limits)
        return EvaluationWork(job_id, row.attempt, worker, job.dataset_id, job.version_id, spec)


def evaluation_spec(spec: dict[str, Any]) -> EvaluationSpec:
    """What a job's stored spec says of its evaluation."""
    release = spec["release"]
    told = {name: release[name] for name in EvaluationSpec.model_fields if name in release}
    return EvaluationSpec.model_validate(told | {"suite": spec["suite"]})


def advance_evaluation(services: Services, work: EvaluationWork, stage: str, done: int, total: int) -> None:
    """The curators can see how far the evaluation is. Raises LeaseLost, InvalidInput."""
    events.check(stage, done, total)
    with services.db.transaction() as session:
        row = leases.hold(session, Evaluation, work.job_id, attempt=work.attempt)
        row.stage, row.done, row.total = stage, done, total


def heartbeat_evaluation(services: Services, work: EvaluationWork) -> bool:
    """The lease is extended; True once the dataset is erased: nothing may go on reading it. LeaseLost."""
    with services.db.transaction() as session:
        leases.heartbeat(
            session,
            Evaluation,
            work.job_id,
            attempt=work.attempt,
            lease_seconds=services.settings.lease_seconds,
        )
        return not vault.has_key(session, work.dataset_id)


def fetch_evaluation(services: Services, work: EvaluationWork, *, graph: Path, release: Path) -> None:
    """``graph`` holds the original, ``release`` the bundle as its generator wrote it, as far as is needed.

    NotFound once the dataset is erased.
    """
    if work.spec.tick is None:
        fetch_graph(services, work.dataset_id, work.version_id, graph)
    else:
        tick_work.fetch_tick_graph(services, work.dataset_id, work.version_id, work.job_id, graph)
    with services.db.transaction() as session:
        key = vault.content_key(session, work.dataset_id, services.settings.master_key)
        files = [a for a in repository.artifacts(session, work.job_id) if a.name in NEEDED | HIDDEN]
        source = session.get_one(Job, work.job_id).sample_of
        model = [] if source is None else repository.artifacts(session, source)
        files += [file for file in model if file.name in HIDDEN]
    fetch_files(services, files, key, release)


def finish_evaluation(services: Services, work: EvaluationWork, report: Path) -> None:
    """The curators can read the comparison, sealed by the dataset's key. Raises LeaseLost, InvalidInput."""
    size = report.stat().st_size
    if report.is_symlink() or size > MAX_REPORT_BYTES:
        raise InvalidInput("the comparison is larger than a report may be")
    content = report.read_bytes()
    json.loads(content)
    target = f"releases/{work.job_id}/evaluation-{work.attempt}/{CURATOR_REPORT}"
    with services.db.transaction() as session:
        key = vault.content_key(session, work.dataset_id, services.settings.master_key)
    services.store.put(target, seal(_pieces(content), key, context=seal_context(work.job_id, CURATOR_REPORT)))
    with services.db.transaction() as session:
        row = leases.hold(session, Evaluation, work.job_id, attempt=work.attempt)
        session.add(
            Artifact(
                job_id=work.job_id,
                name=CURATOR_REPORT,
                role=ArtifactRole.CURATOR,
                media_type="application/json",
                size_bytes=size,
                sha256=hashlib.sha256(content).hexdigest(),
                object_key=target,
                encrypted=True,
            )
        )
        row.state = EvaluationState.DONE
        row.finished_at = repository.database_now(session)
        row.leased_by = row.lease_expires_at = None


def fail_evaluation(services: Services, work: EvaluationWork) -> None:
    """The evaluation has failed; the release stands. Raises LeaseLost."""
    with services.db.transaction() as session:
        row = leases.hold(session, Evaluation, work.job_id, attempt=work.attempt)
        row.state = EvaluationState.FAILED
        row.finished_at = repository.database_now(session)
        row.leased_by = row.lease_expires_at = None


def hand_back_evaluation(services: Services, job_id: str, *, attempt: int | None = None) -> None:
    """The evaluation waits for another worker, or has failed when no attempt is left.

    With ``attempt``: given back by its holder (raises LeaseLost); without: taken when its lease ran out.
    """
    with services.db.transaction() as session:
        if attempt is not None:
            row = leases.hold(session, Evaluation, job_id, attempt=attempt)
        else:
            found = repository.lost_evaluation(session, job_id)
            if found is None:
                return
            row = found
        row.leased_by = row.lease_expires_at = None
        if row.attempt >= services.settings.max_attempts:
            row.state = EvaluationState.FAILED
            row.finished_at = repository.database_now(session)
        else:
            row.state = EvaluationState.PENDING
            outbox.ring(session, Topic.EVALUATE, job_id, not_before_seconds=settle.retry_pause(row.attempt))


def _pieces(content: bytes) -> Iterator[bytes]:
    for start in range(0, len(content), READ_BYTES):
        yield content[start : start + READ_BYTES]
