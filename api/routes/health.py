"""Whether the process lives, and whether it can serve. No key needed: neither says anything about data."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Response

from api.deps import services_of
from api.http.open import Open
from api.schemas.health import Health, Readiness
from api.serve import readiness
from api.show import openapi
from core.errors import RateLimited
from core.workflows.common.context import Services

router = APIRouter(tags=["service"])
asking = APIRouter(tags=["service"], route_class=Open, responses=openapi.refusals(RateLimited))


@router.get("/healthz", operation_id="get_health", summary="Is the process alive?")
def healthz() -> Health:
    """Answers as long as the process can answer at all."""
    return Health()


@asking.get(
    "/readyz",
    operation_id="get_readiness",
    summary="Can the service serve?",
    responses={503: {"model": Readiness, "description": "At least one check failed."}},
)
def readyz(services: Annotated[Services, Depends(services_of)], response: Response) -> Readiness:
    """Database, schema version, doorbell and object storage, each tried now."""
    answer = readiness.check(services)
    response.status_code = 200 if answer.ready else 503
    return answer
