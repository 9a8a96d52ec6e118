"""What happens to a job. It comes as a list, or as it happens."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request

from api.deps import PortalDep, ServicesDep
from api.http.auth import Guarded
from api.http.event_streams import EventStreams, JobEventStream
from api.http.negotiation import preferred
from api.show import openapi
from core import errors
from core.workflows.jobs import events as job_events
from core.workflows.jobs import queries as job_queries
from graphveil.models.jobs import Events

router = APIRouter(prefix="/jobs", tags=["jobs"], route_class=Guarded)

JSON, STREAM = "application/json", "text/event-stream"
LAST_NUMBER = 2**31 - 1
_EXAMPLE = """\
retry: 2000

event: state
data: {"sequence":4,"state":"running","created_at":null}
id: 4

event: step
data: {"sequence":5,"stage":"fit","done":1,"total":3,"created_at":null}
id: 5

: still here

event: state
data: {"sequence":8,"state":"published","created_at":null}
id: 8

event: end
data: {"state":"published"}

"""


@router.get(
    "/{job_id}/events",
    operation_id="follow_job",
    response_model=Events,
    summary="List the steps that a job has taken, or follow them",
    responses={
        200: {
            "description": "The steps so far; or, as `text/event-stream`, steps and states as they are "
            "committed, until the job has ended.",
            "content": {STREAM: {"schema": {"type": "string"}, "example": _EXAMPLE}},
        },
        **openapi.refusals(errors.NotFound, errors.TooManyEventStreams, errors.EventStreamsFull),
    },
)
def follow(
    services: ServicesDep,
    principal: PortalDep,
    request: Request,
    job_id: str,
    after: Annotated[int, Query(ge=0, le=LAST_NUMBER, description="Only steps after this number.")] = 0,
    limit: Annotated[
        int, Query(ge=1, le=500, description="Steps in the answer; a stream has no limit.")
    ] = 500,
    last: Annotated[
        int | None,
        Header(
            alias="Last-Event-ID",
            ge=0,
            le=LAST_NUMBER,
            description="The number that a broken stream came to; it goes on behind it.",
        ),
    ] = None,
) -> Any:
    """Stages with public step counts, oldest first. JSON, unless `Accept` prefers `text/event-stream`.

    A stream tells each `step` and each `state` once and closes after `end`. One that closes without it has
    used up its time: connect again with `Last-Event-ID`.
    """
    if preferred(request.headers.get("accept", ""), (JSON, STREAM)) == JSON:
        return Events(items=job_queries.events(services, principal, job_id, after, limit))
    place = after if last is None else last
    opening = job_events.open_changes(services, principal, job_id, place)
    streams: EventStreams = request.app.state.event_streams
    return JobEventStream(
        streams,
        principal.tenant,
        job_id,
        place,
        opening,
        lambda change: job_events.shown(principal, change),
    )
