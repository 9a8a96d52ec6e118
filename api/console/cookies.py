"""Cookies of the console, and the tokens that its forms carry."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Literal

from fastapi import Request, Response

from core.errors import FormRefused

CSRF_FIELD = "csrf"
Kind = Literal["session", "visitor", "sign-in"]
SESSION: Kind = "session"  # whose session it is
VISITOR: Kind = "visitor"  # whose sign-in form
SIGN_IN: Kind = "sign-in"  # which sign-in at the issuer is under way

SIGN_IN_SECONDS = 600


def secure(request: Request) -> bool:
    """Tell whether the browser speaks TLS. It does with the service or with the proxy before it."""
    public: str = request.app.state.services.settings.public_url
    return request.url.scheme == "https" or public.startswith("https://")


def get(request: Request, kind: Kind) -> str | None:
    """Return the cookie's value, if the browser sent it."""
    return request.cookies.get(_name(request, kind)) or None


def put(request: Request, response: Response, kind: Kind, value: str) -> None:
    """Have the browser keep the value. It is unseen by scripts, for this host only, over TLS where there is
    any.

    Lax, not Strict: a link from a mail or from the issuer leads to the page it names. Forms of other sites
    are refused by their token.
    """
    response.set_cookie(
        _name(request, kind),
        value,
        max_age=SIGN_IN_SECONDS if kind == SIGN_IN else None,
        path="/",
        secure=secure(request),
        httponly=True,
        samesite="lax",
    )


def drop(request: Request, response: Response, kind: Kind) -> None:
    """Have the browser forget the value."""
    response.delete_cookie(
        _name(request, kind), path="/", secure=secure(request), httponly=True, samesite="lax"
    )


def fresh_secret() -> str:
    """Make 256 random bits for a visitor without a session."""
    return secrets.token_urlsafe(32)


def csrf_of(secret: str) -> str:
    """Return the token of a cookie's forms. It follows from the cookie, and does not lead to it."""
    return hmac.digest(secret.encode(), b"graphveil console form v1", hashlib.sha256).hex()


def check_form(request: Request, secret: str | None, sent: str | None) -> None:
    """Check that the form came from our page. It is a page of the same cookie, and of no other site.
    FormRefused."""
    site = request.headers.get("sec-fetch-site", "same-origin")
    same = secret is not None and hmac.compare_digest(csrf_of(secret).encode(), (sent or "").encode())
    if not same or site not in ("same-origin", "none"):
        raise FormRefused("The form is not one that this session was given; open its page again.")


def _name(request: Request, kind: Kind) -> str:
    """``__Host-``: no other host, nor one below, can have set it."""
    return f"{'__Host-' * secure(request)}graphveil-{kind}"
