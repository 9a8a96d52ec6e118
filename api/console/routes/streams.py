"""Live streams of the console. They are listed and opened, and one is shown with every window it fills, past
and future."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import ValidationError

from api.console import pages, windows
from api.console.forms import Form, FormDep, mistaken, whole_number
from api.console.session import Signed, see
from api.deps import Cursor, PortalDep, ReaderDep, ServicesDep
from core.errors import GraphveilError
from core.identity.service import Principal
from core.methods.choice import AUTO
from core.privacy.units import Unit
from core.workflows.common.context import Services
from core.workflows.common.paging import MAX_PAGE
from core.workflows.datasets import queries as datasets
from core.workflows.jobs import queries as jobs
from core.workflows.streams import lifecycle as streams
from core.workflows.streams import queries as stream_queries
from core.workflows.streams.requests import StreamRequest

router = APIRouter(prefix="/console", route_class=Signed, include_in_schema=False)

STEPS_SHOWN = 60
FIRST_EPSILON = "1"

Said = Annotated[str, Query(max_length=64)]
Names = Annotated[list[str] | None, Query(max_length=256)]


@dataclass(frozen=True)
class Asked:
    """What the address or the form says of a stream that is not open yet."""

    epsilon: str
    method: str
    first_step: str
    missing_steps: str
    edge_types: tuple[str, ...]

    def request(self, dataset_id: str, label: str | None = None, project: str | None = None) -> StreamRequest:
        """Return what is asked for. InvalidInput."""
        values: dict[str, Any] = {
            "dataset_id": dataset_id,
            "epsilon": self.epsilon,
            "method": self.method,
            "first_step": whole_number({"first_step": self.first_step}, "first_step") or 0,
            "missing_steps": self.missing_steps,
            "edge_types": list(self.edge_types) or None,
            "label": label,
            "project": project,
        }
        try:
            return StreamRequest(**values)
        except ValidationError as error:
            raise mistaken(error) from None


def looked_at(
    epsilon: Said = FIRST_EPSILON,
    method: Said = AUTO,
    first_step: Said = "0",
    missing_steps: Said = "refuse",
    edge_types: Names = None,
) -> Asked:
    """What the address says."""
    return Asked(
        epsilon.strip(), method or AUTO, first_step.strip() or "0", missing_steps, tuple(edge_types or ())
    )


@router.get("/datasets/{dataset_id}/stream")
def choose(
    request: Request,
    services: ServicesDep,
    principal: PortalDep,
    dataset_id: str,
    asked: Annotated[Asked, Depends(looked_at)],
) -> Response:
    """What a stream of the dataset would cost, step by step. Nothing is opened."""
    return _opening(request, services, principal, dataset_id, asked)


@router.post("/streams")
def open_stream(request: Request, services: ServicesDep, principal: PortalDep, form: FormDep) -> Response:
    """The stream is open, and waits for its first step. Nothing is reserved."""
    dataset_id = form.get("dataset_id", "")
    said = form.given("epsilon", "method", "first_step", "missing_steps")
    asked = looked_at(**said, edge_types=form.many("edge_types"))
    try:
        wanted = asked.request(dataset_id, form.get("label") or None, form.get("project") or None)
        stream, _ = streams.create_stream(services, principal, wanted, form.get("idempotency_key"))
    except GraphveilError as error:
        problem = pages.problem_of(request, error)
        return _opening(request, services, principal, dataset_id, asked, problem, form)
    return see(f"/console/streams/{stream.id}?done=opened")


@router.get("/streams")
def listed(request: Request, services: ServicesDep, principal: ReaderDep, cursor: Cursor = None) -> Response:
    """A page of the tenant's streams, newest first."""
    return pages.page(
        request, "streams.html", {"streams": streams.list_streams(services, principal, cursor=cursor)}
    )


@router.get("/streams/{stream_id}")
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


@router.post("/streams/{stream_id}/close")
def close(services: ServicesDep, principal: PortalDep, stream_id: str, form: FormDep) -> Response:
    """The stream takes no further snapshots."""
    streams.close_stream(services, principal, stream_id)
    return see(f"/console/streams/{stream_id}?done=closed")


def _opening(
    request: Request,
    services: Services,
    principal: Principal,
    dataset_id: str,
    asked: Asked,
    problem: dict[str, Any] | None = None,
    filled: Mapping[str, str] | None = None,
) -> Response:
    dataset = datasets.get_dataset(services, principal, dataset_id)
    plan, refused = None, problem
    try:
        plan = streams.plan_stream(services, principal, asked.request(dataset_id))
    except GraphveilError as error:
        refused = refused or pages.problem_of(request, error)
    relations = (dataset.graph_schema or {}).get("edge_types", ())
    content = {
        "dataset": dataset,
        "budget": datasets.budget(services, principal, dataset_id),
        "asked": asked,
        "plan": plan,
        "methods": (AUTO, *(each.name for each in jobs.methods() if Unit.W_EVENT in each.units)),
        "relations": [each["name"] for each in relations if each.get("temporal") and not each.get("public")],
        "problem": refused,
        "filled": filled or Form([]),
        "idempotency_key": secrets.token_hex(16),
    }
    return pages.page(request, "stream_new.html", content, status=problem["status"] if problem else 200)
