"""Proposals: listed, and decided by a second person."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Query, Request

from api.deps import CuratorDep, Cursor, LedgerDep, ServicesDep
from api.http.auth import Guarded
from api.schemas.policies import Decision
from api.show import openapi
from core import errors
from core.workflows.ledger import proposals
from graphveil.models.proposals import Proposal, Proposals

router = APIRouter(prefix="/proposals", tags=["governance"], route_class=Guarded)

LOCATION = {"Location": {"schema": {"type": "string"}, "description": "The proposal."}}

DecisionBody = Annotated[
    Decision, Body(openapi_examples={"agreed": {"value": {"reason": "agreed in the data board"}}})
]
_DECIDED = openapi.refusals(
    errors.NotFound, errors.SecondPersonNeeded, errors.InvalidTransition, errors.Conflict
)


def address_of(request: Request, proposal_id: str) -> str:
    """Return the proposal's address. It is under the prefix that the request came by."""
    return f"{request.url.path.partition('/datasets/')[0]}/proposals/{proposal_id}"


@router.get("", summary="List proposals, newest first")
def list_proposals(
    services: ServicesDep,
    principal: LedgerDep,
    dataset_id: Annotated[str | None, Query(description="Only about this dataset.", max_length=64)] = None,
    state: Annotated[str | None, Query(description="Only proposals in this state.", max_length=16)] = None,
    cursor: Cursor = None,
    limit: Annotated[int | None, Query(ge=1, le=500, description="Proposals on a page.")] = None,
) -> Proposals:
    """One page of the tenant's proposals, for curators and auditors."""
    return proposals.list_proposals(services, principal, dataset_id, state, cursor, limit)


@router.get(
    "/{proposal_id}",
    summary="Show a proposal",
    responses=openapi.refusals(errors.NotFound),
)
def get_proposal(services: ServicesDep, principal: LedgerDep, proposal_id: str) -> Proposal:
    """What is asked for, why and by whom, and what a second person said."""
    return proposals.get_proposal(services, principal, proposal_id)


@router.post(
    "/{proposal_id}/approve",
    operation_id="approve_proposal",
    summary="Approve a proposal",
    responses=_DECIDED,
)
def approve(services: ServicesDep, principal: CuratorDep, proposal_id: str, body: DecisionBody) -> Proposal:
    """It takes effect at once. A second curator decides; safe to repeat."""
    return proposals.approve_proposal(services, principal, proposal_id, reason=body.reason)


@router.post(
    "/{proposal_id}/reject", operation_id="reject_proposal", summary="Reject a proposal", responses=_DECIDED
)
def reject(services: ServicesDep, principal: CuratorDep, proposal_id: str, body: DecisionBody) -> Proposal:
    """It never takes effect. A second curator decides; safe to repeat."""
    return proposals.reject_proposal(services, principal, proposal_id, reason=body.reason)


@router.post(
    "/{proposal_id}/withdraw",
    operation_id="withdraw_proposal",
    summary="Withdraw a proposal",
    responses=openapi.refusals(errors.NotFound, errors.Forbidden, errors.InvalidTransition),
)
def withdraw(services: ServicesDep, principal: CuratorDep, proposal_id: str) -> Proposal:
    """It is taken back by the person who made it. Safe to repeat."""
    return proposals.withdraw_proposal(services, principal, proposal_id)
