"""The way of a graph into the service. It is declared, uploaded, its schema confirmed, its findings
mended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import ValidationError

from api.console import cookies, file_forms, pages, pictures, schema_form
from api.console.forms import Form, FormDep, mistaken, whole_number
from api.console.said import DIALECT, asked_columns
from api.console.session import Signed, Uploading, see
from api.deps import CuratorDep, ServicesDep
from api.http import bodies, streaming
from core.errors import GraphveilError, InvalidInput
from core.graphs import formats
from core.graphs.reading.mapping import ENCODINGS
from core.graphs.schema import GraphSchema
from core.identity.service import Principal
from core.privacy.units import Unit
from core.workflows.common.context import Services
from core.workflows.datasets import queries as datasets
from core.workflows.datasets.readings import warnings_of
from core.workflows.datasets.register import NewDataset, confirm_schema, register_dataset
from core.workflows.datasets.upload import receive_part

router = APIRouter(prefix="/console", route_class=Signed, include_in_schema=False)
receiving = APIRouter(prefix="/console", route_class=Uploading, include_in_schema=False)

UNITS = tuple(str(unit) for unit in Unit)
MAX_SCHEMA = 200_000


@router.get("/register")
def declare(
    request: Request,
    services: ServicesDep,
    principal: CuratorDep,
    like: Annotated[str | None, Query(max_length=64)] = None,
) -> Response:
    """The form of a new dataset; ``like``: with what another was declared with."""
    return _declaring(request, {"unit": "edge", "epsilon": "4"} | _declared_with(services, principal, like))


@router.post("/register")
def register(request: Request, services: ServicesDep, principal: CuratorDep, form: FormDep) -> Response:
    """The dataset is declared, with its budget; next its files are sent."""
    try:
        dataset = register_dataset(services, principal, _declared(form))
    except GraphveilError as error:
        return _declaring(request, dict(form), pages.problem_of(request, error))
    return see(f"/console/datasets/{dataset.id}/upload")


@router.get("/datasets/{dataset_id}/upload")
def choose(request: Request, services: ServicesDep, principal: CuratorDep, dataset_id: str) -> Response:
    """The form for a file, and what was found in the last one."""
    return _uploading(request, services, principal, dataset_id)


@receiving.post("/datasets/{dataset_id}/upload")
async def upload(request: Request, services: ServicesDep, principal: CuratorDep, dataset_id: str) -> Response:
    """The file is stored, encrypted as it comes; with the edges its validation is queued."""
    kind = request.headers.get("content-type", "")

    def receive(chunks: Iterator[bytes]) -> Response:
        fields, file = file_forms.split(
            kind, chunks, lambda token: cookies.check_form(request, request.state.secret, token)
        )
        try:
            options = {name: fields[name] for name in DIALECT if fields.get(name)}
            received = receive_part(
                services,
                principal,
                dataset_id,
                part=fields.get("part", "edges"),
                format=fields.get("format", "csv"),
                options=options,
                chunks=file,
                length=None,
            )
        except GraphveilError as error:
            return _uploading(request, services, principal, dataset_id, pages.problem_of(request, error))
        if received.state == "uploading":
            return see(f"/console/datasets/{dataset_id}/upload?done=nodes")
        return see(f"/console/datasets/{dataset_id}/upload?done=edges")

    limit = services.settings.max_upload_bytes
    announced = bodies.announced_bytes(request.headers)
    if announced is not None and announced > limit + file_forms.MAX_OUTSIDE_BYTES:
        raise bodies.too_large(limit)
    return await streaming.feed(request, principal, receive, form=True)


@router.get("/datasets/{dataset_id}/schema")
def propose(request: Request, services: ServicesDep, principal: CuratorDep, dataset_id: str) -> Response:
    """The schema that was read off the upload, to be confirmed or corrected; or the one that stands."""
    return confirming(request, services, principal, dataset_id)


@router.post("/datasets/{dataset_id}/schema")
def confirm(
    request: Request, services: ServicesDep, principal: CuratorDep, dataset_id: str, form: FormDep
) -> Response:
    """The schema is the dataset's; an upload that waited for it is validated."""
    sent = form.get("schema", "")
    known, noted = frozenset(form.many("read_off")), frozenset(form.many("noted"))
    try:
        sent = schema_form.edited(sent, form)
        if form.get("look") == "yes":
            _schema(sent)
            return confirming(request, services, principal, dataset_id, sent, None, known, noted)
        confirm_schema(services, principal, dataset_id, _schema(sent), known, noted)
    except GraphveilError as error:
        problem = pages.problem_of(request, error)
        return confirming(request, services, principal, dataset_id, sent, problem, known, noted)
    return see(f"/console/datasets/{dataset_id}/upload?done=schema")


def _declared_with(services: Services, principal: Principal, like: str | None) -> dict[str, str]:
    """Fill in what the dataset was declared with. Its name and population are its own."""
    if like is None:
        return {}
    dataset = datasets.get_dataset(services, principal, like)
    budget = datasets.budget(services, principal, like)
    filled = {
        "name": f"{dataset.name} 2",
        "unit": dataset.unit,
        "window": dataset.window,
        "epsilon": budget.capacity.epsilon,
        "delta": None if budget.capacity.delta == "0" else budget.capacity.delta,
        "filter": dataset.filter,
        "approval_above_epsilon": dataset.policy.approval_above_epsilon,
        "max_epsilon_per_job": dataset.policy.max_epsilon_per_job,
        "public": "yes" if dataset.public else None,
    }
    return {name: str(value) for name, value in filled.items() if value is not None}


def _declared(form: Form) -> NewDataset:
    values: dict[str, Any] = form.given("name", "protection_domain", "unit", "epsilon", "delta", "filter")
    window = whole_number(form, "window")
    if window is not None:
        values["window"] = window
    if form.get("schema"):
        values["graph_schema"] = _schema(form["schema"])
    policy = form.given("approval_above_epsilon", "max_epsilon_per_job")
    try:
        return NewDataset(**values, policy=policy, public=form.get("public") == "yes")  # type: ignore[arg-type]
    except ValidationError as error:
        raise mistaken(error) from None


def _schema(sent: str) -> GraphSchema:
    if len(sent) > MAX_SCHEMA:
        raise InvalidInput(f"a schema has at most {MAX_SCHEMA} characters here", field="schema")
    bodies.check_depth(sent.encode(), 16)
    try:
        return GraphSchema.model_validate(json.loads(sent))
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"the schema is no JSON: line {error.lineno}, column {error.colno}", field="schema"
        ) from None
    except ValidationError as error:
        raise mistaken(error) from None


def _groups(written: str) -> list[schema_form.Group]:
    """The fields of what is shown; none of what is no schema."""
    try:
        return schema_form.groups_of(_schema(written).model_dump(mode="json"))
    except InvalidInput:
        return []


def _declaring(request: Request, filled: dict[str, str], problem: dict[str, Any] | None = None) -> Response:
    content = {"filled": filled, "units": UNITS, "problem": problem, "step": 1}
    return pages.page(request, "register.html", content, status=problem["status"] if problem else 200)


def _uploading(
    request: Request,
    services: Services,
    principal: Principal,
    dataset_id: str,
    problem: dict[str, Any] | None = None,
) -> Response:
    dataset = datasets.get_dataset(services, principal, dataset_id)
    content = {
        "dataset": dataset,
        "formats": formats.read_names(),
        "encodings": ENCODINGS,
        "problem": problem,
        "step": 4 if dataset.state == "ready" else 2,
    }
    return pages.page(request, "upload.html", content, status=problem["status"] if problem else 200)


def confirming(
    request: Request,
    services: Services,
    principal: Principal,
    dataset_id: str,
    sent: str | None = None,
    problem: dict[str, Any] | None = None,
    known: frozenset[str] = frozenset(),
    noted: frozenset[str] = frozenset(),
) -> Response:
    dataset = datasets.get_dataset(services, principal, dataset_id)
    found = dataset.proposed_schema or dataset.graph_schema
    written = json.dumps(found or {}, indent=2) if sent is None else sent
    readings = dataset.version.readings if dataset.version and dataset.proposed_schema else ()
    content = {
        "dataset": dataset,
        "schema": found,
        "drawn": pictures.type_graph(found) if found else None,
        "written": written,
        "groups": _groups(written),
        "times": schema_form.times_of((found or {}).get("time") or {}),
        "problem": problem,
        "read_off": dataset.version.read_off if dataset.version and dataset.proposed_schema else (),
        "known": known,
        "noted": noted,
        "warnings": warnings_of(dataset.version.ingest_report, readings)
        if dataset.version and dataset.proposed_schema
        else [],
        "readings": readings,
        "open": {each.part: asked_columns(each) for each in readings},
        "encodings": ENCODINGS,
        "asked": sum(len(each.questions) for each in readings),
        "step": 3,
    }
    return pages.page(request, "schema.html", content, status=problem["status"] if problem else 200)
