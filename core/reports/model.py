"""Report 3.0. It has what a release says of itself, and what only its curators may read.

``Report.public`` is published with the release. ``Report.curator`` is a function of the private graph and is
present only for the dataset's curators. A change of meaning is a new ``schema_version``.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from core.privacy.units import Unit
from core.reports.base import DecimalString, Notice, Sha256
from core.reports.carried import MAX_CARRIED, Carried
from core.reports.evidence import CuratorPart
from core.reports.precision import MAX_PRECISIONS
from core.reports.statistics import PublicStatistics
from core.reports.totals import MAX_TOTALS, Total
from core.reports.training import TrainingPart
from graphveil.models.reports import Count, Precision, ReportModel

SCHEMA_VERSION: Literal["3.0"] = "3.0"

Kind = Literal["pure", "approximate", "none", "unread"]


class Claim(ReportModel):
    """What the method's paper claims where nothing could be proven; not a guarantee of this release."""

    epsilon: DecimalString | None
    delta: DecimalString | None
    source: str = Field(description="Where the claim is made.")
    remark: Annotated[str, Field(max_length=2000)] | None = Field(
        default=None, description="What a reader should know beside it."
    )


class GuaranteePart(ReportModel):
    """The privacy guarantee, computed from the plan and its transcript."""

    kind: Kind = Field(
        description="pure: (epsilon, 0); approximate: (epsilon, delta); none: no guarantee; unread: epsilon "
        "0, as nothing of the data was read."
    )
    epsilon: DecimalString | None = Field(description="Decimal string, rounded up; null for kind none.")
    delta: DecimalString | None = Field(description="Decimal string, rounded up; null for kind none.")
    unit: Unit = Field(description="What a neighbouring graph differs in.")
    window: Count | None = Field(description="Consecutive snapshots of the unit w-event; null otherwise.")
    protected_type: str | None = Field(
        default=None, description="The node type whose nodes are hidden under the unit node; null otherwise."
    )
    apart: tuple[str, ...] = Field(
        default=(),
        description="Relations of which one record of an edge is the unit.",
    )
    statement: str = Field(description="The guarantee in plain words.")
    assurance: str = Field(description="How the method was checked: proven, reviewed or experimental.")
    noise: tuple[str, ...] = Field(default=(), description="How far the draws are from the exact mechanism.")
    reasons: tuple[str, ...] = Field(default=(), description="Why there is none, for kind none.")
    claimed: Claim | None = None

    @property
    def hidden_type(self) -> str:
        """The type of the nodes that the unit node hides, in words."""
        return f"the protected type, {self.protected_type}" if self.protected_type else "the protected type"


class PurposeSummary(ReportModel):
    """Operations of one purpose and mechanism on one relation, summed over its steps."""

    purpose: str
    mechanism: str
    edge_type: str = Field(description="The relation; * for the whole graph.")
    operations: Count
    nano_epsilon: Count | None = Field(
        description="Sum over all steps, unit 1e-9; null where not pure. Disjoint edges do not add up, so "
        "the guarantee is not the sum of these rows."
    )
    within_group: bool = Field(description="True where a row above, a parallel group, has paid for it.")


class TranscriptSummary(ReportModel):
    """What was asked of the private graph, operation by operation, and what the plan charges for it."""

    operations: Count
    by_purpose: Annotated[tuple[PurposeSummary, ...], Field(max_length=1_000_000)]
    per_step_nano_epsilon: Annotated[tuple[Count, ...], Field(max_length=100_000)] | None = Field(
        description="The plan's spend on each snapshot (its dearest relation); null without time or not pure."
    )
    untimed_nano_epsilon: Count = Field(
        description="The plan's spend on the dearest relation without time; in every window of w-event."
    )


class Charge(ReportModel):
    """What the release cost its budget account, and what is left. Filled in when the report is served."""

    account_id: str
    filter: Literal["basic", "renyi"]
    charged: dict[str, int] = Field(description="Budget dimension to amount: nano-epsilon, delta in 1e-18.")
    remaining: dict[str, int] = Field(description="The account's balance after the charge, same dimensions.")
    charged_epsilon: DecimalString | None = None
    remaining_epsilon: DecimalString | None = None
    spent_epsilon: DecimalString | None = Field(
        default=None,
        description="What the account has paid for in all; under w-event in its fullest window.",
    )
    spent_delta: DecimalString | None = None
    capacity_epsilon: DecimalString | None = Field(
        default=None, description="What they may come to at most: the account's whole budget."
    )
    capacity_delta: DecimalString | None = None
    exposed: bool = Field(
        default=False,
        description="True once a job without a guarantee has opened a graph of the account: no epsilon can "
        "be claimed for the dataset as a whole any more.",
    )
    charged_at: str | None = Field(default=None, description="RFC 3339, UTC.")


class ReleasedFile(ReportModel):
    """One released file."""

    name: str
    media_type: str
    size_bytes: Count
    sha256: Sha256


class DrawnAt(ReportModel):
    """How many nodes the graph was drawn with, where the model was fitted to ``of``."""

    nodes: Count
    of: Count


class Provenance(ReportModel):
    """Where the release comes from, precisely enough to ask for it again."""

    job_id: str
    dataset_id: str
    dataset_name: str | None = Field(
        default=None, description="What the dataset is called. Filled in when the report is served."
    )
    dataset_version: str
    method: str
    method_title: str
    chosen_because: Annotated[str, Field(max_length=2000)] | None = Field(
        default=None, description="Why auto chose the method, from public facts; null where it was named."
    )
    stream_id: str | None = Field(default=None, description="The live stream that it is a snapshot of.")
    step: Count | None = Field(default=None, description="The snapshot's number on the stream's time grid.")
    sample_of: str | None = Field(
        default=None, description="The job whose fitted model it is a further sample of, at no charge."
    )
    size: DrawnAt | None = Field(
        default=None, description="Where it was drawn at another number of nodes than the original's."
    )
    computed_on: Literal["cpu", "gpu"] = Field(
        default="cpu", description="Where tensors were computed, in floating point that may differ."
    )
    graphveil_version: str
    plan_digest: Sha256
    randomness: Literal["operating system", "seeded"] = Field(
        description="Source of the sampling draws; noise always comes from the operating system."
    )
    seed: int | None = None
    artifacts: Annotated[tuple[ReleasedFile, ...], Field(max_length=64)]
    libraries: dict[str, str] = Field(description="Installed versions of what computed the release.")


class PublicPart(ReportModel):
    """Everything that may be known of a release: no figure in it reads the original graph unmetered."""

    guarantee: GuaranteePart
    transcript: TranscriptSummary
    charge: Charge | None = None
    parameters: dict[str, Any] = Field(description="The method's parameters, defaults included.")
    precision: Annotated[tuple[Precision, ...], Field(max_length=MAX_PRECISIONS)] = Field(
        default=(), description="How near the paid figures are to the truth, in their own units."
    )
    statistics: PublicStatistics
    carried: Annotated[tuple[Carried, ...], Field(max_length=MAX_CARRIED)] = Field(
        default=(), description="What synthetic edges and nodes carry, beside what was paid for."
    )
    totals: Annotated[tuple[Total, ...], Field(max_length=MAX_TOTALS)] = Field(
        default=(), description="Figures that paid numbers determine, each with its interval."
    )
    training: TrainingPart | None = None
    provenance: Provenance
    caveats: Annotated[tuple[Notice, ...], Field(max_length=64)]


class Report(ReportModel):
    """The document served for a job: the public part, and the curator part for those who may read it."""

    schema_version: Literal["3.0"] = SCHEMA_VERSION
    public: PublicPart
    curator: CuratorPart | None = None
