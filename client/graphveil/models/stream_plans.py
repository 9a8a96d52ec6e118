"""What a stream would do and cost. Its terms, and the account under them."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from graphveil.models.base import CHOSEN, Answer
from graphveil.models.ledger import Budget
from graphveil.models.plans import Expected
from graphveil.models.reports import Precision


class StreamPlan(Answer):
    """What a stream would do and cost. Nothing was opened or reserved."""

    method: str
    chosen_because: str | None = Field(description=CHOSEN)
    parameters: dict[str, Any] = Field(description="Defaults filled in.")
    unit: str = Field(examples=["w-event"])
    window: int
    edge_types: tuple[str, ...]
    first_step: int
    start: int = Field(description="Time at which step 0 begins.")
    width: int = Field(description="How long a step lasts.")
    epsilon: str = Field(description="What was asked for, for any window.", examples=["1"])
    step_epsilon: str = Field(description="The most that one step costs.", examples=["0.2"])
    window_epsilon: str = Field(description="The most that the steps of one window add up to.")
    amounts: dict[str, int] = Field(
        description="What the first step would reserve, by budget dimension: nano-epsilon."
    )
    allotments: int = Field(description="Operations that the plan of one step grants.")
    plan_digest: str = Field(description="SHA-256 of the first step's privacy plan.")
    window_fits: bool = Field(description="Whether the account has room for a first full window now.")
    budget_after: Budget = Field(
        description="The account as it would stand with that window; as it stands, where there is no room."
    )
    precision: tuple[Precision, ...] = Field(
        default=(),
        description="How near the figures that the first step pays for will be to the truth, as a job's plan "
        "tells it. Later steps may pay for less.",
    )
    expected: tuple[Expected, ...] = Field(
        default=(), description="What follows for questions that are often asked, as a job's plan tells it."
    )
    warnings: tuple[str, ...] = Field(
        default=(), description="What the window leaves open for relations that are declared to last."
    )
