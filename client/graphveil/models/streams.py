"""Live streams and their snapshots, as callers see them. Amounts are exact decimals, as everywhere."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from graphveil.models.base import CHOSEN, CURATORS, Answer, NextCursor

TERMINAL = frozenset({"published", "failed", "cancelled", "rejected", "refused"})
"""States of a snapshot that it does not leave by itself."""

STATES = "queued, running, publishing, published, failed, cancelling, cancelled or refused."
REASON = "Why it ended so, from an enumerated list."


class Stream(Answer):
    """A stream: one snapshot comes in at each step, one synthetic snapshot goes out."""

    id: str = Field(examples=["st_01k8zv2v9h6t0h3r6b8mkx2n4e"])
    dataset_id: str
    version_id: str = Field(description="The upload that names the nodes; its edges are not read.")
    account_id: str = Field(description="The budget account that every step is charged to.")
    method: str
    chosen_because: str | None = Field(description=CHOSEN)
    parameters: dict[str, Any] = Field(description="Defaults filled in.")
    edge_types: list[str] = Field(description="The relations that a snapshot may hold.")
    window: int = Field(description="Steps of a window: w of w-event.")
    epsilon: str = Field(description="What any window of consecutive steps may cost.", examples=["1"])
    step_epsilon: str = Field(description="The most that one step costs.", examples=["0.2"])
    start: int = Field(description="Time at which step 0 begins.")
    width: int = Field(description="How long a step lasts: step t begins at start + t * width.")
    first_step: int = Field(description="The first step of the stream.")
    next_step: int = Field(description="The step that the stream waits for.")
    missing_steps: str = Field(description="refuse or empty: what happens when a step is left out.")
    state: str = Field(description="open or closed.")
    suite: str = Field(description="How closely each snapshot is compared with its original.")
    label: str | None
    requested_by: str = Field(description="The key that opened it.")
    created_at: datetime
    closed_at: datetime | None


class Streams(Answer):
    items: list[Stream]
    next_cursor: NextCursor = None


class Snapshot(Answer):
    """One step of a stream. Its release and its report are those of its job."""

    stream_id: str
    step: int
    starts_at: int = Field(description="The step's first time, on the stream's grid.")
    ends_at: int = Field(description="The first time after the step.")
    job_id: str = Field(description="The job that publishes it: its report and its files are found there.")
    state: str = Field(description=STATES)
    reason: str | None = Field(description=REASON)
    number: int = Field(description="How often the step was sent anew, after it was refused or lost.")
    epsilon: str = Field(description="What is charged, or reserved while it is under way.", examples=["0.2"])
    artifacts: tuple[str, ...] = Field(
        description="Names of the released files; empty until it is published."
    )
    report: str | None = Field(description="Where its report is; null until it is published.")
    evaluation: str | None = Field(description=f"How far the comparison with the original is. {CURATORS}")
    created_at: datetime
    finished_at: datetime | None = Field(description=CURATORS)
    format: str | None = Field(description=CURATORS)
    size_bytes: int | None = Field(description=f"Of the upload. {CURATORS}")
    findings: list[dict[str, Any]] | None = Field(
        description=f"What was wrong with its rows: up to 20 of file, line, column, message. {CURATORS}"
    )


class Snapshots(Answer):
    items: list[Snapshot]
    next_cursor: NextCursor = None


class StreamRow(Answer):
    """One step in the report of its stream."""

    step: int
    starts_at: int
    ends_at: int
    job_id: str
    state: str = Field(description=STATES)
    reason: str | None = Field(description=REASON)
    epsilon: str = Field(description="What is charged, or reserved while it is under way.", examples=["0.2"])
    window_epsilon: str = Field(
        description="Charged and reserved in the window that ends here, by all releases of the account."
    )
    statistics: dict[str, float | None] | None = Field(
        description="Of the synthetic snapshot alone, by name; null until it is published."
    )
    comparison: dict[str, float | None] | None = Field(
        description=f"Errors against the original, by name, where they were measured. {CURATORS}"
    )
    evaluation: str | None = Field(description=f"How far the comparison with the original is. {CURATORS}")


class FullestWindow(Answer):
    """The window of the account that holds most; no steps where only spend without a time counts."""

    first_step: int | None
    last_step: int | None
    charged: str = Field(description="Epsilon, exact.", examples=["0.8"])
    reserved: str = Field(description="Epsilon, exact.", examples=["0.2"])


class StreamReport(Answer):
    """A stream at one moment, and one page of its steps."""

    stream_id: str
    dataset_id: str
    dataset_name: str = Field(description="What the dataset is called.")
    method: str
    state: str = Field(description="open or closed.")
    window: int
    epsilon: str = Field(description="What any window may cost this stream.", examples=["1"])
    step_epsilon: str = Field(description="The most that one step costs.")
    statement: str = Field(description="The guarantee of the whole stream in plain words.")
    not_covered: tuple[str, ...] = Field(description="What it leaves out.")
    first_step: int
    next_step: int
    counts: dict[str, int] = Field(
        description="Snapshots by how they ended, and how many wait.", examples=[{"published": 6}]
    )
    worst_window: FullestWindow
    capacity: str = Field(description="What any window of the account may hold.", examples=["4"])
    metrics: dict[str, str] = Field(description="What the names in the rows mean.")
    rows: list[StreamRow]
    next_cursor: NextCursor = None
