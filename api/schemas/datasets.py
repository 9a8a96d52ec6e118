"""Datasets as their callers see them. What only curators may see is null for others."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from api.schemas.common import EXPOSED, Answer
from api.schemas.policies import PolicyRules
from core.storage.presigned import MAX_PARTS

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
    state: str = Field(
        description="registered, uploading, validating, proposed (a schema waits for a curator's word), "
        "ready, rejected or archived. Only curators see how far an upload is, or that it was rejected: to "
        "others it is registered, ready or archived."
    )
    unit: str = Field(description="The privacy unit: edge, event, w-event or pair.")
    window: int | None = Field(default=None, description="Steps of the unit w-event.")
    protection_domain: str = Field(description="The population whose budget the dataset draws on.")
    account_id: str = Field(description="The budget account of that domain.")
    filter: str = Field(description="How charges add up: basic or renyi.")
    exposed: bool = Field(default=False, description=EXPOSED)
    policy: PolicyRules = Field(description="What jobs may ask for.")
    policy_version: int
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
    next_cursor: str | None = Field(
        default=None, description="Send it as `cursor` for the next page; null on the last."
    )


class NewUpload(BaseModel):
    """A file that is about to be put straight into the bucket."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    part: Annotated[str, Field(max_length=16, description="`nodes` first, then `edges`.")] = "edges"
    format: Annotated[str, Field(max_length=32, description="csv, tsv, parquet, graphml, ...")] = "csv"
    options: dict[str, str | list[str]] = Field(default_factory=dict, description="Of the format.")
    size_bytes: Annotated[int, Field(ge=1, le=2**62, description="Exactly.")]


class UploadOffer(Answer):
    """Where to put the parts of a file."""

    upload_id: str
    part_bytes: int = Field(description="Size of every part but the last.")
    urls: list[str] = Field(description="PUT each part to its address; keep the ETag of each answer.")
    expires_at: datetime


class UploadParts(BaseModel):
    """What the bucket answered to the parts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    etags: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=256)]],
        Field(min_length=1, max_length=MAX_PARTS, description="The ETag of each part, in order."),
    ]


class Received(Answer):
    """The version that an upload went to."""

    id: str = Field(examples=["dv_01k8zv2v9h6t0h3r6b8mkx2n4e"])
    dataset_id: str
    number: int
    state: str = Field(description="uploading until the part `edges` is there, then queued.")
