"""What a release job and its evaluation are asked to do; nothing about the data."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from core.evaluation.metric import Suite
from core.graphs.schema import MAX_STEPS, MAX_TYPES, Derived, Name
from core.privacy.units import Unit

ATTO = 10**18
_MAX_INT = 2**63 - 1


class Tick(BaseModel):
    """Which snapshot of which live stream a job publishes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    stream_id: Annotated[str, Field(min_length=1, max_length=64)]
    step: Annotated[int, Field(ge=0, lt=MAX_STEPS)]


class ReleaseSpec(BaseModel):
    """One job, as the service reserved it; read as JSON by the child process.

    ``plan`` is the reserved plan in its JSON form. It is never trusted: the release recomputes the plan from
    the method, the parameters and the public facts, by the accountant that the plan names (either is sound),
    and refuses when the two differ.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    job_id: Annotated[str, Field(min_length=1, max_length=64)]
    dataset_id: Annotated[str, Field(min_length=1, max_length=64)]
    dataset_version: Annotated[str, Field(min_length=1, max_length=64)]
    method: Annotated[str, Field(min_length=1, max_length=64)]
    chosen_because: Annotated[str, Field(max_length=2000)] | None = Field(
        default=None, description="Why ``auto`` chose the method; None where the caller named it."
    )
    params: dict[str, Any] = Field(default_factory=dict)
    unit: Unit
    window: Annotated[int, Field(ge=1, le=MAX_STEPS)] | None = None
    nano_epsilon: Annotated[int, Field(ge=1, le=_MAX_INT)]
    delta_atto: Annotated[int, Field(ge=0, lt=ATTO)] = 0
    edge_types: Annotated[tuple[Name, ...], Field(min_length=1, max_length=MAX_TYPES)]
    plan: dict[str, Any]
    formats: Annotated[tuple[str, ...], Field(max_length=16)] = ()
    seed: Annotated[int, Field(ge=0, le=_MAX_INT)] | None = Field(
        default=None, description="Seeds the sampling draws; for datasets marked public only."
    )

    tick: Tick | None = Field(default=None, description="Given for one snapshot of a live stream.")
    sample_of: Annotated[str, Field(min_length=1, max_length=64)] | None = Field(
        default=None,
        description="The job whose fitted model is drawn from again; None for a model of its own.",
    )
    named_links: bool = Field(
        default=False, description="The curators' list of sensitive links must be there; none is drawn."
    )
    derived: Annotated[tuple[Derived, ...], Field(max_length=2)] = Field(
        default=(), description="What of the public schema and universe was read off the data."
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.unit is Unit.W_EVENT) != (self.window is not None):
            raise ValueError("a window is given for the unit w-event, and for no other")
        for name in ("edge_types", "formats", "derived"):
            values = getattr(self, name)
            if len(set(values)) != len(values):
                raise ValueError(f"{name} names one thing twice")
        return self


class EvaluationSpec(BaseModel):
    """How a published release is compared with its original, and how it was made: attackers may know."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    suite: Suite
    method: Annotated[str, Field(min_length=1, max_length=64)]
    params: dict[str, Any] = Field(default_factory=dict)
    unit: Unit
    window: Annotated[int, Field(ge=1, le=MAX_STEPS)] | None = None
    nano_epsilon: Annotated[int, Field(ge=1, le=_MAX_INT)]
    delta_atto: Annotated[int, Field(ge=0, lt=ATTO)] = 0
    edge_types: Annotated[tuple[Name, ...], Field(min_length=1, max_length=MAX_TYPES)]
    tick: Tick | None = None
    shadows: Annotated[int, Field(ge=0, le=10)] = Field(
        default=3, description="Most further releases that an attacker is supposed to make."
    )
    shadow_links: Annotated[int, Field(ge=0)] = Field(
        default=2_000_000, description="Links of the largest release of which any are made."
    )
    reduced_from: Suite | None = Field(
        default=None, description="The suite that was asked for, where it was too much; None: this one."
    )

    def reduced(self) -> EvaluationSpec | None:
        """The cheapest suite in place of this one, and a note of it; None for the cheapest itself."""
        if self.suite is Suite.QUICK:
            return None
        return self.model_copy(update={"suite": Suite.QUICK, "reduced_from": self.suite})
