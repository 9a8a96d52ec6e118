"""Which links of a dataset are sensitive. They are named, counted and withdrawn by its curators, shown to
nobody."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request

from api.deps import MAPPED, CuratorDep, ServicesDep, format_options
from api.http import bodies, streaming
from api.http.auth import Guarded
from api.schemas.sensitive_links import EXAMPLES
from api.show import openapi
from core import errors
from core.workflows.datasets.sensitive_links import delete_lists, get_lists, receive_list
from graphveil.models.datasets import SensitiveLinks

router = APIRouter(prefix="/datasets/{dataset_id}", tags=["datasets"], route_class=Guarded)

_NAMED = frozenset({"format"})


@router.put(
    "/sensitive-links",
    status_code=202,
    dependencies=MAPPED,
    summary="Name the sensitive links",
    responses={
        202: {"content": {"application/json": {"examples": EXAMPLES}}},
        **openapi.refusals(
            errors.NotFound, errors.DatasetNotReady, errors.NotAccepted, errors.UnsupportedMediaType
        ),
    },
    openapi_extra={
        "requestBody": {
            "required": True,
            "description": "The list's bytes, as they are; gzip is recognised.",
            "content": openapi.SOME_BYTES,
        }
    },
)
async def put_sensitive_links(
    services: ServicesDep,
    principal: CuratorDep,
    request: Request,
    dataset_id: str,
    format: Annotated[Literal["csv", "tsv", "parquet"], Query(description="Of the list.")] = "csv",
) -> SensitiveLinks:
    """The list is stored, encrypted, and is checked against the current version of the dataset.

    Rows name links as the upload of the edges did: `source`, `target`, and `type` where there are several
    relations; in a collection `graph_id` first. Every row must be a link. The list before it stays in use
    until this one is ready, which then takes its place for jobs that no worker has begun. Any further query
    parameter is an option of the format.
    """
    options = format_options(request, _NAMED)
    return await streaming.feed(
        request,
        principal,
        lambda chunks: receive_list(
            services,
            principal,
            dataset_id,
            format=format,
            options=options,
            chunks=chunks,
            length=bodies.announced_bytes(request.headers),
        ),
    )


@router.get(
    "/sensitive-links",
    summary="Count the sensitive links",
    responses={
        200: {"content": {"application/json": {"examples": EXAMPLES}}},
        **openapi.refusals(errors.NotFound),
    },
)
def get_sensitive_links(services: ServicesDep, principal: CuratorDep, dataset_id: str) -> SensitiveLinks:
    """How many there are of each relation, and what became of the newest upload. The links are not shown."""
    return get_lists(services, principal, dataset_id)


@router.delete(
    "/sensitive-links",
    status_code=204,
    summary="Withdraw the sensitive links",
    responses=openapi.refusals(errors.NotFound),
)
def delete_sensitive_links(services: ServicesDep, principal: CuratorDep, dataset_id: str) -> None:
    """No list is kept. Jobs that no worker has begun and that need one then fail. Safe to repeat."""
    delete_lists(services, principal, dataset_id)
