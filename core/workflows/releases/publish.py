"""A job in the hands of a worker. It is claimed, metered, and published once or not at all.

Stage the bytes; in ONE transaction write the charge, which names every digest, with the artifacts; copy the
bytes to where they can be downloaded. Up to the charge nothing can be downloaded; from it on the last step is
repeated until it succeeds, by whoever comes along, and never charges again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import and_, func, or_
from sqlalchemy.exc import DataError, IntegrityError
from sqlalchemy.orm import Session

from core import failpoints
from core.datasets import repository as datasets
from core.datasets import vault
from core.datasets.models import DatasetVersion
from core.errors import InvalidInput, LeaseLost, NotFound, PrivacyViolation, StorageError
from core.jobs import events, repository
from core.jobs import service as jobs
from core.jobs import shard_repository as shards
from core.jobs.models import (
    RELEASES,
    Artifact,
    ArtifactRole,
    Evaluation,
    EvaluationState,
    Job,
    JobReason,
    JobState,
    Stop,
)
from core.ledger import service as ledger
from core.methods.base import Accelerator
from core.outbox import service as outbox
from core.outbox.models import Topic
from core.privacy.accounting.guarantee import MARK
from core.privacy.accounting.meter import TranscriptEntry
from core.privacy.accounting.plan import DECLARED, GuaranteeKind
from core.publishing.spec import JobSpec, Plain
from core.storage.folders import chunks_of
from core.storage.sealed import seal
from core.work import leases
from core.work import service as leased
from core.workers import repository as workers
from core.workflows.common.context import Services
from core.workflows.common.specs import spec_of
from core.workflows.datasets.derivations import declared_schema
from core.workflows.datasets.ingest import stored_graph
from core.workflows.jobs import abilities, accelerators
from core.workflows.releases import elsewhere, settle, ticks
from core.workflows.releases.bundles import ReleaseFile
from core.workflows.webhooks import announcements


@dataclass(frozen=True)
class JobWork:
    """A job under one attempt. ``attempt`` is the fencing token of everything that is done for it.

    ``task``: what its child is given, as it is stored: a child refuses what another version added. ``gpu``:
    it gains from a GPU, and its worker holds one. ``fitted_attempt``: of a job whose shards are to be joined,
    the attempt that fitted its model. ``protected_type``: the node type that its version declares protected,
    if any; public. ``stored``: where the graph lies, and the dataset's key; None where what is read is not
    that, or is to be looked for again: whoever does is told why.
    """

    job_id: str
    attempt: int
    worker: str
    dataset_id: str
    version_id: str
    spec: JobSpec = field(repr=False)
    task: dict[str, Any] = field(repr=False)
    plan_digest: str
    traceparent: str | None = None
    gpu: bool = False
    fitted_attempt: int | None = None
    protected_type: str | None = None
    stored: tuple[str, bytes] | None = field(default=None, repr=False)

    @property
    def child(self) -> str:
        """The kind of child process that does it."""
        return self.spec.release.child if self.fitted_attempt is None else "join"

    @property
    def staging(self) -> str:
        """Where the bytes of this attempt wait for their charge."""
        return staging_prefix(self.job_id, self.attempt)


def staged_of(job_id: str) -> str:
    """Name the prefix of the job's staged objects. Below it waits everything of the job that is not published
    yet."""
    return f"staging/{job_id}"


def staging_prefix(job_id: str, attempt: int) -> str:
    """Name the object prefix of one attempt's staged bytes."""
    return f"{staged_of(job_id)}/{attempt}"


def release_key(job_id: str, name: str) -> str:
    """Name the object key of a published file."""
    return f"releases/{job_id}/{name}"


def seal_context(job_id: str, name: str) -> str:
    """Name what a sealed file is bound to. So no two can be exchanged."""
    return f"artifact/{job_id}/{name}"


def begin_job(services: Services, job_id: str, worker: str) -> JobWork | None:
    """Begin the job under this worker's lease. Its reservation no longer expires; None if it is not free.

    A stream's snapshot is not free while one before it has not ended. A job that needs a GPU or a method is
    not free to a worker without it.
    """
    with services.db.transaction() as session:
        if not ticks.may_run(session, job_id):
            return None
        fit = and_(or_(~Job.gpu_only, workers.holds_a_gpu(worker)), abilities.may_run())
        most = services.settings.max_attempts + func.coalesce(Job.fitted_attempt, 0)  # settle.attempts
        job = leased.begin(session, services.settings, RELEASES, job_id, worker, most, fit)
        if job is None:
            return None
        holds = accelerators.note_worker(session, services.settings, job, worker)
        # A running job may charge at any time: nothing but its own end gives its budget back.
        ledger.keep(session, job.reservation_id)
        jobs.started(session, job)
        version = datasets.existing_version(session, job.version_id)  # what follows finds it loaded
        spec, stored = spec_of(job), None
        if isinstance(spec.release, Plain):
            # It fails where the graph is fetched, under the lease, which ends the job by its rules.
            with suppress(NotFound, StorageError):
                stored = stored_graph(session, services.settings, job.dataset_id, job.version_id)
        return JobWork(
            job_id=job.id,
            attempt=job.attempt,
            worker=worker,
            dataset_id=job.dataset_id,
            version_id=job.version_id,
            spec=spec,
            task={"release": job.spec["release"], "plan": job.plan},
            plan_digest=job.plan_digest,
            traceparent=job.traceparent,
            gpu=holds and job.accelerator != Accelerator.NONE,
            fitted_attempt=job.fitted_attempt,
            protected_type=_protected_type(session, version),
            stored=stored,
        )


def asked_to_stop(session: Session, job_id: str) -> bool:
    """Tell whether a caller has requested the job to stop."""
    job = repository.by_id(session, job_id)
    return job is not None and job.state == JobState.CANCELLING


def record_opening(services: Services, work: JobWork) -> None:
    """Record that the graph is about to be opened. Only when that is durable may it be. Without guarantee it
    exposes the account.

    Raises LeaseLost when the lease has passed on, ran out, or the job was asked to stop.
    """
    with services.db.transaction() as session:
        settle.opened(session, _running(session, work), actor=work.worker)


def record_read(services: Services, work: JobWork, entry: dict[str, Any]) -> None:
    """Record the read. Only when the entry is durable may the operation draw.

    Raises LeaseLost as :func:`record_opening` does: nothing may be read. PrivacyViolation for an entry that
    is none, not the attempt's next one, or one too many.
    """
    try:
        read = TranscriptEntry.from_json(entry)
    except InvalidInput as error:
        raise PrivacyViolation("the entry is no line of a transcript") from error
    if read.sequence >= services.settings.max_transcript_entries:
        raise PrivacyViolation("a transcript has a limit, and this one passed it")
    try:
        with services.db.transaction() as session:
            job = _running(session, work)
            # A gap or a repeat would leave a draw of which the transcript knows nothing.
            if read.sequence != repository.next_read(session, job.id, attempt=work.attempt):
                raise PrivacyViolation("the entry is not the next one of its transcript")
            repository.add_read(
                session, job.id, attempt=work.attempt, sequence=read.sequence, entry=read.to_json()
            )
            # With the entry: no read stands in the transcript of a job that counts as unopened.
            settle.opened(session, job, actor=work.worker)
    except (IntegrityError, DataError) as error:
        # The child's doing, not the database's: its budget must not come back as if a host had died.
        raise PrivacyViolation("the entry is no line of a transcript, or came twice") from error


def _running(session: Session, work: JobWork) -> Job:
    """Lock the job; LeaseLost unless it runs under this attempt's lease and was not asked to stop."""
    job = leases.hold(session, RELEASES, work.job_id, attempt=work.attempt)
    # A lease that ran out is this attempt's still, but another may take the job at any moment.
    if job.state != JobState.RUNNING or not repository.lease_live(session, job):
        raise LeaseLost("the job no longer runs under this lease")
    return job


def record_events(services: Services, work: JobWork, steps: Sequence[events.Step]) -> None:
    """Record how far the job came, which callers see. Raises LeaseLost, InvalidInput for a malformed
    step."""
    with services.db.transaction() as session:
        _record_events(session, services, work, steps)


def _record_events(session: Session, services: Services, work: JobWork, steps: Sequence[events.Step]) -> None:
    leases.hold(session, RELEASES, work.job_id, attempt=work.attempt)
    events.record(session, work.job_id, steps, limit=services.settings.max_job_events)


def transcript(
    services: Services, work: JobWork, steps: Sequence[events.Step] = ()
) -> tuple[TranscriptEntry, ...]:
    """Load what was recorded under this attempt. It is in order, and the truth about what was read.

    Of a further sample, and of shards that are joined: what was recorded when their model was fitted.
    ``steps``: the last that the child took, recorded with it; LeaseLost then.
    """
    source_id = work.spec.release.source_id
    with services.db.transaction() as session:
        if steps:
            _record_events(session, services, work, steps)
        if source_id is None:
            # Later attempts draw shards only: what was read is in the transcript of the fit.
            entries = repository.reads(session, work.job_id, attempt=work.fitted_attempt or work.attempt)
        else:
            entries = repository.published_reads(session, source_id)
    return tuple(TranscriptEntry.from_json(entry) for entry in entries)


def _protected_type(session: Session, version: DatasetVersion) -> str | None:
    found = declared_schema(session, version).protected_type
    return None if found is None else found.name


def stage(
    services: Services, work: JobWork, files: Sequence[ReleaseFile], stored: Mapping[str, str] | None = None
) -> None:
    """Stage the bytes in the object store, private ones sealed. NotFound if the dataset is erased.

    ``stored``: where an object lies already that has a file's bytes, by its digest. The key is the attempt's
    where it has one: whoever erases the dataset cancels the job too, so that it is charged for nothing.
    """
    key = work.stored[1] if work.stored is not None else _content_key(services, work)
    for file in files:
        target = f"{work.staging}/{file.name}"
        if file.role is ArtifactRole.PRIVATE:
            context = seal_context(work.job_id, file.name)
            services.store.put(target, seal(chunks_of(file.path), key, context=context))
        # A part that was drawn is in the store already, and need not pass through this host.
        elif stored is not None and file.sha256 in stored:
            services.store.copy(stored[file.sha256], target)
        else:
            services.store.put_file(target, file.path)


def _content_key(services: Services, work: JobWork) -> bytes:
    with services.db.transaction() as session:
        return vault.content_key(session, work.dataset_id, services.settings.master_key)


def commit_release(services: Services, work: JobWork, files: Sequence[ReleaseFile]) -> bool:
    """Commit the charge, the artifacts and the state. The state is ``publishing``, and all stand together;
    False if a cancel came first.

    Raises LeaseLost. After any other error the outcome is unknown to the caller: the job's state tells it.
    """
    digests = {file.name: file.sha256 for file in files}
    with services.db.transaction() as session:
        job = leases.hold(session, RELEASES, work.job_id, attempt=work.attempt)
        if job.state == JobState.CANCELLING:
            return False
        # From here on no cancel comes through: charge, files and state stand together or not at all.
        jobs.committed(job)
        source = spec_of(job).release.source_id
        with announcements.spending(session, services.settings, job):
            unread = work.spec.kind is GuaranteeKind.UNREAD
            ledger.charge(
                session,
                job.reservation_id,
                digests=digests,
                actor=work.worker,
                free=source is not None or unread,
                reason=MARK if unread else "",
            )
        if source is not None:
            ledger.derive(
                session,
                job.account_id,
                job_id=job.id,
                digests=digests,
                actor=work.worker,
                reason=f"further sample of job {source}",
            )
        if work.spec.kind is GuaranteeKind.NONE:
            # Its opening has exposed the account; a further sample opens nothing. Here the files are named.
            ledger.expose(
                session,
                job.account_id,
                job_id=job.id,
                digests=digests,
                actor=work.worker,
                reason="unprotected release",
            )
        session.add_all(_artifact(work, file) for file in files)
        shards.forget(session, job.id)
        session.flush()
        failpoints.reach("before_charge_commit")
        return True


def copy_release(services: Services, job_id: str) -> Mapping[str, int]:
    """Every charged byte lies where it can be downloaded. Safe to repeat, and worth it on StorageError.

    Returned are the snapshots of tables that the engine's catalogue has of it, by name.
    """
    with services.db.transaction() as session:
        job = repository.existing(session, job_id)
        found = repository.artifacts(session, job_id)
        files = [elsewhere.Charged(file.name, file.object_key, file.sha256) for file in found]
        table = elsewhere.table_of(spec_of(job).release)
    if job.state != JobState.PUBLISHING:
        return {}
    return copy_files(services, job_id, job.attempt, files, table)


def copy_files(
    services: Services, job_id: str, attempt: int, files: Sequence[elsewhere.Charged], table: str | None
) -> Mapping[str, int]:
    """Copy what the attempt has staged and charged. It does as :func:`copy_release`, without a look at the
    job."""
    store, settings = services.store, services.settings
    for file in files:
        staged = f"{staging_prefix(job_id, attempt)}/{file.name}"
        if elsewhere.is_address(file.target):
            elsewhere.put(store, staged, file, settings)
        # Copied again on every call: a copy that was cut short is mended by the next.
        elif store.exists(staged):
            store.copy(staged, file.target)
        # Staging is deleted once all is published: what is gone there was copied.
        elif store.exists(file.target):
            continue
        else:
            raise StorageError("a charged file is in neither place", job_id=job_id)
        failpoints.reach("while_copying")
    return elsewhere.finish([file for file in files if elsewhere.is_address(file.target)], table, settings)


def charged(work: JobWork, file: ReleaseFile) -> elsewhere.Charged:
    """Say where a file of the release goes that the charge names."""
    address = elsewhere.address_of(work.spec.release, file.name)
    return elsewhere.Charged(file.name, address or release_key(work.job_id, file.name), file.sha256)


def finish_release(services: Services, job_id: str, tables: Mapping[str, int]) -> None:
    """Publish the job and queue its evaluation. It happens once only, however often it is called.

    ``tables``: as :func:`copy_release` returns them.
    """
    with services.db.transaction() as session:
        job = repository.locked(session, job_id)
        if job is None or job.state != JobState.PUBLISHING:
            return
        job.tables = dict(tables) or None
        jobs.published(session, job)
        ticks.ended(session, job)
        announcements.job_came_to(session, job)
        if is_compared(job):
            session.add(Evaluation(id=job_id, state=EvaluationState.PENDING))
            session.flush()
            outbox.ring(session, Topic.EVALUATE, job_id)
    # After the commit: until then a repeated call copies from here.
    services.store.delete_prefix(staged_of(job_id))


def is_compared(job: Job) -> bool:
    """Tell whether the job's release is compared. It is with its original: not where edges stay in parts, and
    not where nothing of the original was read."""
    return job.shards is None and job.method != DECLARED


def fail_job(services: Services, work: JobWork, reason: JobReason) -> None:
    """End a job that failed by its own doing. It is cancelled, if that was requested first. Raises
    LeaseLost."""
    with services.db.transaction() as session:
        job = leases.hold(session, RELEASES, work.job_id, attempt=work.attempt)
        settle.fail(session, services.settings, job, reason, actor=work.worker)


def cancel_held(services: Services, work: JobWork) -> None:
    """End a job that was requested to stop. Raises LeaseLost."""
    with services.db.transaction() as session:
        job = leases.hold(session, RELEASES, work.job_id, attempt=work.attempt)
        settle.cancel(session, services.settings, job, actor=work.worker)


def hand_back(services: Services, work: JobWork, stop: Stop) -> None:
    """Infrastructure stopped the attempt: another worker takes the job. Raises LeaseLost.

    A job whose charge turns out to stand is left as it is: the reaper publishes it.
    """
    with services.db.transaction() as session:
        job = leases.hold(session, RELEASES, work.job_id, attempt=work.attempt)
        # Charged: nothing can be given back, and the reaper publishes it.
        if job.state == JobState.PUBLISHING:
            return
        settle.hand_back(session, services.settings, job, stop, actor=work.worker)


def _artifact(work: JobWork, file: ReleaseFile) -> Artifact:
    return Artifact(
        job_id=work.job_id,
        name=file.name,
        role=file.role,
        media_type=file.media_type,
        size_bytes=file.size_bytes,
        sha256=file.sha256,
        object_key=charged(work, file).target,
        encrypted=file.role is ArtifactRole.PRIVATE,
    )
