"""What jobs on a dataset may ask for."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Header, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from api.deps import CuratorDep, ReaderDep, ServicesDep
from api.http import conditional
from api.http.auth import Guarded
from api.routes.proposals import LOCATION, address_of
from api.schemas.common import Reason
from api.show import openapi
from core import errors
from core.workflows.common.policies import Policy
from core.workflows.datasets.dataset_policies import get_policy, set_policy
from graphveil.models.datasets import DatasetPolicy
from graphveil.models.proposals import Proposal

router = APIRouter(prefix="/datasets/{dataset_id}/policy", tags=["governance"], route_class=Guarded)

ETAG = {"ETag": {"schema": {"type": "string"}, "description": "Send it as `If-Match` to change the policy."}}


class PolicyChange(BaseModel):
    """A whole policy, and why it is to stand. What is left out has its default."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    policy: Policy
    reason: Reason = Field(description="It is kept with the policy.")


_EXAMPLES = {
    "approval above one": {
        "summary": "Two methods, at most epsilon 2 a job, a second person above 1",
        "value": {
            "policy": {
                "methods": ["dcsbm", "edgerand"],
                "max_epsilon_per_job": "2",
                "approval_above_epsilon": "1",
            },
            "reason": "decision of the data board",
        },
    }
}


@router.get(
    "",
    operation_id="get_policy",
    response_model=DatasetPolicy,
    summary="Show the dataset's policy",
    responses={
        200: {"headers": ETAG},
        304: {"description": "Nothing has changed since the answer with that ETag."},
        **openapi.refusals(errors.NotFound),
    },
)
def show(
    services: ServicesDep,
    principal: ReaderDep,
    request: Request,
    dataset_id: str,
    version: Annotated[
        int | None, Query(ge=1, le=2**31 - 1, description="An earlier version, as jobs name it.")
    ] = None,
) -> Response:
    """The policy that stands, or an earlier version. Unit and window are the account's."""
    return conditional.tagged(request, get_policy(services, principal, dataset_id, version))


@router.put(
    "",
    operation_id="change_policy",
    response_model=DatasetPolicy,
    summary="Change the dataset's policy",
    responses={
        200: {
            "headers": ETAG,
            "description": "The policy stands: it allows nothing that was refused before.",
        },
        202: {
            "model": Proposal,
            "headers": LOCATION,
            "description": "It allows more than before: a proposal, which a second curator approves.",
        },
        **openapi.refusals(
            errors.NotFound,
            errors.Conflict,
            errors.InvalidTransition,
            errors.StaleEtag,
            errors.UnknownMethod,
            errors.IfMatchMissing,
        ),
    },
)
def change(
    services: ServicesDep,
    principal: CuratorDep,
    request: Request,
    dataset_id: str,
    body: Annotated[PolicyChange, Body(openapi_examples=_EXAMPLES)],
    if_match: Annotated[
        str | None, Header(description="The ETag of the policy that you read; * changes whichever stands.")
    ] = None,
) -> Response:
    """A policy that only restricts stands at once; one that allows more, in any field, waits for approval."""
    seen = get_policy(services, principal, dataset_id)
    if not conditional.matches(if_match, seen):
        raise errors.StaleEtag(
            "The policy has changed since you read it; read it again.", id=dataset_id, version=seen.version
        )
    changed = set_policy(
        services, principal, dataset_id, body.policy, reason=body.reason, standing=seen.version
    )
    if isinstance(changed, DatasetPolicy):
        return conditional.fresh(changed)
    answer = conditional.as_json(changed, status_code=202)
    answer.headers["Location"] = address_of(request, changed.id)
    return answer
