"""Datasets, their policies and their sensitive links.

They are as callers see them. What only curators may see is null for others. Sensitive links are counted,
never listed.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from graphveil.models.base import CURATORS, EXPOSED, Answer, NextCursor
from graphveil.models.readings import Reading

RETRY_AFTER_SECONDS = {"uploading": 2, "validating": 2, "proposed": 60}  # a proposal waits for a person


class PolicyRules(Answer):
    """What a dataset's curators let jobs ask for. Null is no limit."""

    methods: tuple[str, ...] | None = Field(description="Methods that a job may use.")
    kinds: tuple[str, ...] = Field(description="Guarantees that a release may carry.")
    max_epsilon_per_job: str | None = Field(description="Most epsilon of one job, or of a stream's window.")
    min_epsilon_per_job: str | None = Field(
        default=None,
        description="Least epsilon of one job, failed or not, or of a stream's window.",
    )
    approval_above_epsilon: str | None = Field(description="A job above it waits for a second person.")
    curator_report_readers: tuple[str, ...] | None = Field(
        description="The curators who may read comparisons with the original."
    )
    project_required: bool = Field(description="Jobs name a project that has a quota.")
    team_required: bool = Field(description="Jobs come from a team that has a quota.")
    measurements: bool = Field(
        default=True, description="Releases carry the noisy numbers that they paid for."
    )


class DatasetPolicy(Answer):
    """One version of a dataset's policy."""

    dataset_id: str
    version: int
    current: bool = Field(description="False for a version that another has replaced.")
    policy: PolicyRules
    unit: str = Field(description="The privacy unit of the account; it never changes.")
    window: int | None = Field(description="Its window, under w-event.")
    set_by: str = Field(description="The key that asked for it.")
    set_at: datetime
    reason: str
    proposal_id: str | None = Field(description="The proposal by which a second person allowed it.")


class Part(Answer):
    """One file of an upload, as it was received."""

    part: str
    format: str
    size_bytes: int
    sha256: str
    received_at: datetime


class ReadOff(Answer):
    """A part of the public schema that was read off an upload, not declared: it lies outside epsilon."""

    part: str = Field(examples=["edge_values"])
    text: str = Field(examples=["what edges carry: amount of edge, 0 to 50"])


class Version(Answer):
    """One upload of a dataset. Curators only: sizes, digests and findings are functions of the data."""

    id: str
    number: int = Field(description="1 for the first upload.")
    state: str = Field(description="uploading, queued, validating, proposed, ready, rejected or erased.")
    parts: tuple[Part, ...]
    ingest_report: dict[str, Any] | None = Field(description="What was read.")
    readings: tuple[Reading, ...] = Field(
        default=(), description="How each delimited file was understood, and what has to be asked about it."
    )
    findings: list[dict[str, Any]] | None = Field(
        description="What breaks the schema: up to 20 of file, line, column, message; where it can be "
        "read in two ways, its `reading`, with questions and the mappings that answer them."
    )
    read_off: tuple[ReadOff, ...] = Field(
        default=(),
        description="What of the schema was read off the data: every release made under it says so.",
    )
    created_at: datetime
    finished_at: datetime | None


class Dataset(Answer):
    """A sensitive graph under one privacy policy and one budget account."""

    id: str = Field(examples=["ds_01k8zv2v9h6t0h3r6b8mkx2n4e"])
    name: str
    state: str = Field(
        description="registered, uploading, validating, proposed (a schema waits for a curator's word), "
        "ready, rejected or archived. Only curators see how far an upload is, or that it was rejected: to "
        "others it is registered, ready or archived."
    )
    unit: str = Field(description="The privacy unit: edge, event, w-event, pair or node.")
    window: int | None = Field(default=None, description="Steps of the unit w-event.")
    protection_domain: str = Field(description="The population whose budget the dataset draws on.")
    account_id: str = Field(description="The budget account of that domain.")
    filter: str = Field(description="How charges add up: basic or renyi.")
    exposed: bool = Field(default=False, description=EXPOSED)
    policy: PolicyRules = Field(description="What jobs may ask for.")
    policy_version: int
    public: bool = Field(description="True for a graph that is no secret, such as a benchmark.")
    in_parts: bool = Field(
        default=False,
        description="Its edges stay in several files; methods that can count them there, and draw in shards.",
    )
    graph_schema: dict[str, Any] | None = Field(default=None, description="The declared, public shape.")
    current_version: int | None = Field(default=None, description="Number of the upload that jobs read.")
    proposed_schema: dict[str, Any] | None = Field(
        default=None, description=f"Read from the upload, to be confirmed or corrected. {CURATORS}"
    )
    created_at: datetime
    archived_at: datetime | None = None
    version: Version | None = Field(default=None, description=f"The newest upload. {CURATORS}")

    @property
    def retry_after_seconds(self) -> int | None:
        """Return when to look again, in seconds. None once nothing changes by itself."""
        return RETRY_AFTER_SECONDS.get(self.state)


class Datasets(Answer):
    items: list[Dataset]
    next_cursor: NextCursor = None


class UploadOffer(Answer):
    """Where to put the parts of a file."""

    upload_id: str
    part_bytes: int = Field(description="Size of every part but the last.")
    urls: tuple[str, ...] = Field(description="PUT each part to its address; keep the ETag of each answer.")
    expires_at: datetime


class Received(Answer):
    """The version that an upload went to."""

    id: str = Field(examples=["dv_01k8zv2v9h6t0h3r6b8mkx2n4e"])
    dataset_id: str
    number: int
    state: str = Field(description="uploading until the part `edges` is there, then queued.")


class ListInUse(Answer):
    """The list that jobs on the current version hide."""

    id: str = Field(examples=["sl_01k8zv2v9h6t0h3r6b8mkx2n4e"])
    version: int = Field(description="Number of the dataset's version that it was checked against.")
    links: dict[str, int] = Field(description="Links by relation; a relation without any is left out.")
    count: int = Field(description="Links in all.")
    checked_at: datetime | None


class ListUpload(Answer):
    """The newest upload, while it is not in use."""

    id: str
    version: int
    state: str = Field(description="queued, checking or rejected.")
    message: str | None = Field(description="Why it was rejected.")
    findings: list[dict[str, Any]] | None = Field(
        description="Which rows are no links: up to 20 of file, line, column, message."
    )
    received_at: datetime


class SensitiveLinks(Answer):
    """What is known of a dataset's sensitive links. Curators only."""

    dataset_id: str
    in_use: ListInUse | None = Field(description="Null where no list of the current version is ready.")
    upload: ListUpload | None = Field(description="Null where the newest upload is in use, or there is none.")
