"""The first page of the console. It has what there is, what waits for the caller, what runs, and whether the
ledger is whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response

from api.console import pages
from api.console.routes.datasets import Sorted
from api.console.session import Signed
from api.deps import CallerDep, ServicesDep
from core.identity.models import Role
from core.identity.service import Principal
from core.workflows.common.context import Services
from core.workflows.common.paging import Sort
from core.workflows.datasets import queries as datasets
from core.workflows.jobs import queries as jobs
from core.workflows.ledger import health, proposals

router = APIRouter(prefix="/console", route_class=Signed, include_in_schema=False)

SHOWN = 12
READERS = frozenset({Role.CURATOR, Role.REQUESTER, Role.AUDITOR})
WATCHERS = frozenset({Role.CURATOR, Role.AUDITOR, Role.OPERATOR})
ASKS = frozenset({Role.CURATOR, Role.REQUESTER})


@dataclass(frozen=True)
class Waiting:
    """What a curator is waited for."""

    jobs: list[Any]
    proposals: list[Any]
    datasets: list[Any]


@router.get("")
def overview(request: Request, services: ServicesDep, principal: CallerDep, sort: Sorted = None) -> Response:
    """The first datasets with their budgets, and everything under way, as far as the caller may see it."""
    found, budgets = None, {}
    if principal.roles & READERS:
        found = datasets.list_datasets(services, principal, limit=SHOWN, sort=sort or None)
        budgets = datasets.budgets_of(services, principal, found.items)
    told = health.ledger_health(services, principal) if principal.roles & WATCHERS else None
    content = {
        "datasets": found,
        "budgets": budgets,
        "sort": sort or Sort.NEWEST,
        "waiting": _waiting(services, principal) if Role.CURATOR in principal.roles else None,
        "running": jobs.under_way(services, principal, SHOWN) if principal.roles & ASKS else None,
        "health": told,
        "kept": sum(promise.status == "intact" for promise in told.promises) if told else 0,
    }
    return pages.page(request, "overview.html", content)


def _waiting(services: Services, principal: Principal) -> Waiting:
    asked = jobs.list_jobs(services, principal, state="awaiting_approval", limit=SHOWN)
    proposed = proposals.list_proposals(services, principal, state="open", limit=SHOWN)
    return Waiting(asked.items, proposed.items, datasets.datasets_to_mend(services, principal, SHOWN))
