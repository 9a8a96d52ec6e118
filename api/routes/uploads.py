"""The one route that takes a graph in: its body streams and is never held whole."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from api import openapi, streaming
from api.deps import CuratorDep, ServicesDep, format_options
from api.schemas.datasets import Received
from core import errors
from core.workflows.upload import receive_part

router = APIRouter(prefix="/datasets/{dataset_id}", tags=["datasets"])

_NAMED = frozenset({"part", "format"})


@router.put(
    "/content",
    response_model=Received,
    summary="Upload a part",
    responses=openapi.refusals(
        errors.NotFound, errors.Conflict, errors.InvalidTransition, errors.UnknownFormat, errors.LeaseLost
    ),
    openapi_extra={
        "requestBody": {
            "required": True,
            "description": "The file's bytes, as they are; gzip is recognised.",
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def put_content(
    services: ServicesDep,
    principal: CuratorDep,
    request: Request,
    dataset_id: str,
    part: Annotated[str, Query(max_length=16, description="`nodes` first, then `edges`.")] = "edges",
    format: Annotated[str, Query(max_length=32, description="csv, tsv, parquet, graphml, ...")] = "csv",
) -> Any:
    """The part is stored, encrypted; `edges` completes the upload and queues its validation.

    Any further query parameter is an option of the format, such as `delimiter=;`. One that is repeated is a
    list, such as `columns=source&columns=target`. Sending a part again replaces it.
    """
    length = request.headers.get("content-length", "")
    options = format_options(request, _NAMED)
    return await streaming.feed(
        request,
        lambda chunks: receive_part(
            services,
            principal,
            dataset_id,
            part=part,
            format=format,
            options=options,
            chunks=chunks,
            length=int(length) if length.isdigit() else None,
        ),
    )
