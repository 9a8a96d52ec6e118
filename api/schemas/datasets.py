"""What is sent for an upload. It puts a file straight into the bucket, or has a kept one read again."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from core.graphs.reading.mapping import MAX_COLUMNS, Mapping
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


Column = Annotated[str, Field(max_length=128)] | Annotated[int, Field(ge=1, le=MAX_COLUMNS)]


class NewReading(BaseModel):
    """What a person says of a file, in place of what was guessed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    part: Annotated[str, Field(max_length=16, description="`edges` or `nodes`.")] = "edges"
    columns: Annotated[
        Annotated[str, Field(max_length=16_384)] | dict[str, Column | list[Column]] | None,
        Field(description="What columns are, as an upload takes it, or as an object of roles and columns."),
    ] = None
    delimiter: Annotated[
        str | None, Field(max_length=9, description="One character, `::`, `tab`, `space`.")
    ] = None
    header: Annotated[bool | None, Field(description="Whether the first record names the columns.")] = None
    decimal: Annotated[Literal[".", ","] | None, Field(description="The decimal mark.")] = None
    encoding: Annotated[str | None, Field(max_length=32, description="utf-8, latin-1, ...")] = None
    bipartite: Annotated[bool | None, Field(description="Whether the ends are two sorts of nodes.")] = None
    dates: Annotated[
        Literal["dmy", "mdy", "ymd"] | None, Field(description="What stands first in dates.")
    ] = None

    @property
    def said(self) -> Mapping:
        """What is said, as one mapping. InvalidInput names the field at fault."""
        return Mapping.parse(**self.model_dump(exclude={"part"}))
