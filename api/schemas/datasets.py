"""What is sent to put a file straight into the bucket."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from core.storage.presigned import MAX_PARTS


class NewUpload(BaseModel):
    """A file that is about to be put straight into the bucket."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    part: Annotated[str, Field(max_length=16, description="`nodes` first, then `edges`.")] = "edges"
    format: Annotated[str, Field(max_length=32, description="csv, tsv, parquet, graphml, ...")] = "csv"
    options: dict[str, str | list[str]] = Field(default_factory=dict, description="Of the format.")
    size_bytes: Annotated[int, Field(ge=1, le=2**62, description="Exactly.")]


class UploadParts(BaseModel):
    """What the bucket answered to the parts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    etags: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=256)]],
        Field(min_length=1, max_length=MAX_PARTS, description="The ETag of each part, in order."),
    ]
