"""Every setting of the service. It is read once from ``GRAPHVEIL_*`` environment variables, validated at
start, frozen.

Where ``GRAPHVEIL_SECRETS_FOLDER`` names a folder, a file in it that is named as a variable holds its value
(``graphveil_master_key``), unless the environment sets it too: so that secrets need not stand there.

No other module reads the environment. Limits live here: everything has one.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import SettingsConfigDict

from core.addresses import Addresses
from graphveil.models.roles import Role

# Asymmetric ones only: with a shared secret, whoever checks a token could have made it.
SigningAlgorithm = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"
]


SECRETS_FOLDER = "GRAPHVEIL_SECRETS_FOLDER"


class Settings(Addresses):
    """Addresses, secrets and limits. Point the addresses elsewhere and nothing else changes."""

    # An error names the setting that is wrong and not its value, which may be a secret: it ends in a log.
    model_config = SettingsConfigDict(
        env_prefix="GRAPHVEIL_", frozen=True, extra="ignore", hide_input_in_errors=True
    )

    # secrets: 32 random bytes as hex
    master_key: SecretStr = Field(default=SecretStr(""), description="Wraps the per-dataset keys.")
    fingerprint_key: SecretStr = Field(default=SecretStr(""), description="Keys content fingerprints.")
    head_signing_key: SecretStr = Field(
        default=SecretStr(""),
        description="Signs the ledger's heads (an Ed25519 seed); empty: none are exported.",
    )
    evidence_signing_key: SecretStr = Field(
        default=SecretStr(""),
        description="Signs evidence packs (an Ed25519 seed, made of the one above); empty: made of it here.",
    )
    head_public_keys: str = Field(
        default="", description="Further public keys (hex, comma-separated) whose signed heads are trusted."
    )

    storage_access_key_id: SecretStr = Field(
        default=SecretStr(""),
        description="Of the S3 storage; empty: the AWS_* variables or the machine's role.",
    )
    storage_secret_access_key: SecretStr = Field(
        default=SecretStr(""), description="Of the S3 storage, with its access key id."
    )

    # limits
    max_upload_bytes: int = Field(default=20 * 2**30, ge=1, description="Largest uploaded file.")
    presigned_seconds: int = Field(
        default=300,
        ge=0,
        le=86_400,
        description="Life of a signed download address of S3; 0: none are given.",
    )
    presigned_upload_seconds: int = Field(
        default=6 * 3600,
        ge=0,
        le=604_800,
        description="How long a direct upload to S3 may take; 0: none are taken.",
    )
    upload_part_bytes: int = Field(
        default=64 * 2**20, ge=5 * 2**20, le=5 * 2**30, description="Size of the parts of a direct upload."
    )
    max_request_bytes: int = Field(default=2**20, ge=1, description="Largest JSON request.")
    max_body_depth: int = Field(
        default=32, ge=8, le=100, description="Most lists and objects inside each other in a JSON request."
    )
    max_nodes: int = Field(default=20_000_000, ge=1, description="Largest node universe of one graph.")
    max_edges: int = Field(default=20_000_000_000, ge=1, description="Most rows of one upload.")
    max_edges_in_memory: int = Field(
        default=200_000_000,
        ge=1,
        description="Most rows of an upload of a dataset that is not declared to be in parts.",
    )
    shard_edges: int = Field(
        default=2**24, ge=1, description="About how many edges of a dataset in parts are drawn as one shard."
    )
    max_shards: int = Field(default=4_096, ge=64, le=10_000, description="Most shards of one release.")
    max_unpacking_ratio: int = Field(
        default=100, ge=1, le=1_100, description="Most bytes that a byte of a compressed upload unpacks to."
    )
    max_edge_types: int = Field(
        default=1_000, ge=1, le=4096, description="Most relations of one dataset, or graphs of a collection."
    )
    max_steps: int = Field(default=10_000, ge=1, description="Most snapshots of a time grid.")
    max_cells: int = Field(
        default=100_000,
        ge=1,
        le=300_000,
        description="Most cells of one release: its relations, those with time once for each snapshot.",
    )
    shadow_releases: int = Field(
        default=3,
        ge=0,
        le=10,
        description="Most times that a comparison publishes a release again, to see what attackers learn.",
    )
    shadow_links: int = Field(
        default=2_000_000, ge=0, description="Links of the largest release that is published again."
    )
    max_sensitive_links_bytes: int = Field(
        default=256 * 2**20, ge=1, description="Largest uploaded list of sensitive links."
    )
    max_findings: int = Field(
        default=20, ge=1, le=100, description="Most findings that a rejected upload lists."
    )
    page_size: int = Field(default=50, ge=1, le=500, description="Rows of one page of a listing.")

    # callers: keys, tokens of an OpenID Connect issuer, and how much each may ask
    default_key_days: int = Field(
        default=365, ge=1, le=36_500, description="Life of an API key whose maker names none."
    )
    max_key_days: int = Field(default=1_096, ge=1, le=36_500, description="Longest life of an API key.")
    key_cache_seconds: float = Field(
        default=5.0,
        ge=0,
        le=60,
        description="How long a revoked key may go on elsewhere, if the news is lost; 0: not at all.",
    )
    key_cache_entries: int = Field(default=10_000, ge=1, description="Most keys that a process remembers.")
    oidc_issuer: str = Field(
        default="",
        pattern=r"^$|^https://[^\s@#]+$|^http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(/[^\s@#]*)?$",
        description="Whose tokens open the api, by https; empty: only API keys do.",
    )
    oidc_audience: str = Field(default="", description="What a token's `aud` must name.")
    oidc_tenant_claim: str = Field(default="tenant", min_length=1, description="The claim with the tenant.")
    oidc_roles_claim: str = Field(default="roles", min_length=1, description="The claim with the roles.")
    oidc_roles_prefix: str = Field(default="", description="What stands before our roles in that claim.")
    oidc_groups_claim: str = Field(
        default="groups", min_length=1, description="The claim with the groups, a list of names or ids."
    )
    oidc_group_roles: dict[str, tuple[Role, ...]] = Field(
        default={},
        description='Roles that members of a group have, as a JSON object: {"data-stewards": ["curator"]}.',
    )
    oidc_person_claim: str = Field(
        default="sub", min_length=1, description="The claim that names the person."
    )
    oidc_team_claim: str = Field(default="", description="The claim with the team; empty: tokens name none.")
    oidc_algorithms: tuple[SigningAlgorithm, ...] = Field(
        default=("RS256", "ES256"), min_length=1, description="Signatures that are accepted, as a JSON list."
    )
    oidc_leeway_seconds: int = Field(default=30, ge=0, le=300, description="How far clocks may be apart.")
    oidc_keys_seconds: float = Field(
        default=600.0,
        gt=0,
        description="How old the issuer's signing keys become before they are renewed.",
    )
    oidc_stale_seconds: float = Field(
        default=24 * 3600.0, gt=0, description="How long they are used while the issuer cannot be reached."
    )
    oidc_refetch_seconds: float = Field(
        default=60.0, gt=0, description="Least time between two fetches, whatever tokens name."
    )
    oidc_timeout_seconds: float = Field(default=5.0, gt=0, le=60, description="How long one fetch may take.")
    oidc_max_document_bytes: int = Field(
        default=256 * 1024, ge=1_024, description="Largest document of the issuer."
    )
    oidc_client_id: str = Field(
        default="",
        description="The console's client at the issuer; empty: people sign in with keys alone.",
    )
    oidc_client_secret: SecretStr = Field(
        default=SecretStr(""),
        description="Of that client; empty for a public one, which PKCE alone protects.",
    )
    oidc_scopes: str = Field(
        default="openid",
        min_length=1,
        description="What the console asks the issuer for, with spaces between.",
    )
    session_seconds: int = Field(
        default=8 * 3600, ge=60, le=604_800, description="Longest life of a session of the console."
    )
    session_idle_seconds: int = Field(
        default=30 * 60, ge=60, le=604_800, description="How long one that nobody uses lives."
    )
    max_sessions: int = Field(
        default=20, ge=1, le=1_000, description="Most sessions of one key or subject; the oldest one ends."
    )
    rate_limit_per_minute: int = Field(
        default=3_000, ge=0, description="Requests of one key in any minute; 0: no limit."
    )
    rate_limit_jobs_per_minute: int = Field(
        default=600,
        ge=0,
        description="Jobs, samples and menus of plans that one key may ask for in any minute; 0: no limit.",
    )
    rate_limit_open_per_minute: int = Field(
        default=600,
        ge=0,
        description="Requests for pages that need no key, of one address in a minute, to one process; "
        "0: no limit.",
    )
    rate_limit_attempts_per_minute: int = Field(
        default=300,
        ge=0,
        description="Requests without valid credentials, of one client address in any minute; 0: no limit.",
    )
    trusted_proxies: str = Field(
        default="127.0.0.1",
        description="Proxies whose X-Forwarded-For is believed: addresses or networks, comma-separated.",
    )
    max_header_bytes: int = Field(
        default=16 * 1024, ge=4_096, le=2**20, description="Largest head of a request: address and headers."
    )
    head_seconds: float = Field(
        default=10.0, gt=0, description="How long a request's head may take, or a body that nobody reads."
    )
    body_seconds: float = Field(
        default=30.0, gt=0, description="How long a JSON body may take to arrive, and an upload may pause."
    )
    max_uploads: int = Field(
        default=8, ge=1, le=256, description="Most uploads that one api process receives at a time."
    )
    max_tenant_uploads: int = Field(
        default=4, ge=1, le=256, description="Most of them that are of one tenant."
    )
    upload_wait_seconds: float = Field(
        default=5.0, ge=0, description="How long an upload waits for its turn before it is refused."
    )
    upload_bytes_per_second: int = Field(
        default=8 * 1024,
        ge=0,
        description="Least rate of an upload, over BODY_SECONDS of waiting for its bytes; 0: none.",
    )
    max_unread_bytes: int = Field(
        default=8 * 2**20,
        ge=0,
        description="How much of a body is let pass after an answer that did not wait for it.",
    )
    max_connections: int = Field(default=1_000, ge=1, description="Most connections of one api process.")
    max_address_connections: int = Field(
        default=200,
        ge=1,
        description="Most of them that are of one client address; trusted proxies have no such limit.",
    )

    # work
    lease_seconds: float = Field(default=90.0, gt=0, description="How long work is held without a heartbeat.")
    heartbeat_seconds: float = Field(default=10.0, gt=0, description="How often a worker extends its lease.")
    max_attempts: int = Field(
        default=3, ge=1, le=10, description="How often work is tried before it has failed."
    )
    job_wall_seconds: float = Field(default=6 * 3600.0, gt=0, description="How long a child may run.")
    job_threads: int = Field(
        default=1,
        ge=1,
        le=64,
        description="On how many threads a child draws noise and counts triangles; each child has them.",
    )
    job_memory_bytes: int = Field(
        default=8 * 2**30, ge=2**28, description="How much memory a child may hold."
    )
    grace_seconds: float = Field(
        default=30.0, gt=0, description="How long a stopping worker waits for its child."
    )
    gpu: str = Field(
        default="",
        pattern=r"^$|^[0-9]{1,3}$|^GPU-[0-9a-fA-F-]{8,64}$",
        description="The GPU that this worker's jobs compute on, by its number or UUID; empty: none.",
    )
    gpu_memory_fraction: float = Field(
        default=0.95, gt=0, le=1, description="The share of that GPU's memory that a child may hold."
    )
    accelerator_wait_seconds: float = Field(
        default=0.0,
        ge=0,
        description="How long a job that gains from a GPU waits for one while no worker has any.",
    )
    reservation_seconds: float = Field(default=24 * 3600.0, gt=0, description="A queued job's reservation.")
    approval_seconds: float = Field(
        default=7 * 24 * 3600.0, gt=0, description="How long a job waits for a second person's approval."
    )
    max_open_jobs: int = Field(
        default=2_000, ge=1, description="Most jobs of one tenant, samples among them, that have not ended."
    )
    max_open_key_jobs: int = Field(default=500, ge=1, description="Most of them that one key has asked for.")
    max_quotas: int = Field(default=200, ge=1, description="Most quotas of one budget account.")
    max_open_proposals: int = Field(
        default=100, ge=1, description="Most proposals about one dataset that wait for a second person."
    )
    give_backs_before_block: int = Field(
        default=3,
        ge=1,
        description="Jobs in a row that end unpaid after losing a worker, before the account is blocked.",
    )
    relay_poll_seconds: float = Field(
        default=0.5, gt=0, description="How often the relay looks without a notification."
    )
    reaper_poll_seconds: float = Field(default=5.0, gt=0, description="How often the reaper looks.")
    verifier_poll_seconds: float = Field(
        default=300.0, gt=0, description="How often the verifier checks every invariant."
    )
    heads_every_seconds: float = Field(
        default=24 * 3600.0, ge=60, description="How often the verifier exports the ledger's signed heads."
    )
    max_verified_entries: int = Field(
        default=100_000, ge=1, description="Longest account that is verified on request."
    )
    max_exported_accounts: int = Field(
        default=1_000, ge=1, description="Most accounts with gauges of their own; the fullest come first."
    )
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
        default=100, ge=1, description="Rows or objects that one duty of the reaper takes at a time."
    )
    work_folder: Path = Field(
        default=Path("/tmp/graphveil-work"),
        description="Where children read and write; private, emptied after each.",
    )
    heartbeat_file: str = Field(
        default="",
        description="What a process that serves no HTTP touches time and again, for `python -m "
        "worker.heartbeat`; empty: nothing. The images set it.",
    )
    poll_after_seconds: int = Field(default=2, ge=1, description="Least Retry-After of a running job.")
    api_processes: int = Field(
        default=1, ge=1, le=256, description="Processes that serve: as many as the api may use cores."
    )
    api_threads: int = Field(
        default=16, ge=2, le=256, description="Requests that one api process works on at a time; others wait."
    )
    database_connections: int = Field(
        default=20, ge=2, le=1_000, description="Most connections of one process to PostgreSQL."
    )

    # events: server-sent, and webhooks
    max_event_streams: int = Field(
        default=500, ge=1, description="Most event streams of one api process at a time."
    )
    max_tenant_event_streams: int = Field(
        default=100, ge=1, description="Most event streams of one tenant in one api process."
    )
    event_stream_seconds: float = Field(
        default=300.0, gt=0, description="How long an event stream lasts before its client connects again."
    )
    event_heartbeat_seconds: float = Field(
        default=15.0, gt=0, description="How often a silent event stream sends a comment."
    )
    event_poll_seconds: float = Field(
        default=0.5, gt=0, description="How often an api process looks for events that its streams wait for."
    )
    max_webhooks: int = Field(default=20, ge=1, description="Most webhook endpoints of one tenant.")
    webhook_ports: tuple[int, ...] = Field(
        default=(443,), description="Ports that webhooks may be sent to, as a JSON list."
    )
    webhook_private_addresses: bool = Field(
        default=False,
        description="Send webhooks to private addresses too, and over http to this machine. For trials.",
    )
    webhook_seconds: float = Field(
        default=20.0, gt=0, le=120, description="How long one delivery of a webhook may take in all."
    )
    webhook_answer_bytes: int = Field(
        default=64 * 1024, ge=1_024, description="How much of an answer to a webhook is read."
    )
    webhook_attempts: int = Field(
        default=10, ge=1, le=10, description="How often a webhook is sent before it is given up."
    )
    webhook_failures: int = Field(
        default=5, ge=1, description="Webhooks given up in a row before their endpoint is disabled."
    )
    webhook_poll_seconds: float = Field(
        default=1.0, gt=0, description="How often due webhooks are looked for."
    )
    webhook_batch: int = Field(
        default=16, ge=1, le=100, description="Webhooks that one process sends at once."
    )
    webhook_kept_seconds: float = Field(
        default=30 * 86_400.0, gt=0, description="How long deliveries of webhooks are kept."
    )
    webhook_rotation_seconds: float = Field(
        default=86_400.0,
        gt=0,
        description="How long a webhook's earlier secret still signs after a rotation.",
    )
    budget_low_share: float = Field(
        default=0.1,
        gt=0,
        lt=1,
        description="The share of a budget below which what is left of it counts as low.",
    )

    # faults, for tests: see core/failpoints.py
    failpoints: str = Field(default="", description="Points at which a process ends itself; for tests.")

    # traces
    trace_endpoint: str = Field(
        default="",
        pattern=r"^$|^https?://[^\s@?#]+$",
        description="Where spans go, e.g. http://collector:4318/v1/traces (OTLP by HTTP); empty: nowhere.",
    )
    trace_sample_ratio: float = Field(
        default=1.0,
        gt=0,
        le=1,
        description="The share of requests, with their jobs, whose spans are recorded.",
    )

    # logs
    log_level: str = Field(default="INFO", description="DEBUG, INFO, WARNING or ERROR.")
    log_json: bool = Field(default=True, description="JSON lines; otherwise readable lines for a terminal.")

    @model_validator(mode="after")
    def _storage_keys_come_together(self) -> Self:
        given = (self.storage_access_key_id, self.storage_secret_access_key)
        if len({bool(part.get_secret_value()) for part in given}) != 1:
            raise ValueError("storage_access_key_id and storage_secret_access_key are set together")
        return self

    @model_validator(mode="after")
    def _who_draws_is_an_engine(self) -> Self:
        if self.engine_draws and not (self.engine_url.get_secret_value() and self.engine_folder):
            raise ValueError("engine_draws is set together with engine_url and engine_folder")
        return self

    @model_validator(mode="after")
    def _issuer_has_an_audience(self) -> Self:
        if self.oidc_issuer and not self.oidc_audience:
            raise ValueError("oidc_audience must be set: a token for another service opens nothing")
        if self.oidc_client_id and not self.oidc_issuer:
            raise ValueError("oidc_client_id is a client of oidc_issuer, which is not set")
        return self


@lru_cache(maxsize=1)
def get_settings() -> Settings:
    """Return the process's settings. They are read from the environment at the first call."""
    return Settings(_secrets_dir=os.environ.get(SECRETS_FOLDER) or None)  # type: ignore[call-arg]
