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
    database_url: str = "postgresql+psycopg://graphveil@localhost/graphveil"
    redis_url: str = "redis://localhost:6379/0"
    storage_url: str = Field(
        default="file:///var/lib/graphveil/objects", description="file:///path or s3://bucket/prefix"
    )
    public_url: str = "http://localhost:8000"
    host: str = "127.0.0.1"
    port: int = 8000
    metrics_port: int = 9100

    # secrets: 32 random bytes as hex
    master_key: SecretStr = Field(default=SecretStr(""), description="Wraps the per-dataset keys.")
    fingerprint_key: SecretStr = Field(default=SecretStr(""), description="Keys content fingerprints.")

    # limits
    max_upload_bytes: int = Field(default=20 * 2**30, ge=1)
    max_request_bytes: int = Field(default=2**20, ge=1)
    max_nodes: int = Field(default=20_000_000, ge=1)
    max_edges: int = Field(default=200_000_000, ge=1)
    max_steps: int = Field(default=10_000, ge=1)
    max_findings: int = Field(default=20, ge=1, le=100)
    page_size: int = Field(default=50, ge=1, le=500)

    # work
    lease_seconds: float = Field(default=90.0, gt=0)
    heartbeat_seconds: float = Field(default=10.0, gt=0)
    max_attempts: int = Field(default=3, ge=1, le=10)
    job_wall_seconds: float = Field(default=6 * 3600.0, gt=0)
    job_memory_bytes: int = Field(default=8 * 2**30, ge=2**28)
    grace_seconds: float = Field(default=30.0, gt=0)
    reservation_seconds: float = Field(default=24 * 3600.0, gt=0, description="A queued job's reservation.")
    give_backs_before_block: int = Field(default=3, ge=1)
    relay_poll_seconds: float = Field(default=0.5, gt=0)
    reaper_poll_seconds: float = Field(default=5.0, gt=0)
    cancel_seconds: float = Field(default=60.0, gt=0, description="How long a worker may take to stop a job.")
    ring_again_seconds: float = Field(
        default=60.0, gt=0, description="Queued work is announced again after this."
    )
    sample_seconds: float = Field(default=0.5, gt=0, description="How often a child's memory is looked at.")
    max_job_events: int = Field(default=2_000, ge=1)
    max_transcript_entries: int = Field(default=1_000_000, ge=1)
    max_release_files: int = Field(default=64, ge=4, le=1_000)
    max_release_bytes: int = Field(default=40 * 2**30, ge=1)
    sweep_limit: int = Field(
        default=100, ge=1, description="Rows that one duty of the reaper takes at a time."
    )
    work_folder: Path = Path("/tmp/graphveil-work")
    poll_after_seconds: int = Field(default=2, ge=1, description="Retry-After of a job that still runs.")

    # faults, for tests: see core/failpoints.py
    failpoints: str = ""

    # logs
    log_level: str = "INFO"
    log_json: bool = True


@lru_cache(maxsize=1)
def get_settings() -> Settings:
    """The process's settings; read from the environment at the first call."""
    return Settings()
