"""Figures that paid numbers determine. Each has the interval in which the true one lies; and how far paid
numbers really are from the truth, which only curators may know."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from core.reports.statistics import MetricName
from graphveil.models.reports import Count, ReportModel, Share

MAX_TOTALS = 100_000


class Total(ReportModel):
    """One metric of a relation as the release paid for it: the truth lies from ``low`` to ``high``."""

    edge_type: str
    step: Count | None = Field(description="The snapshot; null: the mean over all, or no time.")
    metric: MetricName
    value: float = Field(description="The paid answers that tell of it, weighed by how near each is.")
    low: Annotated[float, Field(ge=0)]
    high: Annotated[float, Field(ge=0)]
    confidence: Share
    query: str = Field(description="The paid counts that it follows from; of several, all.")


class PaidError(ReportModel):
    """The paid numbers of one quantity beside the truth, and what the synthetic graph has instead."""

    edge_type: str = Field(description="The relation; or rows: and a node type.")
    query: str
    quantity: str
    values: Count = Field(description="Numbers that were paid for.")
    within: Count = Field(description="Predicted: 95 % of them are at most so far off; of the least exact.")
    predicted: Annotated[float, Field(ge=0)] = Field(description="Predicted: the mean of |noise|.")
    actual: Annotated[float, Field(ge=0)] = Field(description="The mean of |paid - true|.")
    held: Share = Field(description="The share of intervals that hold the true number.")
    synthetic: Annotated[float, Field(ge=0)] | None = Field(
        description="The mean of |synthetic - true|, counted in the synthetic graph; null: not countable."
    )
