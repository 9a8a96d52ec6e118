"""Plans: what several jobs would cost and tell, side by side."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Response

from api.deps import PortalDep, ServicesDep
from api.http import conditional
from api.http.auth import Guarded
from api.show import openapi
from core import errors
from core.workflows.jobs.menu import MenuRequest, plan_menu
from graphveil.models.plans import Menu

router = APIRouter(prefix="/plans", tags=["jobs"], route_class=Guarded)

_EXAMPLES = {
    "two methods": {
        "summary": "Two methods at three epsilons",
        "value": {
            "dataset_id": "ds_01k8zv2v9h6t0h3r6b8mkx2n4e",
            "methods": [{"method": "dcsbm"}, {"method": "psgraph", "parameters": {"tail_share": 0}}],
            "epsilons": ["0.25", "0.5", "1"],
            "assume": {"edges": 90000},
        },
    },
}


@router.post(
    "",
    operation_id="list_plans",
    response_model=Menu,
    summary="Plan methods at several epsilons",
    responses=openapi.refusals(
        errors.NotFound, errors.DatasetNotReady, errors.AccountBlocked, errors.AccountExposed
    ),
)
def plan(
    services: ServicesDep,
    principal: PortalDep,
    body: Annotated[MenuRequest, Body(openapi_examples=_EXAMPLES)],
) -> Response:
    """Tell of each method at each epsilon, 50 at most, what it would cost and leave of the budget, and how
    exact what it pays for would be. Nothing is reserved."""
    return conditional.as_json(plan_menu(services, principal, body))
