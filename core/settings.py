"""Every setting, read once from ``GRAPHVEIL_*`` environment variables, validated at start, frozen.

No other module reads the environment. Limits live here: everything has one.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """Addresses, secrets and limits. Point the addresses elsewhere and nothing else changes."""

    model_config = SettingsConfigDict(env_prefix="GRAPHVEIL_", frozen=True, extra="ignore")

    # addresses
    database_url: str = Field(
        default="postgresql+psycopg://graphveil@localhost/graphveil",
        description="PostgreSQL, as an SQLAlchemy address with psycopg.",
    )
    redis_url: str = Field(
        default="redis://localhost:6379/0", description="The broker: a doorbell that carries ids only."
    )
    storage_url: str = Field(
        default="file:///var/lib/graphveil/objects", description="file:///path or s3://bucket/prefix"
    )
    public_url: str = Field(default="http://localhost:8000", description="What callers reach the api under.")
    host: str = Field(default="127.0.0.1", description="Where the api and its metrics listen.")
    port: int = Field(default=8000, description="The api's port.")
    metrics_port: int = Field(default=9100, description="The port of /metrics; keep it internal.")

    # secrets: 32 random bytes as hex
    master_key: SecretStr = Field(default=SecretStr(""), description="Wraps the per-dataset keys.")
    fingerprint_key: SecretStr = Field(default=SecretStr(""), description="Keys content fingerprints.")

    # limits
    max_upload_bytes: int = Field(default=20 * 2**30, ge=1, description="Largest uploaded file.")
    max_request_bytes: int = Field(default=2**20, ge=1, description="Largest JSON request.")
    max_nodes: int = Field(default=20_000_000, ge=1, description="Largest node universe of one graph.")
    max_edges: int = Field(default=200_000_000, ge=1, description="Most rows of one upload.")
    max_steps: int = Field(default=10_000, ge=1, description="Most snapshots of a time grid.")
    max_findings: int = Field(
        default=20, ge=1, le=100, description="Most findings that a rejected upload lists."
    )
    page_size: int = Field(default=50, ge=1, le=500, description="Rows of one page of a listing.")

    # work
    lease_seconds: float = Field(default=90.0, gt=0, description="How long work is held without a heartbeat.")
    heartbeat_seconds: float = Field(default=10.0, gt=0, description="How often a worker extends its lease.")
    max_attempts: int = Field(
        default=3, ge=1, le=10, description="How often work is tried before it has failed."
    )
    job_wall_seconds: float = Field(default=6 * 3600.0, gt=0, description="How long a child may run.")
    job_memory_bytes: int = Field(
        default=8 * 2**30, ge=2**28, description="How much memory a child may hold."
    )
    grace_seconds: float = Field(
        default=30.0, gt=0, description="How long a stopping worker waits for its child."
    )
    reservation_seconds: float = Field(default=24 * 3600.0, gt=0, description="A queued job's reservation.")
    give_backs_before_block: int = Field(
        default=3, ge=1, description="Returned reservations in a row before the account is blocked."
    )
    relay_poll_seconds: float = Field(
        default=0.5, gt=0, description="How often the relay looks without a notification."
    )
    reaper_poll_seconds: float = Field(default=5.0, gt=0, description="How often the reaper looks.")
    cancel_seconds: float = Field(default=60.0, gt=0, description="How long a worker may take to stop a job.")
    ring_again_seconds: float = Field(
        default=60.0, gt=0, description="Queued work is announced again after this."
    )
    sample_seconds: float = Field(default=0.5, gt=0, description="How often a child's memory is looked at.")
    max_job_events: int = Field(default=2_000, ge=1, description="Most progress events kept of one job.")
    max_transcript_entries: int = Field(
        default=1_000_000, ge=1, description="Most metered operations of one job."
    )
    max_audit_runs: int = Field(
        default=200_000, ge=100, description="Most runs on each canary graph of one audit."
    )
    max_open_audits: int = Field(default=3, ge=1, description="Most unfinished audits of one tenant.")
    audit_wall_seconds: float = Field(default=900.0, gt=0, description="How long one audit may run.")
    max_waiting_snapshots: int = Field(
        default=32, ge=1, description="Most snapshots of one stream that wait to be published."
    )
    max_missing_steps: int = Field(
        default=100, ge=0, description="Most missing steps of a stream that are published as empty at once."
    )
    max_open_streams: int = Field(default=100, ge=1, description="Most open streams of one tenant.")
    max_release_files: int = Field(default=64, ge=4, le=1_000, description="Most files of one release.")
    max_release_bytes: int = Field(default=40 * 2**30, ge=1, description="Largest release.")
    sweep_limit: int = Field(
        default=100, ge=1, description="Rows that one duty of the reaper takes at a time."
    )
    work_folder: Path = Field(
        default=Path("/tmp/graphveil-work"),
        description="Where children read and write; private, emptied after each.",
    )
    poll_after_seconds: int = Field(default=2, ge=1, description="Retry-After of a job that still runs.")

    # faults, for tests: see core/failpoints.py
    failpoints: str = Field(default="", description="Points at which a process ends itself; for tests.")

    # logs
    log_level: str = Field(default="INFO", description="DEBUG, INFO, WARNING or ERROR.")
    log_json: bool = Field(default=True, description="JSON lines; otherwise readable lines for a terminal.")


@lru_cache(maxsize=1)
def get_settings() -> Settings:
    """The process's settings; read from the environment at the first call."""
    return Settings()
