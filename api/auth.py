"""``Authorization: Bearer gv_...``: the credentials of a request."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from core.errors import Unauthenticated

_scheme = HTTPBearer(
    auto_error=False, scheme_name="ApiKey", description="An API key, `gv_...`, made by the operator."
)


def bearer_token(credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_scheme)]) -> str:
    """The token as sent; Unauthenticated when there is none."""
    if credentials is None:
        raise Unauthenticated("send an API key as Authorization: Bearer gv_...")
    return credentials.credentials
