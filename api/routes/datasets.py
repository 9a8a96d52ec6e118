"""Datasets: declared, shown, archived."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Query, Request, Response

from api.deps import CuratorDep, Cursor, ReaderDep, ServicesDep
from api.http.auth import Guarded
from api.schemas.datasets import NewReading
from api.show import openapi
from core import errors
from core.graphs.schema import GraphSchema
from core.workflows.datasets import queries as dataset_queries
from core.workflows.datasets import readings
from core.workflows.datasets.register import NewDataset, confirm_schema, register_dataset
from core.workflows.operations.archive import archive_dataset
from graphveil.models.datasets import Dataset, Datasets, Received

router = APIRouter(prefix="/datasets", tags=["datasets"], route_class=Guarded)

_STATIC = {
    "node_types": [{"name": "person", "count": 1005}],
    "edge_types": [{"name": "mail", "source": "person", "target": "person"}],
}
_TEMPORAL = {
    "node_types": [{"name": "pupil"}],
    "edge_types": [{"name": "contact", "source": "pupil", "target": "pupil", "temporal": True}],
    "time": {"start": 0, "width": 3600, "count": 48},
}
_PERSONS = {
    "node_types": [
        {"name": "patient", "count": 5000, "protected": True},
        {"name": "diagnosis", "count": 300},
    ],
    "edge_types": [{"name": "has", "source": "patient", "target": "diagnosis"}],
}
_EXAMPLES = {
    "static": {
        "summary": "One relation among a known number of nodes; one edge is protected",
        "value": {"name": "mail-2024", "unit": "edge", "epsilon": "4", "graph_schema": _STATIC},
    },
    "temporal": {
        "summary": "Contacts in hourly snapshots; any 24 hours are protected",
        "value": {
            "name": "contacts",
            "unit": "w-event",
            "window": 24,
            "epsilon": "2",
            "graph_schema": _TEMPORAL,
        },
    },
    "persons": {
        "summary": "Patients and diagnoses; all of a patient's edges are protected at once",
        "value": {
            "name": "diagnoses",
            "unit": "node",
            "filter": "renyi",
            "epsilon": "8",
            "delta": "0.000001",
            "graph_schema": _PERSONS,
        },
    },
    "to be proposed": {
        "summary": "The schema is proposed from the upload, and confirmed afterwards",
        "value": {"name": "trial", "unit": "edge", "epsilon": "1"},
    },
}


_READINGS = {
    "calls": {
        "summary": "Which columns are the ends, and which the time",
        "value": {"columns": {"source": "caller", "target": "callee", "time": "when"}},
    },
    "no header": {"value": {"header": False, "columns": "source,target,-,time"}},
}


@router.post(
    "",
    operation_id="register_dataset",
    status_code=201,
    summary="Declare a dataset",
    responses={
        201: {"headers": {"Location": {"schema": {"type": "string"}, "description": "The dataset."}}},
        **openapi.refusals(errors.Conflict),
    },
)
def register(
    services: ServicesDep,
    principal: CuratorDep,
    request: Request,
    response: Response,
    body: Annotated[NewDataset, Body(openapi_examples=_EXAMPLES)],
) -> Dataset:
    """A dataset and the budget account of its protection domain. Unit, window, filter, budget are final."""
    dataset = register_dataset(services, principal, body)
    response.headers["Location"] = f"{request.url.path.rstrip('/')}/{dataset.id}"
    return dataset_queries.get_dataset(services, principal, dataset.id)


@router.get("", summary="List datasets, newest first")
def list_datasets(
    services: ServicesDep,
    principal: ReaderDep,
    cursor: Cursor = None,
    limit: Annotated[int | None, Query(ge=1, le=500, description="Datasets on a page.")] = None,
) -> Datasets:
    """One page of the tenant's datasets, archived ones included."""
    return dataset_queries.list_datasets(services, principal, cursor, limit)


@router.get(
    "/{dataset_id}",
    summary="Show a dataset",
    responses={
        200: {
            "headers": {
                "Retry-After": {
                    "schema": {"type": "integer"},
                    "description": "Seconds before the next poll; absent once nothing changes by itself.",
                },
            }
        },
        **openapi.refusals(errors.NotFound),
    },
)
def get_dataset(services: ServicesDep, principal: ReaderDep, response: Response, dataset_id: str) -> Dataset:
    """The dataset as the caller may see it. Poll until `ready`, `proposed`, `rejected` or `archived`."""
    view = dataset_queries.get_dataset(services, principal, dataset_id)
    if view.retry_after_seconds is not None:
        response.headers["Retry-After"] = str(view.retry_after_seconds)
    return view


@router.put(
    "/{dataset_id}/schema",
    summary="Declare or confirm the schema",
    responses=openapi.refusals(errors.NotFound, errors.InvalidTransition),
)
def put_schema(
    services: ServicesDep,
    principal: CuratorDep,
    dataset_id: str,
    body: Annotated[
        GraphSchema,
        Body(openapi_examples={"static": {"value": _STATIC}, "temporal": {"value": _TEMPORAL}}),
    ],
) -> Dataset:
    """The public shape of the graph, before its first upload or in answer to a proposed schema."""
    confirm_schema(services, principal, dataset_id, body)
    return dataset_queries.get_dataset(services, principal, dataset_id)


@router.post(
    "/{dataset_id}/reading",
    summary="Read an upload again",
    responses=openapi.refusals(errors.NotFound, errors.InvalidTransition),
)
def read_again(
    services: ServicesDep,
    principal: CuratorDep,
    dataset_id: str,
    body: Annotated[NewReading, Body(openapi_examples=_READINGS)],
) -> Received:
    """The kept file of a proposal is read as you say, and another schema is proposed from it.

    What you do not say stays as it was read. `version.readings` of the dataset shows how that is, what had to
    be guessed, and which mapping answers it.
    """
    return readings.read_again(services, principal, dataset_id, body.part, body.said)


@router.delete(
    "/{dataset_id}",
    operation_id="archive_dataset",
    status_code=204,
    summary="Archive a dataset",
    responses=openapi.refusals(errors.NotFound, errors.InvalidTransition),
)
def archive(services: ServicesDep, principal: CuratorDep, dataset_id: str) -> None:
    """Its content and curator reports are erased for good; jobs under way stop; budget and ledger stay."""
    archive_dataset(services, principal, dataset_id)
