"""The first schema: keys, datasets, jobs, outbox; and the tables that only ever grow."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0001"
down_revision = "0000"
branch_labels = None
depends_on = None

APPEND_ONLY = ("metered_reads", "dataset_policies")

# A job's change of state is an event of the same transaction, whoever changes it. Whoever adds an event holds
# the job's row: numbers are given in the order of the commits, without gaps.
RECORD_STATE = """
CREATE FUNCTION record_job_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO job_events (job_id, sequence, state)
    SELECT NEW.id, coalesce(max(sequence), 0) + 1, NEW.state FROM job_events WHERE job_id = NEW.id;
    RETURN NULL;
END
$$
"""
STATE_TRIGGERS = (
    "CREATE TRIGGER jobs_first_state AFTER INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION record_job_state()",
    "CREATE TRIGGER jobs_next_state AFTER UPDATE OF state ON jobs FOR EACH ROW "
    "WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION record_job_state()",
)


def upgrade() -> None:
    """Every table, then the triggers."""
    _identity()
    _datasets()
    _dataset_content()
    _jobs()
    _job_records()
    _releases()
    _streams()
    _audits()
    _proposals()
    _webhooks()
    _checks()
    _workers()
    _outbox()
    _append_only()


def downgrade() -> None:
    """Refused: below this revision there would be no ledger, and a ledger is never dropped."""
    raise RuntimeError("the first schema cannot be taken back; a ledger outlives its service")


def _time(name: str) -> sa.Column:
    return sa.Column(name, sa.DateTime(timezone=True))


def _created_at() -> sa.Column:
    return sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False)


def _leased() -> list[sa.Column]:
    return [
        sa.Column("attempt", sa.Integer(), server_default="0", nullable=False),
        _time("lease_expires_at"),
        sa.Column("leased_by", sa.String(128)),
    ]


def _text(name: str, length: int, *, nullable: bool = False, primary_key: bool = False) -> sa.Column:
    return sa.Column(name, sa.String(length), nullable=nullable, primary_key=primary_key)


def _reference(name: str, target: str, *, restrict: bool = False, primary_key: bool = False) -> sa.Column:
    key = sa.ForeignKey(f"{target}.id", ondelete="RESTRICT" if restrict else None)
    return sa.Column(name, sa.String(64), key, nullable=False, primary_key=primary_key)


def _json(name: str, *, nullable: bool = False) -> sa.Column:
    return sa.Column(name, JSONB(), nullable=nullable)


def _identity() -> None:
    op.create_table(
        "api_keys",
        _text("id", 64, primary_key=True),
        sa.Column("tenant", sa.String(64), nullable=False, index=True),
        _text("name", 128),
        _text("person", 128),
        _text("team", 64, nullable=True),
        sa.Column("roles", sa.ARRAY(sa.String(16)), nullable=False),
        sa.Column("key_hash", sa.LargeBinary(32), nullable=False, unique=True),
        _time("expires_at"),
        _time("revoked_at"),
        _text("created_by", 128, nullable=True),
        _created_at(),
    )


def _datasets() -> None:
    op.create_table(
        "datasets",
        _text("id", 64, primary_key=True),
        _text("tenant", 64),
        _text("name", 128),
        _reference("account_id", "budget_accounts", restrict=True),
        _text("state", 16),
        _json("graph_schema", nullable=True),
        _json("proposed_schema", nullable=True),
        _json("policy"),
        sa.Column("policy_version", sa.Integer(), server_default="1", nullable=False),
        sa.Column("public", sa.Boolean(), nullable=False),
        _text("current_version_id", 64, nullable=True),
        _text("created_by", 128),
        _time("archived_at"),
        _created_at(),
        sa.UniqueConstraint("tenant", "name"),
    )
    op.create_table(
        "dataset_policies",
        _reference("dataset_id", "datasets", restrict=True, primary_key=True),
        sa.Column("version", sa.Integer(), primary_key=True, autoincrement=False),
        _json("policy"),
        _text("set_by", 128),
        _text("reason", 256),
        _text("proposal_id", 64, nullable=True),
        _created_at(),
    )
    op.create_table(
        "dataset_keys",
        _reference("dataset_id", "datasets", primary_key=True),
        sa.Column("wrapped_key", sa.LargeBinary(), nullable=False),
        _created_at(),
    )
    op.create_table(
        "content_fingerprints",
        _text("tenant", 64, primary_key=True),
        _text("fingerprint", 128, primary_key=True),
        _reference("account_id", "budget_accounts", restrict=True),
        _created_at(),
    )


def _dataset_content() -> None:
    op.create_table(
        "dataset_versions",
        _text("id", 64, primary_key=True),
        _reference("dataset_id", "datasets", restrict=True),
        sa.Column("number", sa.Integer(), nullable=False),
        _text("state", 16),
        _text("upload_token", 64, nullable=True),
        _time("upload_expires_at"),
        sa.Column("attempt_limit", sa.Integer(), server_default="0", nullable=False),
        _json("graph_schema", nullable=True),
        sa.Column("derived", JSONB(), server_default="[]", nullable=False),
        _json("node_counts", nullable=True),
        _text("fingerprint", 128, nullable=True),
        _text("object_key", 256, nullable=True),
        _json("ingest_report", nullable=True),
        _json("findings", nullable=True),
        _time("finished_at"),
        _created_at(),
        *_leased(),
        sa.UniqueConstraint("dataset_id", "number"),
    )
    op.create_table(
        "dataset_parts",
        _reference("version_id", "dataset_versions", primary_key=True),
        _text("part", 16, primary_key=True),
        _text("format", 32),
        _json("options"),
        _text("object_key", 256),
        _text("sha256", 64),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        _created_at(),
    )
    op.create_table(
        "direct_uploads",
        _text("token", 64, primary_key=True),
        _text("dataset_id", 64),
        _text("version_id", 64),
        _text("storage_id", 2048),
        _text("part", 16),
        _text("format", 32),
        _json("options"),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        _created_at(),
    )


def _jobs() -> None:
    op.create_table(
        "jobs",
        _text("id", 64, primary_key=True),
        _text("tenant", 64),
        sa.Column(
            "dataset_id",
            sa.String(64),
            sa.ForeignKey("datasets.id", ondelete="RESTRICT"),
            nullable=False,
            index=True,
        ),
        _reference("version_id", "dataset_versions", restrict=True),
        _reference("account_id", "budget_accounts", restrict=True),
        _text("reservation_id", 64),
        _text("method", 64),
        _json("spec"),
        _json("plan"),
        _text("plan_digest", 64),
        _text("content_hash", 64, nullable=True),
        _text("state", 32),
        _text("reason", 32, nullable=True),
        _text("idempotency_key", 255),
        _text("payload_hash", 64),
        _text("requested_by", 128),
        _text("person", 128),
        _text("team", 64, nullable=True),
        _text("project", 64, nullable=True),
        sa.Column("policy_version", sa.Integer(), server_default="0", nullable=False),
        sa.Column("sample_of", sa.String(64), sa.ForeignKey("jobs.id", ondelete="RESTRICT")),
        _text("traceparent", 55, nullable=True),
        _text("decided_by", 128, nullable=True),
        _text("decided_person", 128, nullable=True),
        _time("decided_at"),
        _text("decision_reason", 256, nullable=True),
        _time("first_read_at"),
        _time("cancel_requested_at"),
        _time("started_at"),
        _time("finished_at"),
        _created_at(),
        *_leased(),
        sa.UniqueConstraint("idempotency_key", "tenant"),
        sa.Index("ix_jobs_state_lease", "state", "lease_expires_at"),
        sa.Index("ix_jobs_tenant_created", "tenant", "created_at"),
        sa.Index("ix_jobs_started", "started_at", postgresql_where=sa.text("started_at IS NOT NULL")),
        sa.Index("ix_jobs_finished", "finished_at", postgresql_where=sa.text("finished_at IS NOT NULL")),
        sa.Index(
            "ix_jobs_content",
            "dataset_id",
            "content_hash",
            postgresql_where=sa.text("content_hash IS NOT NULL"),
        ),
    )


def _job_records() -> None:
    op.create_table(
        "job_events",
        _reference("job_id", "jobs", primary_key=True),
        sa.Column("sequence", sa.Integer(), primary_key=True),
        _text("stage", 64, nullable=True),
        sa.Column("done", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("total", sa.BigInteger(), server_default="0", nullable=False),
        _text("state", 32, nullable=True),
        _created_at(),
        sa.CheckConstraint("(stage IS NULL) <> (state IS NULL)", name="stage_or_state"),
    )
    op.execute(RECORD_STATE)
    for trigger in STATE_TRIGGERS:
        op.execute(trigger)
    op.create_table(
        "metered_reads",
        _reference("job_id", "jobs", primary_key=True),
        sa.Column("attempt", sa.Integer(), primary_key=True),
        sa.Column("sequence", sa.Integer(), primary_key=True),
        _json("entry"),
        _created_at(),
    )


def _releases() -> None:
    op.create_table(
        "artifacts",
        _reference("job_id", "jobs", restrict=True, primary_key=True),
        _text("name", 128, primary_key=True),
        _text("role", 16),
        _text("media_type", 128),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        _text("sha256", 64),
        _text("object_key", 256),
        sa.Column("encrypted", sa.Boolean(), nullable=False),
        _created_at(),
    )
    op.create_table(
        "evaluations",
        _reference("id", "jobs", primary_key=True),
        _text("state", 16),
        _text("stage", 64, nullable=True),
        sa.Column("done", sa.BigInteger(), nullable=False),
        sa.Column("total", sa.BigInteger(), nullable=False),
        _time("finished_at"),
        _created_at(),
        *_leased(),
        sa.Index("ix_evaluations_state_lease", "state", "lease_expires_at"),
    )


def _streams() -> None:
    op.create_table(
        "streams",
        _text("id", 64, primary_key=True),
        _text("tenant", 64),
        sa.Column(
            "dataset_id",
            sa.String(64),
            sa.ForeignKey("datasets.id", ondelete="RESTRICT"),
            nullable=False,
            index=True,
        ),
        _reference("version_id", "dataset_versions", restrict=True),
        _reference("account_id", "budget_accounts", restrict=True),
        _text("method", 64),
        _text("chosen_because", 2000, nullable=True),
        _json("params"),
        _json("edge_types"),
        sa.Column("window", sa.Integer(), nullable=False),
        sa.Column("nano_epsilon", sa.BigInteger(), nullable=False),
        sa.Column("tick_nano_epsilon", sa.BigInteger(), nullable=False),
        sa.Column("grid_start", sa.BigInteger(), nullable=False),
        sa.Column("grid_width", sa.BigInteger(), nullable=False),
        sa.Column("first_step", sa.Integer(), nullable=False),
        sa.Column("next_step", sa.Integer(), nullable=False),
        _text("missing_steps", 16),
        _text("state", 16),
        _text("label", 128, nullable=True),
        _text("suite", 16),
        _text("requested_by", 128),
        _text("person", 128),
        _text("team", 64, nullable=True),
        _text("project", 64, nullable=True),
        _text("idempotency_key", 255),
        _text("payload_hash", 64),
        _time("closed_at"),
        _created_at(),
        sa.UniqueConstraint("tenant", "idempotency_key"),
        sa.Index("ix_streams_tenant_created", "tenant", "created_at"),
    )
    op.create_table(
        "snapshots",
        _reference("stream_id", "streams", restrict=True, primary_key=True),
        sa.Column("step", sa.Integer(), primary_key=True, autoincrement=False),
        _reference("job_id", "jobs", restrict=True),
        sa.Column("number", sa.Integer(), nullable=False),
        _text("object_key", 256, nullable=True),
        _text("graph_key", 256, nullable=True),
        _text("format", 32),
        _json("options"),
        _text("content_mac", 64),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("nano_epsilon", sa.BigInteger(), nullable=False),
        _json("findings", nullable=True),
        _text("outcome", 16, nullable=True),
        _created_at(),
        sa.UniqueConstraint("job_id"),
        sa.Index("ix_snapshots_unfinished", "stream_id", "step", postgresql_where=sa.text("outcome IS NULL")),
        sa.Index(
            "ix_snapshots_published", "stream_id", "step", postgresql_where=sa.text("outcome = 'published'")
        ),
        sa.Index("ix_snapshots_object", "object_key", postgresql_where=sa.text("object_key IS NOT NULL")),
    )


def _audits() -> None:
    op.create_table(
        "audits",
        _text("id", 64, primary_key=True),
        _text("tenant", 64),
        _text("method", 64),
        _json("request"),
        _json("spec"),
        _text("state", 16),
        _text("reason", 32, nullable=True),
        _text("stage", 64, nullable=True),
        sa.Column("done", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("total", sa.BigInteger(), server_default="0", nullable=False),
        _json("result", nullable=True),
        _text("idempotency_key", 255),
        _text("payload_hash", 64),
        _text("requested_by", 128),
        _time("finished_at"),
        _created_at(),
        *_leased(),
        sa.UniqueConstraint("tenant", "idempotency_key"),
        sa.Index("ix_audits_state_lease", "state", "lease_expires_at"),
        sa.Index("ix_audits_tenant_created", "tenant", "created_at"),
    )


def _proposals() -> None:
    op.create_table(
        "proposals",
        _text("id", 64, primary_key=True),
        _text("tenant", 64),
        _text("kind", 16),
        _reference("dataset_id", "datasets", restrict=True),
        _json("payload"),
        _text("reason", 256),
        _text("proposed_by", 128),
        _text("person", 128),
        _text("state", 16),
        _text("decided_by", 128, nullable=True),
        _text("decided_person", 128, nullable=True),
        _time("decided_at"),
        _text("decision_reason", 256, nullable=True),
        _created_at(),
        sa.Index("ix_proposals_dataset", "dataset_id", "created_at"),
    )


def _webhooks() -> None:
    op.create_table(
        "webhook_endpoints",
        _text("id", 64, primary_key=True),
        sa.Column("tenant", sa.String(64), nullable=False, index=True),
        _text("url", 2000),
        sa.Column("secrets", sa.LargeBinary(), nullable=False),
        _json("events"),
        _text("created_by", 128),
        sa.Column("failures", sa.Integer(), server_default="0", nullable=False),
        _time("disabled_at"),
        _text("disabled_reason", 16, nullable=True),
        _time("deleted_at"),
        _created_at(),
    )
    op.create_table(
        "webhook_deliveries",
        _text("id", 64, primary_key=True),
        _reference("endpoint_id", "webhook_endpoints", restrict=True),
        _text("event", 64),
        _json("payload"),
        _text("state", 16),
        sa.Column("attempt_limit", sa.Integer()),
        sa.Column(
            "next_attempt_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False
        ),
        sa.Column("last_status", sa.Integer()),
        _text("last_problem", 32, nullable=True),
        _time("finished_at"),
        _created_at(),
        *_leased(),
        sa.Index(
            "ix_webhook_deliveries_due",
            "next_attempt_at",
            postgresql_where=sa.text("state = 'pending'"),
        ),
        sa.Index("ix_webhook_deliveries_endpoint", "endpoint_id", "created_at"),
    )


def _checks() -> None:
    op.create_table(
        "invariant_checks",
        _text("invariant", 64, primary_key=True),
        sa.Column("checked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("violations", sa.Integer(), nullable=False),
        _json("findings"),
        _time("failing_since"),
    )


def _workers() -> None:
    op.create_table(
        "worker_gpus",
        _text("host", 64, primary_key=True),
        sa.Column("gpu", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("capacity_bytes", sa.BigInteger(), nullable=False),
        sa.Column("used_bytes", sa.BigInteger(), nullable=False),
        sa.Column("read_at", sa.DateTime(timezone=True), nullable=False),
    )


def _outbox() -> None:
    op.create_table(
        "outbox",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), primary_key=True),
        _text("topic", 16),
        _text("subject_id", 64),
        sa.Column("not_before", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        _time("sent_at"),
        _created_at(),
        sa.Index("ix_outbox_unsent", "not_before", postgresql_where=sa.text("sent_at IS NULL")),
    )


def _append_only() -> None:
    for table in APPEND_ONLY:
        # Once per statement, so that it fires on TRUNCATE and on statements that match no row.
        op.execute(
            f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
        )
        op.execute(f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {table}_append_only")
