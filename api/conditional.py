"""Answers with an ETag, and 304 where the caller has them already."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from fastapi import Request, Response
from pydantic import BaseModel

JSON = "application/json"
REVALIDATE = "private, no-cache"


def as_json(model: type[BaseModel], value: Any, *, status_code: int = 200) -> Response:
    """The value as the model shows it."""
    return Response(_body(model, value), status_code, media_type=JSON)


def tagged(
    request: Request, model: type[BaseModel], value: Any, *, retry_after_seconds: int | None = None
) -> Response:
    """The value as the model shows it, with a strong ETag of its bytes; 304 when the caller holds them."""
    pause = {} if retry_after_seconds is None else {"Retry-After": str(retry_after_seconds)}
    return tagged_bytes(request, _body(model, value), JSON, pause)


def tagged_bytes(
    request: Request, body: bytes, media_type: str, headers: Mapping[str, str] | None = None
) -> Response:
    """The bytes with a strong ETag; 304 when the caller holds them."""
    tag = f'"{hashlib.sha256(body).hexdigest()}"'
    shown = {"ETag": tag, "Cache-Control": REVALIDATE, **(headers or {})}
    if holds(request, tag):
        return not_modified(shown)
    return Response(body, 200, shown, media_type=media_type)


def not_modified(headers: Mapping[str, str]) -> Response:
    """304 with the headers that the full answer would have."""
    return Response(status_code=304, headers=dict(headers))


def holds(request: Request, etag: str) -> bool:
    """Whether ``If-None-Match`` names the tag, by weak comparison (RFC 9110, 13.1.2)."""
    sent = request.headers.get("if-none-match", "")
    return any(tag.strip().removeprefix("W/") in (etag, "*") for tag in sent.split(","))


def _body(model: type[BaseModel], value: Any) -> bytes:
    return model.model_validate(value).model_dump_json().encode()
