"""RFC 9457 problems and their typed extension members."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, computed_field

from graphveil.models.plans import Reached


class ActionableBy(StrEnum):
    """Who can make the next attempt succeed."""

    CALLER = "caller"
    CURATOR = "curator"
    OPERATOR = "operator"


class FieldError(BaseModel):
    """One thing to mend."""

    field: str = Field(description="Dotted path to the value, such as `graph_schema.edge_types.0.name`.")
    message: str = Field(description="What is wrong with it.")
    how_to_mend: str = Field(description="What would be accepted.")


class Problem(BaseModel):
    """What every refusal and failure looks like (RFC 9457)."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "/problems/not-found",
                    "title": "No such object",
                    "status": 404,
                    "detail": "no dataset ds_01k8 is visible to this key",
                    "request_id": "req_01k8zv2v9h6t0h3r6b8mkx2n4e",
                    "retryable": False,
                    "actionable_by": "caller",
                }
            ]
        }
    )

    type: str = Field(description="Stable URI of the problem's page; compare this, not the title.")
    title: str = Field(description="The kind of problem in a few words.")
    status: int = Field(description="The HTTP status code, repeated.")
    detail: str | None = Field(default=None, description="What happened this time. Absent on server errors.")
    request_id: str = Field(description="Quote it when you ask for help.")
    retryable: bool = Field(description="True when the same request may succeed later without a change.")
    actionable_by: ActionableBy = Field(description="Who can make the next attempt succeed.")


class InvalidInputProblem(Problem):
    errors: list[FieldError] = Field(default_factory=list, description="Everything to mend, field by field.")
    accepted: list[str] | None = Field(default=None, description="The values that would be accepted.")


class IngestRejectedProblem(InvalidInputProblem):
    findings: list[dict[str, Any]] | None = Field(
        default=None, description="Up to 20 of {file, line, column, message}; shown to curators only."
    )


class KeyReusedProblem(InvalidInputProblem):
    job_id: str | None = Field(default=None, description="The job that the key stands for.")


class NotFoundProblem(Problem):
    id: str | None = Field(default=None, description="The id that was asked for.")


class ConflictProblem(Problem):
    field: str | None = Field(default=None, description="What to change, where a change would help.")
    account_id: str | None = Field(default=None, description="The budget account that stands already.")
    domain: str | None = Field(default=None, description="The protection domain that the conflict is about.")


class StateProblem(Problem):
    id: str | None = Field(default=None, description="The object.")
    state: str | None = Field(default=None, description="The state that the object is in.")
    asked: str | None = Field(default=None, description="The state that was asked for.")
    reason: str | None = Field(default=None, description="Why it is there, from an enumerated list.")
    retry_after: int | None = Field(default=None, description="Seconds to wait before asking again.")


class LinksNotNamedProblem(Problem):
    dataset_id: str | None = Field(default=None, description="The dataset whose curators can mend it.")


class IdenticalReleaseProblem(Problem):
    job_id: str | None = Field(default=None, description="The job with the same content.")
    state: str | None = Field(default=None, description="Its state: published, or still on its way.")

    @computed_field(description="Where to go on: the job, its report and files, and further samples.")  # type: ignore[prop-decorator]
    @property
    def links(self) -> dict[str, str]:
        if self.job_id is None:
            return {}
        job = f"/v1/jobs/{self.job_id}"
        return {"job": job, **{name: f"{job}/{name}" for name in ("report", "artifacts", "samples")}}


class StreamProblem(Problem):
    stream_id: str | None = Field(default=None, description="The stream.")
    step: int | None = Field(default=None, description="The step that was sent.")
    next_step: int | None = Field(default=None, description="The step that the stream waits for.")
    state: str | None = Field(default=None, description="The state of the stream, or of the step's snapshot.")
    waiting: int | None = Field(default=None, description="Snapshots that are not published yet.")
    limit: int | None = Field(default=None, description="How many may be.")
    retry_after: int | None = Field(default=None, description="Seconds to wait before sending again.")


class TooManyJobsProblem(Problem):
    of: str | None = Field(default=None, description="Whose jobs they are: tenant or key.")
    open: int | None = Field(default=None, description="Jobs that have not ended.")
    limit: int | None = Field(default=None, description="How many may be open at a time.")
    retry_after: int | None = Field(default=None, description="Seconds to wait before sending again.")


class EventStreamsProblem(Problem):
    limit: int | None = Field(default=None, description="How many may be open at a time.")
    retry_after: int | None = Field(default=None, description="Seconds to wait before connecting again.")


class UploadsProblem(Problem):
    limit: int | None = Field(default=None, description="How many may be under way at a time.")
    retry_after: int | None = Field(default=None, description="Seconds to wait before sending again.")


class ForbiddenProblem(Problem):
    required_roles: list[str] | None = Field(default=None, description="One of these roles is needed.")


class StaleEtagProblem(Problem):
    id: str | None = Field(default=None, description="The object.")
    version: int | None = Field(default=None, description="The version that stands now.")


class RateLimitedProblem(Problem):
    limit: int | None = Field(default=None, description="Requests that are taken in the window.")
    window_seconds: int | None = Field(default=None, description="Length of the window, which moves along.")
    retry_after: int | None = Field(default=None, description="Seconds until the next request is taken.")


class PayloadTooLargeProblem(Problem):
    limit_bytes: int | None = Field(default=None, description="The largest body that is accepted.")


class RangeNotSatisfiableProblem(Problem):
    size_bytes: int | None = Field(default=None, description="How long the file is.")


class BudgetProblem(Problem):
    account_id: str | None = Field(default=None, description="The budget account that refused.")


class BudgetExceededProblem(BudgetProblem):
    """Amounts are exact decimals: epsilon, or delta where ``dimension`` is ``delta``."""

    quota: dict[str, str] | None = Field(
        default=None, description="Scope and name of the quota that refused; absent for the account itself."
    )
    unit: str | None = Field(default=None, description="The privacy unit that the account counts.")
    dimension: str | None = Field(default=None, description="What is short: `epsilon`, `delta` or an order.")
    window: list[int] | None = Field(
        default=None, description="First and last step of the window that is full."
    )
    requested: str | None = Field(default=None, description="What the job would cost.")
    remaining: str | None = Field(default=None, description="What is neither charged nor reserved.")
    charged: str | None = Field(default=None, description="What releases have spent.")
    reserved: str | None = Field(default=None, description="What other jobs have set aside.")
    capacity: str | None = Field(default=None, description="The whole budget in this dimension.")
    earliest_expiry_at: datetime | None = Field(
        default=None, description="When the first of those reservations may return, if it is not used."
    )


class TargetNotMetProblem(BudgetProblem):
    """Amounts are exact decimals of epsilon."""

    limited_by: str | None = Field(default=None, description="What sets the limit: balance, quota or policy.")
    limit: str | None = Field(default=None, description="The most epsilon that such a job may have now.")
    needed: str | None = Field(
        default=None, description="The smallest epsilon that meets the target; null: none does."
    )
    reached: list[Reached] | None = Field(
        default=None, description="How close the limit comes, by part and relation."
    )


class UnitMismatchProblem(BudgetProblem):
    unit: str | None = Field(default=None, description="The privacy unit that the account counts.")
    window: int | None = Field(default=None, description="Its window, under w-event.")
    account_unit: str | None = Field(default=None, description="The same as `unit`.")
    plan_unit: str | None = Field(default=None, description="The same as `requested_unit`.")
    requested_unit: str | None = Field(default=None, description="The privacy unit that the plan protects.")
    requested_window: int | None = Field(default=None, description="Its window, under w-event.")


class AccountBlockedProblem(BudgetProblem):
    consecutive_give_backs: int | None = Field(
        default=None, description="Reservations that came back unused."
    )
    blocked_at: datetime | None = None


class AccountExposedProblem(BudgetProblem):
    exposed_at: datetime | None = Field(
        default=None, description="The day on which a job without a guarantee opened the graph."
    )


class KindNotAllowedProblem(BudgetProblem):
    kind: str | None = Field(default=None, description="The guarantee that the plan gives.")
    allowed: list[str] | None = Field(default=None, description="The guarantees that the policy allows.")


class PolicyRefusedProblem(Problem):
    dataset_id: str | None = Field(default=None, description="The dataset whose policy refused.")
    field: str | None = Field(default=None, description="What of the request to change.")
    rule: str | None = Field(default=None, description="The field of the policy that refused it.")
    limit: str | None = Field(default=None, description="What that field allows, where it names something.")
    asked: str | None = Field(default=None, description="What was asked for; absent where nothing was.")
    policy_version: int | None = Field(default=None, description="The version of the policy.")
