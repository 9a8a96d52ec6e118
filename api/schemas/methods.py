"""What can be asked for."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from api.schemas.common import Answer


class Method(Answer):
    """One synthesis method."""

    name: str = Field(description="Send it as a job's `method`.", examples=["psgraph"])
    title: str = Field(description="Its name for people.")
    summary: str = Field(description="What it does, in a sentence or two.")
    assurance: str = Field(description="How its privacy proof was checked: proven, reviewed or experimental.")
    units: list[str] = Field(description="Privacy units that it supports.", examples=[["edge", "event"]])
    kinds: list[str] = Field(description="Guarantees that it gives.", examples=[["pure"]])
    accepts: dict[str, bool] = Field(
        description="The shapes of graph that it takes.", examples=[{"static": True, "temporal": True}]
    )
    parameters: dict[str, Any] = Field(description="JSON Schema of a job's `parameters`.")


class Methods(Answer):
    items: list[Method]
