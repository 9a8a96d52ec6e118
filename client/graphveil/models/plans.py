"""What can be requested, and what a job would cost. What it would do is here too."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from graphveil.models.base import CHOSEN, Answer
from graphveil.models.ledger import Budget
from graphveil.models.reports import Precision


class Method(Answer):
    """One synthesis method."""

    name: str = Field(description="Send it as a job's `method`.", examples=["psgraph"])
    title: str = Field(description="Its name for people.")
    summary: str = Field(description="What it does, in a sentence or two.")
    assurance: str = Field(description="How its privacy proof was checked: proven, reviewed or experimental.")
    units: tuple[str, ...] = Field(
        description="Privacy units that it supports.", examples=[["edge", "event"]]
    )
    kinds: tuple[str, ...] = Field(description="Guarantees that it gives.", examples=[["pure"]])
    accepts: dict[str, bool] = Field(
        description="The shapes of graph that it takes.", examples=[{"static": True, "temporal": True}]
    )
    parameters: dict[str, Any] = Field(description="JSON Schema of a job's `parameters`.")
    accelerator: bool = Field(
        default=False, description="Whether some of its jobs gain from a GPU; a plan says what it is to one."
    )
    reads: tuple[str, ...] = Field(
        default=(),
        description="Reads that divide epsilon. A job may set the shares of all of them at once, as "
        "`parameters.shares`; they sum to 1. Empty where the method divides otherwise.",
        examples=[["count", "degree"]],
    )


class Methods(Answer):
    items: list[Method]


class Cost(Answer):
    """What a plan costs: a function of the request and the public schema alone."""

    kind: str = Field(description="pure, approximate, none, or unread: nothing is read, at epsilon 0.")
    epsilon: str | None = Field(
        description="Rounded up to 1e-9; null where there is no guarantee. A job that fails after it has "
        "opened the graph spends it too."
    )
    delta: str | None = Field(description="Rounded up to 1e-18.")


class NodePrice(Answer):
    """What holds for all edges of one node, replaced by any others: 2 D times the epsilon of one edge."""

    node_type: str
    edges: int = Field(description="D: the most edges that a node of the type has, as declared.")
    epsilon: str
    delta: str


class Expected(Answer):
    """What follows from a plan's noise for a question that callers ask. No data is looked at."""

    question: str = Field(description="A target may ask for it by this name.", examples=["edges_relative_95"])
    edge_type: str
    value: float = Field(description="In the unit.")
    unit: str
    method: str = Field(description="What it follows from.")
    assumed: str | None = Field(
        default=None, description="What it takes for granted beside the noise: a guess, or a declared bound."
    )


class Reached(Answer):
    """What one part of a target comes to."""

    question: str
    edge_type: str
    asked: float
    value: float = Field(description="What is expected; see the plan's `expected` for its method.")
    met: bool


class Solved(Answer):
    """The smallest epsilon that meets a target: one nano-epsilon less misses it."""

    epsilon: str
    binds: str | None = Field(
        description="The part that a little less would miss; null where the least epsilon meets all, or "
        "where with a little less the method, or the one that auto chooses, tells nothing of it."
    )
    edge_type: str | None = Field(description="The relation in which it binds.")
    reached: tuple[Reached, ...]


class Plan(Answer):
    """What a job would do and cost. Nothing was reserved."""

    method: str
    chosen_because: str | None = Field(default=None, description=CHOSEN)
    parameters: dict[str, Any] = Field(description="Defaults filled in.")
    unit: str
    window: int | None
    edge_types: tuple[str, ...]
    protects: str | None = Field(
        default=None,
        description="What one release hides: two datasets that differ in no more than this are told apart by "
        "epsilon at most. Null where nothing is promised.",
        examples=["any one row of flights, there or not; a changed row counts twice, k rows count k times"],
    )
    cost: Cost
    amounts: dict[str, int] = Field(
        description="What would be reserved, by budget dimension: nano-epsilon, delta in 1e-18."
    )
    allotments: int = Field(description="Operations that the plan grants.")
    plan_digest: str
    budget_after: Budget = Field(description="The account as it would stand with this job's reservation.")
    quotas_after: tuple[Budget, ...] = Field(
        default=(), description="The quotas that it would draw on as well."
    )
    needs_approval: bool = Field(default=False, description="Whether it would wait for a second person.")
    least_epsilon: str | None = Field(
        default=None,
        description="Least epsilon of a job under the dataset's policy, and so of an attempt that fails "
        "after it has opened the graph; null: no least.",
    )
    node_prices: tuple[NodePrice, ...] = Field(
        default=(),
        description="What all edges of one node together are promised, where the schema bounds their number "
        "(`degree_bound`, or functional relations) by at most 4; under the units edge and event.",
    )
    shares: dict[str, float] = Field(
        default_factory=dict,
        description="How the method divides epsilon among its reads, where it names any.",
    )
    precision: tuple[Precision, ...] = Field(
        default=(),
        description="How near the figures that it pays for will be to the truth, one line for each relation "
        "and quantity that every fit reads: from the plan and public facts alone. What the method makes of "
        "them, and what it never asks, is not in it.",
    )
    expected: tuple[Expected, ...] = Field(
        default=(),
        description="What follows from that noise for questions that are often asked: by a stated method, "
        "from public facts and from what the request says to `assume`.",
    )
    solved: Solved | None = Field(
        default=None, description="What epsilon the request's `target` takes; null where it names its own."
    )
    accelerator: str = Field(
        default="none",
        description="What a GPU is to the job, by public sizes: none; useful, where it takes minutes without "
        "one; needed, where it would not end in time.",
    )
    warnings: tuple[str, ...] = Field(
        default=(),
        description="What the unit leaves open for relations that are declared to last; that a job without a "
        "guarantee exposes the account once it has opened the graph; that no worker has the GPU that the "
        "job gains from.",
    )
    identical_to: str | None = Field(
        default=None,
        description="A job with the same content, whose release costs nothing: the request would be refused "
        "for it, unless it says `repeat`.",
    )


class Refusal(Answer):
    """Why one of several plans cannot be had: its problem, in short."""

    type: str = Field(description="The problem's page.", examples=["/problems/budget-exceeded"])
    detail: str
    field: str | None = Field(default=None, description="What of the request to mend.")


class MenuItem(Answer):
    """One method at one epsilon."""

    method: str
    epsilon: str = Field(description="What was asked for.")
    parameters: dict[str, Any] = Field(description="Defaults filled in; as asked where it is refused.")
    chosen_because: str | None = Field(default=None, description=CHOSEN)
    cost: Cost | None = Field(default=None, description="Null where it is refused before it is planned.")
    remaining: str | None = Field(
        default=None, description="The account's remaining epsilon after it; null where it has no room."
    )
    plan_digest: str | None = None
    shares: dict[str, float] = Field(
        default_factory=dict,
        description="How the method divides epsilon among its reads, where it names any.",
    )
    precision: tuple[Precision, ...] = ()
    expected: tuple[Expected, ...] = ()
    refused: Refusal | None = Field(default=None, description="Why it cannot be had now; null where it can.")


class Menu(Answer):
    """Many plans at once. Nothing was reserved."""

    dataset_id: str
    unit: str
    window: int | None
    budget: Budget = Field(description="The account as it stands.")
    items: tuple[MenuItem, ...] = Field(description="Method by method, each at every epsilon.")
