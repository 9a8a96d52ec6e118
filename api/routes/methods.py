"""What can be requested."""

from __future__ import annotations

from fastapi import APIRouter, Depends

from api.http.auth import Caller, Guarded
from core.workflows.jobs import queries as job_queries
from graphveil.models.plans import Methods

router = APIRouter(prefix="/methods", tags=["methods"], dependencies=[Depends(Caller())], route_class=Guarded)


@router.get("", summary="List the synthesis methods")
def list_methods() -> Methods:
    """Every method with what it accepts, what it guarantees, and the JSON Schema of its parameters."""
    return Methods(items=job_queries.methods())
