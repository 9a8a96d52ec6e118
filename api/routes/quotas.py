"""Quotas, grants and adjustments: what changes an account besides its jobs."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Body, Path, Query, Request, Response

from api.deps import CuratorDep, Cursor, LedgerDep, ReaderDep, ServicesDep
from api.http.auth import Guarded
from api.routes.proposals import LOCATION, address_of
from api.schemas.budgets import Adjustment, Grant, NewQuota
from api.show import openapi
from core import errors
from core.workflows.common.policies import SLUG
from core.workflows.ledger.adjustments import adjust_budget
from core.workflows.ledger.grants import propose_grant
from core.workflows.ledger.quotas import list_quotas, open_quota, quota_ledger
from graphveil.models.ledger import Budget, LedgerPage, Quotas
from graphveil.models.proposals import Proposal

router = APIRouter(prefix="/datasets/{dataset_id}/budget", tags=["governance"], route_class=Guarded)

_GRANTS = {
    "account": {
        "summary": "Epsilon 1 more for the account",
        "value": {"epsilon": "1", "reason": "second year of the study"},
    },
    "quota": {
        "summary": "Half an epsilon more for one team",
        "value": {
            "epsilon": "0.5",
            "reason": "a further region",
            "quota": {"scope": "team", "name": "transport"},
        },
    },
}
_QUOTA = {"team": {"value": {"epsilon": "1.5", "reason": "share of the transport team"}}}
_ADJUSTMENT = {
    "table": {"value": {"epsilon": "0.25", "reason": "counts published by hand in March, epsilon 0.25"}}
}


@router.post(
    "/grants",
    operation_id="propose_grant",
    status_code=201,
    summary="Propose a larger capacity",
    responses={
        201: {"headers": LOCATION},
        **openapi.refusals(errors.NotFound, errors.Conflict, errors.InvalidTransition),
    },
)
def grant(
    services: ServicesDep,
    principal: CuratorDep,
    request: Request,
    response: Response,
    dataset_id: str,
    body: Annotated[Grant, Body(openapi_examples=_GRANTS)],
) -> Proposal:
    """A proposal: the capacity rises once a second curator has approved it; under the Rényi filter, never.

    The same proposal, made again by the same person while it is open, is the one that stands.
    """
    quota = None if body.quota is None else (body.quota.scope, body.quota.name)
    proposal = propose_grant(
        services,
        principal,
        dataset_id,
        epsilon=body.epsilon,
        delta=body.delta,
        reason=body.reason,
        quota=quota,
    )
    response.headers["Location"] = address_of(request, proposal.id)
    return proposal


@router.get(
    "/quotas",
    operation_id="list_quotas",
    summary="List the account's quotas",
    responses=openapi.refusals(errors.NotFound),
)
def quotas(services: ServicesDep, principal: ReaderDep, dataset_id: str) -> Quotas:
    """What each team and project with a quota has charged, reserved and left."""
    return list_quotas(services, principal, dataset_id)


@router.get(
    "/quotas/{scope}/{name}/ledger",
    operation_id="list_quota_entries",
    summary="List the entries of a quota",
    responses=openapi.refusals(errors.NotFound),
)
def quota_entries(
    services: ServicesDep,
    principal: LedgerDep,
    dataset_id: str,
    scope: Literal["team", "project"],
    name: Annotated[str, Path(pattern=SLUG, description="The team's or project's name.")],
    after: Annotated[int, Query(ge=0, le=2**63 - 1, description="Only entries after this number.")] = 0,
    cursor: Cursor = None,
    limit: Annotated[int | None, Query(ge=1, le=500, description="Entries on a page.")] = None,
) -> LedgerPage:
    """Immutable, hash-chained entries, oldest first, as those of the account itself; curators, auditors."""
    return quota_ledger(services, principal, dataset_id, scope, name, after, cursor, limit)


@router.put(
    "/quotas/{scope}/{name}",
    summary="Open a quota",
    responses={
        200: {"description": "The quota stands with this capacity already."},
        201: {"model": Budget, "description": "The quota is open, unspent."},
        **openapi.refusals(errors.NotFound, errors.Conflict, errors.InvalidTransition),
    },
)
def put_quota(
    services: ServicesDep,
    principal: CuratorDep,
    response: Response,
    dataset_id: str,
    scope: Literal["team", "project"],
    name: Annotated[str, Path(pattern=SLUG, description="The team's or project's name.")],
    body: Annotated[NewQuota, Body(openapi_examples=_QUOTA)],
) -> Budget:
    """From now on the jobs of this team or project draw on the quota and the account together, or on neither.

    What they drew before does not count. A grant raises a quota; nothing lowers it.
    """
    statement, fresh = open_quota(
        services,
        principal,
        dataset_id,
        scope,
        name,
        epsilon=body.epsilon,
        delta=body.delta,
        reason=body.reason,
    )
    response.status_code = 201 if fresh else 200
    return statement


@router.post(
    "/adjustments",
    operation_id="adjust_budget",
    summary="Count spend from outside the service",
    responses=openapi.refusals(errors.NotFound, errors.StaleEtag, errors.BudgetExceeded),
)
def adjust(
    services: ServicesDep,
    principal: CuratorDep,
    dataset_id: str,
    body: Annotated[Adjustment, Body(openapi_examples=_ADJUSTMENT)],
) -> Budget:
    """The amounts count as charged, for good: a correction is only ever against the spender."""
    return adjust_budget(
        services,
        principal,
        dataset_id,
        epsilon=body.epsilon,
        delta=body.delta,
        reason=body.reason,
        head=body.head,
    )
