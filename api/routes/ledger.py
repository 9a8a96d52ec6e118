"""Whether the ledger is whole."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends

from api.deps import LedgerDep, ServicesDep
from api.http.auth import Caller, Guarded
from api.show import openapi
from core import errors
from core.identity.models import Role
from core.identity.service import Principal
from core.workflows.ledger import health as ledger_health
from graphveil.models.checks import LedgerHealth
from graphveil.models.ledger import Verification

WatcherDep = Annotated[Principal, Depends(Caller(Role.AUDITOR, Role.OPERATOR, Role.CURATOR))]

router = APIRouter(tags=["ledger"], route_class=Guarded)


@router.get("/ledger/health", operation_id="get_ledger_health", summary="Is the ledger whole?")
def get_health(services: ServicesDep, principal: WatcherDep) -> LedgerHealth:
    """Every promise of the ledger, as the verifier last found it, for auditors, operators and curators.

    Counts are those of the whole service; findings are the caller's tenant's only.
    """
    return ledger_health.ledger_health(services, principal)


@router.get(
    "/datasets/{dataset_id}/ledger/verify",
    operation_id="verify_ledger",
    summary="Verify the dataset's account now",
    responses=openapi.refusals(errors.NotFound, errors.Conflict),
)
def verify(services: ServicesDep, principal: LedgerDep, dataset_id: str) -> Verification:
    """Chains and balances of the account and its quotas, recomputed now, for curators and auditors.

    Takes time in proportion to the entries; an account with very many of them is left to the verifier (409).
    """
    return ledger_health.verify_account(services, principal, dataset_id)
