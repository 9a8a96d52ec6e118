"""Answers with an ETag. They are 304 where the caller has them already."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from fastapi import Request, Response
from pydantic import BaseModel

from core.errors import IfMatchMissing

JSON = "application/json"
REVALIDATE = "private, no-cache"
# A page is one file: it runs nothing, loads nothing and sends nothing.
PAGE_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def as_json(
    answer: BaseModel,
    *,
    status_code: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Serialise the answer where the route runs. No further thread is needed."""
    return Response(_body(answer), status_code, headers, media_type=JSON)


def tagged(
    request: Request, answer: BaseModel, *, retry_after_seconds: int | None = None, status_code: int = 200
) -> Response:
    """Answer with a strong ETag of the bytes. It is 304 when the caller holds them."""
    pause = {} if retry_after_seconds is None else {"Retry-After": str(retry_after_seconds)}
    return tagged_bytes(request, _body(answer), JSON, pause, status_code)


def tagged_bytes(
    request: Request,
    body: bytes,
    media_type: str,
    headers: Mapping[str, str] | None = None,
    status_code: int = 200,
) -> Response:
    """Answer with the bytes and their strong ETag. It is 304 when the caller holds them."""
    tag = tag_of(body)
    shown = {"ETag": tag, "Cache-Control": REVALIDATE, **(headers or {})}
    if holds(request, tag):
        return not_modified(shown)
    return Response(body, status_code, shown, media_type=media_type)


def not_modified(headers: Mapping[str, str]) -> Response:
    """Answer 304 with the headers of the full answer."""
    return Response(status_code=304, headers=dict(headers))


def holds(request: Request, etag: str) -> bool:
    """Tell whether ``If-None-Match`` names the tag. It goes by weak comparison (RFC 9110, 13.1.2)."""
    sent = request.headers.get("if-none-match", "")
    return any(tag.strip().removeprefix("W/") in (etag, "*") for tag in sent.split(","))


def fresh(answer: BaseModel) -> Response:
    """Answer with what is after a change, and its new ETag."""
    body = _body(answer)
    return Response(body, 200, {"ETag": tag_of(body), "Cache-Control": "no-store"}, media_type=JSON)


def matches(sent: str | None, answer: BaseModel) -> bool:
    """Tell whether ``If-Match`` names the current answer. It goes by strong comparison (RFC 9110, 13.1.1).

    IfMatchMissing where the caller names nothing: a change must say what it changes.
    """
    if not sent or not sent.strip():
        raise IfMatchMissing("Send If-Match with the ETag of what you read, or * for whatever stands.")
    return any(tag.strip() in (tag_of(_body(answer)), "*") for tag in sent.split(","))


def tag_of(body: bytes) -> str:
    """Make the strong ETag of the bytes."""
    return f'"{hashlib.sha256(body).hexdigest()}"'


def _body(answer: BaseModel) -> bytes:
    return answer.model_dump_json().encode()
