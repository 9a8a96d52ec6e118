"""Datasets as their callers see them. What only curators may see is null for others."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from api.schemas.common import Answer

CURATORS = "Curators only; null for others."


class Part(Answer):
    """One file of an upload, as it was received."""

    part: str
    format: str
    size_bytes: int
    sha256: str
    received_at: datetime


class Version(Answer):
    """One upload of a dataset. Curators only: sizes, digests and findings are functions of the data."""

    id: str
    number: int = Field(description="1 for the first upload.")
    state: str = Field(description="uploading, queued, validating, proposed, ready, rejected or erased.")
    parts: list[Part]
    ingest_report: dict[str, Any] | None = Field(description="What was read.")
    findings: list[dict[str, Any]] | None = Field(
        description="What breaks the schema: up to 20 of file, line, column, message."
    )
    created_at: datetime
    finished_at: datetime | None


class Dataset(Answer):
    """A sensitive graph under one privacy policy and one budget account."""

    id: str = Field(examples=["ds_01k8zv2v9h6t0h3r6b8mkx2n4e"])
    name: str
    state: str = Field(description="registered, uploading, validating, ready, rejected or archived.")
    unit: str = Field(description="The privacy unit: edge, event, w-event or pair.")
    window: int | None = Field(default=None, description="Steps of the unit w-event.")
    protection_domain: str = Field(description="The population whose budget the dataset draws on.")
    account_id: str = Field(description="The budget account of that domain.")
    filter: str = Field(description="How charges add up: basic or renyi.")
    allowed_kinds: list[str] = Field(description="Guarantees that a release may carry.")
    public: bool = Field(description="True for a graph that is no secret, such as a benchmark.")
    graph_schema: dict[str, Any] | None = Field(default=None, description="The declared, public shape.")
    current_version: int | None = Field(default=None, description="Number of the upload that jobs read.")
    proposed_schema: dict[str, Any] | None = Field(
        default=None, description=f"Read from the upload, to be confirmed or corrected. {CURATORS}"
    )
    created_at: datetime
    archived_at: datetime | None = None
    version: Version | None = Field(default=None, description=f"The newest upload. {CURATORS}")


class Datasets(Answer):
    items: list[Dataset]
    next_before: str | None = Field(
        default=None, description="Send it as `before` for the next page; null on the last."
    )


class Received(Answer):
    """The version that an upload went to."""

    id: str = Field(examples=["dv_01k8zv2v9h6t0h3r6b8mkx2n4e"])
    dataset_id: str
    number: int
    state: str = Field(description="uploading until the part `edges` is there, then queued.")
