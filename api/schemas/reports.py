"""The JSON report as it is served. It is the document of a release, and how far its comparison has come."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from core.reports.evidence import CuratorPart
from core.reports.model import SCHEMA_VERSION, PublicPart


class CuratorReport(CuratorPart):
    """The comparison with the original, done. For the dataset's curators only."""

    status: str = Field(description="How far the comparison has come: here, `done`.")


class CuratorPending(BaseModel):
    """The comparison is not there: not made yet, failed, or erased. For the dataset's curators only."""

    status: str = Field(description="How far the comparison has come: `pending`, `failed` or `erased`.")


class ServedReport(BaseModel):
    """A release's report, in the edition that the caller may see."""

    schema_version: Literal["3.0"] = SCHEMA_VERSION
    public: PublicPart
    curator: CuratorReport | CuratorPending | None = Field(
        default=None, description="Left out for callers who are not curators of the dataset."
    )
