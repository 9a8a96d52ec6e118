"""Evidence for whoever answers for a release. It comes with the keys that answer for evidence."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from api.deps import CallerDep, ReaderDep, ServicesDep
from api.http import conditional
from api.http.auth import Guarded
from api.show import openapi
from core import errors
from core.reports.pack.model import EditionName
from core.workflows.ledger import evidence_keys
from core.workflows.releases import evidence
from graphveil.models.evidence import PublicKeys

router = APIRouter(route_class=Guarded)

ZIP = "application/zip"
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_ARCHIVE = {"application/octet-stream": _BINARY, ZIP: _BINARY}  # generators of clients know the first
EditionQuery = Annotated[
    EditionName | None,
    Query(
        description="`public` may be handed to anybody; `ledger` adds the account's entries with their hash "
        "chain, for curators and auditors. The most that the caller may see when left out.",
        openapi_examples={
            "to hand on": {"summary": "Without entries of the ledger", "value": "public"},
            "for an auditor": {"summary": "With the chain to the signed head", "value": "ledger"},
        },
    ),
]


def packed(
    request: Request, services: ServicesDep, principal: ReaderDep, job_id: str, edition: EditionName | None
) -> Response:
    """Answer with the pack as a file."""
    pack = evidence.evidence_pack(services, principal, job_id, edition)
    named = {"Content-Disposition": f'attachment; filename="{job_id}.evidence.zip"'}
    return conditional.tagged_bytes(request, pack, ZIP, named)


@router.get(
    "/jobs/{job_id}/evidence",
    operation_id="get_evidence",
    tags=["releases"],
    summary="Download a release's evidence pack",
    response_class=Response,
    responses={
        200: {
            "content": _ARCHIVE,
            "description": "One signed zip: `index.html` answers who approved, what was spent, what was read "
            "and what is promised; `manifest.json` names every file with its SHA-256, `signature.json` signs "
            "it. `graphveil verify-evidence` verifies it without the service.",
            "headers": {"ETag": {"schema": {"type": "string"}, "description": "SHA-256 of the pack."}},
        },
        304: {"description": "The caller holds it already."},
        **openapi.refusals(errors.NotFound, errors.JobNotFinished, errors.JobFailed, errors.Conflict),
    },
)
def get_evidence(
    services: ServicesDep,
    principal: ReaderDep,
    request: Request,
    job_id: str,
    edition: EditionQuery = None,
) -> Response:
    """Report, plan, transcript, charge, policy, approvals, audits, software and promise, in one signed file.

    For requesters, curators and auditors. Nothing in it compares the release with its original.
    """
    return packed(request, services, principal, job_id, edition)


@router.get(
    "/ledger/public-keys",
    operation_id="get_public_keys",
    tags=["ledger"],
    summary="Which keys answer for evidence and signed heads",
)
def get_public_keys(services: ServicesDep, principal: CallerDep) -> PublicKeys:
    """Public keys, to be kept where evidence packs are not; and the certificate that stands."""
    return evidence_keys.public_keys(services, principal)
