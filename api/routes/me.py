"""Who is calling."""

from __future__ import annotations

from fastapi import APIRouter, Request

from api.deps import CallerDep, ServicesDep
from api.http.auth import Guarded
from core.workflows.jobs import turns
from graphveil.models.identity import Me, OpenJobs

router = APIRouter(prefix="/me", tags=["identity"], route_class=Guarded)


@router.get("", summary="Show who is calling")
def get_me(services: ServicesDep, principal: CallerDep, request: Request) -> Me:
    """The caller's tenant, person, team and roles, the end of its key or token, and what it may still ask."""
    requests, jobs = request.app.state.limits.standing(principal.key_id)
    standing = turns.standing(services, principal)
    return Me(
        tenant=principal.tenant,
        key_id=principal.key_id,
        name=principal.name,
        person=principal.person,
        team=principal.team,
        roles=tuple(sorted(principal.roles)),
        expires_at=principal.expires_at,
        requests=requests,
        jobs=jobs,
        open_jobs=OpenJobs(open=standing.of_key, limit=services.settings.max_open_key_jobs),
        tenant_open_jobs=OpenJobs(open=standing.of_tenant, limit=services.settings.max_open_jobs),
    )
