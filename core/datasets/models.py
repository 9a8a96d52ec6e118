"""A dataset and its immutable versions. The uploaded parts of each version stand here, too."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, Integer, LargeBinary, String, UniqueConstraint, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, CreatedAt
from core.outbox.models import Topic
from core.work.models import Kind, Leased
from graphveil.models.datasets import RETRY_AFTER_SECONDS


class DatasetState(StrEnum):
    """REGISTERED -> UPLOADING -> VALIDATING -> READY | REJECTED; a proposed schema waits in REGISTERED.

    Callers see that as ``proposed``.
    """

    REGISTERED = "registered"
    UPLOADING = "uploading"
    VALIDATING = "validating"
    READY = "ready"
    REJECTED = "rejected"
    ARCHIVED = "archived"


class ShownState(StrEnum):
    """The states of datasets as their callers see them."""

    REGISTERED = "registered"
    PROPOSED = "proposed"
    UPLOADING = "uploading"
    VALIDATING = "validating"
    READY = "ready"
    REJECTED = "rejected"
    ARCHIVED = "archived"


class VersionState(StrEnum):
    """UPLOADING -> QUEUED -> VALIDATING -> READY | REJECTED | PROPOSED; ERASED when its content is gone.

    PROPOSED keeps the uploaded parts until a curator confirms a schema, which queues the version again.
    """

    UPLOADING = "uploading"
    QUEUED = "queued"
    VALIDATING = "validating"
    PROPOSED = "proposed"
    READY = "ready"
    REJECTED = "rejected"
    ERASED = "erased"


class ListState(StrEnum):
    """QUEUED -> CHECKING -> READY | REJECTED: an uploaded list of sensitive links."""

    QUEUED = "queued"
    CHECKING = "checking"
    READY = "ready"
    REJECTED = "rejected"


class Dataset(CreatedAt, Base):
    """A sensitive graph under one privacy policy and one budget account.

    ``in_parts``: declared when it was registered, and public: the edges of its versions are never in memory
    together.
    """

    __tablename__ = "datasets"
    __table_args__ = (UniqueConstraint("tenant", "name"),)

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    tenant: Mapped[str] = mapped_column(String(64))
    name: Mapped[str] = mapped_column(String(128))
    account_id: Mapped[str] = mapped_column(ForeignKey("budget_accounts.id", ondelete="RESTRICT"))
    state: Mapped[str] = mapped_column(String(16), default=DatasetState.REGISTERED)
    graph_schema: Mapped[dict[str, Any] | None] = mapped_column(JSONB)
    proposed_schema: Mapped[dict[str, Any] | None] = mapped_column(JSONB)
    policy: Mapped[dict[str, Any]] = mapped_column(JSONB)
    policy_version: Mapped[int] = mapped_column(Integer, default=1, server_default="1")
    public: Mapped[bool] = mapped_column(default=False)
    in_parts: Mapped[bool] = mapped_column(default=False, server_default="false")
    current_version_id: Mapped[str | None] = mapped_column(String(64), default=None)
    created_by: Mapped[str] = mapped_column(String(128))
    archived_at: Mapped[datetime | None] = mapped_column(default=None)

    @property
    def shown_state(self) -> str:
        """The state as its callers see it. It is ``proposed`` while a schema waits for its curator's word."""
        waits = self.state == DatasetState.REGISTERED and self.proposed_schema is not None
        return ShownState.PROPOSED if waits else self.state

    @property
    def retry_after_seconds(self) -> int | None:
        """Seconds until another look is worth while. None once nothing changes by itself."""
        return RETRY_AFTER_SECONDS.get(self.shown_state)


class DatasetPolicy(CreatedAt, Base):
    """Every policy that a dataset ever had, append-only: who set it, why, and which proposal allowed it."""

    __tablename__ = "dataset_policies"

    dataset_id: Mapped[str] = mapped_column(ForeignKey("datasets.id", ondelete="RESTRICT"), primary_key=True)
    version: Mapped[int] = mapped_column(Integer, primary_key=True)
    policy: Mapped[dict[str, Any]] = mapped_column(JSONB)
    set_by: Mapped[str] = mapped_column(String(128))
    reason: Mapped[str] = mapped_column(String(256))
    proposal_id: Mapped[str | None] = mapped_column(String(64), default=None)


class DatasetVersion(CreatedAt, Leased, Base):
    """One upload of a dataset: the work that the worker leases to validate it, then immutable.

    ``upload_token`` names the one upload that may be under way; it holds until ``upload_expires_at``, which
    moves on while bytes arrive. ``attempt_limit`` bounds ``attempt``, which only ever grows: each time the
    version is queued it is granted a few more attempts.
    ``derived`` names what of the schema and universe was read off the data, so that releases say so.
    ``node_counts``: the size of every public node universe, once the version is ready.
    Digest, size, counts of edges and fingerprint are the curator's only.
    """

    __tablename__ = "dataset_versions"
    __table_args__ = (
        UniqueConstraint("dataset_id", "number"),
        # Partial: the few versions that wait or are worked on, not all that ever were.
        Index(
            "ix_dataset_versions_work", "state", postgresql_where=text("state IN ('queued', 'validating')")
        ),
    )

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    dataset_id: Mapped[str] = mapped_column(ForeignKey("datasets.id", ondelete="RESTRICT"))
    number: Mapped[int] = mapped_column(Integer)
    state: Mapped[str] = mapped_column(String(16), default=VersionState.UPLOADING)
    upload_token: Mapped[str | None] = mapped_column(String(64), default=None)
    upload_expires_at: Mapped[datetime | None] = mapped_column(default=None)
    attempt_limit: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    graph_schema: Mapped[dict[str, Any] | None] = mapped_column(JSONB)
    derived: Mapped[list[str]] = mapped_column(JSONB, default=list, server_default="[]")
    node_counts: Mapped[dict[str, int] | None] = mapped_column(JSONB(none_as_null=True), default=None)
    fingerprint: Mapped[str | None] = mapped_column(String(128), default=None)
    object_key: Mapped[str | None] = mapped_column(String(256), default=None)
    ingest_report: Mapped[dict[str, Any] | None] = mapped_column(JSONB)
    findings: Mapped[list[dict[str, Any]] | None] = mapped_column(JSONB)
    finished_at: Mapped[datetime | None] = mapped_column(default=None)


NODES, EDGES = "nodes", "edges"
"""The parts of an upload."""


class DatasetPart(CreatedAt, Base):
    """One uploaded file of a version, encrypted in object storage.

    ``part``: ``edges`` or ``nodes``; of a dataset in parts ``edges-1-of-8`` and so on.

    A file that its sender put into the bucket is sealed by the worker that takes it up; until then it has no
    digest.
    """

    __tablename__ = "dataset_parts"

    version_id: Mapped[str] = mapped_column(ForeignKey("dataset_versions.id"), primary_key=True)
    part: Mapped[str] = mapped_column(String(16), primary_key=True)
    format: Mapped[str] = mapped_column(String(32))
    options: Mapped[dict[str, Any]] = mapped_column(JSONB)
    object_key: Mapped[str] = mapped_column(String(256))
    sha256: Mapped[str] = mapped_column(String(64))
    size_bytes: Mapped[int] = mapped_column(BigInteger)


class SensitiveList(CreatedAt, Leased, Base):
    """A list of sensitive links, checked against one version of its dataset; encrypted, the curators' only.

    Of a version one list at most is READY, and one at most is newer than it: waiting, being checked or
    rejected. ``object_key`` names the uploaded file until it is checked, then the checked list. Rows and
    objects are deleted as soon as they are replaced. ``counts``: links by relation.
    """

    __tablename__ = "sensitive_lists"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    dataset_id: Mapped[str] = mapped_column(ForeignKey("datasets.id", ondelete="RESTRICT"), index=True)
    version_id: Mapped[str] = mapped_column(ForeignKey("dataset_versions.id", ondelete="RESTRICT"))
    state: Mapped[str] = mapped_column(String(16), default=ListState.QUEUED)
    format: Mapped[str] = mapped_column(String(32))
    options: Mapped[dict[str, Any]] = mapped_column(JSONB)
    object_key: Mapped[str | None] = mapped_column(String(256))
    counts: Mapped[dict[str, int] | None] = mapped_column(JSONB(none_as_null=True), default=None)
    message: Mapped[str | None] = mapped_column(String(512), default=None)
    findings: Mapped[list[dict[str, Any]] | None] = mapped_column(JSONB(none_as_null=True), default=None)
    finished_at: Mapped[datetime | None] = mapped_column(default=None)


class DirectUpload(CreatedAt, Base):
    """A file on its way from its sender into the bucket; gone once a worker has sealed it, or it is given up.

    ``token`` is the version's ``upload_token``; ``storage_id`` is what the storage calls the upload. The row
    outlives its version, if that is given up first: it says what the storage still holds.
    """

    __tablename__ = "direct_uploads"

    token: Mapped[str] = mapped_column(String(64), primary_key=True)
    dataset_id: Mapped[str] = mapped_column(String(64))
    version_id: Mapped[str] = mapped_column(String(64))
    storage_id: Mapped[str] = mapped_column(String(2048))
    part: Mapped[str] = mapped_column(String(16))
    format: Mapped[str] = mapped_column(String(32))
    options: Mapped[dict[str, Any]] = mapped_column(JSONB)
    size_bytes: Mapped[int] = mapped_column(BigInteger)


class ContentFingerprint(CreatedAt, Base):
    """Which account a content belongs to for good, whatever name it is uploaded under."""

    __tablename__ = "content_fingerprints"

    tenant: Mapped[str] = mapped_column(String(64), primary_key=True)
    fingerprint: Mapped[str] = mapped_column(String(128), primary_key=True)
    account_id: Mapped[str] = mapped_column(ForeignKey("budget_accounts.id", ondelete="RESTRICT"))


class DatasetKey(CreatedAt, Base):
    """A dataset's content key, wrapped by the master key. Destroying the row erases the content for good.

    Keep this table out of backups: a restored key would undo a deletion.
    """

    __tablename__ = "dataset_keys"

    dataset_id: Mapped[str] = mapped_column(ForeignKey("datasets.id"), primary_key=True)
    wrapped_key: Mapped[bytes] = mapped_column(LargeBinary)


INGESTS = Kind(
    DatasetVersion,
    (VersionState.QUEUED, VersionState.VALIDATING),
    VersionState.VALIDATING,
    Topic.INGEST,
    oldest_first="id",
)
LINK_CHECKS = Kind(
    SensitiveList, (ListState.QUEUED, ListState.CHECKING), ListState.CHECKING, Topic.LINKS, oldest_first="id"
)
