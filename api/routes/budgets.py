"""What has been spent, and the entries that explain it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Query
from pydantic import AwareDatetime

from api.deps import CuratorDep, Cursor, LedgerDep, ReaderDep, ServicesDep
from api.http.auth import Guarded
from api.schemas.budgets import Unblock
from api.show import openapi
from core import errors
from core.ledger.amounts import MAX_STEP
from core.workflows.datasets import queries as dataset_queries
from core.workflows.ledger.unblock import unblock_account
from graphveil.models.ledger import Budget, LedgerPage

UnblockBody = Annotated[
    Unblock,
    Body(openapi_examples={"looked into": {"value": {"reason": "two worker hosts were replaced"}}}),
]

FirstStep = Annotated[
    int | None, Query(ge=0, le=MAX_STEP, description="Spend by step from here on; streams only.")
]
AsOf = Annotated[
    AwareDatetime | None,
    Query(description="The account as it stood at this moment (RFC 3339); curators, auditors."),
]
LastStep = Annotated[int | None, Query(ge=0, le=MAX_STEP, description="Spend by step up to here.")]

router = APIRouter(prefix="/datasets/{dataset_id}", tags=["budgets"], route_class=Guarded)


@router.get(
    "/budget",
    summary="Show the dataset's budget",
    responses=openapi.refusals(errors.NotFound, errors.InvalidInput),
)
def get_budget(
    services: ServicesDep,
    principal: ReaderDep,
    dataset_id: str,
    first_step: FirstStep = None,
    last_step: LastStep = None,
    as_of: AsOf = None,
) -> Budget:
    """Charged, reserved and remaining of the account that the dataset draws on, now or at `as_of`.

    A stream's spend by step is told for the fullest window and the latest steps, 1000 steps at most; or, with
    `first_step` or `last_step`, for the first 1000 from there.
    """
    steps = None
    if first_step is not None or last_step is not None:
        steps = (first_step or 0, MAX_STEP if last_step is None else last_step)
    return dataset_queries.budget(services, principal, dataset_id, steps, as_of)


@router.post(
    "/budget/unblock",
    operation_id="unblock_account",
    summary="Let a blocked account take jobs again",
    responses=openapi.refusals(errors.NotFound, errors.Forbidden),
)
def unblock(services: ServicesDep, principal: CuratorDep, dataset_id: str, body: UnblockBody) -> Budget:
    """The account is reset after a curator has looked into its give-backs; the reason enters the ledger."""
    return unblock_account(services, principal, dataset_id, reason=body.reason)


@router.get(
    "/ledger",
    summary="List the entries of the dataset's account",
    responses=openapi.refusals(errors.NotFound),
)
def list_entries(
    services: ServicesDep,
    principal: LedgerDep,
    dataset_id: str,
    after: Annotated[int, Query(ge=0, le=2**63 - 1, description="Only entries after this number.")] = 0,
    cursor: Cursor = None,
    limit: Annotated[int | None, Query(ge=1, le=500, description="Entries on a page.")] = None,
) -> LedgerPage:
    """Immutable, hash-chained entries, oldest first, for curators and auditors.

    A page ends early where its entries name very many amounts; go on while `next_cursor` is given.
    """
    return dataset_queries.ledger(services, principal, dataset_id, after, cursor, limit)
