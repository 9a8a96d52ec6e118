"""The result of an audit, as stored and shown. It is checked when a child process hands it over."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

MAX_EVENT = 1_000

Bound = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class AuditControl(_Strict):
    """The copy with half the noise, judged against the same promise."""

    lower_bound: Bound = Field(description="Its epsilon is at least this.")
    caught: bool = Field(
        description="Whether the audit saw that the copy breaks the promise; if not, passing means little."
    )


class AuditResult(_Strict):
    """What the runs showed. ``verdict`` follows from ``passed`` and ``control.caught``."""

    method: str
    parameters: dict[str, Any]
    unit: str
    window: int | None
    nano_epsilon: int = Field(ge=1, description="The promise, in units of 1e-9.")
    delta_atto: int = Field(ge=0, description="Its delta, in units of 1e-18.")
    runs: int = Field(ge=100, description="Runs on each of the two canary graphs.")
    confidence: float = Field(gt=0, lt=1)
    lower_bound: Bound
    event: Annotated[str, Field(max_length=MAX_EVENT)]
    passed: bool
    control: AuditControl
    verdict: Literal["passed", "failed", "inconclusive"]
