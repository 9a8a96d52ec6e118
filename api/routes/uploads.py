"""How a graph comes in. It is as a stream that is never held whole, or in parts straight into the bucket."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Query, Request

from api.deps import MAPPED, CuratorDep, ServicesDep, format_options
from api.http import bodies, streaming
from api.http.auth import Guarded
from api.schemas.datasets import NewUpload, UploadParts
from api.show import openapi
from core import errors
from core.workflows.datasets.direct_uploads import abandon_direct, begin_direct, complete_direct
from core.workflows.datasets.upload import receive_part
from graphveil.models.datasets import Received, UploadOffer

router = APIRouter(prefix="/datasets/{dataset_id}", tags=["datasets"], route_class=Guarded)

_NAMED = frozenset({"part", "format"})
_UPLOADS = {
    "edges": {
        "summary": "150 MB of edges, separated by semicolons",
        "value": {
            "part": "edges",
            "format": "csv",
            "options": {"delimiter": ";"},
            "size_bytes": 150000000,
        },
    }
}

_ETAGS = {
    "three parts": {
        "summary": "What the bucket answered to three parts",
        "value": {"etags": ['"9b2cf535f27731c9"', '"b10a8db164e07541"', '"3e25960a79dbc69b"']},
    }
}
_PARTS = {
    "two parts": {
        "value": {"etags": ['"0cc175b9c0f1b6a831c399e269772661"', '"92eb5ffee6ae2fec3ad71c777531578f"']}
    }
}


@router.put(
    "/content",
    dependencies=MAPPED,
    summary="Upload a part",
    responses=openapi.refusals(
        errors.NotFound,
        errors.Conflict,
        errors.InvalidTransition,
        errors.UnknownFormat,
        errors.UnsupportedMediaType,
        errors.LeaseLost,
    ),
    openapi_extra={
        "requestBody": {
            "required": True,
            "description": "The file's bytes, as they are; gzip is recognised.",
            "content": openapi.SOME_BYTES,
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
) -> Received:
    """The part is stored, encrypted; `edges` completes the upload and queues its validation.

    What a delimited file does not say itself, such as what its columns are, can be said; so can, as further
    query parameters, any other option of the format. Sending a part again replaces it.
    """
    options = format_options(request, _NAMED)
    return await streaming.feed(
        request,
        principal,
        lambda chunks: receive_part(
            services,
            principal,
            dataset_id,
            part=part,
            format=format,
            options=options,
            chunks=chunks,
            length=bodies.announced_bytes(request.headers),
        ),
    )


@router.post(
    "/uploads",
    status_code=201,
    summary="Begin an upload into the bucket",
    responses=openapi.refusals(
        errors.NotFound,
        errors.Conflict,
        errors.DirectUploadUnavailable,
        errors.InvalidTransition,
        errors.UnknownFormat,
        errors.PayloadTooLarge,
    ),
)
def begin_upload(
    services: ServicesDep,
    principal: CuratorDep,
    dataset_id: str,
    body: Annotated[NewUpload, Body(openapi_examples=_UPLOADS)],
) -> UploadOffer:
    """The parts go from the caller straight to the S3 bucket, each to an address of its own.

    Only where the service's storage is a bucket. The file lies there as it is until it is validated; then it
    is encrypted like any other.
    """
    return begin_direct(
        services,
        principal,
        dataset_id,
        part=body.part,
        format=body.format,
        options=body.options,
        size_bytes=body.size_bytes,
    )


@router.post(
    "/uploads/{upload_id}/complete",
    summary="Complete an upload into the bucket",
    responses=openapi.refusals(
        errors.NotFound, errors.Conflict, errors.DirectUploadUnavailable, errors.LeaseLost
    ),
)
def complete_upload(
    services: ServicesDep,
    principal: CuratorDep,
    dataset_id: str,
    upload_id: str,
    body: Annotated[UploadParts, Body(openapi_examples=_ETAGS)],
) -> Received:
    """The parts are one file, and the file is the dataset's; `edges` queues the validation."""
    return complete_direct(services, principal, dataset_id, upload_id, body.etags)


@router.delete(
    "/uploads",
    status_code=204,
    summary="Give up an upload into the bucket",
    responses=openapi.refusals(errors.NotFound),
)
def give_up_upload(services: ServicesDep, principal: CuratorDep, dataset_id: str) -> None:
    """No upload into the bucket is under way, and nothing of it remains. Safe to repeat."""
    abandon_direct(services, principal, dataset_id)
