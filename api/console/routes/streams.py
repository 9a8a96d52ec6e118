"""Live streams of the console. They are listed, and one is shown with every window it fills, past and
future."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from api.console import pages, windows
from api.console.forms import FormDep
from api.console.session import Signed, see
from api.deps import Cursor, PortalDep, ReaderDep, ServicesDep
from core.workflows.common.paging import MAX_PAGE
from core.workflows.datasets import queries as datasets
from core.workflows.streams import lifecycle as streams
from core.workflows.streams import queries as stream_queries

router = APIRouter(prefix="/console/streams", route_class=Signed, include_in_schema=False)

STEPS_SHOWN = 60


@router.get("")
def listed(request: Request, services: ServicesDep, principal: ReaderDep, cursor: Cursor = None) -> Response:
    """A page of the tenant's streams, newest first."""
    return pages.page(
        request, "streams.html", {"streams": streams.list_streams(services, principal, cursor=cursor)}
    )


@router.get("/{stream_id}")
def shown(
    request: Request,
    services: ServicesDep,
    principal: ReaderDep,
    stream_id: str,
    first: Annotated[int | None, Query(ge=0, le=2**31 - 1)] = None,
) -> Response:
    """The stream's terms, its steps, and what every window that they touch holds of the account."""
    stream = streams.get_stream(services, principal, stream_id)
    begin = first if first is not None else max(stream.first_step, stream.next_step - STEPS_SHOWN // 2)
    span = (max(0, begin - stream.window + 1), begin + STEPS_SHOWN - 1)
    budget = datasets.budget(services, principal, stream.dataset_id, span)
    untimed = windows.untimed_of(datasets.budget(services, principal, stream.dataset_id))
    after = span[0] - 1 if span[0] > 0 else None
    steps = stream_queries.list_snapshots(services, principal, stream_id, after, limit=MAX_PAGE).items
    own = {step.step: windows.nano(step.epsilon) for step in steps}
    content = {
        "stream": stream,
        "budget": budget,
        "dataset": datasets.get_dataset(services, principal, stream.dataset_id),
        "steps": [step for step in steps if begin <= step.step <= span[1]],
        "drawn": windows.strip(stream, budget, untimed, own, range(begin, span[1] + 1)),
        "begin": begin,
        "end": span[1],
        "earlier": max(stream.first_step, begin - STEPS_SHOWN) if begin > stream.first_step else None,
        "later": begin + STEPS_SHOWN,
    }
    return pages.page(request, "stream.html", content)


@router.post("/{stream_id}/close")
def close(services: ServicesDep, principal: PortalDep, stream_id: str, form: FormDep) -> Response:
    """The stream takes no further snapshots."""
    streams.close_stream(services, principal, stream_id)
    return see(f"/console/streams/{stream_id}?done=closed")
