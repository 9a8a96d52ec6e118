"""Jobs, their events, and their releases' files. They are as callers see them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from graphveil.models.base import CHOSEN, CURATORS, EXPOSED, Answer, NextCursor

AWAITING_APPROVAL = "awaiting_approval"
TERMINAL = frozenset({"published", "failed", "cancelled", "rejected"})

STATES = (
    "awaiting_approval, queued, running, publishing, published, failed, cancelling, cancelled or rejected."
)


class Evaluation(Answer):
    """How far the comparison with the original is. It never fails a release."""

    state: str = Field(description="pending, running, done or failed.")
    stage: str | None = Field(
        description="load, compare, whole, shadow, attack or task; null before it starts."
    )
    done: int
    total: int


class Approval(Answer):
    """A second person's word on a job above the policy's threshold."""

    decided_by: str = Field(description="The person.")
    decided_at: datetime
    reason: str


class BudgetOutcome(Answer):
    """What ending without a release does to a job's budget."""

    outcome: str = Field(description="returned, pending (it returns once the job has stopped) or spent.")
    text: str = Field(description="Why, in a sentence.")


class Shards(Answer):
    """How far the drawing of a graph in shards is. Their number follows from paid counts."""

    drawn: int
    total: int


class Table(Answer):
    """A table that the engine's catalogue has of a release, and the snapshot that has all of its rows."""

    name: str = Field(examples=["lake.releases.job_01k8zv2v9h6t0h3r6b8mkx2n4e_edges"])
    snapshot: str = Field(description="Its number, exact.", examples=["8235467812901342"])


class Size(Answer):
    """Another number of nodes than the original's."""

    nodes: int = Field(description="Nodes of the drawn graph.")
    of: int = Field(description="Nodes of the original, which the model was fitted to.")


class Job(Answer):
    """One request for a release. Exact times and attempts are null for callers who are not curators."""

    id: str = Field(examples=["job_01k8zv2v9h6t0h3r6b8mkx2n4e"])
    dataset_id: str
    version_id: str = Field(description="The upload that the job reads.")
    method: str
    chosen_because: str | None = Field(default=None, description=CHOSEN)
    parameters: dict[str, Any] = Field(description="Defaults filled in.")
    edge_types: tuple[str, ...]
    formats: tuple[str, ...] = Field(description="Formats besides the release's own tables.")
    label: str | None
    stream_id: str | None = Field(default=None, description="The live stream whose snapshot it publishes.")
    step: int | None = Field(default=None, description="The snapshot's step; null without a stream.")
    sample_of: str | None = Field(
        default=None,
        description="The job whose fitted model it draws from again. Its epsilon and delta are then those of "
        "the model, and it is charged nothing.",
    )
    size: Size | None = Field(
        default=None, description="Where the fitted law is drawn at another number of nodes; else null."
    )
    write_to: str | None = Field(
        default=None,
        description="The folder that the job's tables are written to, in place of the bundle; null for none.",
    )
    tables: tuple[Table, ...] = Field(
        default=(), description="Those of the engine's catalogue, of a job that wrote to it and is published."
    )
    epsilon: str = Field(description="What was asked for, exact.", examples=["0.5"])
    delta: str = Field(examples=["0"])
    unit: str
    window: int | None
    protects: str | None = Field(
        default=None,
        description="What one release hides: two datasets that differ in no more than this are told apart by "
        "epsilon at most. Null where nothing is promised.",
        examples=["any one row of flights, there or not; a changed row counts twice, k rows count k times"],
    )
    kind: str = Field(description="The guarantee of the plan: pure, approximate, none, or unread: epsilon 0.")
    exposed: bool = Field(default=False, description=EXPOSED)
    plan_digest: str = Field(description="SHA-256 of the privacy plan that was reserved.")
    state: str = Field(description=STATES)
    shards: Shards | None = Field(
        default=None,
        description="Of a dataset in parts: the parts of the graph, drawn one by one once the model is "
        "fitted; null before that, for other jobs, and for those that ended without a release.",
    )
    reason: str | None = Field(description="Why it ended so, from an enumerated list.")
    budget: BudgetOutcome | None = Field(
        default=None, description="Of a job that failed, was cancelled, is being cancelled, or was rejected."
    )
    accelerator: str = Field(
        default="none", description="What a GPU is to it: none, useful or needed; see the plan."
    )
    waits_for_gpu: bool = Field(
        default=False, description="Whether it is queued for a worker with a GPU, and no other may take it."
    )
    suite: str = Field(description="How closely it is compared with its original: quick, standard or full.")
    evaluation: Evaluation | None = Field(description=f"The comparison with the original. {CURATORS}")
    requested_by: str = Field(description="The key that asked.")
    person: str | None = Field(
        default=None, description="Whose key that is: another person decides about the job where one must."
    )
    team: str | None = Field(default=None, description="The key's team, whose quota it draws on.")
    project: str | None = Field(default=None, description="The project whose quota it draws on.")
    policy_version: int = Field(description="The version of the dataset's policy that admitted it.")
    approval: Approval | None = Field(
        default=None, description="What a second person said; null before that, and where nobody was asked."
    )
    approval_until: datetime | None = Field(
        default=None,
        description="When a job that awaits approval fails unless somebody decides; null for any other.",
    )
    created_at: datetime
    cancel_requested_at: datetime | None
    run_time: str | None = Field(description="Coarse, because exact times can depend on the data.")
    started_at: datetime | None = Field(description=CURATORS)
    finished_at: datetime | None = Field(description=CURATORS)
    attempt: int | None = Field(description=CURATORS)


class Jobs(Answer):
    items: list[Job]
    next_cursor: NextCursor = None


class Event(Answer):
    """A step forward of a job: public step counts, never sizes of the graph."""

    sequence: int
    stage: str = Field(examples=["perturb"])
    done: int
    total: int
    created_at: datetime | None = Field(default=None, description=CURATORS)


class StateChange(Answer):
    """The job came to this state."""

    sequence: int = Field(description="Steps and states of a job share one numbering.")
    state: str = Field(description=STATES)
    created_at: datetime | None = Field(description=CURATORS)


class End(Answer):
    """Nothing follows: the job has ended."""

    state: str = Field(description="published, failed, cancelled or rejected.")


class Events(Answer):
    items: list[Event]


class Artifact(Answer):
    """One file of a release, as the charge names it."""

    name: str = Field(examples=["edges.parquet"])
    role: str = Field(description="artifact, report, or curator.")
    media_type: str
    size_bytes: int
    sha256: str
    written_to: str | None = Field(
        default=None,
        description="Where the file lies, where the job named a folder for its tables; the service does not "
        "hand it out then. Else null.",
    )


class Artifacts(Answer):
    items: list[Artifact]
    exposed: bool = Field(default=False, description=EXPOSED)


class ReportPending(Answer):
    """There is no report yet; ask again after `Retry-After`."""

    job_id: str
    state: str
