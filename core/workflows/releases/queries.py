"""What callers may take from a published job. These are its files, and the part of its report that is
theirs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date
from typing import Any, Literal

from sqlalchemy.orm import Session

from core.datasets import repository as datasets
from core.datasets import vault
from core.errors import JobFailed, JobNotFinished, NotFound, StorageError
from core.identity.models import Role
from core.identity.service import Principal, require
from core.jobs import repository, states
from core.jobs import service as jobs
from core.jobs.models import Artifact, ArtifactRole, EvaluationState, Job, JobState
from core.ledger import repository as budgets
from core.ledger import service as ledger
from core.ledger.kinds import EntryKind, Filter
from core.ledger.models import LedgerEntry
from core.privacy.accounting.plan import GuaranteeKind
from core.reports.evidence import CuratorPart
from core.reports.model import SCHEMA_VERSION, Charge, PublicPart, Report
from core.reports.stored import curator_of, public_of
from core.storage.sealed import unseal
from core.workflows.common import unpaid
from core.workflows.common.context import Services
from core.workflows.common.polling import pause_seconds
from core.workflows.common.specs import spec_of
from core.workflows.datasets.dataset_policies import reads_comparisons
from core.workflows.releases.bundles import MAX_REPORT_BYTES, REPORT
from core.workflows.releases.elsewhere import is_address
from core.workflows.releases.evaluate import CURATOR_REPORT
from core.workflows.releases.publish import is_compared, seal_context
from graphveil.amounts import format_epsilon
from graphveil.models.jobs import Artifact as View
from graphveil.models.jobs import Artifacts

RELEASED = frozenset({ArtifactRole.ARTIFACT, ArtifactRole.REPORT})
Status = Literal["pending", "done", "failed", "erased"]


@dataclass(frozen=True)
class Edition:
    """A report as one caller may see it.

    ``comparison`` is None for callers who may not read it, and where there is none; else pending, done,
    failed or erased; the report has a curator part where it is done. ``released_on`` is a day in UTC: exact
    times can depend on the data.
    """

    report: Report
    comparison: Status | None
    released_on: date


def listed(services: Services, principal: Principal, job_id: str) -> Artifacts:
    """List a published job's files that the caller may open. They are by name; private ones never."""
    require(principal, Role.REQUESTER, Role.CURATOR)
    with services.db.transaction() as session:
        job = published(session, services, principal, job_id)
        allowed = _allowed(session, principal, job)
        items = [_view(row) for row in repository.artifacts(session, job.id) if row.role in allowed]
        account = budgets.by_ids(session, [job.account_id])[job.account_id]
        return Artifacts(items=items, exposed=account.exposed_at is not None)


def open_artifact(
    services: Services, principal: Principal, job_id: str, name: str
) -> tuple[Artifact, Iterator[bytes]]:
    """Open one file of a published job. Its bytes come too; NotFound for what the caller may not open.

    A released file must be named, with this digest, by the charge that paid for it; StorageError otherwise.
    """
    require(principal, Role.REQUESTER, Role.CURATOR)
    with services.db.transaction() as session:
        job = published(session, services, principal, job_id)
        artifact = repository.artifact(session, job.id, name)
        if artifact is None or artifact.role not in _allowed(session, principal, job):
            raise NotFound("There is no such file.", id=name)
        _require_charged(session, job, artifact)
        if is_address(artifact.object_key):
            raise NotFound(f"The file is not in the bundle; read it at {artifact.object_key}.", id=name)
        key = _key(services, session, job, artifact)
    # The store is read when no transaction is open.
    return artifact, _bytes(services, artifact, key)


def signed_address(services: Services, artifact: Artifact) -> str | None:
    """Sign an address of the file in the bucket. It is given out there for a while; None where the service
    does.

    The caller of :func:`open_artifact` may read the file; so may whoever gets hold of the address. Sealed
    files are opened by the service alone.
    """
    seconds, presigner = services.settings.presigned_seconds, services.store.presigner
    # What is sealed would come sealed: the key stays here.
    if presigner is None or artifact.encrypted or not seconds:
        return None
    return presigner.download(
        artifact.object_key, file_name=artifact.name, media_type=artifact.media_type, seconds=seconds
    )


def get_report(services: Services, principal: Principal, job_id: str) -> dict[str, Any]:
    """Return a published job's report as JSON. All of the tenant have the public part, curators the rest.

    ``{"schema_version", "public", "curator"}``; the key ``curator`` is there for curators only, as
    ``{"status": "pending" | "failed" | "erased"}`` or ``{"status": "done", ...}``. Raises as :func:`edition`.
    """
    return as_json(edition(services, principal, job_id))


def as_json(found: Edition) -> dict[str, Any]:
    """Return the edition as the JSON report shows it."""
    report: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "public": found.report.public.model_dump(mode="json"),
    }
    if found.comparison is not None:
        part = found.report.curator
        shown = {} if part is None else part.model_dump(mode="json")
        report["curator"] = {"status": found.comparison, **shown}
    return report


def edition(services: Services, principal: Principal, job_id: str) -> Edition:
    """Return a published job's report. It goes as far as the caller may see it. Raises JobNotFinished,
    JobFailed."""
    require(principal, Role.REQUESTER, Role.CURATOR)
    with services.db.transaction() as session:
        job = published(session, services, principal, job_id)
        report = stored_report(services, session, job, exact=Role.CURATOR in principal.roles)
        reads = reads_comparisons(session, principal, job.dataset_id)
        comparison = _comparison(services, session, job) if reads and is_compared(job) else None
    # The store is read when no transaction is open: a slow one must not use up the database's connections.
    public, _ = opened_report(services, report)
    curator = None if comparison is None else _curator_part(services, comparison)
    status = None if comparison is None else comparison.status
    return Edition(Report(public=public, curator=curator), status, report.released_on)


@dataclass(frozen=True)
class StoredReport:
    """A published job's public report. It has where it lies, and what is added when it is served."""

    artifact: Artifact
    key: bytes | None = field(repr=False)
    charge: Charge
    dataset_name: str
    released_on: date


def stored_report(services: Services, session: Session, job: Job, *, exact: bool) -> StoredReport:
    """Find the job's public report, which its charge names. ``exact``: with the charge's exact time."""
    artifact = repository.artifact(session, job.id, REPORT)
    if artifact is None:
        raise StorageError("the report is missing", job_id=job.id)
    _require_charged(session, job, artifact)
    return StoredReport(
        artifact,
        _key(services, session, job, artifact),
        _charge(session, job, exact=exact),
        datasets.existing(session, job.dataset_id).name,
        charge_entry(session, job).created_at.astimezone(UTC).date(),
    )


def opened_report(services: Services, stored: StoredReport) -> tuple[PublicPart, bytes]:
    """Read the public part as it is served. Its bytes come as they were charged."""
    raw = _whole(services, stored.artifact, stored.key)
    part = public_of(raw)
    named = part.provenance.model_copy(update={"dataset_name": stored.dataset_name})
    return part.model_copy(update={"charge": stored.charge, "provenance": named}), raw


def _view(row: Artifact) -> View:
    return View(
        name=row.name,
        role=row.role,
        media_type=row.media_type,
        size_bytes=row.size_bytes,
        sha256=row.sha256,
        written_to=row.object_key if is_address(row.object_key) else None,
    )


def _allowed(session: Session, principal: Principal, job: Job) -> frozenset[ArtifactRole]:
    return (
        RELEASED | {ArtifactRole.CURATOR}
        if reads_comparisons(session, principal, job.dataset_id)
        else RELEASED
    )


def published(session: Session, services: Services, principal: Principal, job_id: str) -> Job:
    """Return the tenant's job, which is published. Raises NotFound, JobNotFinished, JobFailed."""
    job = jobs.get(session, tenant=principal.tenant, job_id=job_id)
    if JobState(job.state) not in states.TERMINAL:
        raise JobNotFinished(
            f"The job is {job.state}.",
            state=job.state,
            retry_after=pause_seconds(services.settings, job.created_at),
        )
    if job.state != JobState.PUBLISHED:
        outcome = jobs.budget_outcome(job)
        raise JobFailed(
            f"The job is {job.state}; it has no release. {'' if outcome is None else outcome.text}".strip(),
            state=job.state,
            reason=unpaid.job_reason(principal, job),
        )
    return job


def charge_entry(session: Session, job: Job) -> LedgerEntry:
    """Load the entry that charged the published job."""
    entry = ledger.terminal_of(session, job.reservation_id)
    if entry is None or entry.kind != EntryKind.CHARGE:
        raise StorageError("the release has no charge", job_id=job.id)
    return entry


def _require_charged(session: Session, job: Job, artifact: Artifact) -> None:
    if artifact.role == ArtifactRole.CURATOR:
        return  # made after the release, for those who hold the original
    if charge_entry(session, job).digests.get(artifact.name) != artifact.sha256:
        raise StorageError("no charge names this file", job_id=job.id)


def _key(services: Services, session: Session, job: Job, artifact: Artifact) -> bytes | None:
    """Make what opens the file; None where it is not sealed. NotFound once the dataset is erased."""
    if not artifact.encrypted:
        return None
    return vault.content_key(session, job.dataset_id, services.settings.master_key)


def _bytes(services: Services, artifact: Artifact, key: bytes | None) -> Iterator[bytes]:
    """Opened at the first chunk, so that a caller who has the file already opens nothing."""
    stored = services.store.get(artifact.object_key)
    context = seal_context(artifact.job_id, artifact.name)
    yield from stored if key is None else unseal(stored, key, context=context)


def _whole(services: Services, artifact: Artifact, key: bytes | None) -> bytes:
    if artifact.size_bytes > MAX_REPORT_BYTES:
        raise StorageError("the report is larger than a report may be", job_id=artifact.job_id)
    return b"".join(_bytes(services, artifact, key))


def _charge(session: Session, job: Job, *, exact: bool) -> Charge:
    """Say what the release cost, and what the account holds now. An exact time would tell how long it ran."""
    entry = charge_entry(session, job)
    statement = ledger.statement(session, job.account_id)
    spec = spec_of(job)
    bounded = spec.kind is not GuaranteeKind.NONE
    left = statement.remaining
    return Charge(
        account_id=job.account_id,
        filter="renyi" if statement.filter == Filter.RENYI else "basic",
        charged={name: int(amount) for name, amount in entry.amounts.items()},
        remaining={"epsilon": left.nano_epsilon, "delta": left.delta_atto},
        charged_epsilon=format_epsilon(spec.charged_nano_epsilon) if bounded else None,
        remaining_epsilon=format_epsilon(left.nano_epsilon),
        spent_epsilon=statement.charged.epsilon,
        spent_delta=statement.charged.delta,
        capacity_epsilon=statement.capacity.epsilon,
        capacity_delta=statement.capacity.delta,
        exposed=statement.exposed,
        charged_at=entry.created_at.isoformat() if exact else None,
    )


@dataclass(frozen=True)
class _Comparison:
    """The curators' part of a report: its status, and, when it is done, the file and what opens it."""

    status: Status
    artifact: Artifact | None = None
    key: bytes | None = field(default=None, repr=False)


def _comparison(services: Services, session: Session, job: Job) -> _Comparison:
    evaluation = repository.evaluation(session, job.id)
    if evaluation is None or evaluation.state in (EvaluationState.PENDING, EvaluationState.RUNNING):
        return _Comparison("pending")
    artifact = repository.artifact(session, job.id, CURATOR_REPORT)
    if evaluation.state == EvaluationState.FAILED or artifact is None:
        return _Comparison("failed")
    try:
        return _Comparison("done", artifact, _key(services, session, job, artifact))
    except NotFound:  # the dataset was erased, and with it what only its curators could read
        return _Comparison("erased")


def _curator_part(services: Services, comparison: _Comparison) -> CuratorPart | None:
    if comparison.artifact is None:
        return None
    return curator_of(_whole(services, comparison.artifact, comparison.key))
