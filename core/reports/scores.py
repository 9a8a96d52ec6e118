"""Two figures from 0 to 10, for curators. They say what a release is worth, and how well it protects."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from graphveil.models.reports import ReportModel, Share


class ScorePart(ReportModel):
    """One part of a score: 1 is best. The score is 10 times the weighted mean of its parts."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    title: str
    value: Share
    weight: Annotated[float, Field(gt=0)]
    explanation: str = Field(description="The part's own formula, with its figures.")


class Score(ReportModel):
    """A composite score with everything it is made of."""

    value: Annotated[float, Field(ge=0, le=10)]
    formula: str
    expects: str = Field(default="", description="What to expect of the release, in words.")
    parts: Annotated[tuple[ScorePart, ...], Field(min_length=1, max_length=32)]


class Scores(ReportModel):
    """Both scores, functions of the private graph; a score is null where nothing could be said."""

    utility: Score | None
    protection: Score | None
