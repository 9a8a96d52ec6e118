"""Jobs and what belongs to them."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ForeignKey,
    Index,
    Integer,
    String,
    UniqueConstraint,
    false,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, CreatedAt
from core.outbox.models import Topic
from core.work.models import Kind, Leased


class JobState(StrEnum):
    """See :mod:`core.jobs.states` for the transitions."""

    AWAITING_APPROVAL = "awaiting_approval"
    QUEUED = "queued"
    RUNNING = "running"
    PUBLISHING = "publishing"
    PUBLISHED = "published"
    FAILED = "failed"
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"
    REJECTED = "rejected"


class JobReason(StrEnum):
    """Why a job ended as it did. Enumerated: free text could carry data."""

    GENERATOR_FAILED = "generator_failed"
    MEMORY_EXCEEDED = "memory_exceeded"
    TIME_EXCEEDED = "time_exceeded"
    PRIVACY_VIOLATION = "privacy_violation"
    INVALID_RELEASE = "invalid_release"
    INVALID_SNAPSHOT = "invalid_snapshot"
    WORKER_LOST = "worker_lost"
    BUDGET_EXHAUSTED = "budget_exhausted"
    RESERVATION_EXPIRED = "reservation_expired"
    ACCOUNT_EXPOSED = "account_exposed"
    ACCELERATOR_MISSING = "accelerator_missing"
    METHOD_MISSING = "method_missing"
    DATASET_ARCHIVED = "dataset_archived"
    LINKS_NOT_NAMED = "links_not_named"
    TABLE_REFUSED = "table_refused"
    DRAWING_LOST = "drawing_lost"
    CANCELLED_BY_CALLER = "cancelled_by_caller"
    REJECTED_BY_CURATOR = "rejected_by_curator"


class Stop(StrEnum):
    """Why infrastructure stopped an attempt, in the ledger's words. A child's own end is none of these.

    WORKER_LOST: its lease ran out, or its own machine failed it, which what is in a graph could bring about.
    OUTAGE: the database or the object storage did not answer a worker that lives on to say so. DRAINED: the
    operator stopped the worker.
    """

    WORKER_LOST = "worker_lost"
    OUTAGE = "outage"
    DRAINED = "drained"


UNGUARDED = "spec ->> 'kind' = 'none' AND first_read_at IS NOT NULL AND sample_of IS NULL"
"""Of a job: its graph was opened without a guarantee."""

OPEN_JOB = "state IN ('awaiting_approval', 'queued', 'running', 'publishing', 'cancelling')"
"""Of a job: it has not ended."""

LEASED_JOB = "state IN ('running', 'publishing', 'cancelling')"
"""Of a job: a worker holds it."""

PAID_AND_QUEUED = "state = 'queued' AND sample_of IS NULL"
SAMPLE_AND_QUEUED = "state = 'queued' AND sample_of IS NOT NULL"
GPU_AND_QUEUED = "state = 'queued' AND gpu_only"
"""Of a job: it waits for a worker. Written out, as the indexes are, so that whatever plan uses them."""


class Job(CreatedAt, Leased, Base):
    """One request for a release.

    ``first_read_at`` is when, under the present reservation, the graph was opened or a metered read recorded.
    ``requested_by`` is the key, ``person`` whose it is. ``team`` and ``project`` name the quotas it draws on.
    ``policy_version``: of the dataset's policy that admitted it. ``sample_of``: the published job whose
    fitted model is drawn from again. ``decided_*``: who approved or rejected it (the key, and
    whose it is), when, and why. ``content_hash``:
    of what a release is made from; None where no two jobs can ask for the same (samples, snapshots).
    ``traceparent``: the span of the request, where it was traced. ``accelerator``: what a GPU is to it
    (:class:`core.methods.base.Accelerator`); ``gpu_only``: only a worker that holds one may claim it now.
    ``fitted_attempt``: the attempt that fitted the model whose shards are drawn, or were; ``shards``: how
    many those are. None for a job that is drawn as a whole, and before its model is there. ``tables``: those
    that the engine's catalogue has of its release, with the number of the snapshot; None without any.
    """

    __tablename__ = "jobs"
    __table_args__ = (
        UniqueConstraint("idempotency_key", "tenant"),
        Index("ix_jobs_state_lease", "state", "lease_expires_at"),
        Index("ix_jobs_tenant_created", "tenant", "created_at"),
        Index("ix_jobs_started", "started_at", postgresql_where=text("started_at IS NOT NULL")),
        Index("ix_jobs_open", "tenant", "requested_by", postgresql_where=text(OPEN_JOB)),
        Index("ix_jobs_leased", "tenant", postgresql_where=text(LEASED_JOB)),
        Index("ix_jobs_paid_queued", "tenant", "created_at", postgresql_where=text(PAID_AND_QUEUED)),
        Index("ix_jobs_samples_queued", "tenant", "created_at", postgresql_where=text(SAMPLE_AND_QUEUED)),
        Index("ix_jobs_gpu_queued", "tenant", "created_at", postgresql_where=text(GPU_AND_QUEUED)),
        Index(
            "ix_jobs_tenant_started", "tenant", "started_at", postgresql_where=text("started_at IS NOT NULL")
        ),
        Index("ix_jobs_finished", "finished_at", postgresql_where=text("finished_at IS NOT NULL")),
        Index("ix_jobs_unguarded", "id", postgresql_where=text(UNGUARDED)),
        Index(
            "ix_jobs_content",
            "dataset_id",
            "content_hash",
            postgresql_where=text("content_hash IS NOT NULL"),
        ),
    )

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    tenant: Mapped[str] = mapped_column(String(64))
    dataset_id: Mapped[str] = mapped_column(ForeignKey("datasets.id", ondelete="RESTRICT"), index=True)
    version_id: Mapped[str] = mapped_column(ForeignKey("dataset_versions.id", ondelete="RESTRICT"))
    account_id: Mapped[str] = mapped_column(ForeignKey("budget_accounts.id", ondelete="RESTRICT"))
    reservation_id: Mapped[str] = mapped_column(String(64))
    method: Mapped[str] = mapped_column(String(64))
    spec: Mapped[dict[str, Any]] = mapped_column(JSONB)
    plan: Mapped[dict[str, Any]] = mapped_column(JSONB, deferred=True)  # megabytes for a long stream
    plan_digest: Mapped[str] = mapped_column(String(64))
    content_hash: Mapped[str | None] = mapped_column(String(64), default=None)
    state: Mapped[str] = mapped_column(String(32))
    reason: Mapped[str | None] = mapped_column(String(32), default=None)
    idempotency_key: Mapped[str] = mapped_column(String(255))
    payload_hash: Mapped[str] = mapped_column(String(64))
    requested_by: Mapped[str] = mapped_column(String(128))
    person: Mapped[str] = mapped_column(String(128))
    team: Mapped[str | None] = mapped_column(String(64), default=None)
    project: Mapped[str | None] = mapped_column(String(64), default=None)
    policy_version: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    sample_of: Mapped[str | None] = mapped_column(ForeignKey("jobs.id", ondelete="RESTRICT"), default=None)
    traceparent: Mapped[str | None] = mapped_column(String(55), default=None)
    accelerator: Mapped[str] = mapped_column(String(8), default="none", server_default="none")
    gpu_only: Mapped[bool] = mapped_column(default=False, server_default=false())
    decided_by: Mapped[str | None] = mapped_column(String(128), default=None)
    decided_person: Mapped[str | None] = mapped_column(String(128), default=None)
    decided_at: Mapped[datetime | None] = mapped_column(default=None)
    decision_reason: Mapped[str | None] = mapped_column(String(256), default=None)
    fitted_attempt: Mapped[int | None] = mapped_column(Integer, default=None)
    shards: Mapped[int | None] = mapped_column(Integer, default=None)
    tables: Mapped[dict[str, int] | None] = mapped_column(JSONB(none_as_null=True), default=None)
    first_read_at: Mapped[datetime | None] = mapped_column(default=None)
    cancel_requested_at: Mapped[datetime | None] = mapped_column(default=None)
    started_at: Mapped[datetime | None] = mapped_column(default=None)
    finished_at: Mapped[datetime | None] = mapped_column(default=None)

    @property
    def reserved(self) -> int:
        """The amount that the job reserved. It is over all dimensions of its account; 0 where it holds
        nothing."""
        return sum(self.spec["amounts"].values())


class ShardState(StrEnum):
    """WAITING -> DRAWING -> DRAWN; a lost lease, or a part that is gone, leads back to WAITING."""

    WAITING = "waiting"
    DRAWING = "drawing"
    DRAWN = "drawn"


class Shard(CreatedAt, Leased, Base):
    """One part of a release's edges that is drawn by itself: leased work of its own. Gone with its job's end.

    ``number`` counts from 0 to the job's ``shards``. ``attempt_limit`` bounds ``attempt``, which only ever
    grows. What is told of the part is written before its bytes are stored, and stays: drawn again it has the
    same digest.
    """

    __tablename__ = "shards"
    __table_args__ = (
        UniqueConstraint("job_id", "number"),
        Index("ix_shards_state_lease", "state", "lease_expires_at"),
    )

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="RESTRICT"))
    number: Mapped[int] = mapped_column(Integer)
    state: Mapped[str] = mapped_column(String(16), default=ShardState.WAITING)
    attempt_limit: Mapped[int] = mapped_column(Integer)
    sha256: Mapped[str | None] = mapped_column(String(64), default=None)
    size_bytes: Mapped[int | None] = mapped_column(BigInteger, default=None)
    rows: Mapped[int | None] = mapped_column(BigInteger, default=None)
    first_source: Mapped[int | None] = mapped_column(BigInteger, default=None)
    last_source: Mapped[int | None] = mapped_column(BigInteger, default=None)


class JobEvent(CreatedAt, Base):
    """A step forward that a caller may see: a stage with its step counts, or a state that the job came to.

    States are recorded by a trigger, in the transaction in which the job's state changes.
    """

    __tablename__ = "job_events"
    __table_args__ = (CheckConstraint("(stage IS NULL) <> (state IS NULL)", name="stage_or_state"),)

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    sequence: Mapped[int] = mapped_column(Integer, primary_key=True)
    stage: Mapped[str | None] = mapped_column(String(64), default=None)
    done: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    total: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    state: Mapped[str | None] = mapped_column(String(32), default=None)


class MeteredRead(CreatedAt, Base):
    """One line of a job's privacy transcript, written before the data was touched."""

    __tablename__ = "metered_reads"

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    attempt: Mapped[int] = mapped_column(Integer, primary_key=True)
    sequence: Mapped[int] = mapped_column(Integer, primary_key=True)
    entry: Mapped[dict[str, Any]] = mapped_column(JSONB)


class ArtifactRole(StrEnum):
    """ARTIFACT and REPORT are released; CURATOR and PRIVATE are encrypted and never leave the curators."""

    ARTIFACT = "artifact"
    REPORT = "report"
    CURATOR = "curator"
    PRIVATE = "private"


class Artifact(CreatedAt, Base):
    """One file of a release, named by its digest in the charge that paid for it."""

    __tablename__ = "artifacts"

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="RESTRICT"), primary_key=True)
    name: Mapped[str] = mapped_column(String(128), primary_key=True)
    role: Mapped[str] = mapped_column(String(16))
    media_type: Mapped[str] = mapped_column(String(128))
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str] = mapped_column(String(64))
    object_key: Mapped[str] = mapped_column(String(256))
    encrypted: Mapped[bool] = mapped_column(default=False)


class EvaluationState(StrEnum):
    """PENDING -> RUNNING -> DONE | FAILED; a lost lease leads back to PENDING."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class Evaluation(CreatedAt, Leased, Base):
    """The comparison of a published release with its original: leased work of its own, never fails a release.

    ``id`` is the job's. ``state`` is one of pending, running, done, failed. ``stage``, ``done`` and ``total``
    say how far the present attempt is. Once it is over, ``lease_expires_at`` says from when on the files of
    its lost attempts are looked for, until they were.
    """

    __tablename__ = "evaluations"
    __table_args__ = (Index("ix_evaluations_state_lease", "state", "lease_expires_at"),)

    id: Mapped[str] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    state: Mapped[str] = mapped_column(String(16))
    stage: Mapped[str | None] = mapped_column(String(64), default=None)
    done: Mapped[int] = mapped_column(BigInteger, default=0)
    total: Mapped[int] = mapped_column(BigInteger, default=0)
    finished_at: Mapped[datetime | None] = mapped_column(default=None)


class Turn(Base):
    """When a tenant was last served at a desk other than the jobs': see :mod:`core.jobs.turns`."""

    __tablename__ = "turns"

    desk: Mapped[str] = mapped_column(String(16), primary_key=True)
    tenant: Mapped[str] = mapped_column(String(64), primary_key=True)
    served_at: Mapped[datetime]


RELEASES = Kind(Job, (JobState.QUEUED,), JobState.RUNNING, Topic.RUN)
SHARDS = Kind(Shard, (ShardState.WAITING,), ShardState.DRAWING, Topic.SHARD, "id")
EVALUATIONS = Kind(Evaluation, (EvaluationState.PENDING,), EvaluationState.RUNNING, Topic.EVALUATE)
